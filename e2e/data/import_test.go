//go:build e2e

package data

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
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
		fmt.Fprintf(&b,
			`{"id":%d,"type":"message","date_unixtime":"%d","from":"x","from_id":"%s","text":"old message %d about the heron"}`,
			i+1, first+int64(i)*importEvery, []string{"user5", "user7"}[i%2], i)
	}
	b.WriteString("]}")
	file := filepath.Join(t.TempDir(), "result.json")
	e2etest.Must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

type importJSON struct {
	Found  struct{ Messages, Days int }
	Result struct {
		Imported int `json:"imported"`
		Known    int `json:"known"`
	}
}

// An import dies again and again while the person continues to talk.
func TestImport_goesOnThroughKills(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		w.Telegram.Say(e2etest.Ada, "hello")
		w.Sent(e2etest.Ada, 1)
		user := w.Member()
		file := oldChat(t)
		l := w.Ledger()
		for n := range 4 {
			w.KillImport(l, file, user)
			w.Telegram.Say(e2etest.Ada, fmt.Sprint("are you there ", n))
			if got := w.Sent(e2etest.Ada, n+2)[n+1].Text; got != fmt.Sprint("echo: are you there ", n) {
				t.Errorf("got %q", got)
			}
		}
		var out importJSON
		e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("import", "telegram", file, "--user", user, "--json")), &out))
		if out.Found.Messages != importMessages || out.Result.Imported+out.Result.Known != importMessages ||
			out.Result.Known == 0 || out.Result.Imported == 0 {
			t.Errorf("got %+v: the import was never killed in the middle, or lost something", out)
		}
		e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("import", "telegram", file, "--user", user, "--json")), &out))
		if out.Result.Imported != 0 || out.Result.Known != importMessages {
			t.Errorf("again: %+v", out)
		}
		if got := w.MustRun("search", "heron", "--user", user); !strings.Contains(got, "old message") {
			t.Errorf("search: %s", got)
		}
		w.Telegram.Say(e2etest.Ada, "and now?")
		if got := w.Sent(e2etest.Ada, 6)[5].Text; got != "echo: and now?" {
			t.Errorf("got %q", got)
		}
		label := time.Now().AddDate(0, -1, 0).Add(-24 * time.Hour).UTC().Format(time.DateOnly)
		w.Summarized(user, label)
		if d := g.Stop(); d > 10*time.Second {
			t.Errorf("it took %s to end", d)
		}
		if n := len(w.Telegram.Sent(e2etest.Ada)); n != 6 {
			t.Errorf("%d messages were sent, 6 are wanted", n)
		}
	})
}
