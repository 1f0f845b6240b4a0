//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// takeover is how long an account may be without a poller (SPEC 18).
const takeover = 15 * time.Second

func TestAnotherProcessTakesOverWhatAKilledOnePolled(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	w.useModel(startModel(t, 5*time.Millisecond))
	w.env = append(w.env, "EVERTHREAD_TURN_LEASE=10s")
	first := w.start()
	w.telegram.Say(ada, "one")
	w.sent(ada, 1)
	first.logged("telegram is up")
	second := w.start()
	w.telegram.Say(ada, "two")
	w.telegram.Say(ada, "say 900 words") // a turn runs when the process dies
	must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
	first.kill()
	died := time.Now()
	w.telegram.Say(ada, "three")
	must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
	if d := time.Since(died); d > takeover {
		t.Errorf("the account was taken over after %s", d)
	}
	second.logged("telegram is up")
	l := w.ledger()
	w.settle(l, second)
	w.check(l, ada, []string{"one", "two", "say 900 words", "three"})
	if strings.Contains(second.log.String(), "another program polls") {
		t.Errorf("two processes polled at once\n%s", second.log)
	}
}

func TestAProcessThatIsStoppedHandsTheAccountOverAtOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	running := []*gateway{w.start(), w.start()}
	var said []string
	for n := range 4 { // each is replaced twice, as in a rolling upgrade
		said = append(said, fmt.Sprint("message ", n))
		w.telegram.Say(ada, said[n])
		running[n%2].stop()
		running[n%2] = w.start()
	}
	l := w.ledger()
	w.settle(l, running[0])
	if got := w.check(l, ada, said); got != (repeats{}) {
		t.Errorf("got %+v", got)
	}
}
