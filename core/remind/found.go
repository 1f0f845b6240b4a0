package remind

import "time"

// found is a time as words express it.
type found struct {
	date   date
	times  []int // minutes since midnight, up to 24:00; several only if it recurs
	period period
	delta  time.Duration // from now, beside a relative date
	exact  time.Time     // an instant with a zone of its own
	repeat repeat
	cron   string
	fault  error // why the understood time is refused
}

// dateKind is the way in which words name a date.
type dateKind int

const (
	noDate     dateKind = iota
	relative            // years, months and days from today
	weekdayly           // the next weekday
	calendarly          // the day of a month, with the month and the year if given
)

// date is a day as words express it.
type date struct {
	kind                dateKind
	years, months, days int          // relative
	weekday             time.Weekday // weekdayly
	which               which
	year                int        // calendarly; 0: the next one
	month               time.Month // calendarly; 0: the next one that has the day
	day                 int
}

// which selects one of several weekdays.
type which int

const (
	coming    which = iota // the next one, today if the time is still ahead
	nextOne                // the next one that is not today
	nextWeek               // the one of next week
	weekAfter              // a week after the next one that is not today
)

// repeat is a recurrence.
type repeat struct {
	every    unit // 0: none
	n        int
	weekdays []time.Weekday
	yearly   bool // on date, each year
}

func (r repeat) is() bool { return r.every != 0 || r.yearly || len(r.weekdays) > 0 }

// whole reports whether f is a complete time.
func (f found) whole() bool { return f.cron != "" || !f.exact.IsZero() || f.delta != 0 }

// add takes a missing time of day, or a missing day, from another stretch, and reports
// whether it did.
func (f *found) add(g found) bool {
	if f.whole() || g.whole() || g.fault != nil || g.repeat.is() {
		return false
	}
	timed := f.times != nil || f.period != anyTime
	switch {
	case g.date.kind == noDate && !timed:
		f.times, f.period = g.times, g.period
		return true
	case g.times == nil && g.period == anyTime && f.date.kind == noDate && !f.repeat.is():
		f.date = g.date
		return true
	}
	return false
}
