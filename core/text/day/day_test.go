package day_test

import (
	_ "embed"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/internal/fulltest"
)

//go:embed testdata/zones.txt
var zoneNames string // every zone of the IANA database, one per line

func location(t interface{ Fatal(...any) }, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func TestAt(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, zone, starts, at             string
		label, start, end, finalize, posts string
	}{
		{"an ordinary day", "Europe/Paris", "00:00", "2026-11-19T07:10:00Z",
			"2026-11-19", "2026-11-18T23:00:00Z", "2026-11-19T23:00:00Z", "2026-11-20T02:00:00Z", "2026-11-20T07:00:00Z"},
		{"its last instant", "Europe/Paris", "00:00", "2026-11-19T22:59:59.999999999Z",
			"2026-11-19", "2026-11-18T23:00:00Z", "2026-11-19T23:00:00Z", "2026-11-20T02:00:00Z", "2026-11-20T07:00:00Z"},
		{"the first instant of the next", "Europe/Paris", "00:00", "2026-11-19T23:00:00Z",
			"2026-11-20", "2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z", "2026-11-21T02:00:00Z", "2026-11-21T07:00:00Z"},
		{"a night owl's two o'clock is the day before", "Europe/Paris", "04:00", "2026-11-20T01:00:00Z",
			"2026-11-19", "2026-11-19T03:00:00Z", "2026-11-20T03:00:00Z", "2026-11-20T03:00:00Z", "2026-11-20T07:00:00Z"},
		{"a day that starts after the post", "UTC", "10:00", "2026-11-20T01:00:00Z",
			"2026-11-19", "2026-11-19T10:00:00Z", "2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"},
		{"23 hours", "Europe/Paris", "00:00", "2026-03-29T12:00:00Z",
			"2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T01:00:00Z", "2026-03-30T06:00:00Z"},
		{"25 hours", "America/New_York", "00:00", "2026-11-01T12:00:00Z",
			"2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", "2026-11-02T08:00:00Z", "2026-11-02T13:00:00Z"},
		{"a boundary in the gap is the end of the gap", "Europe/Paris", "02:30", "2026-03-29T01:00:00Z",
			"2026-03-29", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-30T01:00:00Z", "2026-03-30T06:00:00Z"},
		{"a boundary that comes twice is its first", "Europe/Paris", "02:30", "2026-10-25T01:00:00Z",
			"2026-10-25", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z", "2026-10-26T02:00:00Z", "2026-10-26T07:00:00Z"},
		{"no midnight", "America/Sao_Paulo", "00:00", "2018-11-04T12:00:00Z",
			"2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z", "2018-11-05T05:00:00Z", "2018-11-05T10:00:00Z"},
		{"midnight twice", "America/Havana", "00:00", "2026-11-01T04:30:00Z",
			"2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", "2026-11-02T08:00:00Z", "2026-11-02T13:00:00Z"},
		{"23:30 again after midnight is the new day", "America/St_Johns", "00:00", "2008-11-02T03:00:00Z",
			"2008-11-02", "2008-11-02T02:30:00Z", "2008-11-03T03:30:00Z", "2008-11-03T06:30:00Z", "2008-11-03T11:30:00Z"},
		{"before a skipped day", "Pacific/Apia", "00:00", "2011-12-30T09:00:00Z",
			"2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T13:00:00Z", "2011-12-30T18:00:00Z"},
		{"after a skipped day", "Pacific/Apia", "00:00", "2011-12-30T10:00:00Z",
			"2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z", "2011-12-31T13:00:00Z", "2011-12-31T18:00:00Z"},
		{"a night owl goes on over a skipped day", "Pacific/Apia", "04:00", "2011-12-30T12:00:00Z",
			"2011-12-29", "2011-12-29T14:00:00Z", "2011-12-30T14:00:00Z", "2011-12-30T14:00:00Z", "2011-12-30T18:00:00Z"},
		{"Kwajalein skipped one, too", "Pacific/Kwajalein", "00:00", "1993-08-21T12:00:00Z",
			"1993-08-22", "1993-08-21T12:00:00Z", "1993-08-22T12:00:00Z", "1993-08-22T15:00:00Z", "1993-08-22T20:00:00Z"},
		{"the 366th day of a year beyond the zone's table", "Europe/Paris", "00:00", "2040-12-31T12:00:00Z",
			"2040-12-31", "2040-12-30T23:00:00Z", "2040-12-31T23:00:00Z", "2041-01-01T02:00:00Z", "2041-01-01T07:00:00Z"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			zone := location(t, c.zone)
			starts, err := day.Clock(c.starts)
			if err != nil {
				t.Fatal(err)
			}
			got := day.At(instant(t, c.at), zone, starts, 3*time.Hour, 8*time.Hour)
			want := core.Day{Label: c.label, Zone: c.zone, Start: instant(t, c.start), End: instant(t, c.end),
				Finalize: instant(t, c.finalize), Post: instant(t, c.posts)}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAt_daysOfEveryZone checks for any zone and time that t lies in its day, that days are
// contiguous, and that labels increase and are dates that exist in the zone.
func TestAt_daysOfEveryZone(t *testing.T) {
	t.Parallel()
	var zones []*time.Location
	for _, name := range strings.Fields(zoneNames) {
		zones = append(zones, location(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 4133980800).Draw(t, "seconds"),
			rapid.Int64Range(0, 999999999).Draw(t, "nanoseconds"))
		clock := rapid.Map(rapid.IntRange(0, 24*60-1), func(m int) time.Duration { return time.Duration(m) * time.Minute })
		starts, finalize, post := clock.Draw(t, "starts"), clock.Draw(t, "finalize"), clock.Draw(t, "post")
		step := fulltest.Size(8, 1)
		for i := rapid.IntRange(0, step-1).Draw(t, "first zone"); i < len(zones); i += step {
			zone := zones[i]
			tile(t, at, zone, starts, finalize, post)
		}
	})
}

// tile checks a run of days from at on.
func tile(t *rapid.T, at time.Time, zone *time.Location, starts, finalize, post time.Duration) {
	d := day.At(at, zone, starts, finalize, post)
	check(t, d, at)
	for range 3 {
		next := day.At(d.End, zone, starts, finalize, post)
		check(t, next, d.End)
		last := day.At(d.End.Add(-1), zone, starts, finalize, post)
		if !next.Start.Equal(d.End) || next.Label <= d.Label || last != d {
			t.Fatalf("%+v (ending as %+v) is followed by %+v", d, last, next)
		}
		d = next
	}
}

func check(t *rapid.T, d core.Day, at time.Time) {
	switch length := d.End.Sub(d.Start); {
	case at.Before(d.Start) || !at.Before(d.End):
		t.Fatalf("%v is not in %+v", at, d)
	case d.Finalize.Before(d.End) || d.Post.Before(d.Finalize):
		t.Fatalf("out of order: %+v", d)
	case length <= 0 || length > 50*time.Hour:
		t.Fatalf("a day of %v: %+v", length, d)
	}
	if _, err := day.Parse(d.Label); err != nil {
		t.Fatal(err)
	}
}

// TestAt_oddZones walks through 130 years of days in zones with unusual changes of the
// clock.
func TestAt_oddZones(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Pacific/Apia", "Pacific/Kwajalein", "America/St_Johns", "Africa/Casablanca",
		"Antarctica/Troll", "Asia/Gaza", "Africa/Monrovia", "Pacific/Kiritimati"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone := location(t, name)
			skipped := 0
			d := day.At(time.Unix(0, 0), zone, 0, 3*time.Hour, 8*time.Hour)
			for d.Start.Year() < fulltest.Size(2020, 2100) {
				next := day.At(d.End, zone, 0, 3*time.Hour, 8*time.Hour)
				before, _ := day.Parse(d.Label)
				if gap := mustParse(t, next.Label).Sub(before); gap != 24*time.Hour {
					skipped++
				}
				if !next.Start.Equal(d.End) || next.Label <= d.Label {
					t.Fatalf("%+v is followed by %+v", d, next)
				}
				d = next
			}
			want := map[string]int{"Pacific/Apia": 1, "Pacific/Kwajalein": 1, "Pacific/Kiritimati": 1}[name]
			if skipped != want {
				t.Errorf("%d labels skipped, want %d", skipped, want)
			}
		})
	}
}

func mustParse(t *testing.T, label string) time.Time {
	t.Helper()
	d, err := day.Parse(label)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAt_noZoneIsUTC(t *testing.T) {
	t.Parallel()
	d := day.At(instant(t, "2026-11-19T07:10:00Z"), nil, 0, 0, 0)
	if d.Zone != "UTC" || d.Label != "2026-11-19" {
		t.Errorf("got %+v", d)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{"00:00": 0, "03:00": 3 * time.Hour,
		"23:59": 24*time.Hour - time.Minute} {
		if got, err := day.Clock(s); err != nil || got != want {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "3:00", "24:00", "12:60", "12:00:00", "12.00", "-1:00", "noon", "12:0",
		" 2:00", "１２:00"} {
		if got, err := day.Clock(s); err == nil || !strings.Contains(err.Error(), "HH:MM") {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	if got := mustParse(t, "2024-02-29"); !got.Equal(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v", got)
	}
	for _, s := range []string{"", "2023-02-29", "2026-1-2", "2026-01-02T00:00:00Z", "yesterday", "99-01-01"} {
		if got, err := day.Parse(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	cases := []struct{ label, today, language, want string }{
		{"2026-11-19", "2026-11-19", "en", "Today"},
		{"2026-11-18", "2026-11-19", "en-GB", "Yesterday"},
		{"2025-12-31", "2026-01-01", "", "Yesterday"},
		{"2026-11-17", "2026-11-19", "es", "Tuesday 17 November"},
		{"2025-11-19", "2026-11-19", "en", "Wednesday 19 November 2025"},
		{"2026-11-20", "2026-11-19", "en", "Friday 20 November"},
		{"2026-11-19", "2026-11-19", "fr", "Aujourd’hui"},
		{"2026-11-18", "2026-11-19", "fr-CA", "Hier"},
		{"2026-08-01", "2026-11-19", "FR", "samedi 1er août"},
		{"2024-02-29", "2026-11-19", "fr", "jeudi 29 février 2024"},
		{"2026-03-01", "2026-11-19", "de-AT", "Sonntag, 1. März"},
		{"2026-11-19", "2026-11-19", "frr", "Today"},
		{"2026-11-19", "", "en", "Thursday 19 November 2026"},
		{"nonsense", "2026-11-19", "en", "nonsense"},
	}
	for _, c := range cases {
		if got := day.Name(c.label, c.today, c.language); got != c.want {
			t.Errorf("%s on %s in %q: got %q, want %q", c.label, c.today, c.language, got, c.want)
		}
	}
}

func FuzzClock(f *testing.F) {
	f.Add("03:00")
	f.Add("3:0")
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := day.Clock(s); err == nil && (d < 0 || d >= 24*time.Hour) {
			t.Errorf("%q: got %v", s, d)
		}
	})
}

func BenchmarkAt(b *testing.B) {
	zone := location(b, "Europe/Paris")
	at := time.Date(2026, 11, 19, 8, 10, 0, 0, zone)
	for b.Loop() {
		day.At(at, zone, 0, 3*time.Hour, 8*time.Hour)
	}
}
