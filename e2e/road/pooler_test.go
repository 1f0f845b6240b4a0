//go:build e2e

package road

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Processes share a database behind PgBouncer, which gives every transaction another
// connection.
func TestPooler_standsBetween(t *testing.T) {
	t.Parallel()
	direct := e2etest.NewDatabase(t)
	w := e2etest.NewTown(t, direct)
	w.Env = append(w.Env, "EVERTHREAD_DATABASE_URL="+e2etest.NewPooler(t, direct),
		"EVERTHREAD_DATABASE_LISTEN_URL="+direct)
	l := w.Ledger()
	running := make([]*e2etest.Gateway, 6) // which all find an empty database
	for i := range running {
		running[i] = w.Launch()
	}
	for _, g := range running {
		g.Ready()
	}
	if n := l.Count(`SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); n > 0 {
		t.Errorf("%d locks are left of the migrations", n)
	}
	if out := w.MustRun("doctor"); !strings.Contains(out, "hear each other immediately") ||
		!strings.Contains(out, "6 processes") {
		t.Errorf("got doctor\n%s", out)
	}
	said := make([][]string, 4)
	var people sync.WaitGroup
	for chat := range said {
		people.Go(func() {
			for n := range 15 {
				text := fmt.Sprintf("message %d of %d", n, chat)
				said[chat] = append(said[chat], text)
				w.Telegram.Say(int64(1000+chat), text)
			}
		})
	}
	running[0].Kill()
	people.Wait()
	w.Settle(l, running[1])
	for chat := range said {
		w.Check(l, int64(1000+chat), said[chat])
	}
	for _, g := range running[1:] {
		if log := g.Log.String(); strings.Contains(log, "prepared statement") || strings.Contains(log, "ERROR") {
			t.Errorf("a process complains\n%s", log)
		}
	}
}

func TestPooler_unnamedIsNoticed(t *testing.T) {
	t.Parallel()
	direct := e2etest.NewDatabase(t)
	w := e2etest.NewTown(t, direct)
	pooled := e2etest.NewPooler(t, direct)
	w.MustRun("migrate", "up")
	w.Env = append(w.Env, "EVERTHREAD_DATABASE_URL="+pooled)
	out, err := w.Run("doctor")
	if err == nil || !strings.Contains(out, "database_listen_url") {
		t.Errorf("without database_listen_url: got doctor %v\n%s", err, out)
	}
	g := w.Launch("EVERTHREAD_DATABASE_LISTEN_URL=" + e2etest.NewDatabase(t))
	g.Logged("database_listen_url leads to another database than database_url")
	if !g.Wait(10 * time.Second) {
		t.Error("it continues with two databases")
	}
}
