package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	days "github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/times"
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
func (c calendar) resolve(f times.Found) (time.Time, string, error) {
	c.zone = cmp.Or(c.zone, time.UTC)
	switch {
	case f.Wrong != "":
		return time.Time{}, "", core.Refuse(c.faults.NoTime, f.Wrong)
	case f.Cron != "":
		return c.recurring(f.Cron)
	case f.Repeat.Is():
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
		if f.Date == (times.Day{Kind: times.Relative}) || f.Date.Kind == times.NoDay && f.Exact.IsZero() { // of today
			return time.Time{}, "", core.Refusal(c.faults.Past)
		}
		return time.Time{}, "", core.Refusal(c.faults.PastDay)
	case at.Sub(c.now) > furthest:
		return time.Time{}, "", core.Refusal(c.faults.Far)
	}
	return at, "", nil
}

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

// once returns the instant of a time that does not recur.
func (c calendar) once(f times.Found) (time.Time, error) {
	if !f.Exact.IsZero() {
		return f.Exact.UTC(), nil
	}
	if f.Delta > furthest || f.Delta < 0 || f.Date.Years > 10 || f.Date.Months > 120 || f.Date.Days > 3660 {
		return time.Time{}, core.Refusal(c.faults.Far)
	}
	if f.Delta > 0 {
		from := c.now
		if f.Date.Kind == times.Relative {
			from = days.First(wallOf(c.now, c.zone).AddDate(f.Date.Years, f.Date.Months, f.Date.Days), c.zone)
		}
		return from.Add(f.Delta).UTC().Truncate(time.Millisecond), nil
	}
	return c.first(f)
}

// first returns the first instant that f names. If the time of day has passed today, it is that of
// another day that f names.
func (c calendar) first(f times.Found) (time.Time, error) {
	on := func(day time.Time) time.Time {
		return days.First(day.Add(time.Duration(c.minutes(f))*time.Minute), c.zone)
	}
	y, m, d := c.now.In(c.zone).Date()
	day, ok := f.Date.Next(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), func(day time.Time) bool {
		untimed := f.Date.Kind == times.OfWeek && f.Times == nil && f.Period == times.AnyTime
		return !untimed && on(day).After(c.now)
	})
	if !ok {
		return time.Time{}, core.Refuse(c.faults.NoDate, f.Date.Said)
	}
	return on(day).UTC(), nil
}

// minutes returns the given or default time of day, in minutes since midnight.
func (c calendar) minutes(f times.Found) int {
	switch {
	case f.Times != nil:
		return inPeriod(f.Times[0], f.Period)
	case f.Period == times.Afternoon:
		return 15 * 60
	case f.Period >= times.Evening:
		return int(evenings.Minutes())
	}
	return int(c.DefaultHour.Minutes())
}

// inPeriod returns a time of day in a part of the day: 9 in the evening is 21:00, and 12 and 1 at night are on the next
// day.
func inPeriod(minutes int, p times.Period) int {
	h := minutes / 60
	switch {
	case (p == times.Afternoon || p == times.Evening) && h >= 1 && h < 12, p == times.Night && h >= 5 && h <= 12,
		p == times.Evening && h == 12:
		return minutes + 12*60
	case p == times.Night && h < 5:
		return minutes + 24*60
	}
	return minutes
}

// expression returns the cron expression of a recurrence.
func (c calendar) expression(f times.Found) (string, error) {
	r := f.Repeat
	if r.Every == times.Seconds || r.Every == times.Minutes && time.Duration(r.N)*time.Minute < c.MinEvery {
		return "", core.Refuse(c.faults.Often, int(c.MinEvery.Minutes()))
	}
	within := r.Every == times.Minutes || r.Every == times.Hours
	ofMonth := f.Date.Kind == times.OfCalendar && (r.Yearly || r.Every == times.Months || r.Every == times.Years)
	ofWeek := f.Date.Kind == times.OfWeek && r.Every == times.Weeks && r.Weekdays == nil
	switch {
	case f.Date.Kind != times.NoDay && !ofMonth && !ofWeek, within && (f.Times != nil || f.Period != times.AnyTime):
		return "", core.Refusal(c.faults.Odd) // a day or a time that the expression would drop
	case within:
		return c.withinDays(f)
	}
	clock, err := c.clocks(f)
	if err != nil {
		return "", err
	}
	today := c.now.In(c.zone)
	dom, of := strconv.Itoa(today.Day()), int(today.Month())
	if f.Date.Kind == times.OfCalendar {
		each := times.Day{Kind: times.OfCalendar, Month: f.Date.Month, Day: f.Date.Day, Said: f.Date.Said}
		if _, err := c.first(times.Found{Date: each, Times: f.Times}); err != nil {
			return "", err
		}
		dom = strconv.Itoa(f.Date.Day)
		if f.Date.Month != 0 {
			if r.Every == times.Months {
				return "", core.Refusal(c.faults.Odd)
			}
			of = int(f.Date.Month)
		}
	}
	switch {
	case r.Yearly || r.Every == times.Years && r.N == 1:
		return clock + " " + dom + " " + strconv.Itoa(of) + " *", nil
	case r.Every == times.Weeks && r.N == 1:
		return clock + " * * " + c.daysOfWeek(f, today.Weekday()), nil
	case r.Every == times.Days && r.N == 1:
		return clock + " * * *", nil
	case r.Every == times.Months && 12%r.N == 0:
		return clock + " " + dom + " " + everyMonths(int(today.Month()), r.N) + " *", nil
	}
	return "", core.Refusal(c.faults.Odd)
}

// withinDays returns the expression of a recurrence of minutes or hours.
func (c calendar) withinDays(f times.Found) (string, error) {
	n := f.Repeat.N
	if f.Repeat.Every == times.Minutes {
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
func (c calendar) clocks(f times.Found) (string, error) {
	if len(f.Times) == 0 {
		f.Times = []int{c.minutes(f)}
		f.Period = times.AnyTime
	}
	var hours []int
	for _, t := range f.Times {
		t = inPeriod(t, f.Period)
		if t%60 != inPeriod(f.Times[0], f.Period)%60 {
			return "", core.Refusal(c.faults.Odd)
		}
		hours = append(hours, t/60%24)
	}
	slices.Sort(hours)
	return strconv.Itoa(f.Times[0]%60) + " " + joined(slices.Compact(hours)), nil
}

func joined(ns []int) string {
	var out []string
	for _, n := range ns {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}

// daysOfWeek returns the last field: the given weekdays, else that of the date or of today.
func (c calendar) daysOfWeek(f times.Found, today time.Weekday) string {
	days := f.Repeat.Weekdays
	if len(days) == 0 && f.Date.Kind == times.OfWeek {
		days = []time.Weekday{f.Date.Weekday}
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
