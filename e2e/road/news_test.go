//go:build e2e

package road

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Changes during an epoch are reported in the prompt before the next message, and overrule
// what is above; the prompt only grows. Forgotten text disappears from there too.
func TestPrompt_tellsChangesOfTheEpoch(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.UseModel(e2etest.StartModel(t, 0))
		w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		w.Ask(`call loops_open {"text":"choose the paint for the hull"}`)
		w.Set(w.Now().Add(time.Hour))
		before := w.Prompt("hello")
		if !strings.Contains(before, `,"text":"choose the paint for the hull"}`) ||
			!strings.Contains(before, `{"is":"open loop","loop":`) || !strings.Contains(before, "Memory is empty so far.") ||
			strings.Contains(before, "[Update to the notes") {
			t.Fatalf("the prompt begins with\n%s", before)
		}
		l := w.Ledger()
		id := l.Lines(`SELECT id FROM loops WHERE body LIKE '%paint%'`)[0]
		w.Ask("/done " + id)
		w.Ask("/remember I am allergic to walnuts")
		w.Ask("/timezone Asia/Tokyo")
		after := w.Prompt("what is left to do?")
		for _, want := range []string{"[Update to the notes above; where they differ, this is right.",
			`{"is":"loop closed","loop":` + id + `,"text":"choose the paint for the hull"}` + "\n",
			`{"is":"themes of memory (active items)","themes":["general (1)"]}` + "\n",
			`{"is":"time zone, also of the marks from here on","text":"Asia/Tokyo"}` + "\n",
			`"what":"answer to /remember I am allergic to walnuts"`} {
			if strings.Count(after, want) != 1 {
				t.Errorf("%q is not in\n%s", want, after)
			}
		}
		if strings.Contains(after, "/timezone") {
			t.Errorf("the prompt shows what an account command answered:\n%s", after)
		}
		if again := w.Prompt("and then?"); !strings.HasPrefix(messagesOf(again), messagesOf(after)) ||
			!strings.HasPrefix(messagesOf(after), messagesOf(before)) {
			t.Errorf("the prompt did not only grow:\n%s", again)
		}
		w.Ask("/forget 2026-10-24 yes")
		if out := w.MustRun("forget", "--verify", "paint for the hull", "--user", "Ada"); !strings.HasPrefix(out,
			"Nothing of it is left") {
			t.Errorf("what is left: %s", out)
		}
	})
}

// messagesOf returns the messages of a turn's prompt.
func messagesOf(shown string) string {
	_, messages, _ := strings.Cut(shown, "\n--- 1 ")
	return messages
}
