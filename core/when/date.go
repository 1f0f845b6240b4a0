package when

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// Yesterday is what Date returns for the day before today, whatever its
// date is: a zone may have skipped one.
const Yesterday = "yesterday"

// Date reads a date in any supported language: 2026-11-19, 19/11, 19.11.2025,
// 19 nov, Thursday 19 November 2026, monday, hier. Without a year it is the
// newest one up to today; a weekday is the last one before today. The result is
// a label, or Yesterday.
func Date(s, today string) (string, bool) {
	s = strings.ReplaceAll(text.Fold(text.Shorten(s, 64)), ",", " ")
	now := midnight(today)
	s = text.OneLine(s)
	switch {
	case called(s, func(c *calendar) []string { return c.CalledToday }):
		return today, true
	case called(s, func(c *calendar) []string { return c.CalledYesterday }):
		return Yesterday, true
	case called(s, func(c *calendar) []string { return c.CalledBefore }):
		return now.AddDate(0, 0, -2).Format(time.DateOnly), true
	}
	if d, ok := weekday(s); ok {
		back := (int(now.Weekday()) - int(d) + 6) % 7
		return now.AddDate(0, 0, -back-1).Format(time.DateOnly), true
	}
	if t, err := time.Parse("2006-1-2", strings.ReplaceAll(s, "/", "-")); err == nil {
		return t.Format(time.DateOnly), true
	}
	y, m, d, ok := dateWords(dateFields(s))
	if !ok {
		return "", false
	}
	return dated(y, m, d, now)
}

// called reports whether s is one of the names in any language.
func called(s string, names func(*calendar) []string) bool {
	return slices.ContainsFunc(supported(), func(c *calendar) bool { return slices.Contains(names(c), s) })
}

// supported returns the calendars of all languages.
func supported() []*calendar {
	var out []*calendar
	for _, language := range words.Languages() {
		out = append(out, calendarOf(language))
	}
	return out
}

// weekday reads "monday", "last mon", "lundi dernier".
func weekday(s string) (time.Weekday, bool) {
	for _, c := range supported() {
		for _, before := range c.BeforeWeekday {
			s = strings.TrimPrefix(s, before)
		}
		for _, after := range c.AfterWeekday {
			s = strings.TrimSuffix(s, after)
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if slices.ContainsFunc(supported(), func(c *calendar) bool { return starts(written(c.Weekdays[d]), s) }) {
			return d, true
		}
	}
	return 0, false
}

// starts reports whether s is a name, folded, or its beginning, three letters at least.
func starts(name, s string) bool {
	s = strings.TrimSuffix(s, ".")
	return len(s) >= 3 && strings.HasPrefix(text.Fold(name), s)
}

// dateFields returns the words of a date without weekdays and fillers.
func dateFields(s string) []string {
	fields := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '/' || r == '.' })
	return slices.DeleteFunc(fields, func(f string) bool {
		_, isDay := weekday(f)
		_, isMonth := month(f)
		return isDay && !isMonth || called(f, func(c *calendar) []string { return c.Fillers })
	})
}

// dateWords reads day and month, in either order if the month is a name, and
// perhaps a year (0: none).
func dateWords(f []string) (year int, m time.Month, day int, ok bool) {
	if len(f) != 2 && len(f) != 3 {
		return 0, 0, 0, false
	}
	if _, name := month(f[0]); name {
		f[0], f[1] = f[1], f[0]
	}
	day, err := strconv.Atoi(ordinal(f[0]))
	if err != nil {
		return 0, 0, 0, false
	}
	if m, ok = month(f[1]); !ok {
		n, err := strconv.Atoi(f[1])
		if err != nil {
			return 0, 0, 0, false
		}
		m = time.Month(n)
	}
	if len(f) == 3 {
		if year, err = strconv.Atoi(f[2]); err != nil || len(f[2]) != 4 {
			return 0, 0, 0, false
		}
	}
	return year, m, day, true
}

// ordinal returns a day's number without an ordinal suffix: 1st, 2nd, 1er.
func ordinal(s string) string {
	for _, c := range supported() {
		for _, suffix := range c.Ordinals {
			if number, ok := strings.CutSuffix(s, suffix); ok {
				return number
			}
		}
	}
	return s
}

// month reads a month's name, or its beginning if that is unique.
func month(s string) (time.Month, bool) {
	var found []time.Month
	for m := time.January; m <= time.December; m++ {
		if slices.ContainsFunc(supported(), func(c *calendar) bool { return starts(written(c.Months[m-1]), s) }) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return 0, false
	}
	return found[0], true
}

// dated returns the label of an existing date; without a year, of the newest one up to now.
func dated(year int, m time.Month, day int, now time.Time) (string, bool) {
	if year != 0 {
		t := time.Date(year, m, day, 0, 0, 0, 0, time.UTC)
		return t.Format(time.DateOnly), t.Month() == m && t.Day() == day && year > 0
	}
	for y := now.Year(); y > now.Year()-9; y-- { // 29 February: eight years apart around 1900 and 2100
		t := time.Date(y, m, day, 0, 0, 0, 0, time.UTC)
		if t.Month() == m && t.Day() == day && !t.After(now) {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}

// midnight returns the midnight UTC of a label; the zero time if it is none.
func midnight(label string) time.Time {
	t, _ := time.Parse(time.DateOnly, label)
	return t
}
