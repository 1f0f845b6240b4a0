package when

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// expression reads a cron expression.
func (r *reader) expression(i int, f *Found, going bool) int {
	if going || i+5 > len(r.words) {
		return 0
	}
	var fields []string
	for n := range 5 {
		fields = append(fields, r.word(i+n))
	}
	e := strings.Join(fields, " ")
	if !strings.Contains(e, "*") || strings.Trim(fields[0], "0123456789*/,-") != "" {
		return 0
	}
	f.Cron = e
	return 5
}

var stamped = text.Pattern(`^(\d{4}-\d{1,2}-\d{1,2})t(.+)$`)

// stamp reads 2026-11-23T08:00 and, with a zone, an instant.
func (r *reader) stamp(i int, f *Found, _ bool) int {
	n := r.any(i, "on", "le", "the")
	m := stamped().FindStringSubmatch(r.word(i + n))
	if m == nil || f.Date.Kind != NoDay || f.whole() {
		return 0
	}
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(m[0])); err == nil {
		f.Exact = at
		return n + 1
	}
	minutes, _, ok := clockWord(m[2])
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
)

// clockWord reads a time of day in one word; sure means that the word has no other meaning.
func clockWord(w string) (minutes int, sure, ok bool) {
	for _, form := range []*regexp.Regexp{colonTime(), hTime(), halfDay()} {
		if m := form.FindStringSubmatch(w); m != nil {
			suffix := ""
			if len(m) > 3 {
				suffix = m[3]
			}
			minutes, ok = clockOf(atoi(m[1]), atoi(m[2]), suffix)
			return minutes, true, ok
		}
	}
	h, known := numbers()[w]
	if n, err := strconv.Atoi(w); err == nil && len(w) <= 2 {
		h, known = n, true
	}
	if !known || w == "a" || w == "an" || w == "un" || w == "une" {
		return 0, false, false
	}
	minutes, ok = clockOf(h, 0, "")
	return minutes, false, ok
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

// clock reads a time of day: at 9, 14:30, 9 pm, 9 h 30, midi, half past nine. A bare number
// is one only after a day, or after at or à beside a day or at an end of the text.
func (r *reader) clock(i int, f *Found, going bool) int {
	if f.whole() || f.Times != nil && !f.Repeat.Is() {
		return 0
	}
	lead := 0
	if f.Times != nil {
		if lead = r.any(i, "and", "et", "und"); lead == 0 {
			return 0
		}
	}
	lead += r.any(i+lead, "at", "a", "@", "vers", "around", "by", "pour", "for", "um", "gegen", "ab", "bis")
	minutes, n, sure := r.timeOfDay(i + lead)
	if n == 0 {
		n = r.wrong(i, lead, f, going)
		if n > 0 {
			f.Wrong, f.Times = r.said(i+lead, n-lead), []int{0}
		}
		return n
	}
	if !sure && !r.bareHour(i, lead+n, lead, f, going) {
		return 0
	}
	f.Times = append(f.Times, minutes)
	return lead + n
}

// bareHour reports whether a bare number at i is an hour, by the words before and after it.
func (r *reader) bareHour(i, n, lead int, f *Found, going bool) bool {
	at := r.any(i, "at", "@", "um") > 0 || r.language == "fr" && r.is(i, "a") > 0
	switch {
	case f.Times != nil, r.german(i, "um") > 0 && measures()[r.word(i+n)] == 0:
		return true
	case f.Date.Kind != NoDay || f.Repeat.Is():
		return lead == 0 || at || r.is(i, "a") > 0
	}
	return at && (i == 0 && !going || i+n == len(r.words) || r.readDay(i+n, &Found{}, false) > 0)
}

// wrong reads a time of day that does not exist, with the words before it: at 25, 12:75, um 25 Uhr. A
// bare number is one where it would be an hour, and only after at, à or um.
func (r *reader) wrong(i, lead int, f *Found, going bool) int {
	at := i + lead
	if _, form, _ := clockWord(r.word(at)); form && r.isHalf(at+1) {
		return lead + 2
	} else if form && (going || lead > 0) {
		return lead + 1
	}
	n := lead + 1 + r.any(at, "half past", "a quarter past", "quarter past", "a quarter to", "quarter to", "halb",
		"viertel nach", "viertel vor")
	if w := r.word(i + n - 1); w == "" || strings.Trim(w, "0123456789") != "" {
		return 0
	}
	switch {
	case r.isHalf(i+n) && (going || lead > 0), r.is(i+n, "uhr") > 0, lead > 0 && r.any(i+n, "h", "heure", "heures") > 0:
		return n + 1
	case r.any(i, "at", "@", "um") == 0 && (r.language != "fr" || r.is(i, "a") == 0) || measures()[r.word(i+n)] > 0:
		return 0
	case !r.bareHour(i, n, lead, f, going):
		return 0
	}
	return n
}

// timeOfDay reads a time of day without the words before it.
func (r *reader) timeOfDay(i int) (minutes, n int, sure bool) {
	if n := r.any(i, "noon", "midday", "midi et demi", "midi et demie", "midi"); n > 0 {
		return 12*60 + 30*(n/3), n, true
	}
	if n := r.any(i, "midnight", "minuit", "mitternacht"); n > 0 {
		return 24 * 60, n, true
	}
	if minutes, n := r.inGerman(i); n > 0 {
		return minutes, n, true
	}
	if minutes, n := r.past(i); n > 0 {
		return minutes, n, true
	}
	minutes, sure, ok := clockWord(r.word(i))
	if ok && !sure {
		if m, n := r.hourWords(i, minutes); n > 0 {
			return m, n, true
		}
	}
	if ok && r.isHalf(i+1) && minutes >= 60 {
		if m, ok := clockOf(minutes/60, minutes%60, r.word(i+1)); ok {
			return m, 2, true
		}
		ok = r.word(i + 1)[0] == 'a' // am may be German
	}
	if !ok || !sure && minutes == 24*60 { // 24:00 and 24 Uhr, but not 24
		return 0, 0, false
	}
	return minutes, 1, sure
}

// past reads half past nine, a quarter to ten.
func (r *reader) past(i int) (minutes, n int) {
	lead := r.any(i, "a quarter", "quarter", "half")
	half := r.is(i, "half")
	if lead == 0 {
		return 0, 0
	}
	sign := map[string]int{"past": 1, "to": -1}[r.word(i+lead)]
	hour, _, ok := clockWord(r.word(i + lead + 1))
	if sign == 0 || !ok || half > 0 && sign < 0 {
		return 0, 0
	}
	n = lead + 2
	if m, ok := clockOf(hour/60, 0, r.word(i+n)); ok && r.isHalf(i+n) {
		hour, n = m, n+1
	}
	return (hour + sign*15*(1+half) + 24*60) % (24 * 60), n
}

// hourWords reads the words after a bare hour: h 30, heures et quart, o'clock, pm.
func (r *reader) hourWords(i, hour int) (minutes, n int) {
	w := r.word(i + 1)
	switch {
	case w == "o'clock":
		return hour, 2
	case r.isHalf(i + 1):
		if m, ok := clockOf(hour/60, 0, w); ok {
			return m, 2
		}
	case w == "h" || w == "heure" || w == "heures":
		for words, m := range map[string]int{"et demie": 30, "et quart": 15, "moins le quart": -15, "moins quart": -15} {
			if n := r.is(i+2, words); n > 0 {
				return hour + m, 2 + n
			}
		}
		if m, err := strconv.Atoi(r.word(i + 2)); err == nil && len(r.word(i+2)) == 2 && m < 60 {
			return hour + m, 3
		}
		return hour, 2
	}
	return 0, 0
}

// part reads a part of the day beside a day or a time: in the evening, du matin.
func (r *reader) part(i int, f *Found, going bool) int {
	if f.Period != AnyTime || f.whole() {
		return 0
	}
	if n := r.adverbOfDay(i, f); n > 0 {
		return n
	}
	if !going {
		return 0
	}
	lead := r.any(i, "in the", "at", "du", "de l'", "de la", "le", "dans la", "au", "am", "in der", "vom")
	w := strings.TrimPrefix(r.word(i+lead), "l'")
	n := lead + 1
	if w == "morgen" && lead > 0 {
		w = "morgens"
	}
	if w == "de" {
		w, n = strings.TrimPrefix(r.word(i+lead+1), "l'"), n+1
	}
	if w == "apres" && r.word(i+n) == "midi" {
		w, n = "apres-midi", n+1
	}
	if periods()[w] == AnyTime || f.Date.Kind == NoDay && f.Times == nil && !f.Repeat.Is() {
		return 0
	}
	f.Period = periods()[w]
	return n
}

// isHalf reports whether a word is am or pm. In German am precedes a day.
func (r *reader) isHalf(i int) bool {
	return halfSuffix().MatchString(r.word(i)) && r.german(i, "am") == 0
}

// adverbOfDay reads a German part of the day before a time: abends um 8.
func (r *reader) adverbOfDay(i int, f *Found) int {
	n := r.any(i, "morgens", "vormittags", "nachmittags", "abends", "nachts")
	lead := r.any(i+1, "um", "gegen", "ab")
	minutes, words, _ := r.timeOfDay(i + 1 + lead)
	if n == 0 || words == 0 || f.Times != nil {
		return 0
	}
	f.Period, f.Times = periods()[r.word(i)], []int{minutes}
	return n + lead + words
}

var pointedTime = text.Pattern(`^(\d{1,2})[.:](\d{2})$`)

// inGerman reads 9 Uhr 30, 9.30 Uhr, halb zehn, Viertel nach neun, zehn vor acht, fünf vor halb neun, Mittag.
func (r *reader) inGerman(i int) (minutes, n int) {
	if n := r.any(i, "zu mittag", "mittags", "mittag"); n > 0 {
		return 12 * 60, n
	}
	if m := pointedTime().FindStringSubmatch(r.word(i)); m != nil && r.is(i+1, "uhr") > 0 {
		if minutes, ok := clockOf(atoi(m[1]), atoi(m[2]), ""); ok {
			return minutes, 2
		}
	}
	if hour, _, ok := clockWord(r.word(i)); (ok || r.is(i, "ein") > 0) && r.is(i+1, "uhr") > 0 {
		if !ok {
			hour = 60
		}
		return r.afterUhr(i+2, hour)
	}
	for words, off := range map[string]int{"halb": -30, "viertel nach": 15, "viertel vor": -15, "dreiviertel": -15,
		"drei viertel": -15, "viertel": -45} {
		if n := r.is(i, words); n > 0 {
			if hour, _, ok := clockWord(r.word(i + n)); ok {
				return onTheClock(hour + off), n + 1 + r.is(i+n+1, "uhr")
			}
		}
	}
	return r.minutesFrom(i)
}

// afterUhr reads the minutes of 9 Uhr 30.
func (r *reader) afterUhr(i, hour int) (minutes, n int) {
	m, ok := numbers()[r.word(i)]
	if v, err := strconv.Atoi(r.word(i)); err == nil && len(r.word(i)) == 2 {
		m, ok = v, true
	}
	if ok && m > 1 && m < 60 && units()[r.word(i+1)] == 0 && hour%60 == 0 {
		return hour + m, 3
	}
	return hour, 2
}

// minutesFrom reads zehn vor acht and fünf nach halb neun.
func (r *reader) minutesFrom(i int) (minutes, n int) {
	v, ok := quantity(r.word(i))
	if !ok || v < 1 || v > 29 {
		return 0, 0
	}
	n = 1 + r.any(i+1, "minuten", "min")
	sign := map[string]int{"nach": 1, "vor": -1}[r.word(i+n)]
	if sign == 0 {
		return 0, 0
	}
	minutes, n = sign*int(v), n+1
	if r.is(i+n, "halb") > 0 {
		minutes, n = minutes-30, n+1
	}
	hour, _, ok := clockWord(r.word(i + n))
	if !ok || hour%60 != 0 {
		return 0, 0
	}
	return onTheClock(hour + minutes), n + 1
}

// onTheClock returns minutes since midnight, within one day.
func onTheClock(minutes int) int { return (minutes + 24*60) % (24 * 60) }
