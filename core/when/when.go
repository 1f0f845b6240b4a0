// Package when knows the names of months and weekdays, and reads dates. The written
// names are in the catalogues of words. It is pure.
package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// calendar holds the names of a language, and the forms of its dates. Each name is the
// written form, then alternatives. A ! marks one that is also another word: such a month
// counts only beside a number, a year or an "in", such a weekday only for users of that
// language.
type calendar struct {
	Months, Weekdays                           []string
	Date                                       string // weekday, day, month
	First, Others                              string // the days of a month; Others: number
	Today, Yesterday                           string
	CalledToday, CalledYesterday, CalledBefore []string
	BeforeWeekday, AfterWeekday                []string
	Fillers, Ordinals                          []string
}

var calendarOf = words.In[calendar]("calendar")

// calendars holds the calendars of all languages, and of others that are only read.
var calendars = sync.OnceValue(func() map[string]*calendar {
	out := map[string]*calendar{
		"es": {Months: []string{"enero ene", "febrero", "!marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
			"octubre", "noviembre", "diciembre !dic"},
			Weekdays: []string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"}},
	}
	for _, language := range words.Languages() {
		out[language] = calendarOf(language)
	}
	return out
})

// MonthName returns the name of a month in the language of a tag.
func MonthName(m time.Month, tag string) string { return written(calendarOf(tag).Months[m-1]) }

// WeekdayName returns the name of a weekday in the language of a tag.
func WeekdayName(d time.Weekday, tag string) string { return written(calendarOf(tag).Weekdays[d]) }

// DayOfMonth returns a day of the month as written in a date: 1er, 2.
func DayOfMonth(day int, tag string) string {
	if day == 1 {
		return calendarOf(tag).First
	}
	return fmt.Sprintf(calendarOf(tag).Others, day)
}

// DateName returns a date with its weekday, without its year: Thursday 19 November.
func DateName(t time.Time, tag string) string {
	weekday, month := WeekdayName(t.Weekday(), tag), MonthName(t.Month(), tag)
	return fmt.Sprintf(calendarOf(tag).Date, weekday, DayOfMonth(t.Day(), tag), month)
}

// TodayName returns the name of today.
func TodayName(tag string) string { return calendarOf(tag).Today }

// YesterdayName returns the name of yesterday.
func YesterdayName(tag string) string { return calendarOf(tag).Yesterday }

func written(names string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(names, "!"), " ")
	return name
}

// word is a folded word of a language.
type word struct{ language, text string }

// named is a month or weekday.
type named struct {
	n        int  // among the months, then the weekdays
	doubtful bool // it is another word too
}

var index = sync.OnceValue(func() map[word]named {
	out := map[word]named{}
	for language, c := range calendars() {
		for n, names := range slices.Concat(c.Months, c.Weekdays) {
			for name := range strings.FieldsSeq(names) {
				plain, doubtful := strings.CutPrefix(name, "!")
				out[word{language, text.Fold(plain)}] = named{n, doubtful}
			}
		}
	}
	return out
})

// Month returns the month that a folded word names in one of these languages (en,
// fr, de, es), 0: none, and whether it is another word too.
func Month(s string, languages ...string) (m time.Month, doubtful bool) {
	if found, ok := lookUp(s, languages, 0, 12); ok {
		return time.Month(found.n + 1), found.doubtful
	}
	return 0, false
}

// Weekday returns the weekday that a folded word names in one of these languages,
// and whether it is a short form, which is another word too.
func Weekday(s string, languages ...string) (d time.Weekday, short, ok bool) {
	if found, ok := lookUp(s, languages, 12, 19); ok {
		return time.Weekday(found.n - 12), found.doubtful, true
	}
	return 0, false, false
}

func lookUp(s string, languages []string, from, to int) (named, bool) {
	for _, l := range languages {
		if found, ok := index()[word{l, s}]; ok && from <= found.n && found.n < to {
			return found, true
		}
	}
	return named{}, false
}

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

// dateWords reads day and month, in either order if the month is a name, and a year (0: none).
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
