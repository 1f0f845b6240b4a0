package remind

import "time"

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
	if at := first(midnight.Add(evenings), zone); at.After(out[0].At) {
		out = append(out, Snooze{"evening", at})
	}
	return append(out, Snooze{"morning", first(midnight.AddDate(0, 0, 1).Add(m.Settings.orDefault().DefaultHour), zone)})
}
