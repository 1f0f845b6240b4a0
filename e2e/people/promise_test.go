//go:build e2e

package people

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A model that promises to come back without a tool call is corrected: the person sees
// only the second answer, and is reminded.
func TestPromises_areKept(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		if got := w.Ask("promise the dentist").Text; !strings.HasPrefix(got, "tool said: ") ||
			!strings.Contains(got, `"status":"set"`) {
			t.Errorf("got %q", got)
		}
		l := w.Ledger()
		w.Settle(l, g)
		if got := l.Lines(`SELECT body FROM plans WHERE kind = 'reminder' AND state = 'active'`); len(got) != 1 || got[0] != "the dentist" {
			t.Fatalf("the reminders are %q", got)
		}
		for _, m := range l.Lines(`SELECT body FROM messages WHERE kind = 'chat'`) {
			if strings.Contains(m, "[You told the person") || strings.Contains(m, "I will remind you") {
				t.Errorf("the transcript contains %q", m)
			}
		}
		w.Set(time.Date(2026, 10, 25, 9, 0, 1, 0, time.UTC))
		if got := w.Receive().Text; got != "⏰ the dentist" {
			t.Errorf("got %q", got)
		}
	})
}
