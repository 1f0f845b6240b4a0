// Package when knows the names of months and weekdays, as people write and read
// them, and reads dates. It is pure.
package when

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core/text"
)

// calendar is the names of a language: how one is written, then how else it is. A !
// stands before what is also another word: such a month is one only beside a number, a
// year or an "in", such a weekday only for people who write that language.
type calendar struct{ months, weekdays []string }

var calendars = map[string]calendar{
	"en": {[]string{"January jan", "February feb", "!March !mar", "April apr", "!May", "June jun", "July jul", "August !aug",
		"September !sept !sep", "October oct", "November nov", "December !dec"},
		[]string{"Sunday !sun", "Monday !mon", "Tuesday !tue !tues", "Wednesday !wed", "Thursday !thu !thur !thurs", "Friday !fri", "Saturday !sat"}},
	"fr": {[]string{"janvier janv", "février fevr fev", "!mars", "avril avr", "!mai", "juin", "juillet juil", "août",
		"septembre", "octobre", "novembre", "décembre"},
		[]string{"dimanche !dim", "lundi !lun", "mardi !mar", "mercredi !mer", "jeudi !jeu", "vendredi !ven", "samedi !sam"}},
	"de": {[]string{"Januar", "Februar", "März", "April", "!Mai", "Juni", "Juli", "August", "September", "Oktober okt", "November", "Dezember dez"},
		[]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag Sonnabend"}},
	"es": {[]string{"enero ene", "febrero", "!marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre !dic"},
		[]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"}},
}

// French reports whether a tag of a language (fr, fr-CA, fr_FR) is one of French.
func French(language string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(language), "_", "-")+"-", "fr-")
}

// MonthName is a month as it is written in French or, for every other language, in
// English.
func MonthName(m time.Month, language string) string {
	return written(calendarOf(language).months[m-1])
}

// WeekdayName is a weekday as it is written in French or, for every other language,
// in English.
func WeekdayName(d time.Weekday, language string) string {
	return written(calendarOf(language).weekdays[d])
}

func calendarOf(language string) calendar {
	if French(language) {
		return calendars["fr"]
	}
	return calendars["en"]
}

func written(names string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(names, "!"), " ")
	return name
}

// word is a folded word of a language.
type word struct{ language, text string }

// named is what a word names: the n-th of the months and weekdays.
type named struct {
	n        int
	doubtful bool
}

var index = sync.OnceValue(func() map[word]named {
	out := map[word]named{}
	for language, c := range calendars {
		for n, names := range slices.Concat(c.months, c.weekdays) {
			for name := range strings.FieldsSeq(names) {
				plain, doubtful := strings.CutPrefix(name, "!")
				out[word{language, text.Fold(plain)}] = named{n, doubtful}
			}
		}
	}
	return out
})

// Month returns the month that a folded word names in one of these languages (en,
// fr, de, es), 0: none, and whether it is another word, too.
func Month(s string, languages ...string) (m time.Month, doubtful bool) {
	if found, ok := lookUp(s, languages, 0, 12); ok {
		return time.Month(found.n + 1), found.doubtful
	}
	return 0, false
}

// Weekday returns the weekday that a folded word names in one of these languages,
// and whether it is a short form, which is another word, too.
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
