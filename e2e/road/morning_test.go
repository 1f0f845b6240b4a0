//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// On the morning after a day of 40 turns, "yes" refers to the last 30 turns of the evening,
// and each prompt's description of itself is true.
func TestPrompt_morningAfterALongDay(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.UseModel(e2etest.StartModel(t, 0))
		g := w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		for n := range 40 {
			w.Ask(fmt.Sprintf("turn %d: %s", n, strings.Repeat("the boat and the paint and the harbour ", 5)))
		}
		w.Set(time.Date(2026, 10, 25, 3, 5, 0, 0, w.Zone))
		w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Set(time.Date(2026, 10, 25, 8, 5, 0, 0, w.Zone))
		first := w.Context("yes")
		if first.NewEpoch != "silence" || first.Included < 55 || first.Total > 4100 || first.Thread != 81 ||
			first.Dropped != 0 || first.Thread != first.Included+first.LeftOut {
			t.Errorf("the first prompt of the day: %+v", first)
		}
		second := w.Context("why?")
		if second.NewEpoch != "" || second.Included != first.Included+2 || second.Thread != second.Included+second.LeftOut ||
			second.Thread != 83 || second.Dropped != 0 {
			t.Errorf("the second: %+v after %+v", second, first)
		}
		logged := fmt.Sprintf(
			`"in_thread": 83, "loaded": %d, "included": %d, "shortened": 0, "messages_truncated": %d, "left_out_covered": %[3]d, "dropped_uncovered": 0`,
			second.Loaded, second.Included, second.LeftOut)
		if !strings.Contains(g.Log.String(), logged) {
			t.Errorf("the log does not say %s\n%s", logged, g.Log)
		}
	})
}
