package remind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/when"
)

// phrases are how a repetition is said in one language. Verbs: what it is named
// with.
type phrases struct {
	at, and               string
	day, weekday, weekend string
	on, month, year       string // weekdays; day of the month; date
	hour, hours, minutes  string
	expression            string
	language              string
}

func phrasesOf(language string) phrases {
	if when.French(language) {
		return phrases{at: " à ", and: " et ", day: "tous les jours", weekday: "du lundi au vendredi", weekend: "tous les samedis et dimanches",
			on: "chaque %s", month: "le %s de chaque mois", year: "chaque année le %s %s", hour: "toutes les heures", hours: "toutes les %d heures",
			minutes: "toutes les %d minutes", expression: "selon `%s`", language: "fr"}
	}
	return phrases{at: " at ", and: " and ", day: "every day", weekday: "every weekday", weekend: "every Saturday and Sunday",
		on: "every %s", month: "on the %s of every month", year: "every year on %s %s", hour: "every hour", hours: "every %d hours",
		minutes: "every %d minutes", expression: "by `%s`", language: "en"}
}

// first is a day of the month within a date.
func (p phrases) first(day int) string {
	if day == 1 && p.language == "fr" {
		return "1er"
	}
	return strconv.Itoa(day)
}

// Describe says a cron expression in words of a language, such as "every Monday
// and Thursday at 08:00"; one that has no plain words as it is.
func Describe(expression, language string) string {
	p := phrasesOf(language)
	f := strings.Fields(expression)
	if len(f) != 5 {
		return fmt.Sprintf(p.expression, expression)
	}
	if s := p.often(f); s != "" {
		return s
	}
	clock, ok := p.clock(f[0], f[1])
	days, known := p.days(f[2], f[3], f[4])
	if !ok || !known {
		return fmt.Sprintf(p.expression, expression)
	}
	return days + p.at + clock
}

// often says what comes several times each day at regular times.
func (p phrases) often(f []string) string {
	if f[2] != "*" || f[3] != "*" || f[4] != "*" {
		return ""
	}
	if n := step(f[0]); n > 0 && f[1] == "*" {
		return fmt.Sprintf(p.minutes, n)
	}
	switch n := step(f[1]); {
	case f[0] == "0" && f[1] == "*":
		return p.hour
	case f[0] == "0" && n > 0:
		return fmt.Sprintf(p.hours, n)
	}
	return ""
}

// step is the n of */n, or 0.
func step(field string) int {
	n, ok := strings.CutPrefix(field, "*/")
	if !ok {
		return 0
	}
	return atoi(n)
}

// clock says the minute and hour fields: 08:00 and 20:00.
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
	return p.enumerate(out), true
}

// days says the fields of days.
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
		return fmt.Sprintf(p.month, ordinal(p, d[0])), true
	}
	m, ok := list(month, 12)
	if !ok || len(m) != 1 || m[0] < 1 {
		return "", false
	}
	return fmt.Sprintf(p.year, p.first(d[0]), when.MonthName(time.Month(m[0]), p.language)), true
}

// ordinal is a day of the month: 1st, 22nd; 1er in French.
func ordinal(p phrases, day int) string {
	if p.language == "fr" {
		return p.first(day)
	}
	suffix := "th"
	if day/10 != 1 {
		switch day % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(day) + suffix
}

func (p phrases) weekly(dow string) (string, bool) {
	if dow == "*" {
		return p.day, true
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
		return p.weekday, true
	case slices.Equal(days, []int{0, 6}) || slices.Equal(days, []int{6, 7}):
		return p.weekend, true
	}
	return fmt.Sprintf(p.on, p.enumerate(names)), true
}

func (p phrases) enumerate(words []string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + p.and + words[n]
}

// list reads numbers with commas and ranges, at most up to most.
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
