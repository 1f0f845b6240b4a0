//go:build e2e

package e2etest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Until waits until a count has the expected value.
func (l *Ledger) Until(query string, want int, g *Gateway, args ...any) {
	l.t.Helper()
	got := -1
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = l.Count(query, args...); got == want {
			return
		}
	}
	l.t.Fatalf("%s is %d, want %d\n%s", query, got, want, g.Log.Tail())
}

// WriteJSON writes a value to a temporary file and returns its path.
func WriteJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	Must(t, err)
	path := filepath.Join(t.TempDir(), "script.json")
	Must(t, os.WriteFile(path, b, 0o600))
	return path
}

// Tail returns the end of a long log.
func (l *logBuffer) Tail() string {
	const most = 4000
	s := l.String()
	return s[max(0, len(s)-most):]
}
