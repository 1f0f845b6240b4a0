//go:build e2e

package e2etest

import (
	"strings"
	"time"
)

const (
	Failed = `SELECT COUNT(*) FROM embeddings WHERE state = 'error'`
	// soon bounds an immediate effect on a busy machine: much less than the 30 seconds
	// of the periodic check.
	soon = 12 * time.Second
)

// Within waits for a count, and fails if that took long.
func (l *Ledger) Within(query string, n int, g *Gateway) {
	l.t.Helper()
	begin := time.Now()
	l.Until(query, n, g)
	if took := time.Since(begin); took > soon {
		l.t.Errorf("%s: %d after %s", query, n, took.Round(time.Second))
	}
}

// Says checks that the commands that report such reasons report one.
func (w *Town) Says(why string) {
	w.T.Helper()
	if out := w.MustRun("embeddings", "status"); !strings.Contains(out, "1 text has no vector: ") ||
		!strings.Contains(out, why) {
		w.T.Errorf("status says %s, want %q", out, why)
	}
	out, _ := w.Run("doctor")
	if _, vectors, _ := strings.Cut(out, "vectors"); !strings.Contains(vectors, why) {
		w.T.Errorf("doctor says %s, want %q", out, why)
	}
}
