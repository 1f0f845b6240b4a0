#!/usr/bin/env bash
# Lives through a simulated year of people with tasks and reminders: $1 people, $2 days,
# $3 kills, $4 the seed of what happens to them. Then through each day of a year with a model
# that refuses more than 8,192 tokens; on SQLite alone, unless TEST_POSTGRES_DSN is set. Then
# ten million damaged documents are read.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
go test -tags goolm -count=1 -timeout 24h -v -run '^TestTimesGoBy$' ./core/task \
	-soak.people "$1" -soak.days "$2" -soak.kills "$3" -soak.seed "$4"
go test -tags 'goolm e2e crashpoints' -count=1 -timeout 24h -v -run '^TestAYearWithASmallModel$' ./e2e/data \
	-small.step 1
go test -tags goolm -count=1 -timeout 24h -v -run '^TestDamagedFilesAreRead$' ./core/document -soak.inputs 10000000
