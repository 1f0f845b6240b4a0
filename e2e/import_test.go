//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	importMessages = 40_000
	importEvery    = 600 // seconds between them
)

// oldChat writes a Telegram export that ends a month ago.
func oldChat(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"name":"Bot","type":"bot_chat","id":7,"messages":[`)
	first := time.Now().AddDate(0, -1, 0).Unix() - importMessages*importEvery
	for i := range importMessages {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"type":"message","date_unixtime":"%d","from":"x","from_id":"%s","text":"old message %d about the heron"}`,
			i+1, first+int64(i)*importEvery, []string{"user5", "user7"}[i%2], i)
	}
	b.WriteString("]}")
	file := filepath.Join(t.TempDir(), "result.json")
	must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

type importJSON struct {
	Found  struct{ Messages, Days int }
	Result struct {
		Imported int `json:"imported"`
		Known    int `json:"known"`
	}
}

// An import dies again and again while the person goes on talking.
func TestAnImportThatIsKilledGoesOnAndNobodyNotices(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		w.telegram.Say(ada, "hello")
		w.sent(ada, 1)
		user := w.member()
		file := oldChat(t)
		l := w.ledger()
		for n := range 4 {
			w.killImport(l, file, user)
			w.telegram.Say(ada, fmt.Sprint("are you there ", n))
			if got := w.sent(ada, n+2)[n+1].Text; got != fmt.Sprint("echo: are you there ", n) {
				t.Errorf("got %q", got)
			}
		}
		var out importJSON
		must(t, json.Unmarshal([]byte(w.mustRun("import", "telegram", file, "--user", user, "--json")), &out))
		if out.Found.Messages != importMessages || out.Result.Imported+out.Result.Known != importMessages || out.Result.Known == 0 || out.Result.Imported == 0 {
			t.Errorf("got %+v: the import was never killed in the middle, or lost something", out)
		}
		must(t, json.Unmarshal([]byte(w.mustRun("import", "telegram", file, "--user", user, "--json")), &out))
		if out.Result.Imported != 0 || out.Result.Known != importMessages {
			t.Errorf("again: %+v", out)
		}
		if got := w.mustRun("search", "heron", "--user", user); !strings.Contains(got, "old message") {
			t.Errorf("search: %s", got)
		}
		w.telegram.Say(ada, "and now?")
		if got := w.sent(ada, 6)[5].Text; got != "echo: and now?" {
			t.Errorf("got %q", got)
		}
		label := time.Now().AddDate(0, -1, 0).Add(-24 * time.Hour).UTC().Format(time.DateOnly)
		w.summarized(user, label)
		if d := g.stop(); d > 10*time.Second {
			t.Errorf("it took %s to end", d)
		}
		if n := len(w.telegram.Sent(ada)); n != 6 {
			t.Errorf("%d messages were sent, 6 are wanted", n)
		}
	})
}

// member is the id of the newest user.
func (w *town) member() string {
	w.t.Helper()
	var users []struct {
		ID   int64  `json:"id"`
		Role string `json:"role"`
	}
	must(w.t, json.Unmarshal([]byte(w.mustRun("users", "list", "--json")), &users))
	for _, u := range users {
		if u.Role != "owner" {
			return fmt.Sprint(u.ID)
		}
	}
	w.t.Fatalf("nobody was let in: %v", users)
	return ""
}

// killImport begins an import and kills it when some of it is in.
func (w *town) killImport(l *ledger, file, user string) {
	w.t.Helper()
	const old = `SELECT COUNT(*) FROM messages WHERE body LIKE 'old message%'`
	before := l.count(old)
	cmd := exec.Command(program, "import", "telegram", file, "--user", user)
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}, w.env...)
	must(w.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 0) {
				w.t.Fatalf("import: %v", err)
			}
			return
		case <-time.After(20 * time.Millisecond):
			if l.count(old) > before {
				_ = cmd.Process.Kill()
			}
		}
	}
}

// summarized waits until an imported day has its summary.
func (w *town) summarized(user, label string) {
	w.t.Helper()
	var d dayJSON
	for deadline := time.Now().Add(100 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		must(w.t, json.Unmarshal([]byte(w.mustRun("days", "show", label, "--user", user, "--json")), &d))
		if d.Version > 0 {
			return
		}
	}
	w.t.Errorf("day %s has no summary: %+v", label, d)
}
