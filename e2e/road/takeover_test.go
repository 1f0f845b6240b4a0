//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestAnotherProcessTakesOverWhatAKilledOnePolled(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewSchema(t))
	w.UseModel(e2etest.StartModel(t, 5*time.Millisecond))
	w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=10s")
	first := w.Start()
	w.Telegram.Say(e2etest.Ada, "one")
	w.Sent(e2etest.Ada, 1)
	first.Logged("telegram is up")
	second := w.Start()
	w.Telegram.Say(e2etest.Ada, "two")
	w.Telegram.Say(e2etest.Ada, "say 900 words") // a turn runs when the process dies
	e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
	first.Kill()
	died := time.Now()
	w.Telegram.Say(e2etest.Ada, "three")
	e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
	if d := time.Since(died); d > e2etest.Takeover {
		t.Errorf("the account was taken over after %s", d)
	}
	second.Logged("telegram is up")
	l := w.Ledger()
	w.Settle(l, second)
	w.Check(l, e2etest.Ada, []string{"one", "two", "say 900 words", "three"})
	if strings.Contains(second.Log.String(), "another program polls") {
		t.Errorf("two processes polled at once\n%s", second.Log)
	}
}

func TestAProcessThatIsStoppedHandsTheAccountOverAtOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewSchema(t))
	running := []*e2etest.Gateway{w.Start(), w.Start()}
	var said []string
	for n := range 4 { // each is replaced twice, as in a rolling upgrade
		said = append(said, fmt.Sprint("message ", n))
		w.Telegram.Say(e2etest.Ada, said[n])
		running[n%2].Stop()
		running[n%2] = w.Start()
	}
	l := w.Ledger()
	w.Settle(l, running[0])
	if got := w.Check(l, e2etest.Ada, said); got != (e2etest.Repeats{}) {
		t.Errorf("got %+v", got)
	}
}
