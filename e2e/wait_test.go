//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// until waits until a count is as it should be.
func (l *ledger) until(query string, want int, g *gateway, args ...any) {
	l.t.Helper()
	got := -1
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = l.count(query, args...); got == want {
			return
		}
	}
	l.t.Fatalf("%s is %d, want %d\n%s", query, got, want, g.log.tail())
}

// writeJSON writes a value to a file of the test's and returns its path.
func writeJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	path := filepath.Join(t.TempDir(), "script.json")
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

// tail is the end of a long log.
func (l *logBuffer) tail() string {
	const most = 4000
	s := l.String()
	return s[max(0, len(s)-most):]
}
