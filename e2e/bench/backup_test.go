//go:build e2e && bench

package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestBenchBackup makes a backup of a gigabyte, and measures its effect on answers.
func TestBenchBackup(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = e2etest.NewStore(t)
			}
			w := e2etest.NewTown(t, database)
			w.UseModel(e2etest.StartModel(t, 20*time.Millisecond)) // before each chunk: faster than any real model
			g := w.Start()
			w.Telegram.Say(e2etest.Ada, "hello")
			w.Sent(e2etest.Ada, 1)
			l := w.Ledger()
			w.FillGigabyte(l, 90)
			alone := w.Answers(t, 12*time.Second, nil)
			dir, done := t.TempDir(), make(chan struct{})
			var out string
			began := time.Now()
			go func() { defer close(done); out = w.MustRun("backup", "--to", dir, "--json") }()
			beside := w.Answers(t, time.Hour, done)
			took := time.Since(began)
			var res struct {
				Backup struct{ Size, Bytes int64 }
			}
			e2etest.Must(t, json.Unmarshal([]byte(out), &res))
			t.Logf("%d MiB in %d MiB: %s", res.Backup.Bytes>>20, res.Backup.Size>>20, took.Round(100*time.Millisecond))
			show := func(name string, d []time.Duration) {
				slices.Sort(d)
				t.Logf("%s: %d answers, p50 %s, p95 %s, most %s", name, len(d), d[len(d)/2].Round(time.Millisecond),
					d[len(d)*95/100].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond))
			}
			show("alone", alone)
			show("beside", beside)
			w.Settle(l, g)
			g.Stop()
			file, _ := filepath.Glob(filepath.Join(dir, "*.zst"))
			there := w.Empty()
			began = time.Now()
			there.MustRun("restore", file[0])
			t.Logf("restored in %s", time.Since(began).Round(100*time.Millisecond))
			e2etest.Must(t, os.RemoveAll(there.Dir))
		})
	}
}
