//go:build e2e

package data

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// An open loop is in the next day's prompt until it is closed.
func TestLoops_openUntilDone(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		w.Ask("good morning") // with which the summary of the day begins
		if got := w.Ask(`call loops_open {"text":"choose the paint for the hull"}`).Text; !strings.HasPrefix(got,
			"tool said: ") || strings.Contains(got, "Error") {
			t.Fatalf("got %q", got)
		}
		w.Ask(`call loops_open {"text":"answer the letter of the bank"}`)
		w.Ask(`call loops_open {"text":"Choose the paint for the hull."}`) // the same again
		l := w.Ledger()
		if got := l.Lines(`SELECT body FROM loops WHERE state = 'open' ORDER BY id`); len(got) != 2 {
			t.Errorf("open are %q", got)
		}
		if got := w.Ask("/loops").Text; !strings.Contains(got, "choose the paint") ||
			!strings.Contains(got, "letter of the bank") {
			t.Errorf("got %q", got)
		}
		w.Silence(g)
		if got := w.Prompt("hello"); !strings.Contains(got, "choose the paint") ||
			!strings.Contains(got, "letter of the bank") {
			t.Errorf("the prompt of another day:\n%s", got)
		}
		id := l.Lines(`SELECT id FROM loops WHERE body LIKE '%paint%'`)[0]
		if got := w.Ask("/done " + id).Text; got != "Done: choose the paint for the hull" {
			t.Errorf("got %q", got)
		}
		if got := w.Ask("/loops").Text; strings.Contains(got, "choose the paint") ||
			!strings.Contains(got, "letter of the bank") {
			t.Errorf("got %q", got)
		}
		w.Silence(g)
		if got := w.Prompt("hello"); strings.Contains(got, "choose the paint") ||
			!strings.Contains(got, "letter of the bank") {
			t.Errorf("the prompt after it was done:\n%s", got)
		}
		w.Telegram.Say(e2etest.Bob, "/loops")
		if got := w.Town.Sent(e2etest.Bob, 1)[0].Text; got != "Nothing is open." {
			t.Errorf("another user gets %q", got)
		}
		w.Telegram.Say(e2etest.Bob, fmt.Sprint("/done ", l.Lines(`SELECT id FROM loops WHERE body LIKE '%bank%'`)[0]))
		w.Town.Sent(e2etest.Bob, 2)
		if n := l.Count(`SELECT COUNT(*) FROM loops WHERE state = 'open'`); n != 1 {
			t.Errorf("%d are open", n)
		}
	})
}

// A loop that is stored late, after an outage or an import, is as old as the messages it is based
// on.
func TestLoops_ageIsThatOfTheMessages(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.UseModel(e2etest.StartModel(t, 0))
		w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		w.Ask("I still have to answer the letter of the bank")
		w.Set(w.Now().AddDate(0, 0, 20))
		d := w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.State == "final" })
		if !strings.Contains(d.Summary, "## Open loops\n- echo: I still have to answer the letter of the bank [#") {
			t.Fatalf("the summary is %q", d.Summary)
		}
		prompt := w.Prompt("hello")
		if n := strings.Count(prompt, `"text":"echo: I still have to answer the letter of the bank"`); n != 1 ||
			!strings.Contains(prompt, `"since":"Sat 24 Oct 2026"`) {
			t.Errorf("the prompt has it %d times:\n%s", n, prompt)
		}
		if got := w.Ask("/loops").Text; !strings.Contains(got, "Oct") && !strings.Contains(got, "20 days") {
			t.Errorf("got %q", got)
		}
		w.Set(w.Now().AddDate(0, 0, 20))
		if got := w.Prompt("hello again"); strings.Contains(got, `"is":"open loop"`) {
			t.Errorf("a loop that was not mentioned for 30 days is in the prompt:\n%s", got)
		}
	})
}
