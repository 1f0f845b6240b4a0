#!/usr/bin/env bash
# Checks that are too slow for `make test`: every test in full with the race detector, in
# SQLite's code too, every other system and processor, and every fuzz target for 30 seconds.
# On SQLite alone, unless TEST_POSTGRES_DSN is set.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
failed=0
# Processes that read a document have a memory limit, which the detector exceeds.
# shellcheck disable=SC2046 # one argument per package
EVERTHREAD_TEST_ALL=1 go test -race -tags goolm -count=1 -timeout 120m \
	$(go list -tags goolm ./... | grep -v '/core/files/document$') || failed=1
scripts/release.sh --compile linux/arm64 darwin/arm64 windows/amd64 || failed=1
scripts/fuzz.sh || failed=1
exit $failed
