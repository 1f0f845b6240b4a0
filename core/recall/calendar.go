package recall

import (
	"strconv"
	"strings"
	"time"
)

// monthNames are the names of each month, folded, those that are also other words
// with a ! before: they mean a month only beside a number, a year or an "in".
var monthNames = [12]string{
	"january jan janvier janv januar jan enero ene",
	"february feb fevrier fevr februar febrero",
	"!march !mar !mars marz !marzo",
	"april apr avril avr abril",
	"!may !mai mayo",
	"june jun juin juni junio",
	"july jul juillet juil juli julio",
	"august !aug aout agosto",
	"september !sept !sep septembre septiembre",
	"october oct octobre oktober okt octubre",
	"november nov novembre noviembre",
	"december !dec decembre dezember dez diciembre !dic",
}

// dayNames are the names of each weekday, from Sunday, folded.
var dayNames = [7]string{
	"sunday dimanche sonntag domingo", "monday lundi montag lunes", "tuesday mardi dienstag martes",
	"wednesday mercredi mittwoch miercoles", "thursday jeudi donnerstag jueves", "friday vendredi freitag viernes",
	"saturday samedi samstag sonnabend sabado",
}

// numberNames are the numbers to twelve.
var numberNames = [13]string{
	"", "one a an un une ein eine einem einer uno una", "two deux zwei dos couple", "three trois drei tres few quelques paar",
	"four quatre vier cuatro", "five cinq funf cinco", "six sechs seis", "seven sept sieben siete", "eight huit acht ocho",
	"nine neuf neun nueve", "ten dix zehn diez", "eleven onze elf once", "twelve douze zwolf doce",
}

// spanUnit is a unit of time that people count back in.
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
	"month months mois mois-ci monat monate monaten monats mes meses", "year years annee annees an ans jahr jahre jahren jahres ano anos",
	"weekend week-end weekends wochenende finde", "night evening nuit nacht noche",
}

// named returns the index of the list that holds a word, or -1, and whether the
// word is something else as well.
func named(lists []string, s string) (n int, doubtful bool) {
	for i, list := range lists {
		for name := range strings.FieldsSeq(list) {
			if name == s {
				return i, false
			}
			if name[0] == '!' && name[1:] == s {
				return i, true
			}
		}
	}
	return -1, false
}

// monthOf returns the month that a word names, 0: none.
func monthOf(s string) (m time.Month, doubtful bool) {
	n, doubtful := named(monthNames[:], strings.TrimSuffix(s, "."))
	return time.Month(n + 1), doubtful
}

func weekdayOf(s string) (time.Weekday, bool) {
	n, _ := named(dayNames[:], s)
	return time.Weekday(n), n >= 0
}

func unitOf(s string) spanUnit {
	n, _ := named(unitNames[:], s)
	return spanUnit(n + 1)
}

// count reads a number of units: 3, three, trois; 0: none.
func count(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 1000 {
		return n
	}
	n, _ := named(numberNames[1:], s)
	return n + 1
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
