package times

import (
	"strings"

	"github.com/everthread/everthread/core/text"
)

// rule reads a part of a time. Its pattern consists of elements: classes of the lexicon, or what element knows. An
// element that ends with ? may be missing, and what follows a ! must not be there.
type rule struct {
	pattern []string
	read    func(m match, f *Found)
}

// match holds what the elements of a pattern matched, by their names.
type match struct {
	*reader
	start, end int
	pieces     map[string]piece
}

// piece is the value of an element, and the place of its first word.
type piece struct{ value, at int }

// value returns the value of an element, 0 if it is missing.
func (m match) value(name string) int { return m.pieces[name].value }

func (m match) has(name string) bool { _, ok := m.pieces[name]; return ok }

// apply reads the first rule that matches at i into f, and returns its number of words.
func (r *reader) apply(rules []rule, i int, f *Found) int {
	for _, rule := range rules {
		m := match{reader: r, start: i}
		if end, ok := m.elements(rule.pattern, i); ok && end > i {
			m.end = end
			rule.read(m, f)
			return end - i
		}
	}
	return 0
}

// elements matches a pattern at i, and returns where it ends.
func (m *match) elements(pattern []string, i int) (end int, ok bool) {
	if len(pattern) == 0 {
		return i, true
	}
	name, optional := strings.CutSuffix(pattern[0], "?")
	name, none := strings.CutPrefix(name, "!")
	v, n, found := m.element(i, name, m.start)
	if found != none {
		if none {
			n = 0
		}
		if end, ok := m.elements(pattern[1:], i+n); ok {
			if !none {
				m.keep(name, piece{v, i})
			}
			return end, true
		}
	}
	if optional {
		return m.elements(pattern[1:], i)
	}
	return i, false
}

func (m *match) keep(name string, p piece) {
	if m.pieces == nil {
		m.pieces = map[string]piece{}
	}
	m.pieces[name] = p
}

// condition reports whether the condition of a name holds at i, in a pattern that begins at start. It takes no word.
func (r *reader) condition(i int, name string, start int) (holds, known bool) {
	switch name {
	case "ahead":
		return r.ahead, true
	case "start":
		return i == 0, true
	case "end":
		return i >= len(r.words), true
	case "timed":
		return r.timed(i), true
	case "edge":
		return r.timed(i) || i >= len(r.words) || r.going || start == 0 && r.ahead, true
	case "introduced":
		return r.endsAt(i, "since") || r.endsAt(i, "month_of"), true
	}
	return false, false
}

// timed reports whether a time of day stands at i.
func (r *reader) timed(i int) bool {
	_, n, _ := r.timeOfDay(i + r.length(i, "at"))
	return n > 0
}

// midMonth reads a word such as mid-March: 100 for each month, and the part of it.
func midMonth(word string) (value, n int) {
	before, after, _ := strings.Cut(word, "-")
	one := &reader{words: []string{before, after}}
	part, _ := one.is(0, "part_of_month")
	month, k := one.first(1, "month", "maybe_month")
	return 100*month + part, k * min(part, 1)
}

// element matches one element at i, in a pattern that begins at start. It may match without a word.
func (r *reader) element(i int, name string, start int) (value, n int, ok bool) {
	if holds, known := r.condition(i, name, start); known {
		return 0, 0, holds
	}
	switch name {
	case "count":
		value, n = r.count(i)
	case "some": // in whole numbers
		value, n = r.count(i)
		if value /= 10; value < 1 || value >= 1000 {
			n = 0
		}
	case "compact":
		value, n = r.compact(i)
	case "mid_month":
		value, n = midMonth(r.word(i))
	case "nth":
		value, n = r.nth(i)
	case "day":
		value, n = r.day(i)
	case "days_range": // 3-7 is 307
		if m := dayRange().FindStringSubmatch(r.word(i)); m != nil {
			from, to := atoi(m[1]), atoi(m[2])
			value, n = 100*from+to, map[bool]int{true: 1}[0 < from && from <= to && to <= 31]
		}
	case "year":
		value, n = r.year(i)
	case "any_month":
		value, n = r.first(i, "month", "maybe_month")
	case "any_weekday":
		value, n = r.first(i, "weekday", "short_weekday")
	case "each_weekday":
		if value, n = r.first(i, "weekdays", "weekday"); n == 0 {
			return r.element(i, "short_weekday", start)
		}
	case "short_weekday": // the shortest ones are words, too
		value, n = r.is(i, name)
		if len(r.word(i)) < 3 && !r.timed(i+1) && !r.alone {
			n = 0
		}
	case "which_one":
		value, n = r.is(i, "which_after")
		if which := Which(value); which != NextOne && which != Last {
			n = 0
		}
	case "part":
		value, n = r.first(i, "period", "part_after")
	case "each_part":
		value, n = r.first(i, "period", "periods", "part_after")
	case "long_unit", "run", "days", "weekend":
		value, n = r.unit(i, name)
	default:
		value, n = r.is(i, name)
	}
	return value, n, n > 0
}

// unit matches a unit of time of one kind at i.
func (r *reader) unit(i int, kind string) (value, n int) {
	value, n = r.is(i, "unit")
	unit, ok := Unit(value), false
	switch kind {
	case "long_unit":
		ok = len(r.word(i)) > 1
	case "run":
		ok = len(r.word(i)) > 1 && unit >= Weeks
	case "days":
		ok = unit >= Days && unit != Weekends
	case "weekend":
		ok = unit == Weekends
	}
	if !ok {
		n = 0
	}
	return value, n
}

// first returns the phrase at i of the first class that has one.
func (r *reader) first(i int, classes ...string) (value, n int) {
	for _, class := range classes {
		if value, n = r.is(i, class); n > 0 {
			break
		}
	}
	return value, n
}

// endsAt reports whether a phrase of a class ends before i.
func (r *reader) endsAt(i int, class string) bool {
	for n := range min(i, 3) {
		if r.length(i-n-1, class) == n+1 {
			return true
		}
	}
	return false
}

var (
	fraction  = text.Pattern(`^(\d{1,4})[.,](\d)$`)
	dayNumber = text.Pattern(`^(\d{1,2})(st|nd|rd|th|er|e|eme)?$`)
	dayRange  = text.Pattern(`^(\d{1,2})\.?[-–](\d{1,2})(?:th|st|nd|rd)?\.?$`)
	joined    = text.Pattern(`^(\d{1,5})([a-z]+)$`)
	fourDigit = text.Pattern(`^\d{4}$`)
	digits    = text.Pattern(`^\d{1,5}$`)
)

// quantity reads a number that is not before a unit only: 3, three.
func (r *reader) quantity(i int) (v, n int) {
	if digits().MatchString(r.word(i)) && atoi(r.word(i)) > 0 {
		return atoi(r.word(i)), 1
	}
	return r.is(i, "number")
}

// count reads a number of units, in tenths: 3, three, 2.5, a few, a couple of.
func (r *reader) count(i int) (tenths, n int) {
	if m := fraction().FindStringSubmatch(r.word(i)); m != nil {
		return 10*atoi(m[1]) + atoi(m[2]), 1
	}
	v, n := r.is(i, "amount")
	if n == 0 {
		v, n = r.quantity(i)
	}
	if n > 0 {
		n += r.length(i+n, "of")
	}
	return 10 * v, n
}

// compact reads an amount in one word, such as 20min: ten times its number, and its unit.
func (r *reader) compact(i int) (value, n int) {
	m := joined().FindStringSubmatch(r.word(i))
	if m == nil {
		return 0, 0
	}
	u, n := (&reader{words: m[2:], language: r.language}).is(0, "unit")
	return 10*atoi(m[1]) + u, n
}

// nth reads the day of a month with its ending: 3rd, 1er.
func (r *reader) nth(i int) (day, n int) {
	if m := dayNumber().FindStringSubmatch(r.word(i)); m != nil && m[2] != "" && (r.going || atoi(m[1]) <= 31) {
		return atoi(m[1]), 1
	}
	return 0, 0
}

// day reads the day of a month: 3, 3rd, third.
func (r *reader) day(i int) (day, n int) {
	if m := dayNumber().FindStringSubmatch(r.word(i)); m != nil {
		return atoi(m[1]), 1
	}
	return r.is(i, "ordinal")
}

// year reads a year, perhaps after "of"; alone any one.
func (r *reader) year(i int) (year, n int) {
	of := r.length(i, "of")
	y := atoi(r.word(i + of))
	if !fourDigit().MatchString(r.word(i+of)) || y == 0 || !r.alone && (y < 1900 || y > 2100) {
		return 0, 0
	}
	return y, of + 1
}
