//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// nextProgram is the program of a version to come: it knows one more migration.
var nextProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(program), "everthread-next")
	build := exec.Command("go", "build", "-tags", "goolm crashpoints nextversion", "-ldflags", "-X main.version=next", "-o", path, "../cmd/everthread")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the next version: %w\n%s", err, out)
	}
	return path, nil
})

// upgraded is the town with the next version's program.
func (w *town) upgraded() *town {
	w.t.Helper()
	path, err := nextProgram()
	must(w.t, err)
	next := *w
	next.program = path
	return &next
}

// schema is the version that the town's program sees, and the one that it wants.
func (w *town) schema() string {
	w.t.Helper()
	return regexp.MustCompile(`\d+`).FindString(w.mustRun("migrate", "status"))
}

func TestTwoVersionsRunSideBySideDuringAnUpgrade(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	next := w.upgraded()
	running := []*gateway{w.start(), w.start()}
	var said []string
	say := func(stage string) {
		for n := range 4 {
			said = append(said, fmt.Sprintf("%s, message %d", stage, n))
			w.telegram.Say(ada, said[len(said)-1])
		}
	}
	say("before")
	running[0].stop()
	running[0] = next.start() // migrates under the older one, which goes on
	if got := next.schema(); got != "90000" {
		t.Errorf("the schema has version %s", got)
	}
	say("side by side")
	l := w.ledger()
	w.settle(l, running[1])
	running[0].kill() // only the older one is left, on the newer schema
	say("the older one alone")
	w.settle(l, running[1])
	if status, body := running[1].get("/readyz"); status != 200 {
		t.Errorf("the older one is not ready: %s", body)
	}
	running[0] = next.start()
	say("side by side again")
	running[1].stop()
	w.fails("newer version of everthread", "users", "list")
	g := w.launch()
	if !g.wait(20*time.Second) || g.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the older one starts on the newer schema\n%s", g.log)
	}
	say("after")
	w.settle(l, running[0])
	if got := w.check(l, ada, said); got.missing > 0 || got.doubled > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestANewerVersionOpensAnOlderDatabase(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	g := w.start()
	said := w.aLife(g)
	dir := t.TempDir()
	old := w.backUp(dir)
	g.stop()
	next := w.upgraded()
	next.goesOn(t, w, said, 1)
	w.fails("newer version of everthread", "serve")
	w.fails("newer version of everthread", "backup", "--to", dir)
	newer := next.backUp(dir)
	w.elsewhere("").fails("this one knows schema", "restore", newer)
	next.elsewhere("").mustRun("restore", old)
}

func TestABackupOfAnOlderVersionIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		said := w.aLife(g)
		file := w.backUp(t.TempDir())
		g.stop()
		there := w.upgraded().elsewhere(database(t))
		there.mustRun("restore", file)
		there.goesOn(t, w, said, 2)
		if got := there.schema(); got != "90000" {
			t.Errorf("the schema has version %s", got)
		}
	})
}
