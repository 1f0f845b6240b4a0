package loops

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/core/text"
)

// TestSmallWords: each word of the list is found, at the end of a line too, and is
// as texts are folded.
func TestSmallWords(t *testing.T) {
	t.Parallel()
	words := strings.Fields(smallWords)
	if len(words) < 150 {
		t.Errorf("%d words", len(words))
	}
	for _, w := range words {
		if !small(w) || text.Fold(w) != w {
			t.Errorf("%q", w)
		}
	}
	if small("train") || small("") {
		t.Error("the list has too much")
	}
}
