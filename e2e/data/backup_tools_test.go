//go:build e2e && unix

package data

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// withTools returns the town with other programs of these names before the server's own, or instead of all. A script
// finds the true program as $TRUE.
func withTools(t *testing.T, w *e2etest.Town, scripts map[string]string, instead bool) *e2etest.Town {
	t.Helper()
	dir := t.TempDir()
	path := ""
	for _, v := range w.Env {
		if was, ok := strings.CutPrefix(v, "PATH="); ok {
			path = was
		}
	}
	for name, script := range scripts {
		file := filepath.Join(dir, name)
		e2etest.Must(t, os.WriteFile(file, []byte("#!/bin/sh\nTRUE="+trueTool(t, path, name)+"\n"+script+"\n"), 0o700))
	}
	if !instead {
		dir += ":" + path
	}
	there := *w
	there.Env = append(slices.Clone(w.Env), "PATH="+dir)
	return &there
}

// trueTool returns the path of a program of the server.
func trueTool(t *testing.T, path, name string) string {
	t.Helper()
	for dir := range strings.SplitSeq(path, ":") {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil && dir != "" {
			return found
		}
	}
	t.Fatalf("%s is not in %s", name, path)
	return ""
}

// Without the server's tools, with old ones, and with ones that fail, no backup is left, and it is said what to do.
func TestBackup_needsTheServersTools(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	g := w.Start()
	w.ALife(g)
	const through = `exec "$TRUE" "$@"`
	const some = `[ "$1" = --version ] && ` + through + "\n" + `"$TRUE" "$@" | head -c 5000` + "\n"
	const old = `echo "pg_dump (PostgreSQL) 9.6.24"`
	dir := t.TempDir()
	for name, c := range map[string]struct {
		scripts map[string]string
		instead bool
		wants   []string
	}{
		"no tools": {nil, true, []string{"pg_dump is not installed, or not in a folder of PATH", "postgresql-client-"}},
		"no pg_restore": {map[string]string{"pg_dump": through}, true,
			[]string{"pg_restore is not installed", "put their folder first in the variable PATH"}},
		"an old pg_dump": {map[string]string{"pg_dump": old}, false,
			[]string{"pg_dump is of version 9, and the server of ", "or later", "postgresql-client-"}},
		"an old pg_restore": {map[string]string{"pg_restore": old}, false, []string{"pg_restore is of version 9"}},
		"another program": {map[string]string{"pg_dump": `echo hello`}, false,
			[]string{"which is no version of PostgreSQL"}},
		"a pg_dump that breaks": {map[string]string{"pg_dump": some + "echo 'the server went away' >&2; exit 1"}, false,
			[]string{"pg_dump: exit status 1: the server went away"}},
		"a pg_dump that is killed": {map[string]string{"pg_dump": some + "kill -9 $$"}, false,
			[]string{"pg_dump: signal: killed"}},
		"half a dump": {map[string]string{"pg_dump": some}, false, []string{"read it back: pg_restore: "}},
	} {
		_, err := withTools(t, w, c.scripts, c.instead).Run("backup", "--to", dir)
		if refused(t, err, c.wants...); t.Failed() {
			t.Fatalf("%s: %v", name, err)
		}
		if got := listed(t, dir); len(got) != 0 {
			t.Errorf("%s: it left %v", name, got)
		}
	}
	killed := withTools(t, w, map[string]string{"pg_dump": some + "kill -9 $PPID"}, false)
	if _, err := killed.Run("backup", "--to", dir); err == nil || len(listed(t, dir)) != 2 {
		t.Errorf("killed with half a dump, it left %v, %v", listed(t, dir), err)
	}
	file := w.BackUp(dir)
	if got := listed(t, dir); len(got) != 1 {
		t.Errorf("after a kill there are %v", got)
	}
	g.Stop()
	planned := withTools(t, w, nil, true)
	planned.Env = append(planned.Env, "EVERTHREAD_BACKUP_CRON=15 3 * * *")
	if out, _ := planned.Run("doctor"); !strings.Contains(out, "pg_dump is not installed") {
		t.Errorf("the doctor finds %s", out)
	}
	there := w.Empty()
	_, err := withTools(t, there, nil, true).Run("restore", file)
	refused(t, err, "pg_dump is not installed")
	if got := listed(t, there.Dir); slices.Contains(got, "restore.unfinished") || len(there.Kept()) != 0 {
		t.Errorf("the restore left %v", got)
	}
	for said, want := range map[string]string{
		`unrecognized configuration parameter "transaction_timeout"`: "put the programs of the server's own version first",
		`unsupported version (1.16) in file header`:                  "older than the pg_dump that made the backup",
		`could not extend file: No space left on device`:             "the disk of the database server is full",
	} {
		script := `[ "$1" = --version ] && ` + through + "\necho 'pg_restore: error: " + said + "' >&2; exit 1"
		_, err := withTools(t, there, map[string]string{"pg_restore": script}, false).Run("restore", file)
		refused(t, err, want, said)
		if got := listed(t, there.Dir); slices.Contains(got, "restore.unfinished") || len(there.Kept()) != 0 {
			t.Errorf("%s: the restore left %v", said, got)
		}
	}
	there.MustRun("restore", file)
}

// The password of the database is in no argument of a program, which every user of the machine can read.
func TestBackup_passwordIsInNoArgument(t *testing.T) {
	t.Parallel()
	database := e2etest.NewStore(t)
	w := e2etest.NewTown(t, database)
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "hello")
	w.Sent(e2etest.Ada, 1)
	g.Stop()
	u, err := url.Parse(database)
	e2etest.Must(t, err)
	password, ok := u.User.Password()
	if !ok {
		t.Fatal("the test's server has no password")
	}
	seen := filepath.Join(t.TempDir(), "seen")
	watch := `[ "$1" = --version ] || { echo "$@"; env | grep EVERTHREAD; } >>` + seen + `; exec "$TRUE" "$@"`
	watched := withTools(t, w, map[string]string{"pg_dump": watch, "pg_restore": watch}, false)
	file := watched.BackUp(t.TempDir())
	there := w.Empty()
	withTools(t, there, map[string]string{"pg_dump": watch, "pg_restore": watch}, false).MustRun("restore", file)
	b, err := os.ReadFile(seen)
	e2etest.Must(t, err)
	if text := string(b); strings.Count(text, "\n") != 3 || strings.Contains(text, password) {
		t.Errorf("the programs were called with\n%s", text)
	}
	u.User = url.UserPassword(u.User.Username(), "wrong")
	wrong := w.Elsewhere(u.String())
	wrong.Fails("password authentication failed", "backup", "--to", t.TempDir())
	wrong.Fails("password authentication failed", "restore", file)
}

// A backup knows the name of its schema.
func TestBackup_intoASchemaOfItsName(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewSchema(t))
	g := w.Start()
	said := w.ALife(g)
	file := w.BackUp(t.TempDir())
	g.Stop()
	name := w.Ledger().Lines(`SELECT current_schema()`)[0]
	there := w.Empty()
	there.Fails("it was made of another, which database_url must name with search_path", "restore", file)
	_, err := there.Ledger().DB.Exec(`CREATE SCHEMA ` + name)
	e2etest.Must(t, err)
	u, err := url.Parse(there.Database)
	e2etest.Must(t, err)
	q := u.Query()
	q.Set("search_path", name+",public")
	u.RawQuery = q.Encode()
	again := w.Elsewhere(u.String())
	again.MustRun("restore", file)
	again.GoesOn(t, w, said, 0)
}
