//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// longestStop bounds the end of a process.
const longestStop = 10 * time.Second

func TestShutdown_handsBackASlowTurn(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		g := w.Start()
		m.trouble(1, hangs)
		w.Telegram.Say(e2etest.Ada, "hello")
		for m.requests() == 0 {
			time.Sleep(10 * time.Millisecond) // the model has no event to wait for
		}
		if d := g.Stop(); d > longestStop {
			t.Errorf("it took %s to end\n%s", d, g.Log)
		}
		if code := g.Cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d\n%s", code, g.Log)
		}
		l := w.Ledger()
		if got := l.Lines(`SELECT state FROM turns`); strings.Join(got, " ") != "running" ||
			len(w.Telegram.Sent(e2etest.Ada)) != 0 {
			t.Errorf("turns are %v, sent was %q", got, e2etest.Texts(w.Telegram.Sent(e2etest.Ada)))
		}
		g = w.Start()
		begin := time.Now()
		w.Sent(e2etest.Ada, 1)
		if d := time.Since(begin); d > 10*time.Second { // a released turn waits for no lease
			t.Errorf("it was answered after %s", d)
		}
		w.Settle(l, g)
		if got := w.Check(l, e2etest.Ada, []string{"hello"}); got != (e2etest.Repeats{}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestShutdown_inTimeWithoutDatabase(t *testing.T) {
	t.Parallel()
	w, c := cutTown(t)
	w.UseModel(e2etest.StartModel(t, 20*time.Millisecond))
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "say 900 words")
	e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
	c.pull()
	if d := g.Stop(); d > longestStop {
		t.Errorf("it took %s to end\n%s", d, g.Log)
	}
	c.plug()
	w.Start("EVERTHREAD_TURN_LEASE=3s")
}

func TestGateway_doesNotGrowWithTurns(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	const chats, rounds = 20, 100
	burst := func(from, to int) {
		for n := from; n < to; n++ {
			for c := range chats {
				w.Telegram.Say(int64(1000+c), fmt.Sprintf("message %d", n))
			}
			for c := range chats {
				w.Sent(int64(1000+c), n+1)
			}
		}
	}
	burst(0, rounds/4)
	files, memory := g.Files(), g.Memory()
	burst(rounds/4, rounds)
	l := w.Ledger()
	w.Settle(l, g)
	if n := l.Count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`); n != chats*rounds {
		t.Errorf("%d turns are done, want %d", n, chats*rounds)
	}
	t.Logf("files %d, then %d; memory %d MB, then %d MB", files, g.Files(), memory>>20, g.Memory()>>20)
	if n := g.Files(); n > files+20 {
		t.Errorf("%d files are open, %d were before\n%v", n, files, g.Open())
	}
	if n := g.Memory(); n > memory+memory/2 {
		t.Errorf("it takes %d MB of memory, it took %d MB before", n>>20, memory>>20)
	}
}
