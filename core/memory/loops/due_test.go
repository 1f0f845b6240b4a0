package loops_test

import (
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/loops"
	"github.com/everthread/everthread/core/text/day"
)

// TestDue checks which day a loop names that was written on Thursday 19 November 2026.
func TestDue(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ language, text, want string }{
		{"en", "Dentist on Wednesday 9 December at 10", "2026-12-09"},
		{"en", "Call Tom tomorrow", "2026-11-20"},
		{"en", "Pay the rent by 1 January 2027", "2027-01-01"},
		{"en", "The invoice of 3 November is not paid", ""},
		{"en", "Who pays?", ""},
		{"en", "Water the plants every Monday", ""},
		{"fr", "Rendez-vous chez le dentiste le mercredi 9 décembre", "2026-12-09"},
		{"fr", "Attendre le devis du plombier", ""},
		{"de", "Zahnarzt am Mittwoch, 9. Dezember", "2026-12-09"},
		{"de", "Die Lampen bestellen", ""},
	} {
		got := loops.Due(day.Calendar{}, core.Settings{Zone: "Europe/Paris"}, noon(), c.text, c.language)
		last := ""
		if !got.IsZero() {
			last = got.Add(-time.Nanosecond).In(paris).Format(time.DateOnly)
		}
		if last != c.want {
			t.Errorf("%q: got %q, want %q", c.text, last, c.want)
		}
	}
}

func TestStale_waitsForTheDay(t *testing.T) {
	t.Parallel()
	l := core.Loop{OpenedAt: noon(), Mentioned: noon(), Due: noon().AddDate(0, 2, 0)}
	for days, want := range map[int]bool{40: false, 60: false, 85: false, 95: true} {
		if got := l.Stale(noon().AddDate(0, 0, days)); got != want {
			t.Errorf("after %d days: %v", days, got)
		}
	}
}
