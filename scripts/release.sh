#!/usr/bin/env bash
# Makes a release in dist/VERSION: static programs for eight platforms, archives, Debian
# packages, a container image as an OCI layout (without a container engine), a bill of
# materials with licences, a Helm chart, a Compose file for Umbrel, checksums, a Homebrew
# formula and the notes of the release page.
# The same commit, Go version and certificates of the machine give the same bytes; one
# platform is built twice to prove it.
#
#   scripts/release.sh [VERSION]              everything; scripts/image.sh starts the image
#   scripts/release.sh --compile PLATFORM...  only check that these compile

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
platforms="linux/amd64 linux/arm64 linux/arm/v7 linux/arm/v6 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
certificates=${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
export CGO_ENABLED=0 GOFLAGS=-mod=readonly

# compile platform out... builds the program for a platform: OS/ARCH, or OS/arm/vVERSION.
compile() {
	local os arch variant
	IFS=/ read -r os arch variant <<<"$1"
	GOOS=$os GOARCH=$arch GOARM=${variant#v} go build -trimpath -buildvcs=false -tags goolm \
		-ldflags "-s -w -buildid= -X main.version=$version" -o "$2" ./cmd/everthread
}

if [ "${1:-}" = --compile ]; then
	for p in "${@:2}"; do
		version=dev compile "$p" /dev/null || die "$p does not compile"
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
	arch=${p#*/}
	name=everthread-$version-${p%%/*}-${arch/\//} # arm/v7 becomes armv7
	dir=$work/$name program=everthread archive=$name.tar.gz
	[ "${p%%/*}" != windows ] || { program=everthread.exe && archive=$name.zip; }
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
for arch in amd64 arm64 armv6; do
	deb=${arch/armv6/armhf} # Debian's 32-bit ARM begins with version 7, Raspberry Pi OS' with 6
	NATIVE=$linux-$(go env GOHOSTARCH)/everthread SOURCE_DATE_EPOCH=$epoch \
		scripts/nfpm.sh "$version" "$deb" "$linux-$arch/everthread" "$out/everthread_${version}_$deb.deb"
done
log "bill of materials"
scripts/sbom.sh "$version" "$epoch" "$linux-amd64/everthread" "$out/everthread-$version.cdx.json"
digest=$("$work/pack" image "$out/everthread-$version-image.oci.tar" "$epoch" "$version" "$certificates" "$(go env GOROOT)/lib/time/zoneinfo.zip" \
	"amd64=$linux-amd64/everthread" "arm64=$linux-arm64/everthread" \
	"arm/v7=$linux-armv7/everthread" "arm/v6=$linux-armv6/everthread")
scripts/image.sh "$out/everthread-$version-image.oci.tar:$version" >&2
tar -C deploy/helm --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -cf - everthread |
	gzip -9n >"$out/everthread-$version-helm.tgz"
# Umbrel's store takes an image only with its digest.
sed "s|^\( *image: [^:]*\):.*|\1:$version@$digest|" deploy/umbrel/docker-compose.yml >"$out/everthread-$version-umbrel.yml"
(cd "$out" && sha256sum -- everthread* >SHA256SUMS)
for form in everthread.rb notes.md; do
	"$work/pack" describe "$out/$form" deploy/package/$form.tmpl "$version" CHANGELOG.md "$out/SHA256SUMS"
done
log "$out, in $((SECONDS - begin)) s"
ls -l "$out" >&2
