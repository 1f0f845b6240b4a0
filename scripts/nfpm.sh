#!/usr/bin/env bash
# Makes the Debian package of a built program:
#
#   scripts/nfpm.sh VERSION ARCH PROGRAM OUT.deb     ARCH: amd64, arm64, armhf
#
# A program for this machine's architecture writes the shell completion; NATIVE names it if
# PROGRAM is for another one. nfpm is built once into the cache folder.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

nfpm=v2.45.2 # later ones need a module that the proxy does not serve
dir=$cache/tools/nfpm-$nfpm-$(go env GOVERSION)
if [ ! -x "$dir/nfpm" ]; then
	log "building nfpm $nfpm"
	mkdir -p "$dir"
	GOFLAGS='' GOBIN=$dir quietly go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$nfpm"
fi
export VERSION=$1 ARCH=$2 PROGRAM UNIT COMPLETION CHANGES
PROGRAM=$(realpath "$3") out=$(realpath -m "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root_dir"
UNIT=$work/everthread.service COMPLETION=$work/completion CHANGES=$work/changelog.gz
sed 's,/usr/local/bin/everthread,/usr/bin/everthread,' deploy/everthread.service >"$UNIT"
"${NATIVE:-$PROGRAM}" completion bash >"$COMPLETION"
gzip -9n <CHANGELOG.md >"$CHANGES"
# Files and package have the time of the commit, or the given time.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
find "$work" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
quietly "$dir/nfpm" package --config deploy/package/nfpm.yaml --packager deb --target "$out"
