//go:build e2e

package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

func TestBackup_whileMessagesFlow(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		said := w.ALife(g)
		dir := t.TempDir()
		var talk sync.WaitGroup
		talk.Go(func() {
			for n := range 40 {
				said = append(said, fmt.Sprintf("message %d while it is backed up", n))
				w.Telegram.Say(e2etest.Ada, said[len(said)-1])
			}
		})
		var files []string
		for range 3 {
			files = append(files, w.BackUp(dir))
		}
		talk.Wait()
		l := w.Ledger()
		w.Settle(l, g)
		if got := w.Check(l, e2etest.Ada, said); got != (e2etest.Repeats{}) {
			t.Errorf("who was answered meanwhile noticed it: %+v", got)
		}
		if w.Database != "" {
			w.Elsewhere(w.Database).Fails("nothing is moved aside", "restore", "--force", files[0])
		}
		g.Stop()
		for n, file := range files {
			there := w.Empty()
			if out := there.MustRun("restore", file); !strings.Contains(out, "1 attachment.") {
				t.Errorf("got output %s", out)
			}
			there.GoesOn(t, w, said, n)
		}
	})
}

// Libraries have tables next to the gateway's, with types of their own.
func TestBackup_bringsTablesOfOthers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	g := w.Start()
	l := w.Ledger()
	_, err := l.DB.Exec(`CREATE TYPE mood AS ENUM ('calm', 'sad');
		CREATE TABLE others (id bigserial PRIMARY KEY, name varchar(20) NOT NULL, mood mood);
		INSERT INTO others (name, mood) VALUES ('Lyon', 'calm'), ('Bath', 'sad')`)
	e2etest.Must(t, err)
	file := w.BackUp(t.TempDir())
	g.Stop()
	there := w.Empty()
	for range 2 { // the second clears away what the first left when it died at its end
		there.Crashes("restore placed", "restore", file)
	}
	there.MustRun("restore", file)
	if got := there.Ledger().Lines(`SELECT id || ' ' || name || ' ' || mood FROM others ORDER BY id`); !slices.Equal(got,
		[]string{"1 Lyon calm", "2 Bath sad"}) {
		t.Errorf("the table has %q", got)
	}
}

func TestBackup_killedLeavesTheOldOnes(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		w.ALife(g)
		dir := t.TempDir()
		first := w.BackUp(dir)
		for _, step := range []string{"backup written", "backup verified"} {
			w.Crashes(step, "backup", "--to", dir)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".everthread-backup-*")); len(
			left) != 1 { // each clears away what others left
			t.Fatalf("it left %v", left)
		}
		second := w.BackUp(dir)
		entries, err := os.ReadDir(dir)
		e2etest.Must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if len(names) != 2 || !slices.Contains(names, filepath.Base(first)) ||
			!slices.Contains(names, filepath.Base(second)) {
			t.Errorf("the folder has %v", entries)
		}
		info, err := os.Stat(second)
		e2etest.Must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %o", info.Mode())
		}
	})
}

func TestRestore_killedIsBegunAnew(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		said := w.ALife(g)
		file := w.BackUp(t.TempDir())
		g.Stop()
		for n, step := range []string{"restore begun", "restore unpacked", "restore aside", "restore placed"} {
			there := w.Empty()
			there.Crashes(step, "restore", file)
			there.Fails("restore was not finished", "serve")
			there.Fails("restore was not finished", "users", "list")
			there.MustRun("restore", file)
			if left, err := os.Stat(filepath.Join(there.Dir, "restore.unfinished")); err == nil {
				t.Errorf("%s is left", left.Name())
			}
			there.GoesOn(t, w, said, n)
		}
	})
}

func TestRestore_touchesNothingInUse(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	said := w.ALife(g)
	file := w.BackUp(t.TempDir())
	w.Fails("serves this data folder already", "restore", file)
	w.Fails("serves this data folder already", "restore", "--force", file)
	g.Stop()
	w.Fails("has data already", "restore", file)
	leave := w.Sits()
	w.Fails("has the database", "restore", "--force", file)
	leave()
	w.MustRun("restore", "--force", file)
	e2etest.Must(t, os.WriteFile(filepath.Join(w.Dir, "notes.txt"), []byte("mine"), 0o600))
	w.MustRun("restore", "--force", file)
	aside, _ := filepath.Glob(filepath.Join(w.Dir, "before-restore-*", "everthread.db"))
	if b, err := os.ReadFile(filepath.Join(w.Dir, "notes.txt")); len(aside) != 2 || err != nil || string(b) != "mine" {
		t.Errorf("the old data is in %v, the other file %q (%v)", aside, b, err)
	}
	w.GoesOn(t, w, said, 0)
	w.Fails("is of the embedded database", "restore", file, "--config",
		w.Configured("database_url: "+e2etest.NewStore(t)))
}

// Deliveries that were being sent at the time of a backup, and those behind them, have
// probably arrived since.
func TestRestore_marksWhatWasOnItsWay(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.Start()
		w.Telegram.Fail("sendMessage", 1, telegramtest.Failure{Delay: 5 * time.Minute})
		l := w.Ledger()
		for n, text := range []string{"one", "two"} {
			w.Telegram.Say(e2etest.Ada, text)
			l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant'`, n+1, g)
		}
		file := w.BackUp(t.TempDir())
		g.Kill()
		there := w.Empty()
		there.MustRun("restore", file)
		there.Start()
		if got, want := e2etest.Texts(w.Sent(e2etest.Ada, 2)), []string{"echo: one" + e2etest.RepeatMark,
			"echo: two" + e2etest.RepeatMark}; !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

func TestBackup_byTheClock(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		dir, offset := t.TempDir(), filepath.Join(t.TempDir(), "clock")
		w.Env = append(w.Env, "EVERTHREAD_BACKUP_CRON=15 3 * * *", "EVERTHREAD_BACKUP_KEEP=2", "EVERTHREAD_BACKUP_DIR="+dir,
			"EVERTHREAD_TEST_CLOCK="+offset)
		running := []*e2etest.Gateway{w.Start()}
		if w.Database != "" {
			running = append(running, w.Start()) // which makes no further backup
		}
		made := map[string]bool{}
		for day := range 4 {
			e2etest.Must(t, os.WriteFile(offset, fmt.Append(nil, day*24*3600*1000), 0o600))
			for deadline := time.Now().Add(60 * time.Second); len(made) <= day; time.Sleep(50 * time.Millisecond) {
				for _, name := range backups(t, dir) {
					made[name] = true
				}
				if time.Now().After(deadline) {
					t.Fatalf("on day %d: got backups %v\n%s", day, made, running[0].Log)
				}
			}
		}
		w.Ledger().Until(`SELECT COUNT(*) FROM states WHERE account = 'backup'`, 1, running[0])
		for deadline := time.Now().Add(30 * time.Second); len(backups(t, dir)) != 2 &&
			time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			continue
		}
		if got := backups(t, dir); len(got) != 2 || len(made) != 4 {
			t.Errorf("of %d backups %d are left, want 2 of 4", len(made), len(got))
		}
		w.Empty().MustRun("restore", filepath.Join(dir, backups(t, dir)[1]))
	})
}

// backups lists the backups in a folder, oldest first.
func backups(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "everthread-*.tar.zst"))
	e2etest.Must(t, err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(files)
	return files
}
