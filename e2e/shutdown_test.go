//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// longestStop is how long a process may take to end (SPEC 18).
const longestStop = 10 * time.Second

func TestAStoppedServerHandsBackASlowTurnWhichIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		m := newMoody(t)
		w.useModel(m.URL)
		g := w.start()
		m.trouble(1, hangs)
		w.telegram.Say(ada, "hello")
		for m.requests() == 0 {
			time.Sleep(10 * time.Millisecond) // the model has no event to wait for
		}
		if d := g.stop(); d > longestStop {
			t.Errorf("it took %s to end\n%s", d, g.log)
		}
		if code := g.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d\n%s", code, g.log)
		}
		l := w.ledger()
		if got := l.lines(`SELECT state FROM turns`); strings.Join(got, " ") != "running" || len(w.telegram.Sent(ada)) != 0 {
			t.Errorf("turns are %v, sent was %q", got, texts(w.telegram.Sent(ada)))
		}
		g = w.start()
		begin := time.Now()
		w.sent(ada, 1)
		if d := time.Since(begin); d > 10*time.Second { // a turn that was handed back waits for no lease
			t.Errorf("it was answered after %s", d)
		}
		w.settle(l, g)
		if got := w.check(l, ada, []string{"hello"}); got != (repeats{}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAServerWithoutItsDatabaseStopsInTimeToo(t *testing.T) {
	t.Parallel()
	w, c := cutTown(t)
	w.useModel(startModel(t, 20*time.Millisecond))
	g := w.start()
	w.telegram.Say(ada, "say 900 words")
	must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
	c.pull()
	if d := g.stop(); d > longestStop {
		t.Errorf("it took %s to end\n%s", d, g.log)
	}
	c.plug()
	w.start("EVERTHREAD_TURN_LEASE=3s")
}

func TestMemoryAndFilesDoNotGrowOverTwoThousandTurns(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	g := w.start()
	const chats, rounds = 20, 100
	burst := func(from, to int) {
		for n := from; n < to; n++ {
			for c := range chats {
				w.telegram.Say(int64(1000+c), fmt.Sprintf("message %d", n))
			}
			for c := range chats {
				w.sent(int64(1000+c), n+1)
			}
		}
	}
	burst(0, rounds/4)
	files, memory := g.files(), g.memory()
	burst(rounds/4, rounds)
	l := w.ledger()
	w.settle(l, g)
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`); n != chats*rounds {
		t.Errorf("%d turns are done, want %d", n, chats*rounds)
	}
	t.Logf("files %d, then %d; memory %d MB, then %d MB", files, g.files(), memory>>20, g.memory()>>20)
	if n := g.files(); n > files+20 {
		t.Errorf("%d files are open, %d were before\n%v", n, files, g.open())
	}
	if n := g.memory(); n > memory+memory/2 {
		t.Errorf("it takes %d MB of memory, it took %d MB before", n>>20, memory>>20)
	}
}

// open lists what files a process has open.
func (g *gateway) open() []string {
	dir := fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	must(g.t, err)
	var out []string
	for _, e := range entries {
		name, _ := os.Readlink(filepath.Join(dir, e.Name()))
		out = append(out, name)
	}
	return out
}

func (g *gateway) files() int { return len(g.open()) }

// memory is the resident memory of a process in bytes.
func (g *gateway) memory() int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.cmd.Process.Pid))
	must(g.t, err)
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	must(g.t, err)
	return pages * os.Getpagesize()
}
