package calendar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/internal/fulltest"
)

// scan is a second way to the times of a rule, which shares nothing with the first: it looks at every day (hour, minute,
// second) and asks whether the rule names it, part by part, as in the table of RFC 5545, 3.3.10.
type scan struct {
	freq                                                             string
	interval, count                                                  int
	until                                                            time.Time
	wkst                                                             time.Weekday
	month, week, yearDay, monthDay, hour, minute, second, set, empty []int
	days                                                             []nth
	start                                                            time.Time
}

// nth is a day of the week: n of 0 is each.
type nth struct {
	n   int
	day time.Weekday
}

var dayNames = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// text returns the rule as it is written.
func (s scan) text() string {
	out := []string{"FREQ=" + s.freq}
	if s.interval > 1 {
		out = append(out, fmt.Sprint("INTERVAL=", s.interval))
	}
	if s.count > 0 {
		out = append(out, fmt.Sprint("COUNT=", s.count))
	}
	if !s.until.IsZero() {
		out = append(out, s.until.Format("UNTIL=20060102T150405"))
	}
	for _, l := range []struct {
		key  string
		list []int
	}{{"BYMONTH", s.month}, {"BYWEEKNO", s.week}, {"BYYEARDAY", s.yearDay}, {"BYMONTHDAY", s.monthDay}, {"BYHOUR", s.hour},
		{"BYMINUTE", s.minute}, {"BYSECOND", s.second}, {"BYSETPOS", s.set}} {
		if len(l.list) > 0 {
			out = append(out, l.key+"="+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.list)), ","), "[]"))
		}
	}
	var days []string
	for _, d := range s.days {
		if d.n == 0 {
			days = append(days, dayNames[d.day])
		} else {
			days = append(days, fmt.Sprint(d.n, dayNames[d.day]))
		}
	}
	if len(days) > 0 {
		out = append(out, "BYDAY="+strings.ReplaceAll(strings.Join(days, ","), " ", ""))
	}
	if s.wkst != time.Monday {
		out = append(out, "WKST="+dayNames[s.wkst])
	}
	return strings.Join(out, ";")
}

func signed(list []int, n, of int) bool {
	return slices.Contains(list, n) || slices.Contains(list, n-of-1)
}

func lengthOf(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func yearLength(year int) int { return time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay() }

// weekStart returns the first day of the week of a day.
func (s scan) weekStart(d time.Time) time.Time {
	return d.AddDate(0, 0, -(int(d.Weekday()-s.wkst)+7)%7)
}

// weekOf returns the number of the week of a day, and how many the year of that week has: week one is the first with
// four days in the year.
func (s scan) weekOf(d time.Time) (n, of int) {
	year := s.weekStart(d).AddDate(0, 0, 3).Year()
	first := func(year int) time.Time { return s.weekStart(time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)) }
	return int(s.weekStart(d).Sub(first(year)).Hours()/24/7) + 1, int(first(year+1).Sub(first(year)).Hours() / 24 / 7)
}

// dated reports whether the rule names a date.
func (s scan) dated(d time.Time) bool {
	named := len(s.week)+len(s.yearDay)+len(s.monthDay)+len(s.days) > 0
	switch {
	case len(s.month) > 0 && !slices.Contains(s.month, int(d.Month())):
		return false
	case len(s.yearDay) > 0 && !signed(s.yearDay, d.YearDay(), yearLength(d.Year())):
		return false
	case len(s.monthDay) > 0 && !signed(s.monthDay, d.Day(), lengthOf(d.Year(), d.Month())):
		return false
	case s.freq == "YEARLY" && !named:
		return d.Day() == s.start.Day() && (len(s.month) > 0 || d.Month() == s.start.Month())
	case s.freq == "MONTHLY" && !named:
		return d.Day() == s.start.Day()
	case s.freq == "WEEKLY" && len(s.days) == 0, len(s.week) > 0 && len(s.days)+len(s.yearDay)+len(s.monthDay) == 0:
		if d.Weekday() != s.start.Weekday() {
			return false
		}
	}
	if len(s.week) > 0 {
		if n, of := s.weekOf(d); !signed(s.week, n, of) {
			return false
		}
	}
	return len(s.days) == 0 || slices.ContainsFunc(s.days, func(w nth) bool {
		if w.day != d.Weekday() {
			return false
		}
		at, of := d.Day(), lengthOf(d.Year(), d.Month())
		if s.freq == "YEARLY" && len(s.month) == 0 {
			at, of = d.YearDay(), yearLength(d.Year())
		}
		return w.n == 0 || w.n == (at+6)/7 || w.n == -((of-at)/7+1)
	})
}

// turn returns the number of the period (year, month, …) of a time, of those that the rule counts.
func (s scan) turn(t time.Time) int {
	switch s.freq {
	case "YEARLY":
		return t.Year()
	case "MONTHLY":
		return t.Year()*12 + int(t.Month())
	case "WEEKLY":
		return int(s.weekStart(t.Truncate(24*time.Hour)).Unix() / 86400 / 7)
	case "DAILY":
		return int(t.Unix() / 86400)
	case "HOURLY":
		return int(t.Unix() / 3600)
	case "MINUTELY":
		return int(t.Unix() / 60)
	}
	return int(t.Unix())
}

// clocked lists the times of a day that the rule may name.
func (s scan) clocked(d time.Time) (out []time.Time) {
	of := func(list []int, all bool, n, own int) []int {
		switch {
		case len(list) > 0:
			return list
		case !all:
			return []int{own}
		}
		for i := range n {
			s.empty = append(s.empty[:i:i], i)
		}
		return s.empty
	}
	sub := slices.Index([]string{"HOURLY", "MINUTELY", "SECONDLY"}, s.freq)
	for _, h := range of(s.hour, sub >= 0, 24, s.start.Hour()) {
		for _, m := range of(s.minute, sub >= 1, 60, s.start.Minute()) {
			for _, x := range of(s.second, sub >= 2, 60, s.start.Second()) {
				out = append(out, d.Add(time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(x)*time.Second))
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.Compact(out)
}

// between lists the times from lo to hi.
func (s scan) between(lo, hi time.Time) (out []time.Time) {
	var period []time.Time
	first, n := true, 0
	flush := func() bool {
		picked := period
		if len(s.set) > 0 {
			picked = nil
			for i, t := range period {
				if signed(s.set, i+1, len(period)) {
					picked = append(picked, t)
				}
			}
		}
		period = nil
		for _, t := range picked {
			switch {
			case t.Before(s.start):
				continue
			case !s.until.IsZero() && t.After(s.until):
				return false
			}
			if first && !t.Equal(s.start) {
				n++ // the beginning counts
			}
			first = false
			if n++; s.count > 0 && n > s.count {
				return false
			}
			if !t.Before(lo) && !t.After(hi) {
				out = append(out, t)
			}
		}
		return true
	}
	begin := time.Date(s.start.Year(), 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -7)
	if slices.Contains([]string{"HOURLY", "MINUTELY", "SECONDLY"}, s.freq) {
		begin = s.start.Truncate(24 * time.Hour)
	}
	last := -1
	for d := begin; !d.After(hi.AddDate(1, 0, 0)) && (!d.After(hi) || s.turn(d) == last); d = d.AddDate(0, 0, 1) {
		if !s.dated(d) {
			continue
		}
		for _, t := range s.clocked(d) {
			at := s.turn(t)
			if (at-s.turn(s.start))%s.interval != 0 {
				continue
			}
			if at != last && !flush() {
				return out
			}
			last = at
			period = append(period, t)
		}
	}
	flush()
	return out
}

// some returns up to most numbers from low to high, perhaps also counted from the end.
func some(r *rand.Rand, most, low, high int, fromEnd bool) (out []int) {
	for range 1 + r.IntN(most) {
		n := low + r.IntN(high-low+1)
		if fromEnd && r.IntN(3) == 0 {
			n = -max(n, 1)
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// anyRule returns a rule that RFC 5545 allows.
func anyRule(r *rand.Rand) scan {
	freq := []string{"YEARLY", "YEARLY", "MONTHLY", "MONTHLY", "WEEKLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}[r.IntN(10)]
	s := scan{freq: freq, interval: 1, wkst: time.Monday,
		start: time.Date(1990+r.IntN(36), time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)}
	maybe := func(odds int) bool { return r.IntN(odds) == 0 }
	long := slices.Contains([]string{"YEARLY", "MONTHLY"}, freq)
	sub := slices.Contains([]string{"HOURLY", "MINUTELY", "SECONDLY"}, freq)
	if sub {
		s.start = time.Date(2026, 11, 1+r.IntN(20), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
	}
	if maybe(2) {
		s.interval = 1 + r.IntN(5)
	}
	if maybe(3) {
		s.wkst = time.Weekday(r.IntN(7))
	}
	if maybe(4) {
		s.month = some(r, 4, 1, 12, false)
	}
	switch {
	case freq == "YEARLY" && maybe(6):
		s.week = some(r, 3, 1, 53, true)
	case (freq == "YEARLY" || sub) && maybe(6):
		s.yearDay = some(r, 4, 1, 366, true)
	case freq != "WEEKLY" && maybe(3):
		s.monthDay = some(r, 4, 1, 31, true)
	}
	if maybe(2) {
		for _, d := range some(r, 4, 0, 6, false) {
			s.days = append(s.days, nth{day: time.Weekday(d)})
			if long && len(s.week) == 0 && maybe(2) {
				s.days[len(s.days)-1].n = []int{1, 2, 3, 4, 5, -1, -2, -5, 20, 53, -53}[r.IntN(map[bool]int{true: 11, false: 8}[freq == "YEARLY" && len(s.month) == 0])]
			}
		}
	}
	if maybe(5) {
		s.hour = some(r, 3, 0, 23, false)
	}
	if maybe(6) {
		s.minute = some(r, 3, 0, 59, false)
	}
	if maybe(8) || freq == "SECONDLY" {
		s.second = some(r, 3, 0, 59, false)
	}
	if len(s.days)+len(s.monthDay)+len(s.yearDay)+len(s.hour) > 0 && maybe(3) {
		s.set = some(r, 2, 1, 4, true)
	}
	switch {
	case maybe(4):
		s.count = 1 + r.IntN(60)
	case maybe(4):
		s.until = s.start.Add(time.Duration(r.IntN(3000)) * 24 * time.Hour)
	}
	return s
}

// TestRules_agreeWithASecondWay compares up to 2,000 rules, with the times that they have in a span.
func TestRules_agreeWithASecondWay(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5545, 3310))
	named, all := 0, fulltest.Size(300, 2000)
	for range all {
		s := anyRule(r)
		lo := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
		hi := lo.AddDate(0, 1+r.IntN(18), 0)
		if slices.Contains([]string{"HOURLY", "MINUTELY", "SECONDLY"}, s.freq) {
			lo = s.start.AddDate(0, 0, r.IntN(20)).Truncate(24 * time.Hour)
			hi = lo.AddDate(0, 0, 2)
		}
		want := s.between(lo, hi)
		parsed, err := parseRule(s.text(), s.start, place{time.UTC})
		if err != nil {
			t.Fatalf("%s: %v", s.text(), err)
		}
		got, err := parsed.between(lo, hi)
		if err != nil || !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s from %v, between %v and %v: %v\ngot  %v\nwant %v", s.text(), s.start, lo, hi, err, head(got), head(want))
		}
		if len(want) > 0 {
			named++
		}
	}
	if named < all/3 {
		t.Errorf("only %d rules name a time", named)
	}
}

func head(list []time.Time) (out []string) {
	for _, t := range list[:min(len(list), 12)] {
		out = append(out, t.Format("Mon 2006-01-02T15:04:05"))
	}
	return append(out, fmt.Sprint("of ", len(list)))
}
