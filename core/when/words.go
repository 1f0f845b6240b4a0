package when

import (
	_ "embed" // words.txt
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

//go:embed words.txt
var wordText string

// valued returns the value of the phrase of a table that begins at i, and its number of words.
func valued[T ~int](r *reader, i int, phrases map[string]T) (value T, n int) {
	for phrase, v := range phrases {
		if words := r.is(i, phrase); words > n {
			value, n = v, words
		}
	}
	return value, n
}

var (
	numbers       = text.Valued[int](wordText, "number")
	beforeUnit    = text.Valued[int](wordText, "amount") // numbers only before a unit
	ordinals      = text.Valued[int](wordText, "ordinal")
	units         = text.Valued[Unit](wordText, "unit")
	periods       = text.Valued[Period](wordText, "period")
	periodPlurals = text.Valued[Period](wordText, "periods")
	shortWeekdays = text.Valued[time.Weekday](wordText, "weekday")
	measures      = text.Valued[int](wordText, "measure")
	spans         = text.Valued[int](wordText, "span") // minutes
	adverbs       = text.Valued[Unit](wordText, "every")
	selectors     = text.Valued[Which](wordText, "which")
	runs          = text.Valued[int](wordText, "run")
	relatives     = text.Valued[int](wordText, "relative") // days
	relativeParts = text.Valued[Period](wordText, "part")
	workday       = text.Valued[int](wordText, "workday")
	workdays      = text.Valued[int](wordText, "workdays")
	monthlies     = text.Valued[int](wordText, "monthly")
	irregulars    = text.Valued[int](wordText, "irregular")
)

// Unit is a unit of time.
type Unit int

// The units, shortest first. Weekends are read only as a run of days.
const (
	Seconds Unit = iota + 1
	Minutes
	Hours
	Days
	Weeks
	Months
	Years
	Weekends
)

var weekends = text.OneOf("weekend weekends week-end week-ends wochenende finde")

// Period is a part of a day.
type Period int

// The parts of a day.
const (
	AnyTime Period = iota
	Morning
	Afternoon
	Evening
	Night
)

var fraction = text.Pattern(`^(\d{1,4})[.,](\d)$`)

// quantity parses a number, at most 99,999.
func quantity(w string) (float64, bool) {
	if m := fraction().FindStringSubmatch(w); m != nil {
		return float64(atoi(m[1])) + float64(atoi(m[2]))/10, true
	}
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 100_000 {
		return float64(n), true
	}
	n, ok := numbers()[w]
	if !ok {
		n, ok = beforeUnit()[w]
	}
	return float64(n), ok
}

// atoi returns a number, 0 if s is none.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

var dayNumber = text.Pattern(`^(\d{1,2})(st|nd|rd|th|er|e|eme)?$`)

// dayNumberOf reads 3, 3rd, 1er, first.
func dayNumberOf(w string) (n int, ordinal, ok bool) {
	if m := dayNumber().FindStringSubmatch(w); m != nil {
		return atoi(m[1]), m[2] != "", true
	}
	n, ok = ordinals()[w]
	return n, true, ok
}

// monthOf returns the month that a word names, 0: none, and whether it is another word too. Alone it
// may be the beginning of one.
func (r *reader) monthOf(w string) (m time.Month, doubtful bool) {
	w = strings.TrimSuffix(w, ".")
	if m, doubtful = month(w, "en", "fr", "de", "es"); m == 0 && r.alone {
		n, _ := begun(w, 0, 12)
		m = time.Month(n + 1)
	}
	return m, doubtful
}

// weekdayName reads the name of a weekday. It reads short forms only in the person's
// language, and only if short; alone in every language.
func (r *reader) weekdayName(i int, short bool) (time.Weekday, bool) {
	w := strings.TrimSuffix(r.word(i), ".")
	if d, ok := weekdayOf(w); ok {
		return d, true
	}
	if n, ok := shortWeekdays()[w]; ok && r.language == "de" { // do and so are words, too
		_, timed, _ := r.timeOfDay(i + 1 + r.any(i+1, "um"))
		return n, short && timed > 0
	}
	if n, ok := begun(w, 12, 19); ok && r.alone {
		return time.Weekday(n - 12), true
	}
	d, _, ok := weekday(w, r.language)
	return d, ok && short
}

// weekdayOf returns the weekday with a full name.
func weekdayOf(w string) (time.Weekday, bool) {
	d, short, ok := weekday(w, "en", "fr", "de", "es")
	return d, ok && !short
}

// weekdaysOf returns the weekday of a plural: Mondays, lundis, montags.
func weekdaysOf(w string) (time.Weekday, bool) {
	one, many := strings.CutSuffix(w, "s")
	d, ok := weekdayOf(one)
	return d, ok && many
}

// oneOrMany reads Montag and montags.
func (r *reader) oneOrMany(i int, short bool) (time.Weekday, bool) {
	if d, ok := weekdaysOf(r.word(i)); ok {
		return d, true
	}
	return r.weekdayName(i, short)
}

var dashed = text.Pattern(`^(\pL+)\.?[-–](\pL+)\.?$`)

// namesDay reports whether a word is the name of a weekday, or a short form, in any language.
func namesDay(w string) bool {
	_, _, ok := weekday(w, "en", "fr", "de", "es")
	return ok || has(shortWeekdays(), w)
}

// apart splits a weekday and a part of the day that German joins, such as Freitagabend, and ranges of weekdays, such as
// Mo-Fr. It returns any other word as it is.
func apart(w string) string {
	if m := dashed().FindStringSubmatch(w); m != nil && namesDay(m[1]) && namesDay(m[2]) {
		return m[1] + " – " + m[2]
	}
	for _, part := range []string{"morgen", "vormittag", "mittag", "nachmittag", "abend", "nacht"} {
		name, joined := strings.CutSuffix(w, part)
		if _, ok := weekdayOf(name); joined && ok {
			return name + " " + part
		}
	}
	return w
}
