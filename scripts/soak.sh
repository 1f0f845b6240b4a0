#!/usr/bin/env bash
# Lives through a simulated year of people with tasks and reminders: $1 people, $2 days,
# $3 kills, $4 the seed of what happens to them.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
go test -tags goolm -count=1 -timeout 24h -v -run '^TestTimesGoBy$' ./core/task \
	-soak.people "$1" -soak.days "$2" -soak.kills "$3" -soak.seed "$4"
