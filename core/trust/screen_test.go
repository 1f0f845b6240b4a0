package trust

import (
	"bytes"
	"testing"
)

// TestScreen_wholeCharacters writes a text byte by byte.
func TestScreen_wholeCharacters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &Screen{W: &out}
	for _, b := range []byte("日本 \u009b2J👩 é\x1b[0m\n") {
		if n, err := s.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := out.String(); got != "日本 2J👩 é[0m\n" {
		t.Errorf("got %q", got)
	}
}
