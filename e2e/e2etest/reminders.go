//go:build e2e

package e2etest

import (
	"slices"
	"strings"
)

// Told returns the reminders that Ada received.
func (w *Week) Told() []string {
	var out []string
	for _, m := range w.Telegram.Sent(Ada) {
		if strings.HasPrefix(m.Text, "⏰ ") {
			out = append(out, strings.TrimPrefix(m.Text, "⏰ "))
		}
	}
	return out
}

// WantTold checks the received reminders, in order.
func (w *Week) WantTold(g *Gateway, want ...string) {
	w.T.Helper()
	if got := w.Told(); !slices.Equal(got, want) {
		w.T.Errorf("Ada was reminded of %q, want %q\n%s", got, want, g.Log)
	}
}

// RemindIn requests a reminder as Ada.
func (w *Week) RemindIn(when, what string) {
	w.T.Helper()
	if got := w.Ask("/remind " + when + " " + what).Text; !strings.Contains(got, "I'll remind you") ||
		!strings.Contains(got, what) {
		w.T.Fatalf("got %q", got)
	}
}
