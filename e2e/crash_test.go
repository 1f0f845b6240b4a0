//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// fallen is what a crash may leave behind at a person's: parts that arrived with
// a mark, and those of them that had arrived before.
type fallen struct {
	step            string
	marked, doubled int
}

// The road, with a power cut at each step, at its first and at a later time.
// Between the service's yes and ours to disk lies the only window for a repeat;
// a part that was about to be sent counts as one that may have arrived.
var falls = []fallen{
	{step: "received"}, {step: "received:3"}, {step: "stored"}, {step: "stored:3"}, {step: "claimed"}, {step: "claimed:3"},
	{step: "prompt"}, {step: "prompt:2"}, {step: "model"}, {step: "model:3"},
	{step: "committed", marked: 1}, {step: "committed:2", marked: 1}, {step: "sending", marked: 1}, {step: "sending:3", marked: 1},
	{step: "sent", marked: 1, doubled: 1}, {step: "sent:2", marked: 1, doubled: 1}, {step: "sent:3", marked: 1, doubled: 1},
	{step: "marked"}, {step: "marked:2", marked: 1}, // the next part counts as under way already
}

func TestAPowerCutAtEveryStepLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, f := range falls {
			t.Run(f.step, func(t *testing.T) {
				t.Parallel()
				w := newTown(t, database(t))
				w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
				g := w.start("EVERTHREAD_CRASH_AT=" + f.step)
				l := w.ledger()
				said, g := w.talkThrough(t, l, g)
				l.quiet(30*time.Second, g.log)
				got := w.check(l, ada, said)
				if want := (repeats{marked: f.marked, doubled: f.doubled}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	})
}

// talkThrough says four things, each when all before it is done, of which the
// second has a reply of several parts. It starts the gateway again when it
// crashed, which it must once.
func (w *town) talkThrough(t *testing.T, l *ledger, g *gateway) ([]string, *gateway) {
	t.Helper()
	said := []string{"one", "say 1200 words", "three", "four"}
	crashed := false
	for n, text := range said {
		w.telegram.Say(ada, text)
		for deadline := time.Now().Add(40 * time.Second); len(l.transcript(fmt.Sprint(ada))) <= n || l.left() > 0; {
			switch gone := g.wait(10 * time.Millisecond); {
			case time.Now().After(deadline):
				l.quiet(0, g.log)
			case gone && crashed:
				t.Fatalf("it ended again\n%s", g.log)
			case gone:
				if code := g.cmd.ProcessState.ExitCode(); code != 137 {
					t.Fatalf("exit code %d\n%s", code, g.log)
				}
				crashed = true
				g = w.start()
			}
		}
	}
	if !crashed {
		t.Fatalf("it did not crash\n%s", g.log)
	}
	return said, g
}

// After the service was told that a message is taken, it is never offered again:
// it has to be in the store by then.
func TestAPowerCutAfterTheAcknowledgementLosesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
		var said []string
		var g *gateway
		for n := range 5 {
			g = w.start()
			said = append(said, fmt.Sprintf("message %d", n))
			w.telegram.Say(ada, said[n])
			must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
			g.kill()
		}
		g = w.start()
		l := w.ledger()
		l.quiet(30*time.Second, g.log)
		if got := w.check(l, ada, said); got.missing > 0 {
			t.Errorf("got %+v", got)
		}
	})
}
