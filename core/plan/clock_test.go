package plan_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/internal/fulltest"
)

// zones returns zones that change their clocks by an hour, by half of one, by two, at midnight,
// across the date line, in the south, in winter, or never.
func zones() []string {
	return []string{"Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "America/Santiago",
		"Asia/Beirut", "Africa/Casablanca", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Tehran", "America/St_Johns",
		"Pacific/Chatham", "Asia/Kolkata", "UTC", "Europe/Dublin", "America/Scoresbysund", "Africa/Cairo",
		"America/Havana",
		"Asia/Gaza", "America/Nuuk"}
}

func wall(t time.Time, l *time.Location) time.Time {
	t = t.In(l)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// firstShown returns the first minute at which the clock shows w or later.
func firstShown(w time.Time, l *time.Location) time.Time {
	for t := w.Add(-30 * time.Hour); ; t = t.Add(time.Minute) {
		if !wall(t, l).Before(w) {
			return t
		}
	}
}

func TestParse_skippedAndRepeatedTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, now, text, want string }{
		// The clocks of Paris skip 2:00 to 3:00 on 28 March 2027, and show it twice on 25 October 2026.
		{"Europe/Paris", "2027-03-27T12:00:00Z", "tomorrow at 2:30", "2027-03-28T03:00:00+02:00"},
		{"Europe/Paris", "2027-03-27T12:00:00Z", "demain à 2h", "2027-03-28T03:00:00+02:00"},
		{"Europe/Paris", "2027-03-27T12:00:00Z", "tomorrow at 3:00", "2027-03-28T03:00:00+02:00"},
		{"Europe/Paris", "2027-03-27T12:00:00Z", "tomorrow at 1:59", "2027-03-28T01:59:00+01:00"},
		{"Europe/Paris", "2026-10-24T12:00:00Z", "tomorrow at 2:30", "2026-10-25T02:30:00+02:00"},
		{"Europe/Paris", "2026-10-24T12:00:00Z", "tomorrow at 3:00", "2026-10-25T03:00:00+01:00"},
		{"Europe/Paris", "2026-10-24T12:00:00Z", "every day at 2:30", "2026-10-25T02:30:00+02:00"},
		{"Europe/Paris", "2027-03-27T12:00:00Z", "every day at 2:30", "2027-03-28T03:00:00+02:00"},
		// Santiago skips the first hour of 6 September 2026.
		{"America/Santiago", "2026-09-05T12:00:00Z", "tonight at midnight", "2026-09-06T01:00:00-03:00"},
		{"America/Santiago", "2026-09-05T12:00:00Z", "tomorrow at 0:30", "2026-09-06T01:00:00-03:00"},
		// Apia skipped 30 December 2011.
		{"Pacific/Apia", "2011-12-29T12:00:00Z", "tomorrow at 9", "2011-12-31T00:00:00+14:00"},
		{"Pacific/Apia", "2011-12-29T22:00:00Z", "every day at 9", "2011-12-31T09:00:00+14:00"},
		{"Australia/Lord_Howe", "2026-10-03T00:00:00Z", "tomorrow at 2:15", "2026-10-04T02:30:00+11:00"},
		{"Europe/Paris", "2026-10-24T12:00:00Z", "in 24 hours", "2026-10-25T13:00:00+01:00"},
		{"Europe/Paris", "2026-10-24T12:00:00Z", "in 1 day at 14:00", "2026-10-25T14:00:00+01:00"},
	} {
		l := zone(t, c.zone)
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		at, _, _, err := times.Parse(c.text, now, l, "en")
		if got := at.In(l).Format(time.RFC3339); err != nil || got != c.want {
			t.Errorf("%s in %s: got %s, %v, want %s", c.text, c.zone, got, err, c.want)
		}
	}
}

// TestNext_neitherSkipsNorDoubles checks that a daily reminder is due exactly once on every day, at
// its time or at the first instant after a gap, also when a zone changes its clocks.
func TestNext_neitherSkipsNorDoubles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom(zones()).Draw(r, "zone")
		l := zone(t, name)
		h, m := rapid.IntRange(0, 23).Draw(r, "hour"), rapid.IntRange(0, 59).Draw(r, "minute")
		start := time.Date(rapid.IntRange(2008, 2030).Draw(r, "year"), time.Month(rapid.IntRange(1, 12).Draw(r, "month")),
			rapid.IntRange(1, 28).Draw(r, "day"), 12, 0, 0, 0, time.UTC)
		x := core.Plan{Cron: fmt.Sprintf("%d %d * * *", m, h), Zone: name}
		last := start
		days := map[string]int{}
		for range fulltest.Size(15, 60) {
			at := times.Next(x.Cron, x.Zone, last)
			if !at.After(last) {
				r.Fatalf("%v after %v", at, last)
			}
			shown := wall(at, l)
			wanted := time.Date(shown.Year(), shown.Month(), shown.Day(), h, m, 0, 0, time.UTC)
			if shown.Before(wanted) { // the gap crossed midnight
				wanted = wanted.AddDate(0, 0, -1)
			}
			if want := firstShown(wanted, l); !at.Equal(want) {
				r.Fatalf("%s: got %v, want %v", x.Cron, at.In(l), want.In(l))
			}
			days[wanted.Format(time.DateOnly)]++
			if gap := at.Sub(last); last != start && gap > 27*time.Hour && name != "Pacific/Apia" &&
				name != "Pacific/Kwajalein" {
				r.Fatalf("%v to %v", last.In(l), at.In(l))
			}
			last = at
		}
		for d, n := range days {
			if n != 1 {
				r.Fatalf("%s: %d times", d, n)
			}
		}
	})
}

// TestNext_manyKinds checks that each next time is later, and at most nine years later.
func TestNext_manyKinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		x := core.Plan{Zone: rapid.SampledFrom(zones()).Draw(r, "zone"),
			Cron: rapid.SampledFrom([]string{"*/15 * * * *", "0 * * * *", "30 2 * * 0", "0 9 1 * *", "0 0 29 2 *",
				"0 8,20 * * *", "15 1-3 * * *", "0 9 31 * *"}).Draw(r, "cron")}
		last := time.Unix(rapid.Int64Range(1.2e9, 1.9e9).Draw(r, "now"), 0)
		for range 100 {
			if last.Year() > 2090 { // 2100 is not a leap year, so the next 29 February may be more than nine years away
				return
			}
			at := times.Next(x.Cron, x.Zone, last)
			if !at.After(last) || at.Sub(last) > 9*366*24*time.Hour {
				r.Fatalf("%v after %v", at, last)
			}
			last = at
		}
	})
}

// TestNext_repeatedHour checks that a time in the first of two equal hours is not repeated in
// the second.
func TestNext_repeatedHour(t *testing.T) {
	t.Parallel()
	second := time.Date(2026, 10, 25, 1, 10, 0, 0, time.UTC) // 2:10 for the second time
	for cron, want := range map[string]time.Time{
		"30 2 * * *":   time.Date(2026, 10, 26, 1, 30, 0, 0, time.UTC),
		"*/30 * * * *": time.Date(2026, 10, 25, 2, 0, 0, 0, time.UTC),
	} {
		if at := times.Next(cron, "Europe/Paris", second); !at.Equal(want) {
			t.Errorf("%s: got %v", cron, at)
		}
	}
}

func TestNext_nothing(t *testing.T) {
	t.Parallel()
	for _, cron := range []string{"", "soon", "* * * *", "TZ=UTC 0 8 * *", "@every 1s", "0 8 30 2 *", "99 * * * *",
		"CRON_TZ= * * * *"} {
		if at := times.Next(cron, "Europe/Paris", morning()); !at.IsZero() {
			t.Errorf("%q: %v", cron, at)
		}
	}
	at := times.Next("0 8 * * *", "Nowhere/Land", morning())
	if want := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC); !at.Equal(want) {
		t.Errorf("an unknown zone counts as UTC: got %v", at)
	}
}

// TestParse_properties checks that every parsed time is in the future, in any zone, and that the
// returned expression has the same next time.
func TestParse_properties(t *testing.T) {
	t.Parallel()
	words := []string{"in", "20", "minutes", "tomorrow", "at", "9", "9:30", "pm", "next", "Tuesday", "on", "3", "June",
		"3rd", "the", "every", "each", "Monday", "and", "day", "week", "2", "hours", "month", "of", "noon", "tonight",
		"evening", "demain", "à", "9h", "h", "dans", "le", "1er", "de", "chaque", "mois", "tous", "les", "jours", "lundi",
		"prochain", "soir", "call", "Ana", ",", "2026-12-01", "24:00", "31", "29", "February", "second", "other", "last",
		"weekend", "*", "0", "8", "1-5", "🎂", "from", "now", "half", "past", "a", "an"}
	rapid.Check(t, func(r *rapid.T) {
		text := ""
		for range rapid.IntRange(0, 9).Draw(r, "words") {
			text += rapid.SampledFrom(words).Draw(r, "word") + " "
		}
		now := time.Unix(rapid.Int64Range(1.7e9, 1.9e9).Draw(r, "now"), 0).UTC()
		l := zone(t, rapid.SampledFrom(zones()).Draw(r, "zone"))
		at, cron, rest, err := times.Parse(text, now, l, rapid.SampledFrom([]string{"en", "fr"}).Draw(r,
			"lang"))
		if err != nil {
			if err.Error() == "" || !at.IsZero() || cron != "" {
				r.Fatalf("%q: %v, %q, %v", text, at, cron, err)
			}
			return
		}
		if !at.After(now) || at.Sub(now) > 10*367*24*time.Hour || len(rest) > len(text) {
			r.Fatalf("%q: %v at %v, %q", text, at, now, rest)
		}
		if cron == "" {
			return
		}
		if again := times.Next(cron, l.String(), now); !again.Equal(at) {
			r.Fatalf("%q: %q, %v, then %v", text, cron, at, again)
		}
		if times.Describe(cron, "en") == "" {
			r.Fatalf("%q is not described", cron)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"tomorrow at 9 call Ana", "every Monday and Thursday at 8", "dans 1h30",
		"le 1er de chaque mois à 9h", "0 8 * * 1", "2026-11-23T08:00:00+01:00", "\x00\xff d’ L'"} {
		f.Add(text, "fr")
	}
	l, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		at, _, _, err := times.Parse(text, morning(), l, lang)
		if err == nil && !at.After(morning()) {
			t.Errorf("%q: %v", text, at)
		}
	})
}
