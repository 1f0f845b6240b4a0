package day

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/when"
)

// Label parses a date as people type it, for a user with these settings at a time. It
// returns the label of the day; ok is false if the text is no date.
func (c Calendar) Label(s core.Settings, now time.Time, text string) (label string, ok bool) {
	today := c.Day(s, now)
	label, ok = when.Date(text, today.Label)
	if ok && label == when.Yesterday { // a zone may skip a date
		label = c.Day(s, today.Start.Add(-time.Nanosecond)).Label
	}
	return label, ok
}

// Name returns the name of a day on the day today (both are labels): Today,
// Yesterday, or its weekday and date, with the year if it is another one.
// language is a BCP 47 tag. A label that is no date is returned unchanged.
func Name(label, today, language string) string {
	d, err := Parse(label)
	if err != nil {
		return label
	}
	now, err := Parse(today)
	switch {
	case err == nil && d.Equal(now):
		return when.TodayName(language)
	case err == nil && d.AddDate(0, 0, 1).Equal(now):
		return when.YesterdayName(language)
	}
	name := when.DateName(d, language)
	if err != nil || d.Year() != now.Year() {
		name += fmt.Sprintf(" %04d", d.Year())
	}
	return name
}
