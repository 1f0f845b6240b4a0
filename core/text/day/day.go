// Package day is the arithmetic of local calendar days. It is pure:
// the same arguments give the same result in any process.
//
// A wall time on a date means the first instant at which the zone's clock shows it or a later one. So a wall time that
// does not exist is the end of the gap, one that occurs twice is the first, and a later wall time is never an earlier
// instant: whatever a zone did to its clocks, days tile the line of time.
package day

import (
	"cmp"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/times"
)

// At returns the day of t. zone nil is UTC. startsAt (0 up to 24 h,
// day.starts_at) moves the boundary: with 4 h, 02:00 belongs to the day before. End is
// the first instant of the next day that exists.
// Finalize is finalizeAt on the calendar day that follows, or End if that is
// later; Post is postAt on that day, or Finalize if that is later. All are UTC.
func At(t time.Time, zone *time.Location, startsAt, finalizeAt, postAt time.Duration) core.Day {
	zone = cmp.Or(zone, time.UTC)
	d := of(t, zone, startsAt)
	next := d.plus(1)
	for !next.exists(zone) {
		next = next.plus(1)
	}
	out := core.Day{Label: d.label(), Zone: zone.String(), Start: d.at(startsAt, zone), End: next.at(startsAt, zone)}
	out.Finalize = later(next.at(finalizeAt, zone), out.End)
	out.Post = later(next.at(postAt, zone), out.Finalize)
	return out
}

// Parse returns midnight UTC of a label. Anything but an existing date as YYYY-MM-DD is an error for people.
func Parse(label string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, label)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a date such as 2026-11-19 (YYYY-MM-DD)", label)
	}
	return t, nil
}

// Clock returns a time of day, written HH:MM from 00:00 to 23:59, as the time since midnight.
func Clock(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, fmt.Errorf("%q is not a time of day such as 08:00 (HH:MM, from 00:00 to 23:59)", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// Calendar holds the times at which days begin, are finalized and posted, each since
// midnight, and the zone of users who chose none (nil: UTC).
type Calendar struct {
	Zone                   *time.Location
	Starts, Finalize, Post time.Duration
}

// Day returns the local day of t for a user with these settings; see At.
func (c Calendar) Day(s core.Settings, t time.Time) core.Day {
	return At(t, s.Location(c.Zone), c.Starts, c.Finalize, c.Post)
}

// date is a calendar date: its midnight as if the zone were UTC.
type date struct{ midnight time.Time }

// of returns the newest date whose day has begun at t. It may be the day after the
// local date: if clocks went back over midnight, the new day had begun already.
func of(t time.Time, zone *time.Location, startsAt time.Duration) date {
	y, m, n := t.In(zone).Date()
	d := date{time.Date(y, m, n+1, 0, 0, 0, 0, time.UTC)}
	for !d.exists(zone) || d.at(startsAt, zone).After(t) {
		d = d.plus(-1)
	}
	return d
}

func (d date) label() string { return d.midnight.Format(time.DateOnly) }

func (d date) plus(days int) date { return date{d.midnight.AddDate(0, 0, days)} }

// exists reports whether the zone's clock ever showed d: some zones skipped one when they moved across the date line.
func (d date) exists(zone *time.Location) bool {
	y, m, n := d.at(0, zone).In(zone).Date()
	return y == d.midnight.Year() && m == d.midnight.Month() && n == d.midnight.Day()
}

// at returns the first instant at which the zone's clock shows d at clock, or later.
func (d date) at(clock time.Duration, zone *time.Location) time.Time {
	return First(d.midnight.Add(clock), zone)
}

// First returns the first instant at which a zone's clock shows wall (a time in UTC), or
// later. No zone is as much as a day ahead of or behind UTC.
//
// ZoneBounds ends the 366th day of a leap year before it begins (Go 1.26): First skips such
// a bound by an hour at a time.
func First(wall time.Time, zone *time.Location) time.Time {
	t := wall.Add(-24 * time.Hour)
	for {
		local := t.In(zone)
		_, offset := local.Zone()
		_, until := local.ZoneBounds()
		shown := later(t, wall.Add(-time.Duration(offset)*time.Second))
		if !until.IsZero() && !until.After(t) {
			until = t.Add(time.Hour)
		}
		if until.IsZero() || shown.Before(until) {
			return shown
		}
		t = until.UTC()
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Label parses a date as people type it, for a user with these settings at a time. It
// returns the label of the day; ok is false if the text is no date.
func (c Calendar) Label(s core.Settings, now time.Time, text string) (label string, ok bool) {
	today := c.Day(s, now)
	label, ok = times.Date(text, today.Label)
	if ok && label == times.Yesterday { // a zone may skip a date
		label = c.Day(s, today.Start.Add(-time.Nanosecond)).Label
	}
	return label, ok
}

// Name returns the name of a day on the day today (both are labels): Today, Yesterday, or its weekday and date, with
// the year if it is another one. language is a BCP 47 tag. A label that is no date is returned unchanged.
func Name(label, today, language string) string {
	d, err := Parse(label)
	if err != nil {
		return label
	}
	now, err := Parse(today)
	switch {
	case err == nil && d.Equal(now):
		return times.TodayName(language)
	case err == nil && d.AddDate(0, 0, 1).Equal(now):
		return times.YesterdayName(language)
	}
	name := times.DateName(d, language)
	if err != nil || d.Year() != now.Year() {
		name += fmt.Sprintf(" %04d", d.Year())
	}
	return name
}
