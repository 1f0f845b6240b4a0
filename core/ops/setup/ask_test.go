package setup_test

import (
	"testing"

	"github.com/everthread/everthread/core/ops/setup"
)

// TestWrap_betweenWords breaks lines between words only, by the width on the screen.
func TestWrap_betweenWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one two three", 8, "one two \nthree"}, {"one two three", 0, "one two three"},
		{"one two three", 80, "one two three"},
		{"https://example.org/a/long/address ok", 10, "https://example.org/a/long/address \nok"},
		{"ab\ncd ef gh", 5, "ab\ncd ef \ngh"}, {"你好 世界", 5, "你好 \n世界"}, {"", 5, ""},
	} {
		if got := setup.Wrap(c.text, c.columns); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
