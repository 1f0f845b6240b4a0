//go:build e2e

package people

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A model that never writes a reference still gives the whole summary: what can be
// traced to messages gets their numbers, and what cannot is marked, opens no loop
// and is not posted.
func TestSummary_modelWithoutReferences(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.UseModel(e2etest.StartModel(t, 0, "EVERTHREAD_TEST_LOOSE=1"))
		w.Start()
		for _, text := range []string{"I want to repaint the hull of the boat",
			"I still have to call the harbour master about the mooring fee", "decided: white hull with a blue stripe",
			"still to do: order the paint in Ghent", "and that is all for now"} {
			if got := w.Ask(text).Text; got != "echo: "+text {
				t.Fatalf("got %q", got)
			}
		}
		d := w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.Version > 0 })
		for _, want := range []string{"## Goals\n- I want to repaint the hull of the boat [#1",
			"## Decisions\n- echo: decided: white hull with a blue stripe [#", "- Still to sell the castle in Scotland [?]"} {
			if !strings.Contains(d.Summary, want) {
				t.Errorf("%q is not in\n%s", want, d.Summary)
			}
		}
		if got := w.Ask("/loops").Text; !strings.Contains(got, "harbour master") || strings.Contains(got, "castle") {
			t.Errorf("open is %q", got)
		}
		w.Set(time.Date(2026, 10, 25, 3, 5, 0, 0, w.Zone))
		w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Set(time.Date(2026, 10, 25, 8, 0, 30, 0, w.Zone))
		if post := w.Receive().Text; !strings.HasPrefix(post, "Summary: ") || strings.Contains(post, "castle") ||
			!strings.Contains(post, "mooring fee") {
			t.Errorf("posted is %q", post)
		}
		if got := w.Prompt("hello"); !strings.Contains(got, "castle in Scotland [?]") {
			t.Errorf("the prompt does not mark the claim as unsupported:\n%s", got)
		}
	})
}
