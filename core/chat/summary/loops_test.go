package summary_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/store"
)

// leaves opens loop 57 a day before the first messages.
func (n *night) leaves(text string, due time.Time) {
	n.t.Helper()
	_, err := n.store.Note(n.t.Context(), store.Note{User: n.user.ID, Now: n.now, Effects: []core.Effect{
		effect.OpenLoop{Loop: core.Loop{ID: 57, Text: text, Due: due}, At: n.now.AddDate(0, 0, -1)}}})
	must(n.t, err)
}

// open returns the texts of the open loops.
func (n *night) open() string {
	n.t.Helper()
	list, err := n.store.Loops(n.t.Context(), n.user.ID, 10)
	must(n.t, err)
	var out []string
	for _, l := range list {
		out = append(out, l.Text)
	}
	return strings.Join(out, ", ")
}

const tilesSettled = "## Summary\nTiles. [#1]\n## Settled\n- (57) white it is [#1]"

func TestSettled_closesWithUndo(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.leaves("Choose tiles", time.Time{})
	n.model.Script(func(core.ModelRequest) llmtest.Reply { return llmtest.Say(tilesSettled) })
	n.exchange("white tiles", "b", "c", "d", "e")
	n.work()
	if got := n.open(); got != "" {
		t.Fatalf("open: %s", got)
	}
	first := n.model.Requests()[0].Messages[1].Content
	if !strings.Contains(first, `"open_loops":[{"number":57,"text":"Choose tiles"}]`) {
		t.Errorf("the request does not list the loop: %s", first)
	}
	n.now = n.now.Add(time.Minute)
	x, err := n.store.Undoable(t.Context(), n.user.ID, 57, n.now)
	must(t, err)
	_, err = n.store.Note(t.Context(), store.Note{User: n.user.ID, Now: n.now,
		Effects: []core.Effect{effect.Undo{X: x, At: n.now}}})
	must(t, err)
	n.now = n.now.Add(time.Minute)
	n.exchange("f", "g", "h", "i", "j")
	n.work()
	if got := n.open(); got != "Choose tiles" || strings.Contains(n.newest("2026-11-19").Markdown, "Settled") {
		t.Errorf("what the person opened again is closed by the same message: %q, %q", got, n.newest("2026-11-19").Markdown)
	}
}

// TestSettled_staysInLaterVersions checks that a later summary of the day still says what was settled.
func TestSettled_staysInLaterVersions(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.leaves("Choose tiles", time.Time{})
	n.model.Script(func(core.ModelRequest) llmtest.Reply { return llmtest.Say(tilesSettled) })
	n.exchange("white tiles", "b", "c", "d", "e")
	n.work()
	n.exchange("f", "g", "h", "i", "j")
	n.work()
	if got := n.newest("2026-11-19"); got.Version != 2 || !strings.Contains(got.Markdown, "- (57) white it is [#1]") {
		t.Errorf("got %+v", got)
	}
}

func TestSettled_notByForeignTextAlone(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.leaves("Choose tiles", time.Time{})
	n.model.Script(func(core.ModelRequest) llmtest.Reply { return llmtest.Say(tilesSettled) })
	n.forwarded = "Eve"
	n.exchange("white tiles")
	n.forwarded = ""
	n.exchange("b", "c", "d", "e")
	n.work()
	if got := n.newest("2026-11-19").Markdown; n.open() != "Choose tiles" || got != "## Summary\nTiles." {
		t.Errorf("open %q, stored %q", n.open(), got)
	}
}

// TestOverdue_isAskedOnce checks that a loop whose day is over is asked about on one post.
func TestOverdue_isAskedOnce(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.leaves("Meet Karim on Friday 20 November", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	n.model.Script(answer("## Summary\nx [#1]"))
	for range 4 {
		n.exchange("a", "b")
		n.now = n.now.Add(24 * time.Hour)
		n.tick()
	}
	var asked []int
	for i, text := range n.sent(core.DeliverPost) {
		if strings.Contains(text, "Still open: “Meet Karim on Friday 20 November”.") && strings.Contains(text, "/done 57") {
			asked = append(asked, i)
		}
	}
	if len(asked) != 1 || asked[0] != 1 || n.open() != "Meet Karim on Friday 20 November" {
		t.Errorf("asked on the posts %v of %q", asked, n.sent(core.DeliverPost))
	}
}

// TestSummary_refusalKeepsPrevious checks that a bad answer neither replaces a good summary nor covers messages.
func TestSummary_refusalKeepsPrevious(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.model.Script(answer("## Summary\nGood. [#1]"))
	n.exchange("a", "b", "c", "d", "e")
	n.work()
	n.model.Script(func(core.ModelRequest) llmtest.Reply { return llmtest.Say("I'm sorry, but I can't help with that.") })
	last := n.exchange("f", "g", "h", "i", "j")
	n.work()
	n.exchange("k") // a reply does not ask again before the retry is due
	n.work()
	if got := len(n.model.Requests()); got != 3 {
		t.Errorf("%d calls, want one summary, and one attempt with its repair", got)
	}
	got := n.newest("2026-11-19")
	ms, err := n.store.Messages(t.Context(), n.user.ID, []core.MessageID{last})
	must(t, err)
	if got.Version != 1 || got.Covers.Len() != 10 || ms[0].Covered {
		t.Errorf("got %+v, covered %v", got, ms[0].Covered)
	}
	n.until(20, 9)
	if posts := n.sent(core.DeliverPost); len(posts) != 1 || !strings.Contains(posts[0], "Good.") {
		t.Errorf("posted %q", posts)
	}
}
