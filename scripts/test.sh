#!/usr/bin/env bash
# Runs every check that a change must pass, on a machine with nothing but Go and a Debian
# or Docker to fetch the rest: builds, lint, every suite on SQLite and PostgreSQL, the real
# binary against its peers. With CI=true also the race detector, more kills, another system
# and some fuzz targets, and a skipped test is a failure. scripts/nightly.sh runs slower
# checks.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
ci=${CI:-false}
export EVERTHREAD_TEST_ALL=1
# Checkouts share their compiled packages; without a symbol table programs link in half the time.
export GOFLAGS='-trimpath -ldflags=-s'
failures=() ends=stop
# Tests create and remove many small files: in memory that takes a quarter less processor
# time. The folder is always the same, or no test result would be cached. With CI=true they
# are on a disk, as people's files are.
if [ "$ci" != true ] && [ "$(df --output=avail -BG /dev/shm 2>/dev/null | grep -o '[0-9]*')" -ge 8 ] 2>/dev/null; then
	export TMPDIR=/dev/shm/everthread-$(id -u) GOTMPDIR=
	export EVERTHREAD_TEST_POSTGRES_AT=$TMPDIR/postgres
	mkdir -p "$TMPDIR" && [ -O "$TMPDIR" ] || die "$TMPDIR belongs to somebody else"
	ends=clean
fi
work=$(mktemp -d)
skips=$work/skipped
touch "$skips"
started_postgres=

cleanup() {
	[ -z "$started_postgres" ] || scripts/postgres.sh "$ends" || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# step name command... runs a step, reports its duration and continues.
step() {
	local name=$1 begin=$SECONDS
	shift
	printf '\n== %s\n' "$name"
	if "$@"; then
		printf -- '-- %s: %d s\n' "$name" $((SECONDS - begin))
	else
		printf -- '-- %s: FAILED after %d s\n' "$name" $((SECONDS - begin))
		failures+=("$name")
	fi
}

# missing records an unavailable peer. Its tests skip, and say so too.
missing() {
	log "$*"
	echo "$*" >>"$skips"
}

start_peers() {
	if [ -z "${TEST_POSTGRES_DSN:-}" ]; then
		scripts/postgres.sh status || started_postgres=yes
		if TEST_POSTGRES_DSN=$(EVERTHREAD_POSTGRES_FSYNC=off scripts/postgres.sh start); then
			export TEST_POSTGRES_DSN
		else
			unset TEST_POSTGRES_DSN
			missing "PostgreSQL: not to be had, see above"
		fi
	fi
	if EVERTHREAD_TEST_POSTGRES_BIN=$(scripts/postgres.sh bin); then
		export EVERTHREAD_TEST_POSTGRES_BIN
	else
		unset EVERTHREAD_TEST_POSTGRES_BIN
		missing "the programs of PostgreSQL: not to be had, see above"
	fi
	if EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh); then
		export EVERTHREAD_TEST_AIMOCK
	else
		unset EVERTHREAD_TEST_AIMOCK
		missing "model emulator: not to be had, see above"
	fi
	if EVERTHREAD_TEST_MATRIX=$(scripts/matrix.sh); then
		export EVERTHREAD_TEST_MATRIX
	else
		unset EVERTHREAD_TEST_MATRIX
		missing "Matrix homeserver and bridge: not to be built, see above"
	fi
	if EVERTHREAD_TEST_SIGNAL_CLI=$(scripts/signal.sh); then
		export EVERTHREAD_TEST_SIGNAL_CLI
	else
		unset EVERTHREAD_TEST_SIGNAL_CLI
		missing "signal-cli: not to be had, see above"
	fi
	(need_packages umoci:umoci skopeo:skopeo update-ca-certificates:ca-certificates systemd-analyze:systemd curl:curl node:nodejs fakeroot:fakeroot ruby:ruby caddy:caddy nginx:nginx-light pgbouncer:pgbouncer qemu-arm:qemu-user) ||
		missing "what the tests of the deployment need is not to be had, see above"
	if EVERTHREAD_TEST_PROMTOOL=$(scripts/promtool.sh); then
		export EVERTHREAD_TEST_PROMTOOL
	else
		unset EVERTHREAD_TEST_PROMTOOL
		missing "promtool: not to be had, see above"
	fi
	if EVERTHREAD_TEST_CHROMIUM=$(scripts/browser.sh); then
		export EVERTHREAD_TEST_CHROMIUM
	else
		unset EVERTHREAD_TEST_CHROMIUM
		missing "Chromium and wapiti: not to be had, see above"
	fi
}

# Compilers and linters collect garbage less often, up to a limit; that saves a sixth of their time.
# Tests and the programs in them collect it as usual.
roomy() { GOGC=400 GOMEMLIMIT=3GiB "$@"; }

# Programs are compiled here, and linked where tests run them.
builds() {
	CGO_ENABLED=0 go list -export ./... >/dev/null && CGO_ENABLED=0 go list -export -tags goolm ./... >/dev/null &&
		(cd scripts/pack && go vet .) && (cd e2e/deployment && go vet -tags boot .) &&
		(cd e2e/deployment/helm && go vet .)
}

# The program for the end-to-end tests, which each package would otherwise build.
program() {
	CGO_ENABLED=0 go build -tags 'goolm crashpoints' -o "$work/everthread" ./cmd/everthread &&
		export EVERTHREAD_TEST_PROGRAM=$work/everthread
}

# gotest flags... -- packages... runs the tests of the packages; lint runs go vet on all of them.
gotest() {
	local flags=(-vet=off) part=$work/part
	while [ "$1" != -- ]; do
		flags+=("$1")
		shift
	done
	shift
	: >"$part"
	go test -json "${flags[@]}" "$@" | awk -v skips="$part" -f "$root_dir/scripts/testreport.awk"
	local status=("${PIPESTATUS[@]}")
	# In a partial run slow tests may skip: they have run in full before.
	[ -n "$EVERTHREAD_TEST_ALL" ] || sed -i '/it takes long/d' "$part"
	cat "$part" >>"$skips"
	[ "${status[0]}" = 0 ] && [ "${status[1]}" = 0 ]
}

# packages lists all packages except the end-to-end tests and those that match a pattern.
packages() { go list -tags goolm ./... | grep -v "/e2e\(/\|\$\)${1:+\|$1}"; }

# Packages with goroutines that outlive a call.
goroutines='/core/\(job\|files/media\|chat/\(live\|gateway\|agent\|summary\)\|accounts\|memory/embed\)\(/\|$\)\|/adapters/\(telegram\|whatsapp\|terminal\)\(/\|$\)'

# Packages with none; scripts/nightly.sh runs them with the race detector.
pure='/migrations$\|/core/\(text\(/.*\)\?\|chat/prompt\|llm/tokens\)$'

# The race detector checks concurrency, which small tests have as much as large ones, at a
# tenth of the speed: so slow tests are smaller here (package fulltest). It checks Go, but not
# SQLite's C translated to Go, which has locks of its own. Packages with goroutines run on one
# processor and on two. Excluded are the tests of the repository's text, processes that read a
# document, whose memory limit it exceeds, and pure packages that start no goroutine, whose
# callers are checked.
raced() {
	local detector=(-race '-gcflags=modernc.org/sqlite/lib=-race=false' '-gcflags=modernc.org/libc=-race=false')
	local repeated others status=0
	repeated=$(packages | grep "$goroutines") &&
		others=$(packages "/internal/repocheck$\|/core/files/document$\|$pure\|$goroutines") || return 1
	# shellcheck disable=SC2086 # one argument a package
	EVERTHREAD_TEST_ALL='' gotest "${detector[@]}" -tags goolm -cpu 1,2 -timeout 20m -- $repeated || status=1
	# shellcheck disable=SC2086
	EVERTHREAD_TEST_ALL='' gotest "${detector[@]}" -tags goolm -timeout 20m -- $others || status=1
	return $status
}

# Everything in full, without the race detector, built as shipped. The package that takes longest
# begins first, or it would run alone at the end.
plain() {
	local all
	all=$(packages) || return 1
	# shellcheck disable=SC2086
	CGO_ENABLED=0 gotest -tags goolm -timeout 20m -- ./core/store/postgres $all
}

has_e2e() { [ -n "$(git ls-files --cached --others --exclude-standard 'e2e/*_test.go')" ]; }

# Two packages at a time, because at its end each waits for its longest scenarios; in this order both
# end together. With CI=true one at a time, at full size, each test on both stores.
end_to_end() {
	local all='' at_once=(-p 2 -parallel 5)
	[ "$ci" != true ] || all=1 at_once=(-p 1)
	EVERTHREAD_TEST_ALL=$all CGO_ENABLED=0 gotest -tags 'goolm e2e crashpoints' -count=1 "${at_once[@]}" -timeout 30m -- \
		./e2e/{web,road,people,data,channels}/... ./e2e/...
}

# A slice of what `make soak` does for an hour: kill processes; with CI=true they are behind
# PgBouncer, and their primary is killed, too.
kills() {
	CGO_ENABLED=0 go test -tags 'goolm e2e crashpoints bench' -count=1 -timeout 20m -v -run '^TestSoakKills$' ./e2e/bench "$@"
}

# boots reports whether a test can start its own systemd here: that needs root and
# namespaces, which some containers do not allow.
boots() {
	local group=/sys/fs/cgroup
	[ ! -d $group/systemd ] || group=$group/systemd
	[ "$(id -u)" = 0 ] && unshare -m -p -f -u -i -C -n sh -c 'mount -t tmpfs box /mnt' 2>/dev/null &&
		mkdir "$group/everthread-test" 2>/dev/null && rmdir "$group/everthread-test"
}

# The operator's files: Compose, the image, units, rules, packages of stores.
deployment() (
	tags=
	if boots; then tags=boot; else log "units are checked, but not started: no namespaces here"; fi
	cd e2e/deployment && gotest -count=1 -parallel 5 -tags "$tags" -timeout 20m -- . &&
		cd helm && gotest -count=1 -- .
)

report() {
	local status=0
	printf '\n== result\n'
	if [ -s "$skips" ]; then
		printf 'skipped:\n'
		sort -u "$skips" | sed 's/^/  /'
		[ "$ci" != true ] || failures+=("skipped tests, which CI=true forbids")
	fi
	if [ ${#failures[@]} -gt 0 ]; then
		printf 'FAILED:\n'
		printf '  %s\n' "${failures[@]}"
		status=1
	else
		printf 'passed in %d s\n' "$SECONDS"
	fi
	return $status
}

has go || die "Go is missing, see go.mod for the version"
# The race detector needs a C compiler.
need_packages gcc:gcc git:git
printf '#include <stdlib.h>\nint main(void) { return 0; }\n' >"$work/c.c"
gcc "$work/c.c" -o "$work/c" 2>/dev/null || need_packages no-libc-headers:libc6-dev

start_peers
step build roomy builds
step lint roomy scripts/lint.sh run
[ "$ci" != true ] || step "unit tests with the race detector" raced
step "unit tests" plain
if has_e2e; then
	step "program of the end-to-end tests" roomy program
	step "end-to-end tests" end_to_end
else
	log "no end-to-end tests in this checkout"
fi
step deployment deployment
if [ "$ci" != true ]; then
	step "half a minute of kills" kills -kills.for 30s
else
	step "two minutes of kills" kills -kills.for 2m -kills.failover
	step "another system" scripts/release.sh --compile windows/amd64 linux/arm/v7
	step fuzz scripts/fuzz.sh 90
fi
report
