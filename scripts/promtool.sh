#!/usr/bin/env bash
# Unpacks Debian's promtool, which checks alert rules, into the cache folder and prints its
# path. The package is not installed: that would start a server.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

dir=$cache/tools/prometheus
mkdir -p "$cache/tools"
exec 9>"$cache/tools/prometheus.lock"
flock 9
if [ ! -x "$dir/usr/bin/promtool" ]; then
	has apt-get || die "please put a promtool here: $dir/usr/bin/promtool"
	log "unpacking into $dir"
	rm -rf "$dir.new" && mkdir "$dir.new"
	[ "$(id -u)" != 0 ] || quietly apt-get -qq update
	(cd "$dir.new" && quietly apt-get -qq download -o APT::Sandbox::User=root prometheus && dpkg-deb -x prometheus_*.deb .)
	rm -rf "$dir" "$dir.new"/*.deb && mv "$dir.new" "$dir"
fi
echo "$dir/usr/bin/promtool"
