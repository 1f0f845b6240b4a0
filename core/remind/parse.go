// Package remind manages reminders: it parses their times, sets, lists and cancels them for
// the model and for people, and fires those that are due.
//
// A reminder that was missed while no process ran is sent once, late, with the time at which
// it was due; a recurring one continues from then. A reminder that cannot reach the person
// now is held until it can, as posts are. None is fired twice: the store advances the
// reminder in the transaction that stores its message.
package remind

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// Settings bound reminders. A zero value means the default after the colon.
type Settings struct {
	DefaultHour time.Duration // since midnight, of a day without a time: 9 h, if MaxActive is zero too
	MinEvery    time.Duration // between two times of a recurring reminder: 15 min
	MaxActive   int           // of a user: 100
	Language    string        // of users who chose none
}

func (s Settings) orDefault() Settings {
	if s.MaxActive == 0 { // a configured hour may be midnight
		s.DefaultHour = cmp.Or(s.DefaultHour, 9*time.Hour)
	}
	s.MinEvery = cmp.Or(s.MinEvery, 15*time.Minute)
	s.MaxActive = cmp.Or(s.MaxActive, 100)
	return s
}

// Parse finds a time in a text in English, French or German: "in 20 minutes", "demain à 9 h
// call Ana", "every weekday at 7:30", "am 1. jedes Monats", a date and time of ISO 8601 or a
// cron expression of five fields. at is the first time after now, cron the expression of a
// recurring one (by the wall clock of loc), rest the text without the words of the time. It
// is pure.
//
// A day without a time means DefaultHour, as does a morning; an afternoon means 15:00, an
// evening and a night 20:00. A weekday is the next one, today only with a time that is still
// ahead; "next Friday" is the one of next week, "vendredi prochain" and "nächsten Freitag"
// the next one that is not today. 3/6 is 3 June. Midnight is the end of its day. A wall time
// that the zone skips moves to the first instant that exists; one that occurs twice is the
// first.
//
// Errors are sentences in lang that wrap core.ErrRefused: nothing is understood, the time is
// past, or it recurs more often than MinEvery.
func (s Settings) Parse(text string, now time.Time, loc *time.Location,
	lang string) (at time.Time, cron, rest string, err error) {
	s = s.orDefault()
	r := &reader{tokens: tokenize(text), language: words.Match(lang), faults: say(lang).Faults}
	f, used := r.read()
	if len(used) == 0 {
		return at, "", text, core.Refusal(r.faults.Nothing)
	}
	c := calendar{Settings: s, faults: r.faults, now: now, zone: loc}
	at, cron, err = c.resolve(f)
	return at, cron, without(text, r.tokens, used), err
}

// token is a word of a text, folded, with its byte range, which includes a following comma.
// Words that German joins have the same range.
type token struct {
	word       string
	start, end int
}

var dotted = text.Pattern(`^\d{1,2}\.\d{1,2}\.$|^[ap]\.m\.$`)

func tokenize(said string) []token {
	var out []token
	for start := 0; start < len(said); {
		n := strings.IndexFunc(said[start:], func(r rune) bool { return !unicode.IsSpace(r) })
		if n < 0 {
			break
		}
		start += n
		end := len(said)
		if n := strings.IndexFunc(said[start:], unicode.IsSpace); n >= 0 {
			end = start + n
		}
		w := text.Fold(said[start:end])
		if !dotted().MatchString(w) {
			w = strings.TrimRight(w, ".:!?")
		}
		bare := strings.Trim(w, ",;()\"«»“”")
		stop := start + len(strings.TrimRight(said[start:end], ".!?"))
		if dotted().MatchString(bare) || bare == "" || strings.TrimSpace(said[end:]) == "" {
			stop = end
		}
		for w := range strings.FieldsSeq(apart(bare)) {
			out = append(out, token{w, start, stop})
		}
		start = end
	}
	return out
}

// reader reads the words of a text.
type reader struct {
	tokens   []token
	language string // of the person
	faults   faults
}

// word returns the i-th word, or nothing.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.tokens) {
		return ""
	}
	return r.tokens[i].word
}

// is returns the number of words if those from i on are these, separated by blanks; else 0.
func (r *reader) is(i int, words string) int {
	n := 0
	for w := range strings.FieldsSeq(words) {
		if r.word(i+n) != w {
			return 0
		}
		n++
	}
	return n
}

// any returns the number of words of the first of these phrases that begins at i, or 0.
func (r *reader) any(i int, phrases ...string) int {
	for _, p := range phrases {
		if n := r.is(i, p); n > 0 {
			return n
		}
	}
	return 0
}

// stretch is a run of words that express a time.
type stretch struct {
	found
	from, to int
}

// read returns the time in a text, and the stretches that express it: the most specific one,
// and one that adds a day or a time.
func (r *reader) read() (found, []stretch) {
	var all []stretch
	for i := 0; i < len(r.tokens); {
		s := stretch{from: i, to: i}
		for n := r.element(s.to, &s.found, s.to > i); n > 0; n = r.element(s.to, &s.found, true) {
			s.to += n
		}
		if s.to > i {
			all = append(all, s)
			i = s.to
			continue
		}
		i++
	}
	if len(all) == 0 {
		return found{}, nil
	}
	best := 0
	for n, s := range all {
		if s.weight() > all[best].weight() {
			best = n
		}
	}
	f, used := all[best].found, all[best:best+1:best+1]
	for n, s := range all {
		if n != best && f.add(s.found) {
			used = append(used, s)
		}
	}
	return f, used
}

// element reads one piece of a time at i into f, and returns its number of words. going
// means that a stretch continues.
func (r *reader) element(i int, f *found, going bool) int {
	for _, read := range []func(int, *found, bool) int{r.expression, r.stamp, r.repeated, r.span, r.day, r.clock,
		r.part} {
		if n := read(i, f, going); n > 0 {
			return n
		}
	}
	return 0
}

func (s stretch) weight() int {
	w := 0
	switch {
	case s.cron != "" || s.repeat.is() || !s.exact.IsZero():
		w = 6
	case s.delta != 0:
		w = 5
	case s.date.kind != noDate:
		w = 2
	}
	if s.times != nil || s.period != anyTime {
		w += 3
	}
	if s.from == 0 {
		w++
	}
	return w
}

var (
	stranded = text.Pattern(`\s+\.(\s|$)`)
	asked    = text.Pattern(`(?i)[,\s]+(?:please|svp|stp|s['’]il (?:te|vous) pla[iî]t|bitte)$`)
	doubled  = text.Pattern(`\s{2,}`)
	opening  = text.Pattern(
		`(?i)^(?:(?:bitte )?erinner[en]? mich(?: bitte)?(?: daran)?,?(?: an| dass)?(?: |$)|(?:please |can you )?(?:remind )?me(?: |$)|(?:s'il te pla[iî]t )?rappelle[sz]?[- ]?moi(?: |$)|moi(?: |$))?(?:(?:to|that|about|de|que)(?: |$)|[dq]u?['’])?`)
)

// without returns the text without stretches, and without the words that introduced them.
func without(text string, tokens []token, used []stretch) string {
	gone := make([]bool, len(text))
	for _, s := range used {
		for i := tokens[s.from].start; i < tokens[s.to-1].end; i++ {
			gone[i] = true
		}
	}
	var b strings.Builder
	for i := range len(text) {
		if !gone[i] {
			b.WriteByte(text[i])
		}
	}
	rest := doubled().ReplaceAllStringFunc(b.String(), func(blank string) string {
		if strings.Contains(blank, "\n") {
			return "\n"
		}
		return " "
	})
	rest = stranded().ReplaceAllString(rest, ".$1")
	edge := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:.-–—", r) }
	rest = strings.TrimRightFunc(strings.TrimLeftFunc(rest, edge), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;:-–—", r)
	})
	return strings.TrimSpace(asked().ReplaceAllString(opening().ReplaceAllString(rest, ""), ""))
}

// The words of times in English, French and German, folded. All languages are read whatever
// the person's, because models write English. Only short names of weekdays, and words such
// as am and alle, are read in the person's language only: they have other meanings in other
// languages. Core/when has the names of months and weekdays.

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

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "premier": 1, "premiere": 1, "deuxieme": 2,
	"troisieme": 3, "quatrieme": 4, "ersten": 1, "erster": 1, "zweiten": 2, "dritten": 3, "vierten": 4, "funften": 5,
}

// unit is a unit of time.
type unit int

const (
	second unit = iota + 1
	minute
	hour
	day
	week
	month
	year
)

var units = map[string]unit{
	"s": second, "sec": second, "secs": second, "second": second, "seconds": second, "seconde": second,
	"secondes": second, "sekunde": second, "sekunden": second, "sek": second, "minuten": minute, "stunde": hour,
	"stunden": hour, "std": hour, "tag": day, "tage": day, "tagen": day, "woche": week, "wochen": week, "monat": month,
	"monate": month, "monaten": month, "jahr": year, "jahre": year, "jahren": year,
	"m": minute, "min": minute, "mins": minute, "mn": minute, "minute": minute, "minutes": minute,
	"h": hour, "hr": hour, "hrs": hour, "hour": hour, "hours": hour, "heure": hour, "heures": hour,
	"d": day, "day": day, "days": day, "jour": day, "jours": day, "j": day,
	"w": week, "week": week, "weeks": week, "semaine": week, "semaines": week,
	"month": month, "months": month, "mois": month,
	"year": year, "years": year, "an": year, "ans": year, "annee": year, "annees": year,
}

// period is a part of a day.
type period int

const (
	anyTime period = iota
	morning
	afternoon
	evening
	night
)

var periods = map[string]period{
	"morning": morning, "afternoon": afternoon, "evening": evening, "night": night,
	"matin": morning, "apres-midi": afternoon, "aprem": afternoon, "soir": evening, "nuit": night,
	"fruh": morning, "morgens": morning, "vormittag": morning, "vormittags": morning, "nachmittag": afternoon,
	"nachmittags": afternoon, "abend": evening, "abends": evening, "nacht": night, "nachts": night,
}

var periodPlurals = map[string]period{
	"mornings": morning, "afternoons": afternoon, "evenings": evening, "nights": night,
	"matins": morning, "apres-midis": afternoon, "apres-midi": afternoon, "soirs": evening, "nuits": night,
}
