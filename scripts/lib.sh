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

apt_sources=()

# our_apt runs an apt tool with its own lists and archives, so that it needs neither root
# nor a fresh `apt-get update`. It uses the machine's sources and credentials, and keeps its
# files in $home, which the script sets.
our_apt() {
	local cmd=$1 dir=$home/apt
	shift
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	"$cmd" -q -o "Dir::State=$dir/state" -o "Dir::Cache=$dir/cache" \
		-o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Languages=none -o Acquire::Retries=3 "${apt_sources[@]}" "$@"
}

# debian_13 lets our_apt use Debian 13 of the machine's mirror alone. Its argument is deb or deb-src.
debian_13() {
	local uri list=$home/apt/trixie.list
	quietly our_apt apt-get update
	uri=$(our_apt apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
		awk '$2 == "Debian" && $3 == "Debian" {print $1; exit}')
	[ -n "$uri" ] || die "no Debian mirror is configured in /etc/apt"
	echo "$1 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main" >"$list"
	mkdir -p "$home/apt/trixie/partial"
	apt_sources=(-o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$home/apt/trixie")
	quietly our_apt apt-get update
}

# unpack_packages root package... downloads packages and unpacks them below root.
unpack_packages() {
	local into=$1 deb
	shift
	mkdir -p "$home/debs"
	rm -f "$home"/debs/*.deb
	(cd "$home/debs" && quietly our_apt apt-get download "$@")
	for deb in "$home"/debs/*.deb; do
		dpkg -x "$deb" "$into"
	done
	rm -rf "$home/debs"
}
