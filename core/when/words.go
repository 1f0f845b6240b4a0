package when

import (
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// The words of days and times in English, French and German, and some in Spanish, folded. All
// languages are read whatever the person's, because models write English. Only short names of
// weekdays, and words such as am and alle, are read in the person's language only: they have
// other meanings in other languages. The catalogues have the names of months and weekdays.

var numbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
	"fifty": 50, "sixty": 60, "ninety": 90, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7,
	"huit": 8, "neuf": 9, "dix": 10, "onze": 11, "douze": 12, "quinze": 15, "vingt": 20, "trente": 30, "quarante": 40,
	"quarante-cinq": 45, "cinquante": 50, "soixante": 60, "ein": 1, "eine": 1, "einer": 1, "einem": 1, "einen": 1,
	"eins": 1, "zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
	"elf": 11, "zwolf": 12, "funfzehn": 15, "zwanzig": 20, "dreißig": 30, "dreissig": 30, "vierzig": 40,
	"funfundvierzig": 45, "funfzig": 50, "sechzig": 60, "neunzig": 90,
}

// amounts are numbers only before a unit.
var amounts = map[string]int{
	"couple": 2, "few": 3, "quelques": 3, "paar": 3, "uno": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5,
	"seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "once": 11, "doce": 12,
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "premier": 1, "premiere": 1, "deuxieme": 2,
	"troisieme": 3, "quatrieme": 4, "ersten": 1, "erster": 1, "zweiten": 2, "dritten": 3, "vierten": 4, "funften": 5,
}

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

var units = map[string]Unit{
	"s": Seconds, "sec": Seconds, "secs": Seconds, "second": Seconds, "seconds": Seconds, "seconde": Seconds,
	"secondes": Seconds, "sekunde": Seconds, "sekunden": Seconds, "sek": Seconds,
	"m": Minutes, "min": Minutes, "mins": Minutes, "mn": Minutes, "minute": Minutes, "minutes": Minutes,
	"minuten": Minutes,
	"h":       Hours, "hr": Hours, "hrs": Hours, "hour": Hours, "hours": Hours, "heure": Hours, "heures": Hours,
	"stunde": Hours, "stunden": Hours, "std": Hours,
	"d": Days, "day": Days, "days": Days, "jour": Days, "jours": Days, "j": Days, "tag": Days, "tage": Days,
	"tagen": Days, "dia": Days, "dias": Days,
	"w": Weeks, "week": Weeks, "weeks": Weeks, "semaine": Weeks, "semaines": Weeks, "woche": Weeks, "wochen": Weeks,
	"semana": Weeks, "semanas": Weeks,
	"month": Months, "months": Months, "mois": Months, "mois-ci": Months, "monat": Months, "monate": Months,
	"monaten": Months, "monats": Months, "mes": Months, "meses": Months,
	"year": Years, "years": Years, "an": Years, "ans": Years, "annee": Years, "annees": Years, "jahr": Years,
	"jahre": Years, "jahren": Years, "jahres": Years, "ano": Years, "anos": Years,
}

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

var periods = map[string]Period{
	"morning": Morning, "afternoon": Afternoon, "evening": Evening, "night": Night,
	"matin": Morning, "apres-midi": Afternoon, "aprem": Afternoon, "soir": Evening, "nuit": Night,
	"fruh": Morning, "morgens": Morning, "vormittag": Morning, "vormittags": Morning, "nachmittag": Afternoon,
	"nachmittags": Afternoon, "abend": Evening, "abends": Evening, "nacht": Night, "nachts": Night,
}

var periodPlurals = map[string]Period{
	"mornings": Morning, "afternoons": Afternoon, "evenings": Evening, "nights": Night,
	"matins": Morning, "apres-midis": Afternoon, "apres-midi": Afternoon, "soirs": Evening, "nuits": Night,
}

// shortWeekdays are read in German only, and only before a time of day.
var shortWeekdays = map[string]time.Weekday{"mo": time.Monday, "di": time.Tuesday, "mi": time.Wednesday,
	"do": time.Thursday, "fr": time.Friday, "sa": time.Saturday, "so": time.Sunday}

// measures are words after which a number is not an hour.
var measures = map[string]bool{"euro": true, "euros": true, "€": true, "cent": true, "prozent": true, "percent": true,
	"%": true, "grad": true, "degrees": true, "kilo": true, "meter": true, "km": true}

var fraction = text.Pattern(`^(\d{1,4})[.,](\d)$`)

// quantity parses a number, at most 99,999.
func quantity(w string) (float64, bool) {
	if m := fraction().FindStringSubmatch(w); m != nil {
		return float64(atoi(m[1])) + float64(atoi(m[2]))/10, true
	}
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 100_000 {
		return float64(n), true
	}
	n, ok := numbers[w]
	if !ok {
		n, ok = amounts[w]
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
	n, ok = ordinals[w]
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
	if n, ok := shortWeekdays[w]; ok && r.language == "de" { // do and so are words, too
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

// apart splits a weekday and a part of the day that German joins, such as Freitagabend. It
// returns any other word as it is.
func apart(w string) string {
	for _, part := range []string{"morgen", "vormittag", "mittag", "nachmittag", "abend", "nacht"} {
		name, joined := strings.CutSuffix(w, part)
		if _, ok := weekdayOf(name); joined && ok {
			return name + " " + part
		}
	}
	return w
}
