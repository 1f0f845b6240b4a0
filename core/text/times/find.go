package times

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
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
	Wrong  string // a time of day that does not exist, as written
	Unread string // a word beside the time that may change it, and that is not understood
	span   bool   // Date and Delta are from now
	listed bool   // a weekday of a recurrence was read last
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
	if f.whole() || g.whole() || g.Repeat.Is() {
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

// Find finds the time ahead that a text names in the words of the catalogues, and returns the text without the words of
// it; false: there is none. language is that of the person, lower case: it decides about words that have another
// meaning in another language. It reads dates, weekdays, near days, times of day, times from now, and recurrences;
// words of a time beyond that are in Unread.
func Find(said, language string) (f Found, rest string, ok bool) {
	tokens := tokenize(said)
	r := &reader{language: language, ahead: true}
	for _, t := range tokens {
		r.words, r.written = append(r.words, t.word), append(r.written, t.written)
	}
	f, used := r.read()
	f.Unread = r.unread(f, used)
	return f, without(said, tokens, used), len(used) > 0
}

// token is a word of a text, folded, with its byte range, which includes a following comma.
// Words that are written as one have the same range.
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

var dashed = text.Pattern(`^(\pL+)\.?[-–](\pL+)\.?$`)

// apart splits a range of weekdays, such as Mo-Fr, and a weekday and a part of the day that German joins, such as
// Freitagabend. It returns any other word as it is.
func apart(w string) string {
	one := func(w string, classes ...string) bool {
		return (&reader{words: []string{w}, alone: true}).has(0, classes...)
	}
	if m := dashed().FindStringSubmatch(w); m != nil && one(m[1], "weekday", "short_weekday") &&
		one(m[2], "weekday", "short_weekday") {
		return m[1] + " – " + m[2]
	}
	for name := range lexicon()["weekday"] {
		if part, ok := strings.CutPrefix(w, name); ok && one(part, "period", "part_after", "clock") {
			return name + " " + part
		}
	}
	return w
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
		if n := r.length(i, "skip"); n > 0 {
			i += n
			continue
		}
		s := stretch{from: i, to: i}
		for n := r.next(i, &s.Found); n > 0; n = r.next(s.to, &s.Found) {
			s.to += n
			r.going = true
		}
		r.going = false
		if s.to > i {
			all = append(all, s)
		}
		i = max(i+1, s.to)
	}
	if len(all) == 0 {
		return Found{}, nil
	}
	best := slices.IndexFunc(all, func(s stretch) bool {
		return !slices.ContainsFunc(all, func(other stretch) bool { return other.weight() > s.weight() })
	})
	f, used := all[best].Found, all[best:best+1:best+1]
	for n, s := range all {
		if n != best && f.add(s.Found) {
			used = append(used, s)
		}
	}
	return f, used
}

// next reads one piece of a time at i into f, and returns its number of words.
func (r *reader) next(i int, f *Found) int {
	for _, read := range []func(int, *Found) int{r.expression, r.stamp, r.repeated, r.span, r.dayAhead, r.clock, r.part} {
		if n := read(i, f); n > 0 {
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

// request holds the regular expressions of what stands around the text of a request.
type request struct {
	RemindMe string // it begins the request
	LeadsTo  string // it leads over to the text
	Please   string // it ends the text
}

var (
	stranded = text.Pattern(`\s+\.(\s|$)`)
	doubled  = text.Pattern(`\s{2,}`)
	around   = sync.OnceValues(func() (begin, end *regexp.Regexp) {
		var remind, leads, please []string
		for _, r := range i18n.Read[request]("request") {
			remind, leads, please = append(remind, r.RemindMe), append(leads, r.LeadsTo), append(please, r.Please)
		}
		any := func(list []string) string { return "(?:" + strings.Join(list, "|") + ")" }
		return regexp.MustCompile(`(?i)^` + any(remind) + `?` + any(leads) + `?`),
			regexp.MustCompile(`(?i)[,\s]+` + any(please) + `$`)
	})
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
	begin, end := around()
	return strings.TrimSpace(end.ReplaceAllString(begin.ReplaceAllString(rest, ""), ""))
}

var (
	clockLike = text.Pattern(`^\d{1,4}(?:[.:h/–-]\d|[a-z]{1,3}$)`)
	offset    = text.Pattern(`^(?:(?:utc|gmt)[+−-]\d{1,2}|[+−-]\d{1,2})(?::?\d{2})?$`)
)

// unread returns a word beside the used stretches that may belong to the time, and that is not read: it may change the
// time, as in "tomorrow 9am EST" or "half eight tomorrow". What limits a recurrence may stand anywhere.
func (r *reader) unread(f Found, used []stretch) string {
	read := make([]bool, len(r.words))
	for _, s := range used {
		for i := s.from; i < s.to; i++ {
			read[i] = true
		}
	}
	for _, s := range used {
		last := s.to - 1
		if last > s.from && r.isNumber(last) && r.has(last-1, "weekday", "weekdays") && !r.has(s.to, "in_the", "part_after") {
			return r.written[last] // Friday 4 is a day or an hour
		}
		if f.Repeat.Is() && f.Date.Kind != NoDay && r.has(s.from, "limit") {
			return r.written[s.from]
		}
		if w := cmp.Or(r.unreadAfter(s, read), r.unreadBefore(f, s, read)); w != "" {
			return w
		}
	}
	if w := r.together(read); w != "" || !f.Repeat.Is() || len(used) == 0 {
		return w
	}
	return r.limit(read)
}

// together returns the first of two words of times that stand together and are not read, such as every other day.
func (r *reader) together(read []bool) string {
	for i := range r.words {
		every := r.length(i, "every")
		j := i + max(every, 1)
		if !read[i] && j < len(r.words) && !read[j] && (every > 0 && r.has(j, "ordinal") ||
			(every > 0 || r.timely(i)) && r.timely(j)) {
			return r.written[i]
		}
	}
	return ""
}

func (r *reader) unreadAfter(s stretch, read []bool) string {
	for i := s.to; i < len(r.words) && !read[i]; i++ {
		after := i == s.to
		switch {
		case r.timely(i), r.isNumber(i) && r.has(i-1, "number_after") && (!after || r.words[i-1] != "am"), // 9 am
			after && r.isNumber(i) && r.measured(i-1):
			return r.written[i]
		case after && s.Times != nil && r.zone(i) > 0:
			return r.said(i, i+r.zone(i))
		case !r.joins(i):
			return ""
		}
	}
	return ""
}

func (r *reader) unreadBefore(f Found, s stretch, read []bool) string {
	for i := s.from - 1; i >= 0 && !read[i]; i-- {
		counted := r.isNumber(i) && (i == s.from-1 && f.Repeat.Is() || // in 5 weekdays
			i == s.from-2 && r.has(i+1, "and") || r.has(i-1, "number_after")) || // the 1st and 15th
			i == s.from-1 && r.has(i, "ordinal") // the first Monday
		if (r.timely(i) || counted || r.has(i, "every")) && (i == 0 || !r.has(i-1, "about")) {
			return r.written[i]
		}
		if !r.joins(i) {
			break
		}
	}
	return ""
}

// limit returns the first word of what limits a recurrence: until Friday, for 5 days.
func (r *reader) limit(read []bool) string {
	for i := range r.words {
		kind, n := r.is(i, "limit")
		if n == 0 || read[i] {
			continue
		}
		j := i + 1
		for j < len(r.words) && !read[j] && r.joins(j) && !r.timely(j) {
			j++
		}
		if j < len(r.words) && !read[j] && r.timely(j) {
			if _, _, days := r.element(j, "days", j); kind == 1 || days && r.isNumber(j-1) {
				return r.written[i]
			}
		}
	}
	return ""
}

// joins reports whether a word may stand between a time and another word of it.
func (r *reader) joins(i int) bool { return r.has(i, "glue", "which") || r.isNumber(i) }

// zone returns the number of words of a zone at i: EAT, New York time. 0: there is none.
func (r *reader) zone(i int) int {
	if r.has(i, "zone") && r.written[i] == strings.ToUpper(r.written[i]) {
		return 1
	}
	for n := 1; n <= 3 && i+n < len(r.words); n++ {
		if first, _ := utf8.DecodeRuneInString(r.written[i+n-1]); !unicode.IsUpper(first) {
			break
		}
		if r.has(i+n, "local") {
			return n + 1
		}
	}
	return 0
}

// timely reports whether a word alone speaks of a time.
func (r *reader) timely(i int) bool {
	w := r.words[i]
	_, nth := r.nth(i)
	english := r.language == i18n.English && r.has(i, "short_weekday") && !r.has(i, "not_weekday")
	return len(w) > 2 && r.has(i, "unit") || nth > 0 || english || clockLike().MatchString(w) || offset().MatchString(w) ||
		r.has(i, "month", "weekday", "weekdays", "period", "periods", "near", "tonight") || r.length(i, "unread") > 0
}

// isNumber reports whether a word is a number that counts nothing else.
func (r *reader) isNumber(i int) bool {
	_, n := r.quantity(i)
	number := n > 0 || fraction().MatchString(r.word(i)) || r.has(i, "amount")
	return number && !r.has(i, "glue") && !r.has(i+1, "measure")
}

// measured reports whether a word is a unit, or ends with a digit: a number after it belongs to it.
func (r *reader) measured(i int) bool {
	w := r.words[i]
	return r.has(i, "unit") || r.has(i, "oclock") && len(r.word(i+1)) > 1 || unicode.IsDigit(rune(w[len(w)-1]))
}
