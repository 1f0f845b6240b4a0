package recall

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/when"
)

// back returns the span from `from` days before today to `to` days before.
func (r *dateReader) back(from, to int) Span {
	return spanOf(r.today.AddDate(0, 0, -from), r.today.AddDate(0, 0, -to))
}

// relative reads words that name a day by themselves: today, hier, last night.
func (r *dateReader) relative(i int) (reading, bool) {
	for _, c := range []struct {
		from, to int
		phrases  string
	}{
		{2, 2, "the day before yesterday|day before yesterday|avant hier|avant-hier|vorgestern|anteayer"},
		{1, 0, "last night|hier soir|anoche|gestern abend"},
		{1, 1, "yesterday|hier|gestern|ayer"},
		{0, 0, "this morning|this afternoon|this evening|ce matin|cet apres-midi|cet apres midi|ce soir|esta manana|" +
			"esta tarde|heute morgen|today|tonight|aujourdhui|heute|hoy"},
		{14, 0, "recently|recemment|lately|neulich|recientemente"},
	} {
		for phrase := range strings.SplitSeq(c.phrases, "|") {
			n := strings.Count(phrase, " ") + 1
			if i+n <= len(r.words) && strings.Join(r.words[i:i+n], " ") == phrase {
				return one(n, r.back(c.from, c.to), true)
			}
		}
	}
	return reading{}, false
}

// ago reads three days ago, il y a 3 jours, vor zwei Wochen, hace un mes.
func (r *dateReader) ago(i int) (reading, bool) {
	k := i
	before := true
	switch {
	case r.is(i, "il") && r.is(i+1, "y") && r.is(i+2, "a"):
		k += 3
	case r.is(i, "y") && r.is(i+1, "a"):
		k += 2
	case r.is(i, "vor", "hace"):
		k++
	default:
		before = false
	}
	if r.is(k, "a", "an", "the") && r.is(k+1, "few", "couple") {
		k++
	}
	n := count(r.word(k))
	k++
	if r.is(k, "of", "de") {
		k++
	}
	unit := unitOf(r.word(k))
	k++
	if n == 0 || unit == noUnit || unit > years || !before && !r.is(k, "ago", "earlier", "back") {
		return reading{}, false
	}
	if !before {
		k++
	}
	return one(k-i, r.around(n, unit), true)
}

// around returns n units ago, give or take the usual imprecision.
func (r *dateReader) around(n int, unit spanUnit) Span {
	switch unit {
	case days:
		if n > 9 {
			return r.back(n+2, n-2)
		}
		return r.back(n, n)
	case weeks:
		return r.back(7*n+3, 7*n-3)
	case months:
		t := r.today.AddDate(0, -n, 0)
		return spanOf(t.AddDate(0, 0, -15), t.AddDate(0, 0, 15))
	}
	t := r.today.AddDate(-n, 0, 0)
	return spanOf(t.AddDate(0, -4, 0), t.AddDate(0, 4, 0))
}

// period reads last week, this month, la semaine dernière, letztes Jahr.
func (r *dateReader) period(i int) (reading, bool) {
	k := i
	this := r.is(i, "this", "cette", "ce", "cet", "diese", "diesen", "dieses", "esta", "este")
	last := r.is(i, "last", "past", "previous", "letzte", "letzten", "letztes", "letzter", "vergangene",
		"vergangenen", "ultima", "ultimo")
	if this || last {
		k++
	}
	unit := unitOf(r.word(k))
	k++
	if r.is(k, "dernier", "derniere", "passe", "passee", "pasado", "pasada", "precedente", "precedent") {
		last, this = true, false
		k++
	}
	if unit == noUnit || unit == days || unit == nights || !this && !last {
		return reading{}, false
	}
	return one(k-i, r.unit(unit, last), true)
}

// unit returns the current unit of time, or the one before. Weeks begin on Monday.
func (r *dateReader) unit(unit spanUnit, last bool) Span {
	monday := (int(r.today.Weekday()) + 6) % 7
	y, m := r.today.Year(), r.today.Month()
	switch {
	case unit == weeks && last:
		return r.back(monday+7, monday+1)
	case unit == weeks:
		return r.back(monday, 0)
	case unit == weekends && (last || monday < 5):
		return r.back(monday+2, monday+1)
	case unit == weekends:
		return r.back(monday-5, 0)
	case unit == months && last:
		end := r.today.AddDate(0, 0, -r.today.Day())
		return wholeMonth(end.Year(), end.Month())
	case unit == months:
		return wholeMonth(y, m)
	case last:
		y--
	}
	return spanOf(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(y, 12, 31, 0, 0, 0, 0, time.UTC))
}

// weekday reads last Tuesday, on Monday, mardi dernier: the newest one before today,
// and today if it is one and "last" is missing.
func (r *dateReader) weekday(i int) (reading, bool) {
	k := i
	last := r.is(k, "last", "letzten", "letzter", "past")
	if last {
		k++
	}
	day, ok := weekdayOf(r.word(k))
	if !ok {
		return reading{}, false
	}
	keep := k
	if k++; r.is(k, "dernier", "pasado", "passe") {
		last = true
		k++
	}
	n := (int(r.today.Weekday())-int(day)+6)%7 + 1
	found := reading{k - i, []Span{r.back(n, n)}, []int{keep}}
	if n == 7 && !last {
		found.spans = append(found.spans, r.back(0, 0))
	}
	return found, true
}

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
