package when

import (
	"strings"

	"github.com/everthread/everthread/core/text"
)

var (
	unreadWords  = text.Valued[int](wordText, "unread")
	unreadFrench = text.Valued[int](wordText, "unread_fr")
	glues        = text.Valued[int](wordText, "glue")
	topics       = text.Valued[int](wordText, "topic")
	leads        = text.Valued[int](wordText, "before_number")
	clockLike    = text.Pattern(`^\d{1,4}(?:[.:h/]\d|[a-z]{1,3}$)`)
)

func has[T any](words map[string]T, w string) bool { _, ok := words[w]; return ok }

// unread returns a word beside the used stretches that may belong to the time, and that the grammar
// has not read: it may change the time, as in "tomorrow 9am EST" or "half eight tomorrow".
func (r *reader) unread(f Found, used []stretch) string {
	read := make([]bool, len(r.words))
	for _, s := range used {
		for i := s.from; i < s.to; i++ {
			read[i] = true
		}
	}
	for _, s := range used {
		if f.Repeat.Is() && r.words[s.from] == "bis" {
			return r.written[s.from]
		}
		if last := s.to - 1; last > s.from && r.isNumber(last) && r.isWeekday(last-1) && !r.isPart(s.to) {
			return r.written[last] // Friday 4 is a day or an hour
		}
		for i := s.to; i < len(r.words) && !read[i]; i++ {
			if r.timely(i) || r.ofTime(i) || i == s.to && atoi(r.words[i]) > 0 && r.isNumber(i) && r.measured(i-1) {
				return r.written[i]
			}
			if !has(glues(), r.words[i]) {
				break
			}
		}
		for i := s.from - 1; i >= 0 && !read[i]; i-- {
			if (r.timely(i) || r.ofTime(i)) && (i == 0 || !has(topics(), r.words[i-1])) {
				return r.written[i]
			}
			if !has(glues(), r.words[i]) {
				break
			}
		}
	}
	return ""
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
		has(unreadWords(), w) || r.language == "fr" && has(unreadFrench(), w) || clockLike().MatchString(w)
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
