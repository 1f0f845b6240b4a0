//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// What changes while a prompt goes on is told in it before the message that follows,
// and overrules what stands above; the prompt only grows. What is forgotten is gone
// from there too.
func TestWhatChangedIsToldInTheSamePrompt(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		w.useModel(startModel(t, 0))
		w.start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		w.ask(`call loops_open {"text":"choose the paint for the hull"}`)
		w.set(w.now().Add(time.Hour))
		before := w.prompt("hello")
		if !strings.Contains(before, `,"text":"choose the paint for the hull"}`) || !strings.Contains(before, `{"is":"open loop","loop":`) || !strings.Contains(before, "Memory is empty so far.") || strings.Contains(before, "[News since") {
			t.Fatalf("the prompt begins with\n%s", before)
		}
		l := w.ledger()
		id := l.lines(`SELECT id FROM loops WHERE body LIKE '%paint%'`)[0]
		w.ask("/done " + id)
		w.ask("/remember I am allergic to walnuts")
		w.ask("/timezone Asia/Tokyo")
		after := w.prompt("what is left to do?")
		for _, want := range []string{"[News since the notes above were written", "- Loop " + id + " is closed: choose the paint for the hull\n", "- Active items in memory now: general 1\n", "- The user's time zone is Asia/Tokyo now"} {
			if strings.Count(after, want) != 1 {
				t.Errorf("%q is not in\n%s", want, after)
			}
		}
		if strings.Contains(after, "walnuts") {
			t.Errorf("the prompt has what memory says:\n%s", after)
		}
		if again := w.prompt("and then?"); !strings.HasPrefix(messagesOf(again), messagesOf(after)) || !strings.HasPrefix(messagesOf(after), messagesOf(before)) {
			t.Errorf("the prompt did not only grow:\n%s", again)
		}
		w.ask("/forget 2026-10-24 yes")
		if out := w.mustRun("forget", "--verify", "paint for the hull", "--user", "Ada"); !strings.HasPrefix(out, "Nothing of it is left") {
			t.Errorf("what is left: %s", out)
		}
	})
}

// messagesOf is what a turn's prompt has, without what is said of it.
func messagesOf(shown string) string {
	_, messages, _ := strings.Cut(shown, "\n--- 1 ")
	return messages
}
