package remind

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	days "github.com/everthread/everthread/core/day"
)

// calendar resolves parsed times to instants.
type calendar struct {
	Settings
	faults faults
	now    time.Time
	zone   *time.Location
}

// furthest bounds how far ahead a reminder may be.
const furthest = 10 * 366 * 24 * time.Hour

// resolve returns the first time, and the expression of a recurring one.
func (c calendar) resolve(f found) (time.Time, string, error) {
	c.zone = cmp.Or(c.zone, time.UTC)
	switch {
	case f.fault != nil:
		return time.Time{}, "", f.fault
	case f.cron != "":
		return c.recurring(f.cron)
	case f.repeat.is():
		expression, err := c.expression(f)
		if err != nil {
			return time.Time{}, "", err
		}
		return c.recurring(expression)
	}
	at, err := c.once(f)
	switch {
	case err != nil:
		return time.Time{}, "", err
	case !at.After(c.now):
		return time.Time{}, "", c.tooLate(f)
	case at.Sub(c.now) > furthest:
		return time.Time{}, "", core.Refusal(c.faults.Far)
	}
	return at, "", nil
}

// recurring returns the first time of an expression.
func (c calendar) recurring(expression string) (time.Time, string, error) {
	s, err := schedule(expression)
	if err != nil {
		return time.Time{}, "", core.Refuse(c.faults.Cron, expression)
	}
	if often(s, c.MinEvery, wallOf(c.now, c.zone)) {
		return time.Time{}, "", core.Refuse(c.faults.Often, int(c.MinEvery.Minutes()))
	}
	at := next(s, c.zone, c.now)
	if at.IsZero() {
		return at, "", core.Refusal(c.faults.Never)
	}
	return at, expression, nil
}

// tooLate returns the refusal of a past time. For a time of today it suggests tomorrow.
func (c calendar) tooLate(f found) error {
	if f.date == (date{kind: relative}) || f.date.kind == noDate && f.exact.IsZero() {
		return core.Refusal(c.faults.Past)
	}
	return core.Refusal(c.faults.PastDay)
}

// once returns the instant of a time that does not recur.
func (c calendar) once(f found) (time.Time, error) {
	if !f.exact.IsZero() {
		return f.exact.UTC(), nil
	}
	if f.delta > furthest || f.delta < 0 || f.date.years > 10 || f.date.months > 120 || f.date.days > 3660 {
		return time.Time{}, core.Refusal(c.faults.Far)
	}
	if f.delta > 0 {
		from := c.now
		if f.date.kind == relative {
			from = days.First(wallOf(c.now, c.zone).AddDate(f.date.years, f.date.months, f.date.days), c.zone)
		}
		return from.Add(f.delta).UTC().Truncate(time.Millisecond), nil
	}
	midnight, err := c.midnight(f)
	if err != nil {
		return time.Time{}, err
	}
	return days.First(midnight.Add(time.Duration(c.minutes(f))*time.Minute), c.zone).UTC(), nil
}

// minutes returns the given or default time of day, in minutes since midnight.
func (c calendar) minutes(f found) int {
	if f.times == nil {
		return map[period]int{anyTime: int(c.DefaultHour.Minutes()), morning: int(c.DefaultHour.Minutes()),
			afternoon: 15 * 60, evening: int(evenings.Minutes()), night: int(evenings.Minutes())}[f.period]
	}
	return inPeriod(f.times[0], f.period)
}

// inPeriod returns a time of day in a part of the day: 9 in the evening is 21:00, and 1 at
// night is on the next day.
func inPeriod(minutes int, p period) int {
	h := minutes / 60
	switch {
	case (p == afternoon || p == evening) && h >= 1 && h < 12, p == night && h >= 5 && h < 12:
		return minutes + 12*60
	case p == night && h < 5:
		return minutes + 24*60
	}
	return minutes
}

// midnight returns the given day, as midnight in UTC.
func (c calendar) midnight(f found) (time.Time, error) {
	y, m, d := c.now.In(c.zone).Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	switch f.date.kind {
	case relative:
		return added(today, f.date), nil
	case weekdayly:
		return c.weekday(f, today), nil
	case calendarly:
		return c.dated(f, today)
	}
	return today, nil
}

// added moves a day. In a month without that day it is the last one.
func added(today time.Time, d date) time.Time {
	y, m, n := today.Date()
	start := time.Date(y+d.years, m+time.Month(d.months), 1, 0, 0, 0, 0, time.UTC)
	last := start.AddDate(0, 1, -1).Day()
	return start.AddDate(0, 0, min(n, last)-1+d.days)
}

func (c calendar) weekday(f found, today time.Time) time.Time {
	ahead := (int(f.date.weekday) - int(today.Weekday()) + 7) % 7
	switch f.date.which {
	case nextWeek:
		monday := 7 - (int(today.Weekday())+6)%7 // 1 to 7
		return today.AddDate(0, 0, monday+(int(f.date.weekday)+6)%7)
	case nextOne, weekAfter:
		if ahead == 0 {
			ahead = 7
		}
		if f.date.which == weekAfter {
			ahead += 7
		}
	case coming:
		passed := f.times == nil && f.period == anyTime || !days.First(today.Add(time.Duration(c.minutes(f))*time.Minute),
			c.zone).After(c.now)
		if ahead == 0 && passed {
			ahead = 7
		}
	}
	return today.AddDate(0, 0, ahead)
}

// dated returns a date of the calendar. A missing month or year is the next one.
func (c calendar) dated(f found, today time.Time) (time.Time, error) {
	said := f.date
	y, m := today.Year(), today.Month()
	if said.month < 0 || said.month > 12 || said.day < 1 || said.day > 31 {
		return time.Time{}, core.Refuse(c.faults.NoDate, numericDate(said))
	}
	for range 12 * 9 { // 29 February: up to eight years
		t := time.Date(y, m, said.day, 0, 0, 0, 0, time.UTC)
		fits := (said.year == 0 || said.year == y) && (said.month == 0 || said.month == m) && t.Day() == said.day
		if fits && (said.year != 0 || days.First(t.Add(time.Duration(c.minutes(f))*time.Minute), c.zone).After(c.now)) {
			return t, nil
		}
		if said.year != 0 && (y != said.year || m != said.month) {
			y, m = said.year, said.month
			continue
		}
		if said.year != 0 {
			break
		}
		if m++; m > 12 {
			y, m = y+1, 1
		}
	}
	return time.Time{}, core.Refuse(c.faults.NoDate, numericDate(said))
}

func numericDate(d date) string {
	switch {
	case d.year != 0:
		return fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day)
	case d.month != 0:
		return fmt.Sprintf("%d/%d", d.day, d.month)
	}
	return strconv.Itoa(d.day)
}

// expression returns the cron expression of a recurrence.
func (c calendar) expression(f found) (string, error) {
	r := f.repeat
	if r.every == second || r.every == minute && time.Duration(r.n)*time.Minute < c.MinEvery {
		return "", core.Refuse(c.faults.Often, int(c.MinEvery.Minutes()))
	}
	if r.every == minute || r.every == hour {
		return c.withinDays(f)
	}
	clock, err := c.clocks(f)
	if err != nil {
		return "", err
	}
	today := c.now.In(c.zone)
	dom, of := strconv.Itoa(today.Day()), int(today.Month())
	if f.date.kind == calendarly {
		if _, err := c.dated(found{date: date{month: f.date.month, day: f.date.day}, times: f.times}, today); err != nil {
			return "", err
		}
		dom = strconv.Itoa(f.date.day)
		if f.date.month != 0 {
			of = int(f.date.month)
		}
	}
	switch {
	case r.yearly || r.every == year && r.n == 1:
		return clock + " " + dom + " " + strconv.Itoa(of) + " *", nil
	case r.every == week && r.n == 1:
		return clock + " * * " + c.daysOfWeek(f, today.Weekday()), nil
	case r.every == day && r.n == 1:
		return clock + " * * *", nil
	case r.every == month && 12%r.n == 0:
		return clock + " " + dom + " " + everyMonths(int(today.Month()), r.n) + " *", nil
	}
	return "", core.Refusal(c.faults.Odd)
}

// withinDays returns the expression of a recurrence of minutes or hours.
func (c calendar) withinDays(f found) (string, error) {
	n := f.repeat.n
	if f.repeat.every == minute {
		if n%60 != 0 {
			if n > 60 || 60%n != 0 {
				return "", core.Refusal(c.faults.Odd)
			}
			return "*/" + strconv.Itoa(n) + " * * * *", nil
		}
		n /= 60
	}
	switch {
	case n == 1:
		return "0 * * * *", nil
	case n > 24 || 24%n != 0:
		return "", core.Refusal(c.faults.Odd)
	case n == 24:
		return "0 0 * * *", nil
	}
	return "0 */" + strconv.Itoa(n) + " * * *", nil
}

// clocks returns the minute and hour fields of the given times.
func (c calendar) clocks(f found) (string, error) {
	if len(f.times) == 0 {
		f.times = []int{c.minutes(f)}
		f.period = anyTime
	}
	var hours []int
	for _, t := range f.times {
		t = inPeriod(t, f.period)
		if t%60 != inPeriod(f.times[0], f.period)%60 {
			return "", core.Refusal(c.faults.Odd)
		}
		hours = append(hours, t/60%24)
	}
	slices.Sort(hours)
	return strconv.Itoa(f.times[0]%60) + " " + joined(slices.Compact(hours)), nil
}

func joined(ns []int) string {
	var out []string
	for _, n := range ns {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}

// daysOfWeek returns the last field: the given weekdays, else that of the date or of today.
func (c calendar) daysOfWeek(f found, today time.Weekday) string {
	days := f.repeat.weekdays
	if len(days) == 0 && f.date.kind == weekdayly {
		days = []time.Weekday{f.date.weekday}
	}
	if len(days) == 0 {
		days = []time.Weekday{today}
	}
	var ns []int
	for _, d := range days {
		ns = append(ns, int(d))
	}
	slices.Sort(ns)
	ns = slices.Compact(ns)
	if n := len(ns); n > 2 && ns[n-1]-ns[0] == n-1 {
		return strconv.Itoa(ns[0]) + "-" + strconv.Itoa(ns[n-1])
	}
	return joined(ns)
}

// everyMonths returns the field of every n-th month from this one on.
func everyMonths(this, n int) string {
	if n == 1 {
		return "*"
	}
	var out []int
	for m := range 12 / n {
		out = append(out, (this-1+m*n)%12+1)
	}
	slices.Sort(out)
	return joined(out)
}

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
