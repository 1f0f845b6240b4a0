#!/usr/bin/env bash
# Fuzzes every target of the module, 30 seconds each. With a total time, it fuzzes as many
# as fit, ten seconds each, and each commit takes the next ones; after three times that
# time it starts no other, as building them may take long. A crash leaves its input in the
# package's testdata/fuzz, ready to be committed.
#
#   scripts/fuzz.sh [total seconds]

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$root_dir"
budget=${1:-} each=30
# Lines of "package FuzzName"; the e2e suites have none.
targets=$(git ls-files --cached --others --exclude-standard '*_test.go' | xargs grep -Hoe '^func Fuzz[A-Za-z0-9_]*' |
	sed -E 's|/[^/]*:func | |; s|^|./|' | sort -u)
[ -n "$targets" ] || {
	log "no fuzz targets"
	exit 0
}
if [ -n "$budget" ]; then
	# Starting a target takes some of its seconds.
	each=10 count=$(wc -l <<<"$targets") some=$((budget / 15 + 1))
	first=$(($(git rev-list --count HEAD) * some % count))
	targets=$(printf '%s\n%s\n' "$targets" "$targets" | sed -n "$((first + 1)),$((first + (some < count ? some : count)))p")
fi
log "$(wc -l <<<"$targets") targets, $each seconds each"
failed=0
while read -r package name; do
	if [ -n "$budget" ] && [ $SECONDS -gt $((3 * budget)) ]; then
		log "no time for $name and what follows it"
		break
	fi
	log "$package $name"
	out=$(go test -tags goolm -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" "$package" 2>&1) || {
		# The coordinator of Go 1.26 may report the end of its own time as a
		# failure (golang/go#75804); a real failure leaves its input.
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
