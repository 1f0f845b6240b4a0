#!/usr/bin/env bash
# Measures the figures of docs/benchmarks.md, on SQLite and on the private PostgreSQL: without arguments all of them;
# with `turns`, those of the built program from outside (bench/turns); else the Go benchmarks whose names match $1, in
# the packages $2.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
if [ -z "${TEST_POSTGRES_DSN:-}" ]; then
	if ! scripts/postgres.sh status; then
		trap 'scripts/postgres.sh stop' EXIT
	fi
	TEST_POSTGRES_DSN=$(scripts/postgres.sh start)
	export TEST_POSTGRES_DSN
fi

work=$(mktemp -d)

# measure STORE NAME ARGUMENT...: one run of bench/turns, on an empty store.
measure() {
	local store=$1 name=$2 database='' schema
	shift 2
	echo "== $store, $name"
	if [ "$store" = postgres ]; then
		schema=bench_$name
		quietly psql "$TEST_POSTGRES_DSN" -qc "DROP SCHEMA IF EXISTS $schema CASCADE" -c "CREATE SCHEMA $schema"
		database="$TEST_POSTGRES_DSN&search_path=$schema,public"
	fi
	EVERTHREAD_DATABASE_URL=$database "$work/turns" -cmd "$work/everthread serve" -dir "$work" \
		-json "$work/$store-$name.json" "$@" 2>"$work/$store-$name.log" || {
		cat "$work/$store-$name.log"
		return 1
	}
	[ "$store" = sqlite ] || quietly psql "$TEST_POSTGRES_DSN" -qc "DROP SCHEMA $schema CASCADE"
}

# turns measures the tables "Turns" and "Memory and start" of docs/benchmarks.md, and "Several processes" of
# docs/scaling.md.
turns() {
	go build -o "$work/turns" ./bench/turns
	CGO_ENABLED=0 go build -trimpath -tags goolm -ldflags "-s -w" -o "$work/everthread" ./cmd/everthread
	echo "the program: $(($(stat -c %s "$work/everthread") / 1000000)) MB"
	for store in sqlite postgres; do
		measure $store defaults -gap 1.2s
	done
	export EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0 EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_BOT=0
	for store in sqlite postgres; do
		measure $store paced -gap 150ms -jitter 100ms -turns 200 -settle 0s
		measure $store load -loads 64 -load-for 15s -settle 0s
	done
	for n in 1 8; do
		measure postgres "${n}_processes" -processes $n -gap 50ms -turns 40 -loads 64 -load-for 15s -settle 0s
	done
}

case ${1:-} in
turns) turns ;;
'')
	turns
	echo "== the plan of every statement, with a million messages"
	EVERTHREAD_TEST_MILLION=1 go test -tags goolm -count=1 -run TestContract ./core/store/sqlite ./core/store/postgres
	go test -tags goolm -run '^$' -bench . -benchmem ./...
	;;
*) go test -tags goolm -run '^$' -bench "$1" -benchmem "${2:-./...}" ;;
esac
echo "details: $work"
