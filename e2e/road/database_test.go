//go:build e2e

package road

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// slowFor is short here; in `make soak` the database is slow for ten minutes.
var slowFor = flag.Duration("slow.for", 20*time.Second, "how long a database answers slowly")

// TestDatabase_slowLosesNothing delays every answer of the database by half a
// second while people continue to write.
func TestDatabase_slowLosesNothing(t *testing.T) {
	t.Parallel()
	direct := e2etest.NewStore(t)
	w := e2etest.NewTown(t, direct)
	way := e2etest.NewSlowWay(t, direct)
	g := w.Start("EVERTHREAD_DATABASE_URL=" + way.URL)
	w.Telegram.Say(e2etest.Ada, "message 0")
	w.Sent(e2etest.Ada, 1)
	way.Slow(500 * time.Millisecond)
	said := []string{"message 0"}
	for until := time.Now().Add(*slowFor); time.Now().Before(until); {
		said = append(said, fmt.Sprint("message ", len(said)))
		w.Telegram.Say(e2etest.Ada, said[len(said)-1])
		time.Sleep(2 * time.Second) // nobody waits for an answer
	}
	way.Slow(0)
	l := w.Ledger()
	w.Settle(l, g)
	w.Check(l, e2etest.Ada, said) // an answer may arrive twice if it is marked
	if log := g.Log.String(); strings.Contains(log, "panic") {
		t.Errorf("it complains\n%s", log)
	}
}

// TestProcesses_configuredDifferently runs two processes on one database with different
// models, workers and channels. Each message is answered once, by a process that can.
func TestProcesses_configuredDifferently(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	first := w.Start("EVERTHREAD_TURN_WORKERS=1", "EVERTHREAD_CONTEXT_TODAY_RAW_TOKENS=500", "EVERTHREAD_DEFAULT_LANGUAGE=fr")
	second := w.Start("EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=", "EVERTHREAD_CONTEXT_STRATEGY=truncate")
	var said []string
	for n := range 12 {
		said = append(said, fmt.Sprint("message ", n))
		w.Telegram.Say(e2etest.Ada, said[n])
		w.Sent(e2etest.Ada, n+1)
	}
	l := w.Ledger()
	w.Settle(l, first)
	if got := w.Check(l, e2etest.Ada, said); got != (e2etest.Repeats{}) {
		t.Errorf("got %+v", got)
	}
	for _, g := range []*e2etest.Gateway{first, second} {
		if log := g.Log.String(); strings.Contains(log, "panic") {
			t.Errorf("it complains\n%s", log)
		}
	}
}

// TestDoctor_tooManyConnections checks that doctor reports too many connections, and the
// server's limit.
func TestDoctor_tooManyConnections(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	w.MustRun("migrate", "up")
	w.Env = append(w.Env, "EVERTHREAD_DATABASE_CONNECTIONS=5000")
	out, err := w.Run("doctor")
	if err == nil || !strings.Contains(out, "lower database_connections") || !strings.Contains(out, "5001") {
		t.Errorf("got doctor %v\n%s", err, out)
	}
}
