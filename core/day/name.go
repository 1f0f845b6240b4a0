package day

import (
	"fmt"
	"strings"
	"time"
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
	french := strings.HasPrefix(strings.ToLower(language)+"-", "fr-")
	now, err := Parse(today)
	switch {
	case err == nil && d.Equal(now):
		return pick(french, "Aujourd’hui", "Today")
	case err == nil && d.AddDate(0, 0, 1).Equal(now):
		return pick(french, "Hier", "Yesterday")
	}
	name := d.Format("Monday 2 January")
	if french {
		name = frenchDate(d)
	}
	if err != nil || d.Year() != now.Year() {
		name += fmt.Sprintf(" %04d", d.Year())
	}
	return name
}

func pick(french bool, fr, en string) string {
	if french {
		return fr
	}
	return en
}

// frenchDate returns the weekday and date, such as "jeudi 1er janvier".
func frenchDate(d time.Time) string {
	weekdays := [...]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"}
	months := [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"}
	ordinal := ""
	if d.Day() == 1 {
		ordinal = "er"
	}
	return fmt.Sprintf("%s %d%s %s", weekdays[d.Weekday()], d.Day(), ordinal, months[d.Month()-1])
}
