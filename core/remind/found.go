package remind

import "time"

// found is what words say of when.
type found struct {
	date   date
	times  []int // minutes since midnight, up to 24:00; several only if it recurs
	period period
	delta  time.Duration // from now, beside a relative date
	exact  time.Time     // an instant with a zone of its own
	repeat repeat
	cron   string
	fault  error // what was understood cannot be
}

// dateKind says how a date is named.
type dateKind int

const (
	noDate     dateKind = iota
	relative            // years, months and days from today
	weekdayly           // the next weekday
	calendarly          // day of a month and a year, if they are said
)

// date is a day as it was said.
type date struct {
	kind                dateKind
	years, months, days int          // relative
	weekday             time.Weekday // weekdayly
	which               which
	year                int        // calendarly; 0: the next that comes
	month               time.Month // calendarly; 0: the next that has the day
	day                 int
}

// which one of several weekdays is meant.
type which int

const (
	coming    which = iota // the next one, today if it is to come
	nextOne                // the next one that is not today
	nextWeek               // that of next week
	weekAfter              // a week after the next one that is not today
)

// repeat is how often something recurs.
type repeat struct {
	every    unit // 0: it does not
	n        int
	weekdays []time.Weekday
	yearly   bool // on date, each year
}

func (r repeat) is() bool { return r.every != 0 || r.yearly || len(r.weekdays) > 0 }

// whole reports whether f needs no more words to say when.
func (f found) whole() bool { return f.cron != "" || !f.exact.IsZero() || f.delta != 0 }

// add takes from another stretch what f lacks, and reports whether it did: a time
// of day, or a day.
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
