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

// Bounds of a rule: the times that it may name before and in the asked span, and its interval.
const (
	mostTimes    = 100_000
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
	return r, nil
}

func (r *rule) set(key, value string, c clock) (err error) {
	lists := map[string]*[]int{"BYSETPOS": &r.Bysetpos, "BYMONTH": &r.Bymonth, "BYMONTHDAY": &r.Bymonthday,
		"BYYEARDAY": &r.Byyearday, "BYWEEKNO": &r.Byweekno, "BYHOUR": &r.Byhour, "BYMINUTE": &r.Byminute, "BYSECOND": &r.Bysecond}
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
// effort.
func (r rule) between(lo, hi time.Time) ([]time.Time, error) {
	if r.Freq >= rrule.HOURLY && !r.reached() {
		return nil, nil
	}
	if r.Count == 0 {
		r.skip(lo)
	} else if r.tooMany(hi) {
		return nil, errRule
	}
	if r.Until.IsZero() || r.Until.After(hi) {
		r.Until = hi
	}
	rr, err := rrule.NewRRule(r.ROption)
	if err != nil {
		return nil, errors.Join(errRule, err)
	}
	var out []time.Time
	next := rr.Iterator()
	for n := 0; ; n++ {
		t, ok := next()
		switch {
		case !ok || t.After(hi):
			return out, nil
		case n == mostTimes:
			return nil, errRule
		case n == 0 && r.Count > 0 && !t.Equal(r.Dtstart): // which counts, whether the rule names it or not
			if r.Count--; r.Count == 0 {
				return nil, nil
			}
			rest, err := rrule.NewRRule(r.ROption)
			if err != nil {
				return nil, errors.Join(errRule, err)
			}
			next, n = rest.Iterator(), 0
			t, _ = next()
		}
		if !t.Before(lo) {
			out = append(out, t)
		}
	}
}

// unit returns the seconds of what a frequency of less than a day counts; 0: it counts days or more.
func (r rule) unit() int {
	return map[rrule.Frequency]int{rrule.HOURLY: 3600, rrule.MINUTELY: 60, rrule.SECONDLY: 1}[r.Freq]
}

// tooMany reports whether counting the times of a rule up to hi would take too long.
func (r rule) tooMany(hi time.Time) bool {
	unit := r.unit()
	return unit > 0 && int(hi.Unix()-r.Dtstart.Unix())/unit/r.Interval > 50*mostTimes
}

// reached reports whether a rule of hours, minutes or seconds ever comes to the times of day that it names: the library
// would look for them forever.
func (r rule) reached() bool {
	unit := r.unit()
	steps := 86400 / unit
	at := int(r.Dtstart.Sub(r.Dtstart.Truncate(24*time.Hour)).Seconds()) / unit
	allowed := func(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }
	for range steps {
		second := at * unit
		if allowed(r.Byhour, second/3600) && (r.Freq < rrule.MINUTELY || allowed(r.Byminute, second/60%60)) &&
			(r.Freq < rrule.SECONDLY || allowed(r.Bysecond, second%60)) {
			return true
		}
		at = (at + r.Interval) % steps
	}
	return false
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
	default:
		unit := r.unit()
		s = time.Unix(s.Unix()+int64(whole(int(lo.Unix()-s.Unix())/unit)*unit), 0).UTC()
	}
	r.Dtstart = s
}

// days returns the whole days between two times.
func days(from, to time.Time) int { return int((to.Unix() - from.Unix()) / 86400) }
