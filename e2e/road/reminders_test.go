//go:build e2e

package road

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// lookedTwice exceeds the interval of checks for reminders: nothing may arrive within it,
// which has no event.
const lookedTwice = 2500 * time.Millisecond

func TestReminders_fireOnceAtTheirTime(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		for n, want := range []string{`"status":"set"`, `"status":"exists"`} {
			got := w.Ask(`call reminder_set {"text":"call Ana","when":"tomorrow at 9"}`).Text
			if !strings.Contains(got, want) || !strings.Contains(got, `"at":"2026-10-25T09:00:00Z"`) {
				t.Fatalf("time %d: got %q", n, got)
			}
		}
		refuseImpossibleTimes(t, w)
		w.RemindIn("in 2 hours", "water the plants")
		if got := w.Ask("/remind").Text; strings.Index(got, "water the plants") > strings.Index(got, "call Ana") ||
			!strings.Contains(got, "call Ana") {
			t.Errorf("the soonest does not stand first: %q", got)
		}
		w.Set(time.Date(2026, 10, 24, 14, 0, 5, 0, time.UTC))
		if got := w.Receive(); got.Text != "⏰ water the plants" || got.Quiet {
			t.Errorf("got %+v", got)
		}
		w.Set(time.Date(2026, 10, 25, 9, 0, 1, 0, time.UTC))
		if got := w.Receive(); got.Text != "⏰ call Ana" {
			t.Errorf("got %+v", got)
		}
		l := w.Ledger()
		l.Until(`SELECT COUNT(*) FROM plans WHERE kind = 'reminder' AND state = 'done'`, 2, g)
		g.Stop()
		w.Set(time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC))
		g = w.Start() // checks immediately
		w.Ask("hello")
		time.Sleep(lookedTwice) // nothing more may arrive, which has no event
		w.Settle(l, g)
		w.WantTold(g, "water the plants", "call Ana")
	})
}

// refuseImpossibleTimes checks that a time that cannot exist is named, beside a right example, whether a
// person or the model gives it, and that no reminder is set: not even at another time.
func refuseImpossibleTimes(t *testing.T, w *e2etest.Week) {
	t.Helper()
	l := w.Ledger()
	before := l.Count(`SELECT COUNT(*) FROM plans`)
	for when, want := range map[string]string{
		"every day at 25":    `"25" is not a time of day; write it like 9:00`,
		"every day at 25:00": `"25:00" is not a time of day; write it like 9:00`,
		"tomorrow at 12:75":  `"12:75" is not a time of day; write it like 9:00`,
		"every day at 24":    `"24" is not a time of day; write it like 9:00`,
		"on 31 February":     "here is no 31 February; write a date like 3 June",
	} {
		for _, said := range []string{"/remind " + when + " x", `call reminder_set {"text":"x","when":"` + when + `"}`} {
			if got := w.Ask(said).Text; !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
				t.Errorf("%s: got %q, want %q", said, got, want)
			}
		}
	}
	if n := l.Count(`SELECT COUNT(*) FROM plans`); n != before {
		t.Errorf("%d reminders were set", n-before)
	}
}

// The process dies after a reminder is stored and before it is sent, or when it may have been sent.
// In the latter case the user is told so.
func TestReminders_surviveAPowerCut(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		t.Run("stored", func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewClock(t, database(t))
			w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
			g := w.Start("EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0.001") // a burst of three, then one in 17 minutes
			w.RemindIn("in 10 minutes", "take the bread out")
			w.Ask("one")
			w.Ask("two")
			w.Set(w.Now().Add(10*time.Minute + time.Second))
			l := w.Ledger()
			l.Until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder' AND state = 'pending'`, 1, g)
			g.Kill()
			w.WantTold(g)
			g = w.Start()
			w.Receive()
			w.Settle(l, g)
			w.WantTold(g, "take the bread out")
		})
		t.Run("being sent", func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewClock(t, database(t))
			w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
			g := w.Start("EVERTHREAD_CRASH_AT=sending:2")
			w.RemindIn("in 10 minutes", "take the bread out")
			w.Set(w.Now().Add(10*time.Minute + time.Second))
			if !g.Wait(20 * time.Second) {
				t.Fatalf("it did not crash\n%s", g.Log)
			}
			g = w.Start()
			w.Receive()
			w.Settle(w.Ledger(), g)
			w.WantTold(g, "take the bread out"+e2etest.RepeatMark)
		})
	})
}

func TestReminders_missedIsCaughtUpOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		w.RemindIn("in 2 hours", "ring the bank")
		w.RemindIn("every day at 15:30", "stretch")
		g.Stop()
		w.Set(time.Date(2026, 10, 27, 17, 0, 0, 0, time.UTC)) // three days later
		g = w.Start()
		w.Receive()
		w.Receive()
		w.Settle(w.Ledger(), g)
		time.Sleep(lookedTwice) // nothing more may arrive, which has no event
		got := w.Told()
		slices.Sort(got)
		if len(got) != 2 || !strings.HasPrefix(got[0], "ring the bank") || !strings.Contains(got[0], "This was due on") ||
			!strings.Contains(got[0], "14:00") ||
			!strings.HasPrefix(got[1], "stretch") || !strings.Contains(got[1], "15:30") {
			t.Errorf("Ada was reminded of %q", got)
		}
		w.Set(time.Date(2026, 10, 28, 15, 30, 1, 0, time.UTC))
		if got := w.Receive().Text; got != "⏰ stretch" {
			t.Errorf("got %q", got)
		}
	})
}

func TestReminders_onceWithTwoProcesses(t *testing.T) {
	t.Parallel()
	w := e2etest.NewClock(t, e2etest.NewStore(t))
	running := []*e2etest.Gateway{w.Start(), w.Start()}
	var want []string
	for n := range 5 {
		want = append(want, fmt.Sprint("thing ", n))
		w.RemindIn(fmt.Sprintf("in %d minutes", 30+n), want[n])
	}
	w.Set(w.Now().Add(40 * time.Minute))
	w.Town.Sent(e2etest.Ada, 10)
	time.Sleep(lookedTwice) // nothing more may arrive, which has no event
	got := w.Told()
	for n := range got { // the first ones are late
		got[n], _, _ = strings.Cut(got[n], "\n")
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Ada was reminded of %q\n%s\n%s", got, running[0].Log, running[1].Log)
	}
}

// In the night to 25 October the clocks in Paris go back from 3 to 2.
func TestReminders_recurringKeepsToTheWallClock(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		w.Ask("/timezone Europe/Paris")
		w.RemindIn("every day at 8", "stand up")
		w.RemindIn("every day at 2:30", "feed the cat")
		for _, step := range []struct {
			at   string
			want string // empty: nothing more arrives
		}{
			{"2026-10-25T00:30:05Z", "feed the cat"}, // 02:30 for the first time
			{"2026-10-25T06:30:00Z", ""},             // 02:30 again, and 07:30
			{"2026-10-25T07:00:05Z", "stand up"},
			{"2026-10-26T01:30:05Z", "feed the cat"},
			{"2026-10-26T07:00:05Z", "stand up"},
		} {
			at, err := time.Parse(time.RFC3339, step.at)
			e2etest.Must(t, err)
			before := len(w.Told())
			w.Set(at)
			if step.want == "" {
				time.Sleep(lookedTwice) // nothing more may arrive, which has no event
			} else if got := w.Receive().Text; got != "⏰ "+step.want {
				t.Errorf("at %s: got %q", step.at, got)
			}
			if after := w.Told(); step.want == "" && len(after) != before {
				t.Errorf("at %s: Ada was reminded of %q\n%s", step.at, after[before:], g.Log)
			}
		}
	})
}
