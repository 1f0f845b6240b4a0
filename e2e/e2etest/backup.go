//go:build e2e

package e2etest

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
	"testing"
)

// Elsewhere returns the same town with another data folder and database.
func (w *Town) Elsewhere(database string) *Town {
	w.T.Helper()
	there := *w
	there.Dir, there.Database = w.T.TempDir(), database
	there.Env = append(slices.Clone(w.Env), "EVERTHREAD_DATA_DIR="+there.Dir, "EVERTHREAD_DATABASE_URL="+database)
	return &there
}

// Empty returns the same town with an empty data folder and, on PostgreSQL, an empty database, into
// which a backup can be restored.
func (w *Town) Empty() *Town {
	w.T.Helper()
	database := ""
	if w.Database != "" {
		database = NewDatabase(w.T)
	}
	return w.Elsewhere(database)
}

// BackUp creates a backup in a folder and returns its path.
func (w *Town) BackUp(dir string) string {
	w.T.Helper()
	var out struct {
		Backup struct{ File string }
	}
	Must(w.T, json.Unmarshal([]byte(w.MustRun("backup", "--to", dir, "--json")), &out))
	return out.Backup.File
}

// Crashes runs a command that must die at a step.
func (w *Town) Crashes(step string, args ...string) {
	w.T.Helper()
	dying := *w
	dying.Env = append(slices.Clone(w.Env), "EVERTHREAD_CRASH_AT="+step)
	_, err := dying.Run(args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 137 {
		w.T.Fatalf("it did not die at %q: %v", step, err)
	}
}

// Fails runs a command that must fail with an error that contains a text.
func (w *Town) Fails(want string, args ...string) {
	w.T.Helper()
	if _, err := w.Run(args...); err == nil || !strings.Contains(err.Error(), want) {
		w.T.Errorf("everthread %v: %v, want %q", args, err, want)
	}
}

// whole checks a restored store: the messages until the backup are there in order, and
// every finished turn has one reply.
func (w *Town) whole(l *Ledger, said []string) (until int) {
	w.T.Helper()
	got := l.Transcript(fmt.Sprint(Ada))
	if len(got) > len(said) || !slices.Equal(got, said[:len(got)]) {
		w.T.Errorf("the transcript is %.60q, said was %.60q", got, said)
	}
	for _, bad := range l.Lines(`SELECT 'turn ' || t.id FROM turns t WHERE t.state = 'done' AND 1 <>
		(SELECT COUNT(*) FROM messages m WHERE m.user_id = t.user_id AND m.turn_id = t.id AND m.role = 'assistant' AND m.kind = 'chat')`) {
		w.T.Errorf("%s has not one reply", bad)
	}
	return len(got)
}

// ALife gives Ada things to remember: old messages and a file.
func (w *Town) ALife(g *Gateway) []string {
	w.T.Helper()
	w.Telegram.AddFile("photo", "files/photo", Picture)
	w.Telegram.Say(Ada, "my parrot is called Hugo")
	w.Sent(Ada, 1)
	w.Telegram.Write(Ada, map[string]any{"photo": Photo("photo"), "caption": "Hugo in the garden"})
	w.Sent(Ada, 2)
	l := w.Ledger()
	w.Settle(l, g)
	l.Fetched(g)
	said := l.Transcript(fmt.Sprint(Ada))
	Must(w.T, l.DB.Close()) // only the gateway may have it open
	return said
}

// GoesOn checks that the conversation continues where a backup was restored.
func (w *Town) GoesOn(t *testing.T, from *Town, said []string, n int) {
	t.Helper()
	l := w.Ledger()
	until := w.whole(l, said)
	if got, want := w.Kept(), from.Kept(); len(want) == 0 || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d attachments are there, want %d", len(got), len(want))
	}
	g := w.Start()
	again := fmt.Sprintf("are you still there, backup %d?", n)
	w.Telegram.Say(Ada, again)
	w.Settle(l, g)
	if got := Texts(w.Telegram.Sent(Ada)); !slices.Contains(got, "echo: "+again) {
		t.Errorf("no answer came: %.60q", got[max(0, len(got)-5):])
	}
	if got := w.whole(l, append(slices.Clone(said[:until]), again)); got != until+1 {
		t.Errorf("%d messages are there, want %d", got, until+1)
	}
	l.Until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
	if out := w.MustRun("search", "parrot", "--user", l.UserOf(fmt.Sprint(Ada))); !strings.Contains(out, "Hugo") {
		t.Errorf("old words are not found: %s", out)
	}
	g.Stop()
}

// Sits starts a conversation in the terminal until leave is called.
func (w *Town) Sits() (leave func()) {
	w.T.Helper()
	cmd := exec.Command(Program, "chat")
	cmd.Dir = w.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	in, err := cmd.StdinPipe()
	Must(w.T, err)
	out, err := cmd.StdoutPipe()
	Must(w.T, err)
	Must(w.T, cmd.Start())
	_, err = io.WriteString(in, "hello\n")
	Must(w.T, err)
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "echo: hello") {
		continue
	}
	return func() {
		Must(w.T, in.Close())
		_, _ = io.Copy(io.Discard, out)
		Must(w.T, cmd.Wait())
	}
}

// Configured writes a configuration file with the values of the environment, and removes
// these from the environment.
func (w *Town) Configured(text string) string {
	w.T.Helper()
	path := filepath.Join(w.T.TempDir(), "everthread.yaml")
	Must(w.T, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}
