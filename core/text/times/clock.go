package times

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// atoi returns a number, 0 if s is none.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// expression reads a cron expression.
func (r *reader) expression(i int, f *Found) int {
	if r.going || i+5 > len(r.words) {
		return 0
	}
	e := strings.Join(r.words[i:i+5], " ")
	if !strings.Contains(e, "*") || strings.Trim(r.words[i], "0123456789*/,-") != "" {
		return 0
	}
	f.Cron = e
	return 5
}

var stamped = text.Pattern(`^(\d{4}-\d{1,2}-\d{1,2})t(.+)$`)

// stamp reads 2026-11-23T08:00 and, with a zone, an instant.
func (r *reader) stamp(i int, f *Found) int {
	n := max(r.length(i, "on"), r.length(i, "the"))
	m := stamped().FindStringSubmatch(r.word(i + n))
	if m == nil || f.Date.Kind != NoDay || f.whole() {
		return 0
	}
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(m[0])); err == nil {
		f.Exact = at
		return n + 1
	}
	minutes, _, ok := r.clockWord(m[2])
	if !ok {
		f.Wrong = m[2]
	}
	(&reader{words: []string{m[1]}, ahead: true}).numeric(0, f)
	f.Date.Said, f.Times = m[1], []int{minutes}
	return n + 1
}

var (
	colonTime  = text.Pattern(`^(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(am|pm|a\.m\.?|p\.m\.?|h)?$`)
	hTime      = text.Pattern(`^(\d{1,2})h(\d{2})?(?:min)?$`)
	halfDay    = text.Pattern(`^(\d{1,2})(?:\.(\d{2}))?(am|pm|a\.m\.?|p\.m\.?)$`)
	halfSuffix = text.Pattern(`^(am|pm|a\.m\.?|p\.m\.?)$`)
	pointed    = text.Pattern(`^(\d{1,2})\.(\d{2})$`)
	twoDigits  = text.Pattern(`^\d\d?$`)
)

// clockWord reads a time of day in one word; form means that the word has no other meaning.
func (r *reader) clockWord(w string) (minutes int, form, ok bool) {
	for _, pattern := range []*regexp.Regexp{colonTime(), hTime(), halfDay()} {
		if m := pattern.FindStringSubmatch(w); m != nil {
			suffix := ""
			if len(m) > 3 {
				suffix = m[3]
			}
			minutes, ok = clockOf(atoi(m[1]), atoi(m[2]), suffix)
			return minutes, true, ok
		}
	}
	h, n := (&reader{words: []string{w}, language: r.language}).is(0, "number")
	if twoDigits().MatchString(w) {
		h, n = atoi(w), 1
	}
	minutes, ok = clockOf(h, 0, "")
	return minutes, false, ok && n > 0
}

// clockOf returns an hour and minute as minutes since midnight.
func clockOf(h, m int, suffix string) (int, bool) {
	switch {
	case h > 12 && strings.HasPrefix(suffix, "p"): // 14:30 pm
	case strings.HasPrefix(suffix, "a") || strings.HasPrefix(suffix, "p"):
		if h < 1 || h > 12 {
			return 0, false
		}
		h %= 12
		if suffix[0] == 'p' {
			h += 12
		}
	case h == 24 && m == 0:
		return 24 * 60, true
	}
	return h*60 + m, h >= 0 && h < 24 && m >= 0 && m < 60
}

// clock reads a time of day: at 9, 14:30, 9 pm, 9 h 30, midi, half past nine. A bare number is one only after a day, or
// after at or à beside a day or at an end of the text.
func (r *reader) clock(i int, f *Found) int {
	if f.whole() || f.Times != nil && !f.Repeat.Is() {
		return 0
	}
	lead := 0
	if f.Times != nil {
		if lead = r.length(i, "and"); lead == 0 {
			return 0
		}
	}
	at := r.length(i+lead, "at")
	lead += at
	minutes, n, sure := r.timeOfDay(i + lead)
	if n == 0 {
		return r.wrong(i, lead, f)
	}
	if !sure && !r.bareHour(i, lead+n, lead, f) {
		return 0
	}
	f.Times = append(f.Times, minutes)
	return lead + n
}

// bareHour reports whether the number of n words at i, with those before it, is an hour, by what is beside it.
func (r *reader) bareHour(i, n, lead int, f *Found) bool {
	at := r.length(i, "at_hour") > 0
	switch {
	case r.length(i+n, "measure") > 0:
		return false
	case f.Times != nil, r.length(i, "at_sure") > 0:
		return true
	case f.Date.Kind != NoDay || f.Repeat.Is():
		return lead == 0 || at
	}
	return at && (i == 0 && !r.going || i+n == len(r.words) || r.apply(dayRules, i+n, &Found{}) > 0)
}

// wrong reads a time of day that does not exist, with the words before it: 25:00, 12:75, at 25, um 25 Uhr.
func (r *reader) wrong(i, lead int, f *Found) int {
	w, n := r.word(i+lead), lead+1
	_, form, _ := r.clockWord(w)
	oclock := r.length(i+n, "oclock")
	number := digits().MatchString(w) && (oclock > 0 || r.length(i, "at_hour") > 0 && r.bareHour(i, n, lead, f))
	if !number && (!form || !r.going && lead == 0) {
		return 0
	}
	n += oclock
	f.Wrong, f.Times = r.said(i+lead, i+n), []int{0}
	return n
}

// timeOfDay reads a time of day without the words before it.
func (r *reader) timeOfDay(i int) (minutes, n int, sure bool) {
	if minutes, n := r.is(i, "clock"); n > 0 {
		return minutes, n, true
	}
	off, before := r.is(i, "clock_before")
	w := r.word(i + before)
	minutes, sure, ok := r.clockWord(w)
	n = before + 1
	if m := pointed().FindStringSubmatch(w); m != nil && r.length(i+n, "oclock") > 0 {
		minutes, ok = clockOf(atoi(m[1]), atoi(m[2]), "")
		return minutes, n + 1, ok
	}
	half := ""
	if r.isHalf(i+n) && minutes >= 60 {
		half = r.word(i + n)
	}
	switch {
	case !ok:
		return 0, 0, false
	case half != "":
		m, ok := clockOf(minutes/60, minutes%60, half)
		if !ok {
			return 0, 0, false
		}
		minutes, n, sure = m, n+1, true
	case sure:
		n += r.length(i+n, "oclock")
	case r.length(i+n, "oclock") > 0:
		n += r.length(i+n, "oclock")
		after, k := r.is(i+n, "clock_after")
		if m := r.word(i + n); k == 0 && len(m) == 2 && twoDigits().MatchString(m) && atoi(m) < 60 &&
			r.length(i+n+1, "unit") == 0 {
			after, k = atoi(m), 1
		}
		minutes, n, sure = minutes+after, n+k, true
	}
	if before > 0 {
		return (minutes + off + 24*60) % (24 * 60), n, true
	}
	if !sure && minutes == 24*60 { // 24:00 and 24 Uhr, but not 24
		return 0, 0, false
	}
	return minutes, n, sure
}

// isHalf reports whether a word is am or pm. In German am precedes a day.
func (r *reader) isHalf(i int) bool {
	return halfSuffix().MatchString(r.word(i)) && (r.language != "" && r.length(i, "on") == 0)
}

// part reads a part of the day beside a day or a time: in the evening, du matin; before a time: abends um 8.
func (r *reader) part(i int, f *Found) int {
	if f.Period != AnyTime || f.whole() {
		return 0
	}
	lead := 0
	if r.going && (f.Date.Kind != NoDay || f.Times != nil || f.Repeat.Is()) {
		lead = r.length(i, "in_the")
	} else if _, _, timed := r.element(i+1, "timed", i); !timed || f.Times != nil || !r.has(i, "part_before") {
		return 0
	}
	p, n, ok := r.element(i+lead, "part", i)
	if !ok {
		return 0
	}
	f.Period = Period(p)
	return lead + n
}
