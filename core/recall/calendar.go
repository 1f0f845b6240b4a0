package recall

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/when"
)

// numberNames are the numbers to twelve.
var numberNames = [13]string{
	"", "one a an un une ein eine einem einer uno una", "two deux zwei dos couple",
	"three trois drei tres few quelques paar", "four quatre vier cuatro", "five cinq funf cinco", "six sechs seis",
	"seven sept sieben siete", "eight huit acht ocho", "nine neuf neun nueve", "ten dix zehn diez", "eleven onze elf once",
	"twelve douze zwolf doce",
}

// spanUnit is a unit of time for counting back.
type spanUnit int

const (
	noUnit spanUnit = iota
	days
	weeks
	months
	years
	weekends
	nights
)

// unitNames are the names of units, from days.
var unitNames = [...]string{
	"day days jour jours tag tage tagen dia dias", "week weeks semaine semaines woche wochen semana semanas",
	"month months mois mois-ci monat monate monaten monats mes meses",
	"year years annee annees an ans jahr jahre jahren jahres ano anos", "weekend week-end weekends wochenende finde",
	"night evening nuit nacht noche",
}

// named returns the index of the list that holds a word, or -1.
func named(lists []string, s string) int {
	return slices.IndexFunc(lists, func(list string) bool { return has(list, s) })
}

// monthOf returns the month that a word names, 0: none. A doubtful name is another word
// too: it means a month only beside a number, a year or an "in".
func monthOf(s string) (m time.Month, doubtful bool) {
	return when.Month(strings.TrimSuffix(s, "."), "en", "fr", "de", "es")
}

func weekdayOf(s string) (time.Weekday, bool) {
	d, short, ok := when.Weekday(s, "en", "fr", "de", "es")
	return d, ok && !short
}

func unitOf(s string) spanUnit { return spanUnit(named(unitNames[:], s) + 1) }

// count reads a number of units: 3, three, trois; 0: none.
func count(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 1000 {
		return n
	}
	return named(numberNames[1:], s) + 1
}

// dayNumber reads the day of a month: 3, 3rd, 1er, 3.; 0: none.
func dayNumber(s string) int {
	for _, suffix := range []string{"st", "nd", "rd", "th", "er", "."} {
		s = strings.TrimSuffix(s, suffix)
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= 31 && len(s) <= 2 {
		return n
	}
	return 0
}

// yearNumber reads a year of our time; 0: none.
func yearNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 1950 && n <= 2100 {
		return n
	}
	return 0
}
