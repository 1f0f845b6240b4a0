package loops

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/core/text"
)

// TestSmallWords checks that each word of the list is found, at the end of a line too, and is
// stored folded.
func TestSmallWords(t *testing.T) {
	t.Parallel()
	words := strings.Fields(smallWords)
	if len(words) < 150 {
		t.Errorf("got %d words, want at least 150", len(words))
	}
	for _, w := range words {
		if !small(w) || text.Fold(w) != w {
			t.Errorf("%q is not found, or not folded", w)
		}
	}
	if small("train") || small("") {
		t.Error("a word that is not in the list is found")
	}
}
