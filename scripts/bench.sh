#!/usr/bin/env bash
# Runs the benchmarks whose names match $1 in the packages $2, on SQLite and on
# the private PostgreSQL.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
if [ -z "${TEST_POSTGRES_DSN:-}" ]; then
	if ! scripts/postgres.sh status; then
		trap 'scripts/postgres.sh stop' EXIT
	fi
	TEST_POSTGRES_DSN=$(scripts/postgres.sh start)
	export TEST_POSTGRES_DSN
fi
go test -tags goolm -run '^$' -bench "${1:-.}" -benchmem "${2:-./...}"
