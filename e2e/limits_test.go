//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestABurstIsAnsweredOnce(t *testing.T) {
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start("EVERTHREAD_TURN_DEBOUNCE=700ms") // the default
		said := []string{"so", "I was thinking", "about the boat", "you know", "the red one"}
		for _, text := range said {
			w.telegram.Say(ada, text)
			time.Sleep(50 * time.Millisecond) // as fast as a person can
		}
		w.sent(ada, 1)
		l := w.ledger()
		w.settle(l, g)
		w.check(l, ada, said)
		if got := l.inputs(); !slices.Equal(got, []int{5}) {
			t.Errorf("turns answer %v messages", got)
		}
	})
}

// inputs are how many messages each turn answered.
func (l *ledger) inputs() []int {
	l.t.Helper()
	var out []int
	for _, line := range l.lines(`SELECT inputs FROM turns ORDER BY id`) {
		var ids []int
		must(l.t, json.Unmarshal([]byte(line), &ids))
		out = append(out, len(ids))
	}
	return out
}

func TestRepliesKeepToTheRatesAndTheirOrder(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start("EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=1", "EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_BOT=30") // the defaults
		begin := time.Now()
		said := []string{"one", "two", "say 1200 words", "four", "five", "six"}
		l := w.ledger()
		for n, text := range said {
			w.telegram.Say(ada, text)
			for len(l.inputs()) <= n { // each gets a turn of its own
				time.Sleep(10 * time.Millisecond)
			}
		}
		w.telegram.Say(7, "somebody else") // who does not wait for Ada's
		w.sent(7, 1)
		other := len(w.telegram.Sent(ada))
		w.settle(l, g)
		if got := w.check(l, ada, said); got != (repeats{}) {
			t.Errorf("got %+v", got)
		}
		n := len(w.telegram.Sent(ada))
		if d := time.Since(begin); n < 8 || d < time.Duration(n-4)*time.Second {
			t.Errorf("%d messages went to one chat within %s", n, d)
		}
		if other == n {
			t.Error("the other person had to wait for all of Ada's")
		}
	})
}

// newClock is a town whose clock the test moves; it is noon.
func newClock(t *testing.T, database string) *week {
	t.Helper()
	w := &week{town: newTown(t, database), zone: time.UTC, next: 1000, clock: filepath.Join(t.TempDir(), "clock")}
	w.env = append(w.env, "EVERTHREAD_TEST_CLOCK="+w.clock)
	w.set(time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC))
	return w
}

// write has Ada write without waiting for an answer.
func (w *week) write(text string) {
	w.next++
	m := written(ada, w.next, text)
	m["date"] = w.now().Unix()
	w.telegram.Offer(map[string]any{"message": m})
}

func TestWhoUsedUpTheBudgetIsToldOnceAndAnsweredTheNextDay(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start("EVERTHREAD_LIMITS_TOKENS_PER_DAY=7200") // one reservation, and no second after some use
		if got := w.ask("one").Text; got != "echo: one" {
			t.Fatalf("got %q", got)
		}
		l := w.ledger()
		l.quiet(20*time.Second, g.log) // the reservation is settled
		if got := w.ask("two").Text; !strings.Contains(got, "budget") || !strings.Contains(got, "00:00") {
			t.Fatalf("got %q", got)
		}
		w.write("three")
		must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
		time.Sleep(2500 * time.Millisecond) // nothing may come, which has no event
		if got := texts(w.telegram.Sent(ada)); len(got) != 2 {
			t.Errorf("got %q", got)
		}
		w.set(time.Date(2026, 10, 25, 0, 0, 1, 0, time.UTC))
		if got := w.receive().Text; got != "echo: three" {
			t.Errorf("got %q\n%s", got, g.log)
		}
		w.settle(l, g)
		w.check(l, ada, []string{"one", "two", "three"})
		if got := l.inputs(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("turns answer %v messages", got)
		}
	})
}

func TestTurnsPerMinutePutOffWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start("EVERTHREAD_LIMITS_TURNS_PER_MINUTE=3")
		var said []string
		for n := range 3 {
			said = append(said, fmt.Sprint("message ", n))
			w.ask(said[n])
		}
		w.write("too")
		w.write("much")
		must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
		time.Sleep(2500 * time.Millisecond) // nothing may come, which has no event
		if got := texts(w.telegram.Sent(ada)); len(got) != 3 {
			t.Errorf("got %q", got)
		}
		w.set(w.now().Add(time.Minute))
		if got := w.receive().Text; got != "echo: much" {
			t.Errorf("got %q", got)
		}
		l := w.ledger()
		w.settle(l, g)
		w.check(l, ada, append(said, "too", "much"))
		if got := l.inputs(); !slices.Equal(got, []int{1, 1, 1, 2}) {
			t.Errorf("turns answer %v messages", got)
		}
	})
}
