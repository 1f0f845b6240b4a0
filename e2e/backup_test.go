//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// elsewhere is the same town with another data folder and database.
func (w *town) elsewhere(database string) *town {
	w.t.Helper()
	there := *w
	there.dir, there.database = w.t.TempDir(), database
	there.env = append(slices.Clone(w.env), "EVERTHREAD_DATA_DIR="+there.dir, "EVERTHREAD_DATABASE_URL="+database)
	return &there
}

// backUp makes a backup in a folder and returns its path.
func (w *town) backUp(dir string) string {
	w.t.Helper()
	var out struct {
		Backup struct{ File string }
	}
	must(w.t, json.Unmarshal([]byte(w.mustRun("backup", "--to", dir, "--json")), &out))
	return out.Backup.File
}

// crashes runs a command that has to die at a step.
func (w *town) crashes(step string, args ...string) {
	w.t.Helper()
	dying := *w
	dying.env = append(slices.Clone(w.env), "EVERTHREAD_CRASH_AT="+step)
	_, err := dying.run(args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 137 {
		w.t.Fatalf("it did not die at %q: %v", step, err)
	}
}

// fails runs a command that has to fail with an error that says something.
func (w *town) fails(want string, args ...string) {
	w.t.Helper()
	if _, err := w.run(args...); err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("everthread %v: %v, want %q", args, err, want)
	}
}

// whole checks a restored store: what was said until the backup is there in
// order, and every turn that is done has one reply.
func (w *town) whole(l *ledger, said []string) (until int) {
	w.t.Helper()
	got := l.transcript(fmt.Sprint(ada))
	if len(got) > len(said) || !slices.Equal(got, said[:len(got)]) {
		w.t.Errorf("the transcript is %.60q, said was %.60q", got, said)
	}
	for _, bad := range l.lines(`SELECT 'turn ' || t.id FROM turns t WHERE t.state = 'done' AND 1 <>
		(SELECT COUNT(*) FROM messages m WHERE m.user_id = t.user_id AND m.turn_id = t.id AND m.role = 'assistant' AND m.kind = 'chat')`) {
		w.t.Errorf("%s has not one reply", bad)
	}
	return len(got)
}

// aLife gives Ada something to remember: old words and a file.
func (w *town) aLife(g *gateway) []string {
	w.t.Helper()
	w.telegram.AddFile("photo", "files/photo", picture)
	w.telegram.Say(ada, "my parrot is called Hugo")
	w.sent(ada, 1)
	w.telegram.Write(ada, map[string]any{"photo": photo("photo"), "caption": "Hugo in the garden"})
	w.sent(ada, 2)
	l := w.ledger()
	w.settle(l, g)
	l.fetched(g)
	said := l.transcript(fmt.Sprint(ada))
	must(w.t, l.db.Close()) // nobody but the gateway has it open
	return said
}

func TestABackupTakenWhileMessagesFlowGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		said := w.aLife(g)
		dir := t.TempDir()
		var talk sync.WaitGroup
		talk.Go(func() {
			for n := range 40 {
				said = append(said, fmt.Sprintf("message %d while it is backed up", n))
				w.telegram.Say(ada, said[len(said)-1])
			}
		})
		var files []string
		for range 3 {
			files = append(files, w.backUp(dir))
		}
		talk.Wait()
		l := w.ledger()
		w.settle(l, g)
		if got := w.check(l, ada, said); got != (repeats{}) {
			t.Errorf("who was answered meanwhile noticed it: %+v", got)
		}
		if w.database != "" {
			w.elsewhere(w.database).fails("nothing is moved aside", "restore", "--force", files[0])
		}
		g.stop()
		for n, file := range files {
			there := w.elsewhere(database(t))
			if out := there.mustRun("restore", file); !strings.Contains(out, "1 attachment.") {
				t.Errorf("it says %s", out)
			}
			there.goesOn(t, w, said, n)
		}
	})
}

// Libraries keep tables of their own beside ours, with types of their own.
// What is neither ours nor a library's of ours does not come back: only rows come from
// a backup, and nothing here makes a table for these.
func TestTablesOfOthersAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	g := w.start()
	l := w.ledger()
	_, err := l.db.Exec(`CREATE TABLE others (id bigint PRIMARY KEY, name varchar(20) NOT NULL);
		INSERT INTO others VALUES (1, 'Lyon'), (2, 'Bath')`)
	must(t, err)
	file := w.backUp(t.TempDir())
	g.stop()
	there := w.elsewhere(newSchema(t))
	if out := there.mustRun("restore", file); !strings.Contains(out, `Left out: the table "others": it is no table of everthread.`) {
		t.Errorf("it says %s", out)
	}
	if n := there.ledger().count(`SELECT COUNT(*) FROM pg_class WHERE relname = 'others' AND relnamespace = current_schema()::regnamespace`); n != 0 {
		t.Error("it came back")
	}
}

// goesOn checks that the conversation goes on where a backup was restored.
func (w *town) goesOn(t *testing.T, from *town, said []string, n int) {
	t.Helper()
	l := w.ledger()
	until := w.whole(l, said)
	if got, want := w.kept(), from.kept(); len(want) == 0 || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d attachments are there, want %d", len(got), len(want))
	}
	g := w.start()
	again := fmt.Sprintf("are you still there, backup %d?", n)
	w.telegram.Say(ada, again)
	w.settle(l, g)
	if got := texts(w.telegram.Sent(ada)); !slices.Contains(got, "echo: "+again) {
		t.Errorf("no answer came: %.60q", got[max(0, len(got)-5):])
	}
	if got := w.whole(l, append(slices.Clone(said[:until]), again)); got != until+1 {
		t.Errorf("%d messages are there, want %d", got, until+1)
	}
	l.until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
	if out := w.mustRun("search", "parrot", "--user", l.userOf(fmt.Sprint(ada))); !strings.Contains(out, "Hugo") {
		t.Errorf("old words are not found: %s", out)
	}
	g.stop()
}

func TestABackupThatIsKilledLeavesTheOldOnes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		w.aLife(g)
		dir := t.TempDir()
		first := w.backUp(dir)
		for _, step := range []string{"backup written", "backup verified"} {
			w.crashes(step, "backup", "--to", dir)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".everthread-backup-*")); len(left) != 1 { // each clears away what others left
			t.Fatalf("it left %v", left)
		}
		second := w.backUp(dir)
		entries, err := os.ReadDir(dir)
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if len(names) != 2 || !slices.Contains(names, filepath.Base(first)) || !slices.Contains(names, filepath.Base(second)) {
			t.Errorf("the folder has %v", entries)
		}
		info, err := os.Stat(second)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %o", info.Mode())
		}
	})
}

func TestARestoreThatIsKilledIsBegunAnew(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		said := w.aLife(g)
		file := w.backUp(t.TempDir())
		g.stop()
		for n, step := range []string{"restore begun", "restore unpacked", "restore aside", "restore placed"} {
			there := w.elsewhere(database(t))
			there.crashes(step, "restore", file)
			there.fails("restore was not finished", "serve")
			there.fails("restore was not finished", "users", "list")
			there.mustRun("restore", file)
			if left, err := os.Stat(filepath.Join(there.dir, "restore.unfinished")); err == nil {
				t.Errorf("%s is left", left.Name())
			}
			there.goesOn(t, w, said, n)
		}
	})
}

func TestARestoreTouchesNothingThatIsInUse(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	g := w.start()
	said := w.aLife(g)
	file := w.backUp(t.TempDir())
	w.fails("serves this data folder already", "restore", file)
	w.fails("serves this data folder already", "restore", "--force", file)
	g.stop()
	w.fails("has data already", "restore", file)
	leave := w.sits()
	w.fails("has the database", "restore", "--force", file)
	leave()
	w.mustRun("restore", "--force", file)
	must(t, os.WriteFile(filepath.Join(w.dir, "notes.txt"), []byte("mine"), 0o600))
	w.mustRun("restore", "--force", file)
	aside, _ := filepath.Glob(filepath.Join(w.dir, "before-restore-*", "everthread.db"))
	if b, err := os.ReadFile(filepath.Join(w.dir, "notes.txt")); len(aside) != 2 || err != nil || string(b) != "mine" {
		t.Errorf("the old data is in %v, the other file %q (%v)", aside, b, err)
	}
	w.goesOn(t, w, said, 0)
	w.fails("is of the embedded database", "restore", file, "--config", w.configured("database_url: "+newSchema(t)))
}

// sits has somebody talk in the terminal until leave is called.
func (w *town) sits() (leave func()) {
	w.t.Helper()
	cmd := exec.Command(program, "chat")
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}, w.env...)
	in, err := cmd.StdinPipe()
	must(w.t, err)
	out, err := cmd.StdoutPipe()
	must(w.t, err)
	must(w.t, cmd.Start())
	_, err = io.WriteString(in, "hello\n")
	must(w.t, err)
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "echo: hello") {
		continue
	}
	return func() {
		must(w.t, in.Close())
		_, _ = io.Copy(io.Discard, out)
		must(w.t, cmd.Wait())
	}
}

// configured writes a configuration file; what the environment says is said there
// no more.
func (w *town) configured(text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "everthread.yaml")
	must(w.t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// What was being sent when a backup was made, and what waited behind it, has
// probably arrived since.
func TestWhatWasOnItsWayIsMarkedAfterARestore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.start()
		w.telegram.Fail("sendMessage", 1, telegramtest.Failure{Delay: 5 * time.Minute})
		l := w.ledger()
		for n, text := range []string{"one", "two"} {
			w.telegram.Say(ada, text)
			l.until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant'`, n+1, g)
		}
		file := w.backUp(t.TempDir())
		g.kill()
		there := w.elsewhere(database(t))
		there.mustRun("restore", file)
		there.start()
		if got, want := texts(w.sent(ada, 2)), []string{"echo: one" + repeatMark, "echo: two" + repeatMark}; !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

func TestBackupsAreMadeByTheClock(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		dir, offset := t.TempDir(), filepath.Join(t.TempDir(), "clock")
		w.env = append(w.env, "EVERTHREAD_BACKUP_CRON=15 3 * * *", "EVERTHREAD_BACKUP_KEEP=2", "EVERTHREAD_BACKUP_DIR="+dir, "EVERTHREAD_TEST_CLOCK="+offset)
		running := []*gateway{w.start()}
		if w.database != "" {
			running = append(running, w.start()) // which makes no other one
		}
		made := map[string]bool{}
		for day := range 4 {
			must(t, os.WriteFile(offset, fmt.Append(nil, day*24*3600*1000), 0o600))
			for deadline := time.Now().Add(60 * time.Second); len(made) <= day; time.Sleep(50 * time.Millisecond) {
				for _, name := range backups(t, dir) {
					made[name] = true
				}
				if time.Now().After(deadline) {
					t.Fatalf("on day %d there are %v\n%s", day, made, running[0].log)
				}
			}
		}
		w.ledger().until(`SELECT COUNT(*) FROM states WHERE account = 'backup'`, 1, running[0])
		for deadline := time.Now().Add(30 * time.Second); len(backups(t, dir)) != 2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			continue
		}
		if got := backups(t, dir); len(got) != 2 || len(made) != 4 {
			t.Errorf("of %d backups %d are left, want 2 of 4", len(made), len(got))
		}
		w.elsewhere(database(t)).mustRun("restore", filepath.Join(dir, backups(t, dir)[1]))
	})
}

// backups lists the backups in a folder, oldest first.
func backups(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "everthread-*.tar.zst"))
	must(t, err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(files)
	return files
}
