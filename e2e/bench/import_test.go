//go:build e2e && bench

package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// The cost of importing a history: not a test but a measurement, run alone by
// `go test -tags 'goolm e2e crashpoints bench' -run TestBenchImport -v ./e2e/`.

// benchImport is the number of imported and exported messages.
func benchImport(t *testing.T) int {
	t.Helper()
	if s := os.Getenv("EVERTHREAD_TEST_MESSAGES"); s != "" {
		n, err := strconv.Atoi(s)
		e2etest.Must(t, err)
		return n
	}
	return 100_000
}

// longChat writes a Telegram export of n messages, one every twenty minutes, or closer together if
// they would take more than ten years.
func longChat(t *testing.T, n int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	f, err := os.Create(file)
	e2etest.Must(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprint(w, `{"name":"Bot","type":"bot_chat","id":7,"messages":[`)
	step := min(1200, 10*365*24*3600/int64(n))
	say, first := e2etest.NewSayings(), time.Now().AddDate(0, -1, 0).Unix()-int64(n)*step
	for i := range n {
		if i > 0 {
			fmt.Fprint(w, ",\n")
		}
		text, err := json.Marshal(say())
		e2etest.Must(t, err)
		fmt.Fprintf(w,
			`{"id":%d,"type":"message","date":"2020-01-01T00:00:00","date_unixtime":"%d","from":"x","from_id":"%s","text":%s,"text_entities":[{"type":"plain","text":%s}]}`, i+1, first+int64(i)*step, []string{"user5", "user7"}[i%2], text, text)
	}
	fmt.Fprint(w, "]}")
	e2etest.Must(t, errors.Join(w.Flush(), f.Close()))
	return file
}

// A history is imported, and exported again.
func TestBenchImport(t *testing.T) {
	n := benchImport(t)
	file := longChat(t, n)
	info, err := os.Stat(file)
	e2etest.Must(t, err)
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = e2etest.NewStore(t)
			}
			w := e2etest.NewTown(t, database)
			w.Start().Stop()
			took, rss := w.Timed("import", "telegram", file)
			t.Logf("import of %d messages (%.0f MB): %.1f s, %.0f a second, at most %.0f MB", n, mb(int(info.Size())),
				took.Seconds(), float64(n)/took.Seconds(), mb(int(rss)))
			l := w.Ledger()
			if left := l.Count(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`); left > 0 {
				t.Errorf("the messages are not indexed: %v",
					l.Lines(`SELECT id || ' ' || name || ' ' || indexed || ' ' || last_message FROM users`))
			}
			took, _ = w.Timed("import", "telegram", file)
			t.Logf("the same again: %.1f s", took.Seconds())
			out := filepath.Join(t.TempDir(), "all.zip")
			took, rss = w.Timed("export", "--out", out)
			t.Logf("export: %.1f s, at most %.0f MB", took.Seconds(), mb(int(rss)))
		})
	}
}
