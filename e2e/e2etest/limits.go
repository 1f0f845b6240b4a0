//go:build e2e

package e2etest

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

// Inputs returns the number of messages that each turn answered.
func (l *Ledger) Inputs() []int {
	l.t.Helper()
	var out []int
	for _, line := range l.Lines(`SELECT inputs FROM turns ORDER BY id`) {
		var ids []int
		Must(l.t, json.Unmarshal([]byte(line), &ids))
		out = append(out, len(ids))
	}
	return out
}

// NewClock returns a town whose clock the test moves; it is noon.
func NewClock(t *testing.T, database string) *Week {
	t.Helper()
	w := &Week{Town: NewTown(t, database), Zone: time.UTC, Next: 1000, Clock: filepath.Join(t.TempDir(), "clock")}
	w.Env = append(w.Env, "EVERTHREAD_TEST_CLOCK="+w.Clock)
	w.Set(time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC))
	return w
}

// Write sends a text of Ada without waiting for an answer.
func (w *Week) Write(text string) {
	w.Next++
	m := Written(Ada, w.Next, text)
	m["date"] = w.Now().Unix()
	w.Telegram.Offer(map[string]any{"message": m})
}
