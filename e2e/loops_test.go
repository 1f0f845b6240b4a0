//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// What is left open is in the next day's prompt until it is done.
func TestWhatIsLeftOpenIsRememberedUntilItIsDone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		if got := w.ask(`call loops_open {"text":"choose the paint for the hull"}`).Text; !strings.HasPrefix(got, "tool said: ") || strings.Contains(got, "Error") {
			t.Fatalf("got %q", got)
		}
		w.ask(`call loops_open {"text":"answer the letter of the bank"}`)
		w.ask(`call loops_open {"text":"Choose the paint for the hull."}`) // the same again
		l := w.ledger()
		if got := l.lines(`SELECT body FROM loops WHERE state = 'open' ORDER BY id`); len(got) != 2 {
			t.Errorf("open are %q", got)
		}
		if got := w.ask("/loops").Text; !strings.Contains(got, "choose the paint") || !strings.Contains(got, "letter of the bank") {
			t.Errorf("got %q", got)
		}
		w.silence(g)
		if got := w.prompt("hello"); !strings.Contains(got, "choose the paint") || !strings.Contains(got, "letter of the bank") {
			t.Errorf("the prompt of another day:\n%s", got)
		}
		id := l.lines(`SELECT id FROM loops WHERE body LIKE '%paint%'`)[0]
		if got := w.ask("/done " + id).Text; got != "Done: choose the paint for the hull" {
			t.Errorf("got %q", got)
		}
		if got := w.ask("/loops").Text; strings.Contains(got, "choose the paint") || !strings.Contains(got, "letter of the bank") {
			t.Errorf("got %q", got)
		}
		w.silence(g)
		if got := w.prompt("hello"); strings.Contains(got, "choose the paint") || !strings.Contains(got, "letter of the bank") {
			t.Errorf("the prompt after it was done:\n%s", got)
		}
		w.telegram.Say(bob, "/loops")
		if got := w.town.sent(bob, 1)[0].Text; got != "Nothing is open." {
			t.Errorf("a stranger is told %q", got)
		}
		w.telegram.Say(bob, fmt.Sprint("/done ", l.lines(`SELECT id FROM loops WHERE body LIKE '%bank%'`)[0]))
		w.town.sent(bob, 2)
		if n := l.count(`SELECT COUNT(*) FROM loops WHERE state = 'open'`); n != 1 {
			t.Errorf("%d are open", n)
		}
	})
}

// What is noted late, after an outage or an import, is as old as what was said.
func TestALoopIsAsOldAsWhatItRestsOn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		w.useModel(startModel(t, 0))
		w.start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		w.ask("I still have to answer the letter of the bank")
		w.set(w.now().AddDate(0, 0, 20))
		d := w.until("2026-10-24", func(d dayJSON) bool { return d.State == "final" })
		if !strings.Contains(d.Summary, "## Open loops\n- echo: I still have to answer the letter of the bank [#") {
			t.Fatalf("the summary is %q", d.Summary)
		}
		prompt := w.prompt("hello")
		if n := strings.Count(prompt, `"text":"echo: I still have to answer the letter of the bank"`); n != 1 || !strings.Contains(prompt, `"since":"Sat 24 Oct 2026"`) {
			t.Errorf("the prompt has it %d times:\n%s", n, prompt)
		}
		if got := w.ask("/loops").Text; !strings.Contains(got, "Oct") && !strings.Contains(got, "20 days") {
			t.Errorf("got %q", got)
		}
		w.set(w.now().AddDate(0, 0, 20))
		if got := w.prompt("hello again"); strings.Contains(got, `"is":"open loop"`) {
			t.Errorf("nobody mentioned it for 30 days:\n%s", got)
		}
	})
}
