#!/usr/bin/env bash
# Builds the Matrix homeserver and the test bridge of e2e/peers into the cache folder, as
# pinned by their lock files, and prints the folder. A second run with the same sources
# only prints it. The homeserver needs a C compiler.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_packages gcc:gcc
source_dir=$root_dir/e2e/peers
stamp=$(cd "$source_dir" && cat homeserver/go.* bridge/go.* bridge/*.go | cat - <(go version) | sha256sum | cut -c1-16)
dir=$cache/matrix/$stamp

mkdir -p "$cache/matrix"
exec 9>"$cache/matrix/lock"
flock 9
if [ ! -d "$dir" ]; then
	log "building into $dir"
	rm -rf "$dir.new" && mkdir "$dir.new"
	dendrite=github.com/element-hq/dendrite/cmd
	(cd "$source_dir/homeserver" && CGO_ENABLED=1 quietly go build -trimpath -o "$dir.new/" \
		$dendrite/dendrite $dendrite/generate-config $dendrite/generate-keys $dendrite/create-account)
	(cd "$source_dir/bridge" && CGO_ENABLED=1 quietly go build -trimpath -tags goolm -o "$dir.new/" .)
	mv "$dir.new" "$dir"
fi
echo "$dir"
