#!/usr/bin/env bash
# Measures the figures of docs/benchmarks.md, on SQLite and on the private PostgreSQL:
# the Go benchmarks whose names match $1 in the packages $2, and, if ../shared/bench
# exists, turns of the built program measured from outside.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# several PROGRAM N runs N processes on one database until it is ended.
several() {
	local pids=() n
	trap 'kill "${pids[@]}" 2>/dev/null; wait; exit 0' TERM INT
	for n in $(seq "$2"); do
		EVERTHREAD_HTTP_LISTEN=127.0.0.1:$((18090 + n)) "$1" serve &
		pids+=($!)
	done
	wait
}
if [ "${1:-}" = --several ]; then
	several "$2" "$3"
	exit
fi

cd "$root_dir"
if [ -z "${TEST_POSTGRES_DSN:-}" ]; then
	if ! scripts/postgres.sh status; then
		trap 'scripts/postgres.sh stop' EXIT
	fi
	TEST_POSTGRES_DSN=$(scripts/postgres.sh start)
	export TEST_POSTGRES_DSN
fi

work=$(mktemp -d)
tgbench=../shared/bench

# turns NAME DATABASE [VAR=value ...] -- ARGUMENTS: one run of the turn benchmark.
turns() {
	local name=$1 database=$2 vars=()
	shift 2
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	mkdir -p "$work/$name"
	echo "== $name"
	env EVERTHREAD_DATA_DIR="$work/$name" EVERTHREAD_DATABASE_URL="$database" EVERTHREAD_SECRET_KEY=only-for-this-benchmark-0123456789 \
		EVERTHREAD_ACCESS_POLICY=open EVERTHREAD_LOG_LEVEL=warn EVERTHREAD_HTTP_LISTEN=127.0.0.1:18090 \
		EVERTHREAD_LLM_PROVIDER=openai EVERTHREAD_LLM_BASE_URL=http://127.0.0.1:18082/v1 EVERTHREAD_LLM_MODEL=bench EVERTHREAD_LLM_API_KEY=none \
		EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=123456:benchmark-token-0000000000 EVERTHREAD_CHANNELS_TELEGRAM_API_URL=http://127.0.0.1:18081 \
		"${vars[@]}" "$work/tgbench" -cmd "${command:-$work/everthread serve}" -log "$work/$name.log" -json "$work/$name.json" "$@" |
		grep -E '^(floor|ready|idle|\{"after|seq cpu|  load)' || cat "$work/$name.log"
}

lifted=(EVERTHREAD_TURN_DEBOUNCE=0s EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0 EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=-1
	EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0 EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_BOT=0)

# schema prints the URL of an empty schema of the database.
schema() {
	psql "$TEST_POSTGRES_DSN" -qc "DROP SCHEMA IF EXISTS $1 CASCADE" -c "CREATE SCHEMA $1" 2>/dev/null >&2
	echo "$TEST_POSTGRES_DSN&search_path=$1,public"
}

outside() {
	(cd "$tgbench" && go build -o "$work/tgbench" ./tgbench)
	CGO_ENABLED=0 go build -trimpath -tags goolm -o "$work/everthread" ./cmd/everthread
	for store in sqlite postgres; do
		url() { if [ "$store" = sqlite ]; then echo ""; else schema "bench_$1"; fi; }
		turns "$store-paced" "$(url paced)" "${lifted[@]}" -- -gap 150ms -jitter 100ms -turns 200 -loads ""
		turns "$store-load" "$(url load)" "${lifted[@]}" -- -turns 50 -loads 1,4,16,64 -load-for 15s -settle 3s
		turns "$store-slow-model" "$(url slow)" "${lifted[@]}" -- -llm-delay 2s -turns 5 -loads 1,64 -load-for 12s -settle 1s
		turns "$store-defaults" "$(url defaults)" EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0 EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=-1 -- -gap 1s -turns 15 -loads "" -settle 1s
	done
	for n in 1 8; do
		command="$root_dir/scripts/bench.sh --several $work/everthread $n" \
			turns "postgres-$n-processes" "$(schema "bench_$n")" "${lifted[@]}" -- -turns 40 -gap 50ms -loads 64 -load-for 15s -settle 2s
	done
}

if [ -d "$tgbench" ] && [ -z "${1:-}" ]; then
	outside
else
	log "the turn benchmark is left out: it runs without arguments, and where ../shared/bench is"
fi
if [ -z "${1:-}" ]; then
	echo "== the plan of every statement, with a million messages"
	EVERTHREAD_TEST_MILLION=1 go test -tags goolm -count=1 -run TestContract ./core/store/sqlite ./core/store/postgres
fi
go test -tags goolm -run '^$' -bench "${1:-.}" -benchmem "${2:-./...}"
echo "details: $work"
