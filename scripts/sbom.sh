#!/usr/bin/env bash
# Writes the bill of materials of a program, as CycloneDX, with the licences of the modules
# linked into it. The same program gives the same bytes.
#
#   scripts/sbom.sh VERSION EPOCH PROGRAM OUT.json
#
# syft, which reads the program, is built once into the cache folder. The licences come from
# the module cache, which is filled by the build.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_packages jq:jq
syft=v1.40.0
dir=$cache/tools/syft-$syft-$(go env GOVERSION)
if [ ! -x "$dir/syft" ]; then
	log "building syft $syft"
	mkdir -p "$dir"
	GOFLAGS='' GOBIN=$dir quietly go install "github.com/anchore/syft/cmd/syft@$syft"
fi
version=$1 program=$(realpath "$3") out=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SYFT_CHECK_FOR_APP_UPDATE=false SYFT_GOLANG_SEARCH_LOCAL_MOD_CACHE_LICENSES=true
quietly "$dir/syft" scan "file:$program" --quiet --source-name everthread --source-version "$version" \
	--output "cyclonedx-json@1.6=$work/found.json"
# Remove what differs from run to run or names this machine; the program is the subject, not a component.
jq --arg version "$version" --arg tool "${syft#v}" --arg at "$(date -u -d "@$2" +%FT%TZ)" '
	"github.com/everthread/everthread" as $main
	| del(.serialNumber)
	| .metadata.timestamp = $at
	| .metadata.tools.components[0].version = $tool
	| .metadata.component = {"bom-ref": $main, type: "application", name: "everthread", version: $version,
		purl: "pkg:golang/\($main)@v\($version)", licenses: [{license: {id: "MIT"}}]}
	| .components |= [.[] | select(.type == "library" and .name != $main)
		| .properties |= map(select(.name | startswith("syft:location") | not))
		# Notices beside a licence that has a name say nothing; of libc, its test data alone is under the GPL.
		| .licenses |= (map(del(.license.url)) | unique
			| if any(.[]; .license.id) then map(select(.license.id)) else . end)
		| if .name == "modernc.org/libc" then .licenses |= map(select(.license.id != "GPL-2.0-only")) else . end]
	| .dependencies = [{ref: $main, dependsOn: [.components[]."bom-ref"]}]
' "$work/found.json" >"$out"
unknown=$(jq -r '.components[] | select((.licenses // []) == []) | .name' "$out")
[ -z "$unknown" ] || die "no licence is found for: $unknown"
copyleft=$(jq -r '.components[] | select(any(.licenses[]; (.license.id // "") | test("^A?GPL"))) | .name' "$out")
[ -z "$copyleft" ] || die "it would bind the whole program: $copyleft"
