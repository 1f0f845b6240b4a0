//go:build e2e

package road

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// The main scenario: three days in two languages, two midnights, the end of daylight
// saving time and a restart, on both stores.
func TestConversation_threeDays(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		zone, err := time.LoadLocation("Europe/Paris")
		e2etest.Must(t, err)
		scenes := e2etest.ReadScenes(t, zone)
		w := e2etest.NewWeek(t, database(t), zone, scenes)
		g := w.Start()
		if got := w.Ask("/timezone Europe/Paris").Text; !strings.Contains(got, "Paris") {
			t.Fatalf("got %q", got)
		}
		w.Talk(scenes, "2026-10-24")
		w.Set(time.Date(2026, 10, 25, 3, 5, 0, 0, zone))
		first := w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Morning(t, 25)
		w.Talk(scenes[:8], "2026-10-25")
		g.Stop()
		w.Start()
		w.Talk(scenes[8:], "2026-10-25")
		w.Set(time.Date(2026, 10, 26, 3, 5, 0, 0, zone))
		second := w.Until("2026-10-25", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Morning(t, 26)
		w.Talk(scenes, "2026-10-26")
		w.KeepPrompt(t)
		w.Set(time.Date(2026, 10, 27, 3, 5, 0, 0, zone))
		third := w.Until("2026-10-26", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Morning(t, 27)
		w.Days(t, first, second, third)
	})
}
