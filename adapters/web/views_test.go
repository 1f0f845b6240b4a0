package web

import "testing"

func TestCoded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"run `everthread backup`, <now>": "run <code>everthread backup</code>, &lt;now&gt;",
		"`a<b` and `c`":                  "<code>a&lt;b</code> and <code>c</code>",
		"one ` alone":                    "one ` alone",
		"`a` and ` alone":                "<code>a</code> and ` alone",
		"":                               "",
	} {
		if got := string(coded(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
