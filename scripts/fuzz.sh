#!/usr/bin/env bash
# Fuzzes every target of the module, 30 seconds each, less if there are so many
# that it would take more than six minutes together. A crash leaves its input
# in the package's testdata/fuzz, ready to be committed.
#
#   scripts/fuzz.sh [seconds for all of them]

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
budget=${1:-360}
# Lines of "package FuzzName"; the e2e suites have none.
targets=$(git ls-files --cached --others --exclude-standard '*_test.go' | xargs grep -Hoe '^func Fuzz[A-Za-z0-9_]*' |
	sed -E 's|/[^/]*:func | |; s|^|./|' | sort -u)
[ -n "$targets" ] || {
	log "no fuzz targets"
	exit 0
}
count=$(wc -l <<<"$targets")
# Two seconds of each go into starting it.
each=$((budget / count - 2))
[ "$each" -le 30 ] || each=30
[ "$each" -ge 2 ] || each=2
log "$count targets, $each seconds each"
failed=0
while read -r package name; do
	log "$package $name"
	out=$(go test -tags goolm -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" "$package" 2>&1) || {
		# The coordinator of Go 1.26 may report the end of its own time as a
		# failure (golang/go#75804); what a target fails on is written down.
		if grep -q '^    context deadline exceeded$' <<<"$out" && ! grep -q 'Failing input written' <<<"$out"; then
			continue
		fi
		printf '%s\n' "$out"
		failed=1
		continue
	}
	tail -1 <<<"$out"
done <<<"$targets"
exit $failed
