package summary_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
)

// TestSummary_noRequestPassesTheWindow checks that no request exceeds the window, whatever the
// length of messages and of the model's answers, and that every message is read.
func TestSummary_noRequestPassesTheWindow(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.sum.Settings.Window, n.sum.Settings.MaxOutput = 3000, 300
	bullets := strings.Repeat("- "+strings.Repeat("a fact of the day ", 8)+"\n", 7)
	n.model.Script(func(core.ModelRequest) llmtest.Reply { return llmtest.Say("## Summary\nx [#1]\n## Goals\n" + bullets) })
	for i := range 6 {
		n.exchange(fmt.Sprintf("note %d", i), strings.Repeat("\t\"quoted\" and\nindented \\ ", 300),
			strings.Repeat("a word or two ", 3000*(i%2)+20))
	}
	n.work()
	largest := 0
	for _, r := range n.model.Requests() {
		size := r.MaxTokens
		for _, m := range r.Messages {
			size += n.sum.Tokens.Count(m.Content)
		}
		largest = max(largest, size)
	}
	if largest > 3000 || largest < 2000 {
		t.Errorf("the largest of %d requests has %d tokens, want 2,000 to 3,000", len(n.model.Requests()), largest)
	}
	if got := n.newest(first); got.Covers.Len() != 36 {
		t.Errorf("%d messages are covered, want 36", got.Covers.Len())
	}
}
