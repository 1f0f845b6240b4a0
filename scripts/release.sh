#!/usr/bin/env bash
# Makes a release in dist/VERSION: static programs for six platforms, archives, Debian
# packages, a container image as an OCI layout (without a container engine), a bill of
# materials with licences, checksums, a Homebrew formula and the notes of the release page.
# The same commit, Go version and certificates of the machine give the same bytes; one
# platform is built twice to prove it.
#
#   scripts/release.sh [VERSION]              everything; scripts/image.sh starts the image
#   scripts/release.sh --compile PLATFORM...  only check that these compile

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
platforms="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
certificates=${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
export CGO_ENABLED=0 GOFLAGS=-mod=readonly

# compile platform out... builds the program for a platform.
compile() {
	GOOS=${1%/*} GOARCH=${1#*/} go build -trimpath -buildvcs=false -tags goolm \
		-ldflags "-s -w -buildid= -X main.version=$version" -o "$2" ./cmd/everthread
}

if [ "${1:-}" = --compile ]; then
	for p in "${@:2}"; do
		GOOS=${p%/*} GOARCH=${p#*/} go build -buildvcs=false -tags goolm -o /dev/null ./cmd/everthread || die "$p does not compile"
	done
	exit 0
fi

version=${1:-$(git describe --tags --always --dirty)}
version=${version#v} # of a tag
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
out=dist/$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out" && mkdir -p "$out"
(cd scripts/pack && go build -o "$work/pack" .)

begin=$SECONDS
for p in $platforms; do
	name=everthread-$version-${p%/*}-${p#*/}
	dir=$work/$name program=everthread archive=$name.tar.gz
	[ "${p%/*}" != windows ] || { program=everthread.exe && archive=$name.zip; }
	mkdir -p "$dir"
	log "$p"
	compile "$p" "$dir/$program"
	"$work/pack" archive "$out/$archive" "$epoch" "$name" "$dir/$program" LICENSE README.md
done

log "linux/amd64 once more, to compare"
linux=$work/everthread-$version-linux
mkdir "$work/again"
# Another folder and no linker cache: neither may influence the bytes.
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$work/again"
(cd "$work/again" && compile linux/amd64 "$work/second")
cmp "$work/second" "$linux-amd64/everthread" || die "two builds of linux/amd64 differ"
"$work/pack" archive "$work/second.tar.gz" "$epoch" "everthread-$version-linux-amd64" "$linux-amd64/everthread" LICENSE README.md
cmp "$work/second.tar.gz" "$out/everthread-$version-linux-amd64.tar.gz" || die "two archives of linux/amd64 differ"

log "Debian packages"
for arch in amd64 arm64; do
	NATIVE=$linux-$(go env GOHOSTARCH)/everthread SOURCE_DATE_EPOCH=$epoch \
		scripts/nfpm.sh "$version" $arch "$linux-$arch/everthread" "$out/everthread_${version}_$arch.deb"
done
log "bill of materials"
scripts/sbom.sh "$version" "$epoch" "$linux-amd64/everthread" "$out/everthread-$version.cdx.json"
"$work/pack" image "$out/everthread-$version-image.oci.tar" "$epoch" "$version" "$certificates" "$(go env GOROOT)/lib/time/zoneinfo.zip" \
	"amd64=$linux-amd64/everthread" "arm64=$linux-arm64/everthread"
scripts/image.sh "$out/everthread-$version-image.oci.tar:$version" >&2
(cd "$out" && sha256sum -- everthread* >SHA256SUMS)
for form in everthread.rb notes.md; do
	"$work/pack" describe "$out/$form" deploy/package/$form.tmpl "$version" CHANGELOG.md "$out/SHA256SUMS"
done
log "$out, in $((SECONDS - begin)) s"
ls -l "$out" >&2
