// Package when knows the names of months and weekdays, and reads the dates and times that people and models write: Find
// a time ahead, Spans the earlier days that a question names, Date one day. All three know the same words. It is pure.
package when

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// calendar holds the names of a language, and the forms of its dates. Each name is the written form, then alternatives.
// A ! marks one that is also another word: such a month counts only beside a number, a year or an "in", such a weekday
// only for users of that language.
type calendar struct {
	Months, Weekdays                           []string
	Date                                       string // weekday, day, month
	First, Others                              string // the days of a month; Others: number
	Today, Yesterday                           string
	CalledToday, CalledYesterday, CalledBefore []string
	Fillers                                    []string
}

var calendarOf = words.In[calendar]("calendar")

// calendars holds the calendars of all languages, and of others that are only read.
var calendars = sync.OnceValue(func() map[string]*calendar {
	out := map[string]*calendar{
		"es": {Months: []string{"enero ene", "febrero", "!marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
			"octubre", "noviembre", "diciembre !dic"},
			Weekdays:    []string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
			CalledToday: []string{"hoy"}, CalledYesterday: []string{"ayer"}, CalledBefore: []string{"anteayer"}},
	}
	for _, language := range words.Languages() {
		out[language] = calendarOf(language)
	}
	return out
})

// MonthName returns the name of a month in the language of a tag.
func MonthName(m time.Month, tag string) string { return written(calendarOf(tag).Months[m-1]) }

// WeekdayName returns the name of a weekday in the language of a tag.
func WeekdayName(d time.Weekday, tag string) string { return written(calendarOf(tag).Weekdays[d]) }

// DayOfMonth returns a day of the month as written in a date: 1er, 2.
func DayOfMonth(day int, tag string) string {
	if day == 1 {
		return calendarOf(tag).First
	}
	return fmt.Sprintf(calendarOf(tag).Others, day)
}

// DateName returns a date with its weekday, without its year: Thursday 19 November.
func DateName(t time.Time, tag string) string {
	weekday, month := WeekdayName(t.Weekday(), tag), MonthName(t.Month(), tag)
	return fmt.Sprintf(calendarOf(tag).Date, weekday, DayOfMonth(t.Day(), tag), month)
}

// TodayName returns the name of today.
func TodayName(tag string) string { return calendarOf(tag).Today }

// YesterdayName returns the name of yesterday.
func YesterdayName(tag string) string { return calendarOf(tag).Yesterday }

func written(names string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(names, "!"), " ")
	return name
}

// word is a folded word of a language.
type word struct{ language, text string }

// named is a month or weekday.
type named struct {
	n        int  // among the months, then the weekdays
	doubtful bool // it is another word too
}

var index = sync.OnceValue(func() map[word]named {
	out := map[word]named{}
	for language, c := range calendars() {
		for n, names := range slices.Concat(c.Months, c.Weekdays) {
			for name := range strings.FieldsSeq(names) {
				plain, doubtful := strings.CutPrefix(name, "!")
				out[word{language, text.Fold(plain)}] = named{n, doubtful}
			}
		}
	}
	return out
})

// month returns the month that a folded word names in one of these languages (en, fr, de, es),
// 0: none, and whether it is another word too.
func month(s string, languages ...string) (m time.Month, doubtful bool) {
	found, ok := lookUp(s, languages, 0, 12)
	if !ok {
		return 0, false
	}
	return time.Month(found.n + 1), found.doubtful
}

// weekday returns the weekday that a folded word names in one of these languages, and whether it
// is a short form, which is another word too.
func weekday(s string, languages ...string) (d time.Weekday, short, ok bool) {
	found, ok := lookUp(s, languages, 12, 19)
	if !ok {
		return 0, false, false
	}
	return time.Weekday(found.n - 12), found.doubtful, true
}

func lookUp(s string, languages []string, from, to int) (named, bool) {
	for _, l := range languages {
		if found, ok := index()[word{l, s}]; ok && from <= found.n && found.n < to {
			return found, true
		}
	}
	return named{}, false
}

// begun returns the month or weekday from one number up to another whose names a word of three letters
// at least begins, in any language; -1: none, or several.
func begun(w string, from, to int) (n int, ok bool) {
	n = -1
	for name, found := range index() {
		switch {
		case len(w) < 3 || found.n < from || found.n >= to || !strings.HasPrefix(name.text, w):
		case n != -1 && n != found.n:
			return -1, false
		default:
			n = found.n
		}
	}
	return n, n != -1
}
