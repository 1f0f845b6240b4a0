package loops

import (
	"strings"
	"testing"
)

// TestWordLists: each word of a list is found, at the end of a line too, and is
// as texts are folded.
func TestWordLists(t *testing.T) {
	t.Parallel()
	for list, has := range map[string]func(string) bool{smallWords: small, dateWords: dating} {
		words := strings.Fields(list)
		if len(words) < 40 {
			t.Errorf("%d words", len(words))
		}
		for _, w := range words {
			if !has(w) || fold(w) != w {
				t.Errorf("%q", w)
			}
		}
	}
	if small("train") || dating("train") || small("") {
		t.Error("the lists have too much")
	}
}
