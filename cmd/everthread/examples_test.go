package main

import (
	"io"
	"strings"
	"testing"
)

// TestExamples_areCommands: the examples of --help work as they are.
func TestExamples_areCommands(t *testing.T) {
	t.Parallel()
	_, parser := newParser(&console{out: io.Discard, err: io.Discard})
	if n := len(examples()); n < 10 {
		t.Errorf("only %d commands have examples", n)
	}
	for path, lines := range examples() {
		n := parser.Model.Node
		for name := range strings.FieldsSeq(path) {
			n = child(n, name)
		}
		if n == nil || !strings.Contains(n.Detail, lines[0]) {
			t.Errorf("%s has no examples", path)
		}
		for _, line := range lines {
			line, _, _ = strings.Cut(line, " >")
			line = strings.NewReplacer("the plumber\"", "plumber\"", "\"19 nov\"", "19-nov", "\"", "").Replace(line)
			_, parser := newParser(&console{out: io.Discard, err: io.Discard})
			parsed, err := parser.Parse(strings.Fields(line)[1:])
			if err != nil || !strings.HasPrefix(parsed.Command(), path) {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}
