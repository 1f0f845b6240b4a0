//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestTakeover_afterAKill(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	w.UseModel(e2etest.StartModel(t, 5*time.Millisecond))
	first := w.Start()
	w.Telegram.Say(e2etest.Ada, "one")
	w.Sent(e2etest.Ada, 1)
	first.Logged("telegram started")
	second := w.Start()
	w.Telegram.Say(e2etest.Ada, "two")
	w.Telegram.Say(e2etest.Ada, "say 900 words") // a turn runs when the process dies
	e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
	first.Kill()
	died := time.Now()
	w.Telegram.Say(e2etest.Ada, "three")
	e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
	if d := time.Since(died); d > e2etest.Takeover {
		t.Errorf("the other process has the account after %s", d)
	}
	second.Logged("telegram started")
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'running'`, 0, second)
	if d := time.Since(died); d > e2etest.Takeover+e2etest.NineHundredWords {
		t.Errorf("the running turn was taken over after %s", d-e2etest.NineHundredWords)
	}
	w.Settle(l, second)
	w.Check(l, e2etest.Ada, []string{"one", "two", "say 900 words", "three"})
	if strings.Contains(second.Log.String(), "another program is polling") {
		t.Errorf("two processes polled at once\n%s", second.Log)
	}
}

func TestDatabase_clockWinsOverTheProcess(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	right := w.Start()
	w.Telegram.Say(e2etest.Ada, "one")
	w.Sent(e2etest.Ada, 1)
	wrong := w.Start("EVERTHREAD_TEST_WRONG=1h")
	wrong.Logged("this machine's clock is not that of the database")
	right.Stop() // the other must continue with it
	w.Telegram.Say(e2etest.Ada, "two")
	w.Sent(e2etest.Ada, 2)
	l := w.Ledger()
	if n := l.Count(`SELECT COUNT(*) FROM turns WHERE started_at > ` + fmt.Sprint(time.Now().Add(time.Minute).UnixMilli())); n > 0 {
		t.Errorf("%d turns began in the future", n)
	}
	w.Settle(l, wrong)
	w.Check(l, e2etest.Ada, []string{"one", "two"})
}

func TestTakeover_atOnceAfterAStop(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
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

func TestDatabase_stormOfNotificationsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	w.Start()
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "one")
	w.Sent(e2etest.Ada, 1)
	l := w.Ledger()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 40 { // this user's work, others', and none
			l.Lines(`SELECT COUNT(pg_notify('everthread', CASE n % 4 WHEN 0 THEN 'turn@' || n WHEN 1 THEN 'turn@1'
				WHEN 2 THEN 'members' ELSE repeat('x', 5000) || n END)) FROM generate_series(1, 500) n`)
		}
	}()
	for n := 2; n < 8; n++ {
		begin := time.Now()
		w.Telegram.Say(e2etest.Ada, fmt.Sprint("message ", n))
		w.Sent(e2etest.Ada, n)
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("an answer took %s", d)
		}
	}
	<-ended
	w.Settle(l, g)
}
