package when

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core/text"
)

var (
	unreadWords   = text.Valued[int](wordText, "unread")
	unreadFrench  = text.Valued[int](wordText, "unread_fr")
	unreadEnglish = text.Valued[int](wordText, "unread_en")
	zones         = text.Valued[int](wordText, "zone")
	locals        = text.Valued[int](wordText, "local")
	limits        = text.Valued[int](wordText, "limit")
	glues         = text.Valued[int](wordText, "glue")
	topics        = text.Valued[int](wordText, "topic")
	leads         = text.Valued[int](wordText, "before_number")
	clockLike     = text.Pattern(`^\d{1,4}(?:[.:h/–-]\d|[a-z]{1,3}$)`)
	offset        = text.Pattern(`^(?:(?:utc|gmt)[+−-]\d{1,2}|[+−-]\d{1,2})(?::?\d{2})?$`)
)

func has[T any](words map[string]T, w string) bool { _, ok := words[w]; return ok }

// unread returns a word beside the used stretches that may belong to the time, and that the grammar has not read: it may
// change the time, as in "tomorrow 9am EST" or "half eight tomorrow". What limits a recurrence may stand anywhere.
func (r *reader) unread(f Found, used []stretch) string {
	read := make([]bool, len(r.words))
	for _, s := range used {
		for i := s.from; i < s.to; i++ {
			read[i] = true
		}
	}
	for _, s := range used {
		if w := cmp.Or(r.unreadWithin(f, s), r.unreadAfter(s, read), r.unreadBefore(f, s, read)); w != "" {
			return w
		}
	}
	if f.Repeat.Is() && len(used) > 0 {
		return r.limit(read)
	}
	return ""
}

// unreadWithin returns what may be read in two ways.
func (r *reader) unreadWithin(f Found, s stretch) string {
	if f.Repeat.Is() && r.words[s.from] == "bis" {
		return r.written[s.from]
	}
	if last := s.to - 1; last > s.from && r.isNumber(last) && r.isWeekday(last-1) && !r.isPart(s.to) {
		return r.written[last] // Friday 4 is a day or an hour
	}
	return ""
}

func (r *reader) unreadAfter(s stretch, read []bool) string {
	for i := s.to; i < len(r.words) && !read[i]; i++ {
		after := i == s.to
		switch {
		case r.timely(i), r.ofTime(i) && (!after || r.words[i-1] != "am"), // 9 am
			after && r.isNumber(i) && r.measured(i-1) && r.words[i] != "one":
			return r.written[i]
		case after && s.Times != nil && r.zone(i) > 0:
			return r.said(i, r.zone(i))
		case !r.joins(i):
			return ""
		}
	}
	return ""
}

func (r *reader) unreadBefore(f Found, s stretch, read []bool) string {
	for i := s.from - 1; i >= 0 && !read[i]; i-- {
		before := i == s.from-1
		counted := r.isNumber(i) && (before && f.Repeat.Is() || // in 5 weekdays
			i == s.from-2 && r.any(i+1, "and", "or", "und", "oder", "et", "ou") > 0) // the 1st and 15th
		if (r.timely(i) || r.ofTime(i) || counted) && (i == 0 || !has(topics(), r.words[i-1])) {
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
	for i, w := range r.words {
		kind := limits()[w]
		if kind == 0 || read[i] {
			continue
		}
		j := i + 1
		for j < len(r.words) && !read[j] && r.joins(j) && !r.timely(j) {
			j++
		}
		if j < len(r.words) && !read[j] && r.timely(j) &&
			(kind == 1 || units()[r.words[j]] >= Days && r.isNumber(j-1)) {
			return r.written[i]
		}
	}
	return ""
}

// joins reports whether a word may stand between a time and another word of it.
func (r *reader) joins(i int) bool {
	return has(glues(), r.words[i]) || has(runs(), r.words[i]) || r.isNumber(i)
}

// zone returns the number of words of a zone at i: EAT, New York time. 0: there is none.
func (r *reader) zone(i int) int {
	if has(zones(), r.words[i]) && r.written[i] == strings.ToUpper(r.written[i]) {
		return 1
	}
	for n := 1; n <= 3 && i+n < len(r.words); n++ {
		if first, _ := utf8.DecodeRuneInString(r.written[i+n-1]); !unicode.IsUpper(first) {
			break
		}
		if has(locals(), r.words[i+n]) {
			return n + 1
		}
	}
	return 0
}

// timely reports whether a word alone speaks of a time.
func (r *reader) timely(i int) bool {
	w := r.words[i]
	if before, after, ok := strings.Cut(w, "'"); ok && len(before) == 1 { // l'après-midi
		w = after
	}
	m, doubtful := r.monthOf(w)
	_, ordinal, day := dayNumberOf(w)
	short := false
	if r.language == "en" && w != "sun" && w != "sat" { // jeu and mer are words, too
		_, _, short = weekday(w, r.language)
	}
	return len(w) > 2 && has(units(), w) || m != 0 && !doubtful || r.isWeekday(i) || short ||
		day && ordinal && !has(ordinals(), w) || has(periods(), w) || has(relatives(), w) ||
		has(periodPlurals(), w) || has(unreadWords(), w) || r.language == "fr" && has(unreadFrench(), w) ||
		r.language == "en" && has(unreadEnglish(), w) || clockLike().MatchString(w) || offset().MatchString(w)
}

// isWeekday reports whether a word is the full name of a weekday, or its plural.
func (r *reader) isWeekday(i int) bool {
	_, one := weekdayOf(r.words[i])
	_, many := weekdaysOf(r.words[i])
	return one || many
}

// isPart reports whether a part of the day begins at a word.
func (r *reader) isPart(i int) bool { return r.part(i, &Found{}, true) > 0 }

// isNumber reports whether a word is a number that counts nothing else.
func (r *reader) isNumber(i int) bool {
	_, ok := quantity(r.words[i])
	return ok && !has(glues(), r.words[i]) && !has(measures(), r.word(i+1))
}

// ofTime reports whether a word is a number that follows a word such as "at".
func (r *reader) ofTime(i int) bool { return r.isNumber(i) && i > 0 && has(leads(), r.words[i-1]) }

// measured reports whether a word is a unit, or ends with a digit: a number after it belongs to it.
func (r *reader) measured(i int) bool {
	w := r.words[i]
	return has(units(), w) || strings.ContainsAny(w[len(w)-1:], "0123456789")
}
