#!/usr/bin/env bash
# Simulates a year of people with tasks and reminders: $1 people, $2 days, $3 kills, $4 the
# seed of the events. Then simulates each day of a year with a model that rejects more than
# 8,192 tokens; on SQLite alone, unless TEST_POSTGRES_DSN is set. Then reads ten million
# damaged documents. With a PostgreSQL (TEST_POSTGRES_DSN), makes it slow for ten minutes, and
# kills four processes for five minutes, and for an hour behind PgBouncer with a standby, whose
# primary is killed half-way.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
go test -tags goolm -count=1 -timeout 24h -v -run '^TestFirer_timesGoBy$' ./core/plan \
	-soak.people "$1" -soak.days "$2" -soak.kills "$3" -soak.seed "$4"
go test -tags 'goolm e2e crashpoints' -count=1 -timeout 24h -v -run '^TestSmallWindow_wholeYear$' ./e2e/data \
	-small.step 1
go test -tags goolm -count=1 -timeout 24h -v -run '^TestReader_damagedFiles$' ./core/files/document -soak.inputs 10000000
if [ -n "${TEST_POSTGRES_DSN:-}" ]; then
	EVERTHREAD_TEST_POSTGRES_BIN=$(scripts/postgres.sh bin)
	export EVERTHREAD_TEST_POSTGRES_BIN
	kills=(go test -tags 'goolm e2e crashpoints bench' -count=1 -timeout 24h -v -run '^TestSoakKills$' ./e2e/bench)
	go test -tags 'goolm e2e crashpoints' -count=1 -timeout 1h -v -run '^TestDatabase_slowLosesNothing$' ./e2e/road \
		-slow.for 10m
	"${kills[@]}" -kills.for 5m
	"${kills[@]}" -kills.for 1h -kills.failover
fi
