package when

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/everthread/everthread/core/text"
)

// Found is a time as words express it.
type Found struct {
	Date   Day
	Times  []int // minutes since midnight, up to 24:00; several only if it recurs
	Period Period
	Delta  time.Duration // from now, beside a relative date
	Exact  time.Time     // an instant with a zone of its own
	Repeat Repeat
	Cron   string // an expression of five fields, perhaps invalid
	Odd    bool   // it recurs in a way that no expression can express
	Wrong  string // a time of day that does not exist, as written
	Unread string // a word beside the time that may change it, and that is not understood
}

// Repeat is a recurrence.
type Repeat struct {
	Every    Unit // 0: none
	N        int
	Weekdays []time.Weekday
	Yearly   bool // on the date, each year
}

// Is reports whether there is a recurrence.
func (r Repeat) Is() bool { return r.Every != 0 || r.Yearly || len(r.Weekdays) > 0 }

// whole reports whether f is a complete time.
func (f Found) whole() bool { return f.Cron != "" || !f.Exact.IsZero() || f.Delta != 0 }

// timed reports whether f has a time of day.
func (f Found) timed() bool { return f.Times != nil || f.Period != AnyTime }

// add takes a missing time of day, or a missing day, from another stretch, and reports whether it did.
func (f *Found) add(g Found) bool {
	if f.whole() || g.whole() || g.Odd || g.Repeat.Is() {
		return false
	}
	switch {
	case g.Date.Kind == NoDay && !f.timed():
		f.Times, f.Period, f.Wrong = g.Times, g.Period, g.Wrong
		return true
	case !g.timed() && f.Date.Kind == NoDay && !f.Repeat.Is() && !g.Date.unlikely():
		f.Date = g.Date
		return true
	}
	return false
}

// Find finds the time ahead that a text in English, French or German names, and returns the text
// without the words of it; false: there is none. language is that of the person, lower case: it
// decides about words that have another meaning in another language.
func Find(said, language string) (f Found, rest string, ok bool) {
	tokens := tokenize(said)
	r := &reader{language: language, ahead: true}
	for _, t := range tokens {
		r.words, r.written = append(r.words, t.word), append(r.written, t.written)
	}
	f, used := r.read()
	f.Unread = r.unread(f, used)
	for i, s := range used {
		if s.from > 0 && r.words[s.from-1] == "am" { // German, before a day
			used[i].from--
		}
	}
	return f, without(said, tokens, used), len(used) > 0
}

// token is a word of a text, folded, with its byte range, which includes a following comma.
// Words that German joins have the same range.
type token struct {
	word, written string
	start, end    int
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
			out = append(out, token{w, strings.TrimRight(said[start:stop], ",;:"), start, stop})
		}
		start = end
	}
	return out
}

// reader reads the words of a text, which are folded.
type reader struct {
	words      []string
	written    []string // the words as written, or nothing
	language   string   // of the person; empty: not known
	ahead      bool     // it looks for a time ahead
	alone      bool     // the text is nothing but a date
	monthFirst bool     // 08/05 is 5 August
}

// word returns the i-th word, or nothing.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i]
}

// said returns n words as written.
func (r *reader) said(i, n int) string {
	if r.written == nil {
		return ""
	}
	return strings.Join(slices.Compact(slices.Clone(r.written[i:i+n])), " ")
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

// german is any, but not if the person's language is another one.
func (r *reader) german(i int, phrases ...string) int {
	if r.language != "de" && r.language != "" {
		return 0
	}
	return r.any(i, phrases...)
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
	Found
	from, to int
}

// read returns the time in a text, and the stretches that express it: the most specific one,
// and one that adds a day or a time.
func (r *reader) read() (Found, []stretch) {
	var all []stretch
	for i := 0; i < len(r.words); {
		s := stretch{from: i, to: i}
		for n := r.element(s.to, &s.Found, s.to > i); n > 0; n = r.element(s.to, &s.Found, true) {
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
		return Found{}, nil
	}
	best := 0
	for n, s := range all {
		if s.weight() > all[best].weight() {
			best = n
		}
	}
	f, used := all[best].Found, all[best:best+1:best+1]
	for n, s := range all {
		if n != best && f.add(s.Found) {
			used = append(used, s)
		}
	}
	return f, used
}

// element reads one piece of a time at i into f, and returns its number of words. going means that a stretch continues.
func (r *reader) element(i int, f *Found, going bool) int {
	for _, read := range []func(int, *Found, bool) int{r.expression, r.stamp, r.repeated, r.span, r.day, r.clock,
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
	case s.Cron != "" || s.Repeat.Is() || !s.Exact.IsZero():
		w = 6
	case s.Delta != 0:
		w = 5
	case s.Date.unlikely():
		w = 1
	case s.Date.Kind != NoDay:
		w = 2
	}
	if s.timed() {
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
		`(?i)^(?:(?:bitte )?(?:erinner[en]? )?mich(?: bitte)?(?: daran)?,?(?: an| dass)?(?: |$)|(?:please |can you )?(?:remind )?me(?: |$)|(?:s'il te pla[iî]t )?rappelle[sz]?[- ]?moi(?: |$)|moi(?: |$))?(?:(?:to|that|about|de|que)(?: |$)|[dq]u?['’])?`)
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
