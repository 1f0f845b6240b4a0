//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lookedTwice is longer than reminders are left alone: nothing may come in it,
// which has no event.
const lookedTwice = 2500 * time.Millisecond

// told are the reminders that arrived at Ada's.
func (w *week) told() []string {
	var out []string
	for _, m := range w.telegram.Sent(ada) {
		if strings.HasPrefix(m.Text, "⏰ ") {
			out = append(out, strings.TrimPrefix(m.Text, "⏰ "))
		}
	}
	return out
}

// wantTold checks which reminders arrived, in order.
func (w *week) wantTold(g *gateway, want ...string) {
	w.t.Helper()
	if got := w.told(); !slices.Equal(got, want) {
		w.t.Errorf("Ada was reminded of %q, want %q\n%s", got, want, g.log)
	}
}

// remindIn has Ada ask for a reminder.
func (w *week) remindIn(when, what string) {
	w.t.Helper()
	if got := w.ask("/remind " + when + " " + what).Text; !strings.Contains(got, "I will remind you") || !strings.Contains(got, what) {
		w.t.Fatalf("got %q", got)
	}
}

func TestAReminderComesAtItsTimeOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start()
		for n, want := range []string{`"status":"set"`, `"status":"exists"`} {
			got := w.ask(`call reminder_set {"text":"call Ana","when":"tomorrow at 9"}`).Text
			if !strings.Contains(got, want) || !strings.Contains(got, `"at":"2026-10-25T09:00:00Z"`) {
				t.Fatalf("time %d: got %q", n, got)
			}
		}
		w.remindIn("in 2 hours", "water the plants")
		if got := w.ask("/remind").Text; strings.Index(got, "water the plants") > strings.Index(got, "call Ana") || !strings.Contains(got, "call Ana") {
			t.Errorf("the soonest does not stand first: %q", got)
		}
		w.set(time.Date(2026, 10, 24, 14, 0, 5, 0, time.UTC))
		if got := w.receive(); got.Text != "⏰ water the plants" || got.Quiet {
			t.Errorf("got %+v", got)
		}
		w.set(time.Date(2026, 10, 25, 9, 0, 1, 0, time.UTC))
		if got := w.receive(); got.Text != "⏰ call Ana" {
			t.Errorf("got %+v", got)
		}
		l := w.ledger()
		l.until(`SELECT COUNT(*) FROM reminders WHERE state = 'done'`, 2, g)
		g.stop()
		w.set(time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC))
		g = w.start() // looks at once
		w.ask("hello")
		time.Sleep(lookedTwice) // nothing more may come, which has no event
		w.settle(l, g)
		w.wantTold(g, "water the plants", "call Ana")
	})
}

// A power cut after the reminder is stored and before it is sent; and one when it
// may have been sent, of which the person is told.
func TestAReminderSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		t.Run("stored", func(t *testing.T) {
			t.Parallel()
			w := newClock(t, database(t))
			w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
			g := w.start("EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0.001") // three at once, then one in 17 minutes
			w.remindIn("in 10 minutes", "take the bread out")
			w.ask("one")
			w.ask("two")
			w.set(w.now().Add(10*time.Minute + time.Second))
			l := w.ledger()
			l.until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder' AND state = 'pending'`, 1, g)
			g.kill()
			w.wantTold(g)
			g = w.start()
			w.receive()
			w.settle(l, g)
			w.wantTold(g, "take the bread out")
		})
		t.Run("being sent", func(t *testing.T) {
			t.Parallel()
			w := newClock(t, database(t))
			w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
			g := w.start("EVERTHREAD_CRASH_AT=sending:2")
			w.remindIn("in 10 minutes", "take the bread out")
			w.set(w.now().Add(10*time.Minute + time.Second))
			if !g.wait(20 * time.Second) {
				t.Fatalf("it did not crash\n%s", g.log)
			}
			g = w.start()
			w.receive()
			w.settle(w.ledger(), g)
			w.wantTold(g, "take the bread out"+repeatMark)
		})
	})
}

func TestAReminderThatWasMissedIsCaughtUpOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start()
		w.remindIn("in 2 hours", "ring the bank")
		w.remindIn("every day at 15:30", "stretch")
		g.stop()
		w.set(time.Date(2026, 10, 27, 17, 0, 0, 0, time.UTC)) // three days later
		g = w.start()
		w.receive()
		w.receive()
		w.settle(w.ledger(), g)
		time.Sleep(lookedTwice) // nothing more may come, which has no event
		got := w.told()
		slices.Sort(got)
		if len(got) != 2 || !strings.HasPrefix(got[0], "ring the bank") || !strings.Contains(got[0], "This was due on") || !strings.Contains(got[0], "14:00") ||
			!strings.HasPrefix(got[1], "stretch") || !strings.Contains(got[1], "15:30") {
			t.Errorf("Ada was reminded of %q", got)
		}
		w.set(time.Date(2026, 10, 28, 15, 30, 1, 0, time.UTC))
		if got := w.receive().Text; got != "⏰ stretch" {
			t.Errorf("got %q", got)
		}
	})
}

func TestTwoProcessesRemindOnce(t *testing.T) {
	t.Parallel()
	w := newClock(t, newSchema(t))
	running := []*gateway{w.start(), w.start()}
	var want []string
	for n := range 5 {
		want = append(want, fmt.Sprint("thing ", n))
		w.remindIn(fmt.Sprintf("in %d minutes", 30+n), want[n])
	}
	w.set(w.now().Add(40 * time.Minute))
	w.town.sent(ada, 10)
	time.Sleep(lookedTwice) // nothing more may come, which has no event
	got := w.told()
	for n := range got { // the first ones are late
		got[n], _, _ = strings.Cut(got[n], "\n")
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Ada was reminded of %q\n%s\n%s", got, running[0].log, running[1].log)
	}
}

// In the night to 25 October the clocks in Paris go back from 3 to 2.
func TestARecurringReminderKeepsToTheClockOnTheWall(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start()
		w.ask("/timezone Europe/Paris")
		w.remindIn("every day at 8", "stand up")
		w.remindIn("every day at 2:30", "feed the cat")
		for _, step := range []struct {
			at   string
			want string // nothing: what came before is all
		}{
			{"2026-10-25T00:30:05Z", "feed the cat"}, // 02:30 for the first time
			{"2026-10-25T06:30:00Z", ""},             // 02:30 again, and 07:30
			{"2026-10-25T07:00:05Z", "stand up"},
			{"2026-10-26T01:30:05Z", "feed the cat"},
			{"2026-10-26T07:00:05Z", "stand up"},
		} {
			at, err := time.Parse(time.RFC3339, step.at)
			must(t, err)
			before := len(w.told())
			w.set(at)
			if step.want == "" {
				time.Sleep(lookedTwice) // nothing more may come, which has no event
			} else if got := w.receive().Text; got != "⏰ "+step.want {
				t.Errorf("at %s: got %q", step.at, got)
			}
			if after := w.told(); step.want == "" && len(after) != before {
				t.Errorf("at %s: Ada was reminded of %q\n%s", step.at, after[before:], g.log)
			}
		}
	})
}
