package remind

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// expression reads a cron expression.
func (r *reader) expression(i int, f *found, going bool) int {
	if going || i+5 > len(r.tokens) {
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
	f.cron = e
	return 5
}

var isoDate = text.Pattern(`^(\d{4})-(\d{1,2})-(\d{1,2})(?:t(.+))?$`)

// stamp reads 2026-11-23, 2026-11-23T08:00 and, with a zone, an instant.
func (r *reader) stamp(i int, f *found, _ bool) int {
	n := r.any(i, "on", "le", "the")
	m := isoDate().FindStringSubmatch(r.word(i + n))
	if m == nil || f.date.kind != noDate || f.whole() {
		return 0
	}
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(m[0])); err == nil {
		f.exact = at
		return n + 1
	}
	f.date = date{kind: calendarly, year: atoi(m[1]), month: time.Month(atoi(m[2])), day: atoi(m[3])}
	if m[4] != "" {
		minutes, _, ok := clockWord(m[4])
		if !ok {
			f.date = date{}
			return 0
		}
		f.times = []int{minutes}
	}
	return n + 1
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
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
	h, known := numbers[w]
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
func (r *reader) clock(i int, f *found, going bool) int {
	if f.whole() || f.times != nil && !f.repeat.is() {
		return 0
	}
	lead := 0
	if f.times != nil {
		if lead = r.any(i, "and", "et", "und"); lead == 0 {
			return 0
		}
	}
	lead += r.any(i+lead, "at", "a", "@", "vers", "around", "by", "pour", "for", "um", "gegen", "ab", "bis")
	minutes, n, sure := r.timeOfDay(i + lead)
	if _, form, ok := clockWord(r.word(i + lead)); n == 0 && form && !ok && going {
		f.fault, f.times = core.Refuse(r.faults.NoDate, r.word(i+lead)), []int{0}
		return lead + 1
	}
	if n == 0 {
		return 0
	}
	if !sure && !r.bareHour(i, lead+n, lead, f, going) {
		return 0
	}
	f.times = append(f.times, minutes)
	return lead + n
}

// bareHour reports whether a bare number at i is an hour, by the words before it.
func (r *reader) bareHour(i, n, lead int, f *found, going bool) bool {
	at := r.any(i, "at", "@", "um") > 0 || r.language == "fr" && r.is(i, "a") > 0
	switch {
	case f.times != nil, r.german(i, "um") > 0 && !measures[r.word(i+n)]:
		return true
	case f.date.kind != noDate || f.repeat.is():
		return lead == 0 || at || r.is(i, "a") > 0
	}
	return at && (i == 0 && !going || i+n == len(r.tokens))
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
	if !ok {
		return 0, 0, false
	}
	if !sure {
		if m, n := r.hourWords(i, minutes); n > 0 {
			return m, n, true
		}
	}
	if r.isHalf(i+1) && minutes >= 60 {
		if m, ok := clockOf(minutes/60, minutes%60, r.word(i+1)); ok {
			return m, 2, true
		}
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
func (r *reader) part(i int, f *found, going bool) int {
	if f.period != anyTime || f.whole() {
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
	if periods[w] == anyTime || f.date.kind == noDate && f.times == nil && !f.repeat.is() {
		return 0
	}
	f.period = periods[w]
	return n
}

var (
	compact  = text.Pattern(`^(\d{1,5})([a-z]+)$`)
	hourMin  = text.Pattern(`^(\d{1,3})h(\d{2})(?:min|m)?$`)
	fraction = text.Pattern(`^(\d{1,4})[.,](\d)$`)
)

// span reads a time from now: in 20 minutes, dans une heure et demie, 2 days from now; at the
// start of a text also 20 min.
func (r *reader) span(i int, f *found, going bool) int {
	if f.whole() || f.date.kind != noDate || f.times != nil || f.repeat.is() {
		return 0
	}
	var g found
	lead := r.any(i, "in", "dans", "d'ici", "within", "innerhalb von")
	n := r.amounts(i+lead, &g)
	if n == 0 {
		return 0
	}
	tail := r.any(i+lead+n, "from now", "d'ici")
	alone := i == 0 && !going && r.lengthy(i)
	if lead == 0 && tail == 0 && !alone {
		return 0
	}
	f.date, f.delta = g.date, g.delta
	return lead + n + tail
}

// lengthy reports whether an amount cannot be a time of day: 20 min, but not 9 heures.
func (r *reader) lengthy(i int) bool {
	w := r.word(i + 1)
	if m := compact().FindStringSubmatch(r.word(i)); m != nil {
		w = m[2]
	}
	return units[w] != 0 && w != "h" && w != "heure" && w != "heures" && w != "uhr" && len(w) > 1
}

// amounts reads amounts of time and adds them up.
func (r *reader) amounts(i int, f *found) int {
	total := 0
	for {
		and := 0
		if total > 0 {
			and = r.any(i+total, "and", "et", "und")
		}
		n := r.amount(i+total+and, f)
		if n == 0 && total > 0 && f.delta > 0 {
			if n = r.any(i+total+and, "a half", "demie", "demi"); n > 0 {
				f.delta += 30 * time.Minute
			}
		}
		if n == 0 {
			return total
		}
		total += and + n
	}
}

// amount reads one amount: 20 minutes, an hour, 1h30, 2.5 hours, half an hour.
func (r *reader) amount(i int, f *found) int {
	if n := r.any(i, "half an hour", "half hour", "une demi-heure", "une demi heure", "demi-heure",
		"einer halben stunde", "eine halbe stunde", "halbe stunde"); n > 0 {
		f.delta += 30 * time.Minute
		return n
	}
	if n := r.any(i, "a quarter of an hour", "un quart d'heure", "einer viertelstunde", "eine viertelstunde",
		"viertelstunde"); n > 0 {
		f.delta += 15 * time.Minute
		return n
	}
	for words, d := range map[string]time.Duration{"einer dreiviertelstunde": 45 * time.Minute,
		"anderthalb stunden": 90 * time.Minute, "eineinhalb stunden": 90 * time.Minute,
		"zweieinhalb stunden": 150 * time.Minute} {
		if n := r.is(i, words); n > 0 {
			f.delta += d
			return n
		}
	}
	w := r.word(i)
	if m := hourMin().FindStringSubmatch(w); m != nil {
		f.delta += time.Duration(atoi(m[1]))*time.Hour + time.Duration(atoi(m[2]))*time.Minute
		return 1
	}
	if m := compact().FindStringSubmatch(w); m != nil && units[m[2]] != 0 {
		f.after(float64(atoi(m[1])), units[m[2]])
		return 1
	}
	u := units[r.word(i+1)]
	v, ok := quantity(w)
	if !ok || u == 0 {
		return 0
	}
	f.after(v, u)
	return 2
}

// quantity parses a number, at most 99,999.
func quantity(w string) (float64, bool) {
	if m := fraction().FindStringSubmatch(w); m != nil {
		return float64(atoi(m[1])) + float64(atoi(m[2]))/10, true
	}
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 100_000 {
		return float64(n), true
	}
	n, ok := numbers[w]
	return float64(n), ok
}

// after moves the time of f by v units. Days keep the time of day.
func (f *found) after(v float64, u unit) {
	switch u {
	case second:
		f.delta += time.Duration(v * float64(time.Second))
	case minute:
		f.delta += time.Duration(v * float64(time.Minute))
	case hour:
		f.delta += time.Duration(v * float64(time.Hour))
	case day:
		f.date.days += int(v)
	case week:
		f.date.days += 7 * int(v)
	case month:
		f.date.months += int(v)
	case year:
		f.date.years += int(v)
	}
	if u >= day {
		f.date.kind = relative
	}
}
