//go:build e2e && bench

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A backup of a gigabyte, and what those notice of it who are answered meanwhile.
func TestBenchBackup(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = newSchema(t)
			}
			w := newTown(t, database)
			w.useModel(startModel(t, 20*time.Millisecond)) // before each chunk: faster than any real one
			g := w.start()
			w.telegram.Say(ada, "hello")
			w.sent(ada, 1)
			l := w.ledger()
			w.fillGigabyte(l)
			alone := w.answers(t, 12*time.Second, nil)
			dir, done := t.TempDir(), make(chan struct{})
			var out string
			began := time.Now()
			go func() { defer close(done); out = w.mustRun("backup", "--to", dir, "--json") }()
			beside := w.answers(t, time.Hour, done)
			took := time.Since(began)
			var res struct {
				Backup struct{ Size, Bytes int64 }
			}
			must(t, json.Unmarshal([]byte(out), &res))
			t.Logf("%d MiB in %d MiB: %s", res.Backup.Bytes>>20, res.Backup.Size>>20, took.Round(100*time.Millisecond))
			show := func(name string, d []time.Duration) {
				slices.Sort(d)
				t.Logf("%s: %d answers, p50 %s, p95 %s, most %s", name, len(d), d[len(d)/2].Round(time.Millisecond), d[len(d)*95/100].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond))
			}
			show("alone", alone)
			show("beside", beside)
			w.settle(l, g)
			g.stop()
			file, _ := filepath.Glob(filepath.Join(dir, "*.zst"))
			there := w.elsewhere("")
			if database != "" {
				there = w.elsewhere(newSchema(t))
			}
			began = time.Now()
			there.mustRun("restore", file[0])
			t.Logf("restored in %s", time.Since(began).Round(100*time.Millisecond))
			must(t, os.RemoveAll(there.dir))
		})
	}
}

// answers measures how long answers take, one after another.
func (w *town) answers(t *testing.T, within time.Duration, done chan struct{}) []time.Duration {
	t.Helper()
	var out []time.Duration
	for end := time.Now().Add(within); time.Now().Before(end); {
		select {
		case <-done:
			return out
		default:
		}
		n := len(w.telegram.Sent(ada))
		begin := time.Now()
		w.telegram.Say(ada, fmt.Sprintf("question %d", n))
		w.sent(ada, n+1)
		out = append(out, time.Since(begin))
	}
	return out
}

// fillGigabyte fills the database with the messages of somebody else.
func (w *town) fillGigabyte(l *ledger) {
	w.t.Helper()
	series, noise := `WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 1000000)`, `hex(randomblob(400))`
	if w.database != "" {
		series, noise = `WITH k(i) AS (SELECT generate_series(1, 1000000))`, `repeat(md5(i::text), 4) || md5((i * 7)::text) || repeat(md5((i * 11)::text || 'x'), 3) || repeat(md5(random()::text), 17)`
	}
	for _, q := range []string{
		`INSERT INTO users (id, name, role, last_message, indexed, created_at) VALUES (90, 'filler', 'member', 1000000, 1000000, 0)`,
		series + ` INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, covered)
			SELECT 90, i, 1, 1, i, 1, 'web', 'user', 'chat', ` + noise + `, 100, '{}', i, i, i, 0, 1 FROM k`,
	} {
		_, err := l.db.Exec(q)
		must(w.t, err)
	}
	if w.database != "" { // what the server would do in the next minutes is not of the backup
		for _, q := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
			_, err := l.db.Exec(q)
			must(w.t, err)
		}
	}
}
