package remind

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/everthread/everthread/core"
)

// Next returns when a recurring reminder is next due after a moment, by the wall clock of
// its zone; the zero time if it does not recur (again). A wall time that the zone skips is
// due at the first instant after the gap, one that occurs twice at its first occurrence: no
// time is lost or repeated. A date that a zone skipped altogether has no times.
func Next(r core.Reminder, after time.Time) time.Time {
	s, err := schedule(r.Cron)
	if err != nil {
		return time.Time{}
	}
	return next(s, zoneOf(r), after)
}

// zoneOf returns the zone of a reminder; UTC if it is unknown.
func zoneOf(r core.Reminder) *time.Location { return core.Settings{Zone: r.Zone}.Location(time.UTC) }

func next(s cron.Schedule, zone *time.Location, after time.Time) time.Time {
	for wall := s.Next(wallOf(after, zone)); !wall.IsZero(); wall = s.Next(wall) {
		at := first(wall, zone)
		if at.After(after) && wallOf(at, zone).Sub(wall) < longestGap {
			return at
		}
	}
	return time.Time{}
}

// longestGap is longer than any clock change of a zone, and shorter than a skipped date.
const longestGap = 12 * time.Hour

// schedule parses a cron expression of five fields.
func schedule(expression string) (cron.Schedule, error) {
	if len(strings.Fields(expression)) != 5 || strings.Contains(expression, "=") {
		return nil, errors.New("a cron expression has five fields")
	}
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(expression)
}

// looked bounds the times of a schedule that are checked for the shortest interval. Within
// a day at most 96 are far enough apart.
const looked = 200

// often reports whether a schedule has two times that are less than every apart.
func often(s cron.Schedule, every time.Duration, from time.Time) bool {
	last := s.Next(from)
	for range looked {
		t := s.Next(last)
		if t.IsZero() {
			return false
		}
		if t.Sub(last) < every {
			return true
		}
		last = t
	}
	return false
}

// wallOf returns the wall time of a zone at a moment, as a time in UTC.
func wallOf(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// first returns the first instant at which a zone's wall time is wall (a time in UTC) or
// later. It is exact if the zone changes its clocks at most once within a day and a half,
// as all do.
func first(wall time.Time, zone *time.Location) time.Time {
	before, after := wall.Add(-16*time.Hour), wall.Add(16*time.Hour) // no zone is as far from UTC
	old, now := offset(before, zone), offset(after, zone)
	at := wall.Add(-old)
	if old == now {
		return at
	}
	change := changes(before, after, old, zone)
	if at.Before(change) {
		return at
	}
	if at = wall.Add(-now); at.Before(change) {
		return change
	}
	return at
}

// changes returns the instant between two at which a zone's offset changes from old.
func changes(from, to time.Time, old time.Duration, zone *time.Location) time.Time {
	for to.Sub(from) > time.Second {
		middle := from.Add(to.Sub(from) / 2).Truncate(time.Second)
		if !middle.After(from) {
			break
		}
		if offset(middle, zone) == old {
			from = middle
		} else {
			to = middle
		}
	}
	return to.Truncate(time.Second)
}

func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
