package times

import (
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// MonthYear returns the name of a month with its year: October 2026.
func MonthYear(t time.Time, tag string) string {
	return MonthName(t.Month(), tag) + " " + strconv.Itoa(t.Year())
}

// Month reads a month in any supported language: 2026-10, October, Oktober 2025, last month. Without a year it is the
// newest one up to today, which is a label. The result is the midnight in UTC that begins the month.
func Month(s, today string) (time.Time, bool) {
	if t, err := time.Parse("2006-1", strings.TrimSpace(s)); err == nil {
		return t, true
	}
	now, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return time.Time{}, false
	}
	var words []string
	for _, t := range tokenize(text.Shorten(s, 64)) {
		words = append(words, t.word)
	}
	spans, _ := Spans(words, now)
	if len(spans) != 1 {
		return time.Time{}, false
	}
	one := spans[0]
	if month, err := time.Parse("01-02", one.From); err == nil { // of every year
		year := now.Year()
		if month.Month() > now.Month() {
			year--
		}
		whole := one.From[:2] == one.To[:2] && month.Day() == 1 && one.To[3:] >= "28"
		return date(year, month.Month(), 1), whole
	}
	from, err := time.Parse(time.DateOnly, one.From)
	last := from.AddDate(0, 1, -1).Format(time.DateOnly)
	if err != nil || from.Day() != 1 || one.To != last && (one.To != today || today > last) {
		return time.Time{}, false
	}
	return from, true
}
