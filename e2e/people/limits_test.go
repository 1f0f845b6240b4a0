//go:build e2e

package people

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestLimits_burstIsAnsweredOnce(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start("EVERTHREAD_TURN_DEBOUNCE=700ms") // the default
		said := []string{"so", "I was thinking", "about the boat", "you know", "the red one"}
		for _, text := range said {
			w.Telegram.Say(e2etest.Ada, text)
			time.Sleep(50 * time.Millisecond) // as fast as a person can
		}
		w.Sent(e2etest.Ada, 1)
		l := w.Ledger()
		w.Settle(l, g)
		w.Check(l, e2etest.Ada, said)
		if got := l.Inputs(); !slices.Equal(got, []int{5}) {
			t.Errorf("got turns with %v messages", got)
		}
	})
}

func TestLimits_repliesKeepRatesAndOrder(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start("EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=1",
			"EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_BOT=30", // the defaults
			"EVERTHREAD_TURN_JOIN=0s")
		begin := time.Now()
		said := []string{"one", "two", "say 1200 words", "four", "five", "six"}
		l := w.Ledger()
		for n, text := range said {
			w.Telegram.Say(e2etest.Ada, text)
			for len(l.Inputs()) <= n { // each gets a turn of its own
				time.Sleep(10 * time.Millisecond)
			}
		}
		w.Telegram.Say(7, "somebody else") // another user, who does not wait for Ada's answers
		w.Sent(7, 1)
		other := len(w.Telegram.Sent(e2etest.Ada))
		w.Settle(l, g)
		if got := w.Check(l, e2etest.Ada, said); got != (e2etest.Repeats{}) {
			t.Errorf("got %+v", got)
		}
		n := len(w.Telegram.Sent(e2etest.Ada))
		if d := time.Since(begin); n < 8 || d < time.Duration(n-4)*time.Second {
			t.Errorf("%d messages were sent to one chat within %s", n, d)
		}
		if other == n {
			t.Error("the other person had to wait for all of Ada's")
		}
	})
}

func TestBudget_usedUpIsToldOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_LIMITS_TOKENS_PER_DAY=7200") // one reservation, and no second after some use
		if got := w.Ask("one").Text; got != "echo: one" {
			t.Fatalf("got %q", got)
		}
		l := w.Ledger()
		l.Quiet(20*time.Second, g.Log) // the reservation is settled
		if got := w.Ask("two").Text; !strings.Contains(got, "budget") || !strings.Contains(got, "00:00") {
			t.Fatalf("got %q", got)
		}
		w.Write("three")
		e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
		time.Sleep(2500 * time.Millisecond) // nothing may arrive, which has no event
		if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada)); len(got) != 2 {
			t.Errorf("got %q", got)
		}
		w.Set(time.Date(2026, 10, 25, 0, 0, 1, 0, time.UTC))
		if got := w.Receive().Text; got != "echo: three" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
		w.Settle(l, g)
		w.Check(l, e2etest.Ada, []string{"one", "two", "three"})
		if got := l.Inputs(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got turns with %v messages", got)
		}
	})
}

func TestLimits_turnsPerMinute(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_LIMITS_TURNS_PER_MINUTE=3")
		var said []string
		for n := range 3 {
			said = append(said, fmt.Sprint("message ", n))
			w.Ask(said[n])
		}
		w.Write("too")
		w.Write("much")
		e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
		time.Sleep(2500 * time.Millisecond) // nothing may arrive, which has no event
		if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada)); len(got) != 3 {
			t.Errorf("got %q", got)
		}
		w.Set(w.Now().Add(time.Minute))
		if got := w.Receive().Text; got != "echo: much" {
			t.Errorf("got %q", got)
		}
		l := w.Ledger()
		w.Settle(l, g)
		w.Check(l, e2etest.Ada, append(said, "too", "much"))
		if got := l.Inputs(); !slices.Equal(got, []int{1, 1, 1, 2}) {
			t.Errorf("got turns with %v messages", got)
		}
	})
}
