package remind

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robfig/cron/v3"

	"github.com/everthread/everthread/core"
	days "github.com/everthread/everthread/core/day"
)

// Next returns when a cron expression is next due after a moment, by the wall clock of a
// zone; the zero time if it does not recur (again). A wall time that the zone skips is due
// at the first instant after the gap, one that occurs twice at its first occurrence: no time
// is lost or repeated. A date that a zone skipped altogether has no times.
func (Settings) Next(cron, zone string, after time.Time) time.Time {
	s, err := schedule(cron)
	if err != nil {
		return time.Time{}
	}
	return next(s, zoneOf(zone), after)
}

// zoneOf returns the zone of a name; UTC if it is unknown.
func zoneOf(name string) *time.Location { return core.Settings{Zone: name}.Location(time.UTC) }

func next(s cron.Schedule, zone *time.Location, after time.Time) time.Time {
	for wall := s.Next(wallOf(after, zone)); !wall.IsZero(); wall = s.Next(wall) {
		at := days.First(wall, zone)
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

// Admit returns why an active reminder from elsewhere breaks the rules for new reminders;
// nil: it does not. The caller checks MaxActive.
func (s Settings) Admit(r core.Reminder, now time.Time) error {
	s = s.orDefault()
	if utf8.RuneCountInString(r.Text) > maxText {
		return fmt.Errorf("more than %d characters long", maxText)
	}
	if r.DueAt.Sub(now) > furthest {
		return errors.New("more than ten years ahead")
	}
	if r.Cron == "" {
		return nil
	}
	zone := zoneOf(r.Zone)
	every, err := schedule(r.Cron)
	switch {
	case err != nil || next(every, zone, now).IsZero():
		return errors.New("never due")
	case often(every, s.MinEvery, wallOf(now, zone)):
		return fmt.Errorf("due more often than every %d minutes", int(s.MinEvery.Minutes()))
	}
	return nil
}

// evenings is the time of an evening without a time, since midnight.
const evenings = 20 * time.Hour

// Snooze is a time to which a reminder can be postponed.
type Snooze struct {
	Name string // hour, evening or morning
	At   time.Time
}

// Snoozes returns the times to which a reminder can be postponed, soonest first: in an hour,
// this evening if that is more than an hour away, and tomorrow morning. Evenings and
// mornings are those of Parse.
func (m *Reminders) Snoozes(now time.Time, zone *time.Location) []Snooze {
	wall := wallOf(now, zone)
	midnight := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
	out := []Snooze{{"hour", now.Add(time.Hour)}}
	if at := days.First(midnight.Add(evenings), zone); at.After(out[0].At) {
		out = append(out, Snooze{"evening", at})
	}
	morning := midnight.AddDate(0, 0, 1).Add(m.Settings.orDefault().DefaultHour)
	return append(out, Snooze{"morning", days.First(morning, zone)})
}
