package markup

import (
	"testing"

	"github.com/everthread/everthread/core"
)

// TestParse_linkWithoutWords: a link that has no words shows its address.
func TestParse_linkWithoutWords(t *testing.T) {
	t.Parallel()
	const address = "https://a.example"
	for md, want := range map[string]string{
		"x [](" + address + ")":       "x " + address,
		"x [ ](" + address + ")":      "x  " + address,
		"x [&#9;](" + address + ") y": "x \t" + address + " y",
		"x ![ ](" + address + ")":     "x  " + address,
	} {
		got := Parse(md)
		if got.Text != want {
			t.Errorf("%q became %q, want %q", md, got.Text, want)
		}
		if len(got.Spans) != 1 || got.Spans[0].Kind != core.SpanLink || got.Spans[0].Value != address {
			t.Errorf("%q has the spans %+v", md, got.Spans)
		}
	}
	if got := Parse("x [ ](/local)").Text; got != "x  /local" {
		t.Errorf("a local one became %q", got)
	}
}
