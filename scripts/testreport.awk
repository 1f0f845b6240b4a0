# Reads the events of `go test -json` and prints go's own line for each package, and all
# output of failures. Skipped tests go to the file named by the variable skips, one per line
# with the reason.

# text returns the string value of a field of the event, unescaped.
function text(name,    rest, value) {
	if (!match($0, "\"" name "\":\"")) return ""
	rest = substr($0, RSTART + RLENGTH)
	match(rest, /^([^"\\]|\\.)*/)
	value = substr(rest, 1, RLENGTH)
	gsub(/\\\\/, "\001", value)
	gsub(/\\n/, "\n", value)
	gsub(/\\t/, "\t", value)
	gsub(/\\r/, "", value)
	gsub(/\\"/, "\"", value)
	gsub(/\\u003c/, "<", value)
	gsub(/\\u003e/, ">", value)
	gsub(/\\u0026/, "\\&", value)
	gsub(/\\u001b/, "", value)
	gsub("\001", "\\", value)
	return value
}

# lines of the test itself, except those that only report that it runs
function said(output,    line, n, i, kept) {
	n = split(output, line, "\n")
	for (i = 1; i <= n; i++)
		if (line[i] != "" && line[i] !~ /^ *=== /) kept = kept line[i] "\n"
	return kept
}

function reason(output,    line, n, i, kept) {
	n = split(said(output), line, "\n")
	for (i = 1; i <= n; i++)
		if (line[i] != "" && line[i] !~ /^ *--- /) {
			sub(/^ +/, "", line[i])
			kept = kept (kept == "" ? "" : " ") line[i]
		}
	return kept
}

!/^\{/ { print; fflush(); next }

{
	action = text("Action"); package = text("Package"); test = text("Test")
	id = package SUBSEP test
}

action == "build-output" { printf "%s", text("Output"); fflush(); next }
action == "run" { running[id] = 1 }
action == "output" && test != "" { output[id] = output[id] text("Output") }
action == "output" && test == "" {
	line = text("Output")
	if (line !~ /^(PASS|FAIL|\?.*\[no test files\])\n$/) { printf "%s", line; fflush() }
}
action == "skip" && test != "" { print package "." test ": " reason(output[id]) > skips }
action == "fail" && test != "" { printf "%s", said(output[id]); fflush() }
action == "fail" && test == "" {
	# Tests that had not finished when the process ended.
	for (other in running) {
		split(other, part, SUBSEP)
		if (part[1] == package) printf "%s", said(output[other])
	}
}
action ~ /^(pass|fail|skip)$/ && test != "" { passed += action == "pass"; delete output[id]; delete running[id] }
END { printf "%d tests passed\n", passed }
