#!/usr/bin/env bash
# Installs the npm packages of e2e/peers into the cache folder, exactly as pinned by its
# lock file, and prints the path of the model emulator's program. A second run with the
# same lock file only prints it.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_packages node:nodejs npm:npm
source_dir=$root_dir/e2e/peers
stamp=$(cat "$source_dir/package.json" "$source_dir/package-lock.json" | sha256sum | cut -c1-16)
dir=$cache/peers/$stamp

mkdir -p "$cache/peers"
exec 9>"$cache/peers/lock"
flock 9
if [ ! -d "$dir" ]; then
	log "installing into $dir"
	rm -rf "$dir.new" && mkdir "$dir.new"
	cp "$source_dir/package.json" "$source_dir/package-lock.json" "$dir.new"
	(cd "$dir.new" && quietly npm ci --no-audit --no-fund --ignore-scripts)
	mv "$dir.new" "$dir"
fi
echo "$dir/node_modules/.bin/aimock"
