package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/prompt"
)

// An epoch that grows asks for compression once for each part that it has grown by,
// not with every message.
func TestCompressionIsAskedForNowAndThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.strategy = prompt.Long
	w.budgets = prompt.Budgets{LongBudget: 20_000, LongRaw: 4000}
	asked, began := 0, 0
	for range 110 {
		w.now = w.now.Add(time.Minute)
		p := w.exchange(strings.Repeat("word ", 40), strings.Repeat("answer ", 60))
		if p.Epoch != nil {
			began++
		}
		if p.Compress {
			asked++
		}
	}
	if began != 1 || asked < 3 || asked > 9 {
		t.Errorf("%d epochs, compression was asked for %d times in 110 turns", began, asked)
	}
}
