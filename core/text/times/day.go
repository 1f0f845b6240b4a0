package times

import (
	"cmp"
	"time"
)

// Unit is a unit of time.
type Unit int

// The units, shortest first. Weekends are read only as a run of days.
const (
	Seconds Unit = iota + 1
	Minutes
	Hours
	Days
	Weeks
	Months
	Years
	Weekends
)

// Period is a part of a day.
type Period int

// The parts of a day.
const (
	AnyTime Period = iota
	Morning
	Afternoon
	Evening
	Night
)

// Kind is the way in which words name a day.
type Kind int

// The kinds of days.
const (
	NoDay      Kind = iota
	Relative        // years, months and days from today
	OfWeek          // a weekday
	OfCalendar      // a day of a month, a whole month or a whole year
	Run             // a week, a weekend, a month or a year
	Ago             // about so many units before today
	Lately          // the last two weeks
)

// Day is a day, or a run of days, as words name it.
type Day struct {
	Kind                Kind
	Years, Months, Days int          // Relative
	Weekday             time.Weekday // OfWeek
	Which               Which        // of several weekdays or months
	Year                int          // OfCalendar; 0: not given
	Month               time.Month   // OfCalendar; 0: not given
	Day                 int          // OfCalendar; 0: a whole month or year
	Said                string       // OfCalendar: as written; empty if not read by Find
	Unit                Unit         // Run and Ago
	N                   int          // Run: 0 is this one, -1 the last, 1 the next. Ago: units
}

// Which selects one of several weekdays or months.
type Which int

// The choices; Last is before today.
const (
	Coming    Which = iota // the next one, today if the time is still ahead
	NextOne                // the next one that is not today
	NextWeek               // the one of next week
	WeekAfter              // a week after the next one that is not today
	Last
)

// past reports whether the words of d mean a day before today, whatever today is.
func (d Day) past() bool {
	return d.Kind == Relative && d.Days < 0 || d.Which == Last || d.Kind == Run && d.N < 0 || d.Kind == Ago
}

// unlikely reports whether d is less likely than another day to be that of a time ahead.
func (d Day) unlikely() bool { return d.past() || d.Kind == OfCalendar && d.Day == 0 }

// Next returns the first day from today on that d names and for which ahead holds; false: there is
// none, as for 31 June. Days are midnights in UTC. A day that is past by its words, or a
// calendar day of a given year, is returned whatever ahead says. No day is today.
func (d Day) Next(today time.Time, ahead func(day time.Time) bool) (time.Time, bool) {
	switch d.Kind {
	case Relative:
		return d.added(today), true
	case OfWeek:
		return d.weekday(today, ahead), true
	case OfCalendar:
		return d.dated(today, ahead)
	case Run:
		if d.Unit == Weekends && d.N == 0 {
			return Day{Weekday: time.Saturday}.weekday(today, ahead), true
		}
		from, _ := d.run(today)
		return from, true
	case Ago:
		return d.back(today), true
	}
	return today, true
}

// added moves a day. In a month without that day it is the last one.
func (d Day) added(today time.Time) time.Time {
	y, m, n := today.Date()
	start := date(y+d.Years, m+time.Month(d.Months), 1)
	last := start.AddDate(0, 1, -1).Day()
	return start.AddDate(0, 0, min(n, last)-1+d.Days)
}

func (d Day) weekday(today time.Time, ahead func(time.Time) bool) time.Time {
	days := (int(d.Weekday) - int(today.Weekday()) + 7) % 7
	switch {
	case d.Which == Last:
		return today.AddDate(0, 0, -d.since(today))
	case d.Which == NextWeek:
		monday := 7 - (int(today.Weekday())+6)%7 // 1 to 7
		return today.AddDate(0, 0, monday+(int(d.Weekday)+6)%7)
	case days == 0 && (d.Which != Coming || !ahead(today)):
		days = 7
	}
	if d.Which == WeekAfter {
		days += 7
	}
	return today.AddDate(0, 0, days)
}

// since returns the days since the last weekday, 1 to 7.
func (d Day) since(today time.Time) int { return (int(today.Weekday())-int(d.Weekday)+6)%7 + 1 }

func (d Day) dated(today time.Time, ahead func(time.Time) bool) (time.Time, bool) {
	if !d.exists() {
		return time.Time{}, false
	}
	if d.Which == Last || d.Year != 0 {
		from, _ := d.whole(today)
		return from, true
	}
	return d.inMonths(today, 1, ahead)
}

// inMonths returns the first calendar day that fits, in months from that of today in steps of one or -1.
func (d Day) inMonths(today time.Time, step int, fits func(time.Time) bool) (time.Time, bool) {
	y, m, _ := today.Date()
	for n := range 12 * 9 { // 29 February: eight years apart around 1900 and 2100
		month := date(y, m+time.Month(n*step), 1)
		t := month.AddDate(0, 0, cmp.Or(d.Day, 1)-1)
		if t.Month() == month.Month() && (d.Month == 0 || d.Month == t.Month()) && fits(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// exists reports whether there is such a calendar day. Without a year it may be 29 February.
func (d Day) exists() bool {
	t := date(cmp.Or(d.Year, 2024), cmp.Or(d.Month, 1), cmp.Or(d.Day, 1))
	return t.Month() == cmp.Or(d.Month, 1) && t.Day() == cmp.Or(d.Day, 1)
}

// whole returns the first and the last day of a calendar day, month or year whose year is given or the last.
func (d Day) whole(today time.Time) (from, to time.Time) {
	y := d.Year
	if d.Which == Last {
		if y = today.Year(); d.Month > today.Month() {
			y--
		}
	}
	from = date(y, cmp.Or(d.Month, 1), cmp.Or(d.Day, 1))
	switch {
	case d.Day != 0:
		return from, from
	case d.Month != 0:
		return from, from.AddDate(0, 1, -1)
	}
	return from, from.AddDate(1, 0, -1)
}

// run returns the first and the last day of a run. Weeks begin on Monday.
func (d Day) run(today time.Time) (from, to time.Time) {
	y, m, n := today.Date()
	monday := n - (int(today.Weekday())+6)%7 + 7*d.N
	switch d.Unit {
	case Weeks:
		return date(y, m, monday), date(y, m, monday+6)
	case Weekends:
		return date(y, m, monday+5), date(y, m, monday+6)
	case Months:
		m += time.Month(d.N)
		return date(y, m, 1), date(y, m+1, 0)
	}
	return date(y+d.N, 1, 1), date(y+d.N, 12, 31)
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// back returns the day that is so many units ago.
func (d Day) back(today time.Time) time.Time {
	switch d.Unit {
	case Weeks:
		return today.AddDate(0, 0, -7*d.N)
	case Months:
		return today.AddDate(0, -d.N, 0)
	case Years:
		return today.AddDate(-d.N, 0, 0)
	}
	return today.AddDate(0, 0, -d.N)
}
