//go:build e2e

package data

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestUpgrade_twoVersionsSideBySide(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	next := w.Upgraded()
	running := []*e2etest.Gateway{w.Start(), w.Start()}
	var said []string
	say := func(stage string) {
		for n := range 4 {
			said = append(said, fmt.Sprintf("%s, message %d", stage, n))
			w.Telegram.Say(e2etest.Ada, said[len(said)-1])
		}
	}
	say("before")
	running[0].Stop()
	running[0] = next.Start() // migrates while the older one continues
	if got := next.Schema(); got != "90000" {
		t.Errorf("the schema has version %s", got)
	}
	say("side by side")
	l := w.Ledger()
	w.Settle(l, running[1])
	running[0].Kill() // only the older one remains, on the newer schema
	say("the older one alone")
	w.Settle(l, running[1])
	if status, body := running[1].Get("/readyz"); status != 200 {
		t.Errorf("the older one is not ready: %s", body)
	}
	running[0] = next.Start()
	say("side by side again")
	running[1].Stop()
	w.Fails("newer version of everthread", "users", "list")
	g := w.Launch()
	if !g.Wait(20*time.Second) || g.Cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the older one starts on the newer schema\n%s", g.Log)
	}
	say("after")
	w.Settle(l, running[0])
	if got := w.Check(l, e2etest.Ada, said); got.Missing > 0 || got.Doubled > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestUpgrade_newerOpensOlderDatabase(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	said := w.ALife(g)
	dir := t.TempDir()
	old := w.BackUp(dir)
	g.Stop()
	next := w.Upgraded()
	next.GoesOn(t, w, said, 1)
	w.Fails("newer version of everthread", "serve")
	w.Fails("newer version of everthread", "backup", "--to", dir)
	newer := next.BackUp(dir)
	w.Elsewhere("").Fails("this one knows schema", "restore", newer)
	next.Elsewhere("").MustRun("restore", old)
}

func TestRestore_upgradesAnOlderBackup(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		said := w.ALife(g)
		file := w.BackUp(t.TempDir())
		g.Stop()
		there := w.Upgraded().Empty()
		there.MustRun("restore", file)
		there.GoesOn(t, w, said, 2)
		if got := there.Schema(); got != "90000" {
			t.Errorf("the schema has version %s", got)
		}
	})
}
