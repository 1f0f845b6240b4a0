# Shared by the scripts beside it; sourced, never run.

set -euo pipefail
umask 022

root_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tool=$(basename "$0" .sh)

# Builds and downloads are kept outside the checkout. Root uses a folder that an
# unprivileged user can enter, because PostgreSQL refuses to run as root.
if [ -n "${EVERTHREAD_CACHE:-}" ]; then
	cache=$EVERTHREAD_CACHE
elif [ "$(id -u)" = 0 ]; then
	cache=/var/cache/everthread
else
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/everthread
fi

log() { printf '%s: %s\n' "$tool" "$*" >&2; }
die() {
	log "$*"
	exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# quietly runs a command and shows its output only if it fails.
quietly() {
	local out
	if ! out=$("$@" 2>&1); then
		printf '%s\n' "$out" >&2
		die "failed: $*"
	fi
}

# need_packages command:package... installs the Debian packages whose command is
# missing. Without root or apt it says what is missing and fails.
need_packages() {
	local pair missing=()
	for pair in "$@"; do
		has "${pair%%:*}" || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] || ! has apt-get; then
		die "please install: ${missing[*]}"
	fi
	log "installing ${missing[*]}"
	quietly apt-get -qq update
	DEBIAN_FRONTEND=noninteractive quietly apt-get -qq install -y --no-install-recommends "${missing[@]}"
}
