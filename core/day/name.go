package day

import (
	"fmt"

	"github.com/everthread/everthread/core/when"
)

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
