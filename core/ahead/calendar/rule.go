package calendar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// rule is a recurrence rule. Its times are those of a clock on the wall, written as if they were in UTC: rules count
// days and hours as people do, whatever a zone does to its clocks.
type rule struct{ rrule.ROption }

// Bounds of a rule: the times that it may name in the asked span, and up to it, and its interval.
const (
	mostTimes    = 100_000
	mostCounted  = 1_000_000
	mostInterval = 100_000
)

var errRule = errors.New("this recurrence rule cannot be understood")

// parseRule reads a rule of what begins at start, on the wall of c. Parts that RFC 5545 does not know are left out.
func parseRule(text string, start time.Time, c clock) (rule, error) {
	r := rule{rrule.ROption{Dtstart: start, Freq: -1, Interval: 1}}
	for part := range strings.SplitSeq(strings.ToUpper(text), ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := r.set(key, strings.TrimSpace(value), c); err != nil {
			return rule{}, fmt.Errorf("%w: %s", errRule, key)
		}
	}
	if r.Freq < 0 || r.Interval < 1 || r.Interval > mostInterval {
		return rule{}, errRule
	}
	if len(r.Byweekno) > 0 && len(r.Byyearday)+len(r.Bymonthday)+len(r.Byweekday) == 0 {
		days := []rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}
		r.Byweekday = days[start.Weekday() : start.Weekday()+1] // one day of the week, not all of it
	}
	r.number()
	return r, nil
}

// number gives numbers to all days of BYDAY if some have one, as in "Fridays and the second Saturday": the library finds
// only what is both.
func (r *rule) number() {
	numbered := func(d rrule.Weekday) bool { return d.N() != 0 }
	if r.Freq > rrule.MONTHLY || !slices.ContainsFunc(r.Byweekday, numbered) {
		return
	}
	most := 53
	if r.Freq == rrule.MONTHLY || len(r.Bymonth) > 0 {
		most = 5
	}
	var out []rrule.Weekday
	for _, d := range r.Byweekday {
		if numbered(d) {
			out = append(out, d)
			continue
		}
		for n := range most {
			out = append(out, d.Nth(n+1))
		}
	}
	r.Byweekday = out
}

func (r *rule) set(key, value string, c clock) (err error) {
	lists := map[string]*[]int{"BYSETPOS": &r.Bysetpos, "BYMONTH": &r.Bymonth, "BYMONTHDAY": &r.Bymonthday,
		"BYYEARDAY": &r.Byyearday, "BYWEEKNO": &r.Byweekno, "BYHOUR": &r.Byhour, "BYMINUTE": &r.Byminute,
		"BYSECOND": &r.Bysecond}
	switch key {
	case "FREQ":
		r.Freq, err = rrule.StrToFreq(value)
	case "INTERVAL":
		r.Interval, err = strconv.Atoi(value)
	case "COUNT":
		r.Count, err = strconv.Atoi(value)
		if err == nil && r.Count < 1 {
			err = errRule
		}
	case "WKST":
		r.Wkst, err = weekday(value)
	case "UNTIL":
		var s stamp
		if s, err = parseStamp(value, ""); err == nil {
			r.Until = s.last(c)
		}
	case "BYDAY":
		for day := range strings.SplitSeq(value, ",") {
			d, failed := weekday(strings.TrimSpace(day))
			r.Byweekday, err = append(r.Byweekday, d), errors.Join(err, failed)
		}
	default:
		if list := lists[key]; list != nil {
			for number := range strings.SplitSeq(value, ",") {
				n, failed := strconv.Atoi(strings.TrimSpace(number))
				*list, err = append(*list, n), errors.Join(err, failed)
			}
		}
	}
	return err
}

// weekday reads MO, 2TU or -1FR.
func weekday(text string) (rrule.Weekday, error) {
	days := map[string]rrule.Weekday{"MO": rrule.MO, "TU": rrule.TU, "WE": rrule.WE, "TH": rrule.TH, "FR": rrule.FR,
		"SA": rrule.SA, "SU": rrule.SU}
	at := max(len(text)-2, 0)
	day, ok := days[text[at:]]
	if !ok {
		return day, errRule
	}
	if at == 0 {
		return day, nil
	}
	n, err := strconv.Atoi(text[:at])
	if err != nil || n == 0 || n < -53 || n > 53 {
		return day, errRule
	}
	return day.Nth(n), nil
}

// between lists the times of the rule from lo to hi, both included. It fails if it cannot be known with a reasonable
// effort. The first time always counts, whether the rule names it or not.
func (r rule) between(lo, hi time.Time) ([]time.Time, error) {
	start, end := r.Dtstart, r.Until
	if end.IsZero() || end.After(hi) {
		end = hi
	}
	if r.Count == 0 {
		r.skip(lo)
	}
	o := r.ROption
	o.Count, o.Until = 0, end
	if r.unit() > 0 {
		o = r.daily()
		o.Until = hi.Add(time.Hour)
	}
	rr, err := rrule.NewRRule(o)
	if err != nil {
		return nil, errors.Join(errRule, err)
	}
	var out []time.Time
	counted := 0
	next := r.grouped(rr.Iterator(), start)
	for n := 0; ; n++ {
		t, ok := next()
		if n == 0 && ok && !t.Equal(start) {
			counted = 1
		}
		counted++
		switch {
		case !ok || t.After(end), r.Count > 0 && counted > r.Count:
			return out, nil
		case n == mostCounted || len(out) == mostTimes:
			return nil, errRule
		}
		if !t.Before(lo) {
			out = append(out, t)
		}
	}
}

// unit returns the seconds of what a frequency of less than a day counts; 0: it counts days or more.
func (r rule) unit() int64 {
	return map[rrule.Frequency]int64{rrule.HOURLY: 3600, rrule.MINUTELY: 60, rrule.SECONDLY: 1}[r.Freq]
}

// daily returns a rule of days that names all times of one that counts hours, minutes or seconds, and more: for the
// others the library would search forever if they never come to what they name.
func (r rule) daily() rrule.ROption {
	o := r.ROption
	o.Freq, o.Interval, o.Count, o.Bysetpos = rrule.DAILY, 1, 0, nil
	o.Dtstart = o.Dtstart.Truncate(24 * time.Hour)
	all := func(list *[]int, n int, every bool, own int) {
		if len(*list) > 0 {
			return
		}
		if !every {
			*list = []int{own}
			return
		}
		for i := range n {
			*list = append(*list, i)
		}
	}
	all(&o.Byhour, 24, true, 0)
	all(&o.Byminute, 60, r.Freq >= rrule.MINUTELY, r.Dtstart.Minute())
	all(&o.Bysecond, 60, r.Freq >= rrule.SECONDLY, r.Dtstart.Second())
	return o
}

// grouped returns the times of next that are those of the rule, which counts hours, minutes or seconds from start on:
// those in every so many hours, and of each hour those that BYSETPOS picks. For other rules it is next.
func (r rule) grouped(next rrule.Next, start time.Time) rrule.Next {
	unit := r.unit()
	if unit == 0 {
		return next
	}
	turn := func(t time.Time) int64 { return t.Unix() / unit }
	var picked []time.Time
	ahead, more := next()
	return func() (time.Time, bool) {
		for n := 0; len(picked) == 0; n++ {
			if !more || n == mostCounted {
				return time.Time{}, false
			}
			var group []time.Time
			for at := turn(ahead); more && turn(ahead) == at; ahead, more = next() {
				group = append(group, ahead)
			}
			if (turn(group[0])-turn(start))%int64(r.Interval) != 0 {
				continue
			}
			for i, t := range group {
				named := slices.Contains(r.Bysetpos, i+1) || slices.Contains(r.Bysetpos, i-len(group))
				if (named || len(r.Bysetpos) == 0) && !t.Before(start) {
					picked = append(picked, t)
				}
			}
		}
		t := picked[0]
		picked = picked[1:]
		return t, true
	}
}

// skip moves the beginning of an endless rule close before lo, by whole intervals, so that an old one costs as little
// as a new one. What the rule takes from its beginning is written down first.
func (r *rule) skip(lo time.Time) {
	s := r.Dtstart
	if !s.Before(lo) {
		return
	}
	if len(r.Byweekno)+len(r.Byyearday)+len(r.Bymonthday)+len(r.Byweekday) == 0 {
		switch r.Freq {
		case rrule.YEARLY:
			if len(r.Bymonth) == 0 {
				r.Bymonth = []int{int(s.Month())}
			}
			r.Bymonthday = []int{s.Day()}
		case rrule.MONTHLY:
			r.Bymonthday = []int{s.Day()}
		}
	}
	whole := func(n int) int { return max(n/r.Interval-1, 0) * r.Interval }
	years := lo.Year() - s.Year()
	switch r.Freq {
	case rrule.YEARLY:
		if n := whole(years); n > 0 {
			s = time.Date(s.Year()+n, 1, 1, s.Hour(), s.Minute(), s.Second(), 0, time.UTC)
		}
	case rrule.MONTHLY:
		if n := whole(years*12 + int(lo.Month()) - int(s.Month())); n > 0 {
			s = time.Date(s.Year(), s.Month()+time.Month(n), 1, s.Hour(), s.Minute(), s.Second(), 0, time.UTC)
		}
	case rrule.WEEKLY:
		s = s.AddDate(0, 0, 7*whole(days(s, lo)/7))
	case rrule.DAILY:
		s = s.AddDate(0, 0, whole(days(s, lo)))
	default: // the hours count from the true beginning; see grouped
		s = s.AddDate(0, 0, max(days(s, lo)-1, 0))
	}
	r.Dtstart = s
}

// days returns the whole days between two times.
func days(from, to time.Time) int { return int((to.Unix() - from.Unix()) / 86400) }
