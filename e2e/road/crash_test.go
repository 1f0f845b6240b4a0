//go:build e2e

package road

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// fallen is what a crash at a step may lead to: how many parts arrive with a mark, and how many of
// those had already arrived.
type fallen struct {
	step            string
	marked, doubled int
}

// The path of a message, with a power cut at each step, the first and a later time it is reached. A
// repeat is possible only between the service's acknowledgement and its storing; a part that was
// about to be sent counts as one that may have arrived.
var falls = []fallen{
	{step: "received"}, {step: "received:3"}, {step: "stored"}, {step: "stored:3"}, {step: "claimed"}, {step: "claimed:3"},
	{step: "prompt"}, {step: "prompt:2"}, {step: "model"}, {step: "model:3"},
	{step: "committed", marked: 1}, {step: "committed:2", marked: 1}, {step: "sending", marked: 1},
	{step: "sending:3", marked: 1},
	{step: "sent", marked: 1, doubled: 1}, {step: "sent:2", marked: 1, doubled: 1},
	{step: "sent:3", marked: 1, doubled: 1},
	{step: "marked"}, {step: "marked:2", marked: 1}, // the next part counts as being sent
}

func TestPowerCut_everyStepLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, f := range falls {
			t.Run(f.step, func(t *testing.T) {
				t.Parallel()
				w := e2etest.NewTown(t, database(t))
				w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
				g := w.Start("EVERTHREAD_CRASH_AT=" + f.step)
				l := w.Ledger()
				said, g := w.TalkThrough(t, l, g)
				l.Quiet(30*time.Second, g.Log)
				got := w.Check(l, e2etest.Ada, said)
				if want := (e2etest.Repeats{Marked: f.marked, Doubled: f.doubled}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	})
}

// A message is never offered again after it was acknowledged to the service, so it must be
// stored by then.
func TestPowerCut_afterTheAcknowledgement(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		var said []string
		var g *e2etest.Gateway
		for n := range 5 {
			g = w.Start()
			said = append(said, fmt.Sprintf("message %d", n))
			w.Telegram.Say(e2etest.Ada, said[n])
			e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
			g.Kill()
		}
		g = w.Start()
		l := w.Ledger()
		l.Quiet(30*time.Second, g.Log)
		if got := w.Check(l, e2etest.Ada, said); got.Missing > 0 {
			t.Errorf("got %+v", got)
		}
	})
}
