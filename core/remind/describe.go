package remind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// phrases describe repetitions in one language.
type phrases struct {
	*texts
	language string
}

// Describe returns a cron expression in words, such as "every Monday and Thursday at
// 08:00"; a complex one as it is.
func (Settings) Describe(expression, language string) string {
	p := phrases{say(language), language}
	f := strings.Fields(expression)
	if len(f) != 5 {
		return fmt.Sprintf(p.Repeats.Expression, expression)
	}
	if s := p.often(f); s != "" {
		return s
	}
	clock, ok := p.clock(f[0], f[1])
	days, known := p.days(f[2], f[3], f[4])
	if !ok || !known {
		return fmt.Sprintf(p.Repeats.Expression, expression)
	}
	return fmt.Sprintf(p.At, days, clock)
}

// often describes regular intervals within a day; empty: it is none.
func (p phrases) often(f []string) string {
	if f[2] != "*" || f[3] != "*" || f[4] != "*" {
		return ""
	}
	if n := step(f[0]); n > 0 && f[1] == "*" {
		return p.Repeats.Minutes.Of(n)
	}
	switch n := step(f[1]); {
	case f[0] == "0" && f[1] == "*":
		return p.Repeats.Hour
	case f[0] == "0" && n > 0:
		return p.Repeats.Hours.Of(n)
	}
	return ""
}

// step returns the n of */n, or 0.
func step(field string) int {
	n, ok := strings.CutPrefix(field, "*/")
	if !ok {
		return 0
	}
	return atoi(n)
}

// clock describes the minute and hour fields: 08:00 and 20:00.
func (p phrases) clock(minute, hour string) (string, bool) {
	m, err := strconv.Atoi(minute)
	hours, ok := list(hour, 23)
	if err != nil || !ok || len(hours) > 4 {
		return "", false
	}
	var out []string
	for _, h := range hours {
		out = append(out, time.Date(2000, 1, 1, h, m, 0, 0, time.UTC).Format("15:04"))
	}
	return words.List(p.language, out...), true
}

// days describes the fields of days.
func (p phrases) days(dom, month, dow string) (string, bool) {
	switch {
	case dom == "*" && month == "*":
		return p.weekly(dow)
	case dow != "*":
		return "", false
	}
	d, ok := list(dom, 31)
	if !ok || len(d) != 1 || d[0] < 1 {
		return "", false
	}
	if month == "*" {
		return p.Repeats.Month.Of(d[0]), true
	}
	m, ok := list(month, 12)
	if !ok || len(m) != 1 || m[0] < 1 {
		return "", false
	}
	return fmt.Sprintf(p.Repeats.Year, when.DayOfMonth(d[0], p.language), when.MonthName(time.Month(m[0]), p.language)),
		true
}

func (p phrases) weekly(dow string) (string, bool) {
	if dow == "*" {
		return p.Repeats.Day, true
	}
	days, ok := list(dow, 7)
	if !ok {
		return "", false
	}
	var names []string
	for _, d := range days {
		names = append(names, when.WeekdayName(time.Weekday(d%7), p.language))
	}
	switch {
	case slices.Equal(days, []int{1, 2, 3, 4, 5}):
		return p.Repeats.Weekday, true
	case slices.Equal(days, []int{0, 6}) || slices.Equal(days, []int{6, 7}):
		return p.Repeats.Weekend, true
	}
	return fmt.Sprintf(p.Repeats.On, words.List(p.language, names...)), true
}

// list parses numbers up to most, with commas and ranges.
func list(field string, most int) ([]int, bool) {
	var out []int
	for _, f := range strings.Split(field, ",") {
		from, to, isRange := strings.Cut(f, "-")
		a, err := strconv.Atoi(from)
		b := a
		if isRange && err == nil {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b > most {
			return nil, false
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}
