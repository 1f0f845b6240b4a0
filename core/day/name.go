package day

import (
	"fmt"

	"github.com/everthread/everthread/core/when"
)

// Name returns how a day is called on the day today (both are labels): Today,
// Yesterday, or its weekday and date, with the year if it is another one.
// language is a BCP 47 tag; French is spoken, everything else is English. A
// label that is no date is returned as it is.
func Name(label, today, language string) string {
	d, err := Parse(label)
	if err != nil {
		return label
	}
	french := when.French(language)
	now, err := Parse(today)
	switch {
	case err == nil && d.Equal(now) && french:
		return "Aujourd’hui"
	case err == nil && d.Equal(now):
		return "Today"
	case err == nil && d.AddDate(0, 0, 1).Equal(now) && french:
		return "Hier"
	case err == nil && d.AddDate(0, 0, 1).Equal(now):
		return "Yesterday"
	}
	ordinal := ""
	if french && d.Day() == 1 {
		ordinal = "er"
	}
	name := fmt.Sprintf("%s %d%s %s", when.WeekdayName(d.Weekday(), language), d.Day(), ordinal, when.MonthName(d.Month(), language))
	if err != nil || d.Year() != now.Year() {
		name += fmt.Sprintf(" %04d", d.Year())
	}
	return name
}
