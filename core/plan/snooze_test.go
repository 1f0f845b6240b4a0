package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/core/plan"
)

func TestSnoozes(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	m := &plan.Plans{Settings: plan.Settings{DefaultHour: 8 * time.Hour}}
	for now, want := range map[string]string{
		"2026-03-28 14:40": "[hour 15:40 evening 20:00 morning 29 08:00]", // the clocks change that night
		"2026-03-28 19:30": "[hour 20:30 morning 29 08:00]",
		"2026-03-28 23:30": "[hour 00:30 morning 29 08:00]",
		"2026-10-25 00:10": "[hour 01:10 evening 20:00 morning 26 08:00]",
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04", now, paris)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range m.Snoozes(at, paris) {
			format := "15:04"
			if s.Name == "morning" {
				format = "2 15:04"
			}
			got = append(got, s.Name+" "+s.At.In(paris).Format(format))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("at %s: got %v, want %s", now, got, want)
		}
	}
}
