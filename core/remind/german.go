package remind

import (
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// Forms that only German has.

// shortWeekdays are read in German only, and only before a time of day.
var shortWeekdays = map[string]time.Weekday{"mo": time.Monday, "di": time.Tuesday, "mi": time.Wednesday,
	"do": time.Thursday, "fr": time.Friday, "sa": time.Saturday, "so": time.Sunday}

// german is any, but only if the person's language is German.
func (r *reader) german(i int, phrases ...string) int {
	if r.language != "de" {
		return 0
	}
	return r.any(i, phrases...)
}

// isHalf reports whether a word is am or pm. In German am precedes a day.
func (r *reader) isHalf(i int) bool {
	return halfSuffix().MatchString(r.word(i)) && r.german(i, "am") == 0
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

// measures are words after which "um 3" is not a time.
var measures = map[string]bool{"euro": true, "€": true, "cent": true, "prozent": true, "%": true, "grad": true,
	"kilo": true, "meter": true}

// oneOrMany reads Montag and montags.
func (r *reader) oneOrMany(i int, short bool) (time.Weekday, bool) {
	if d, ok := weekdaysOf(r.word(i)); ok {
		return d, true
	}
	return r.weekdayName(i, short)
}

// adverbOfDay reads a German part of the day before a time: abends um 8.
func (r *reader) adverbOfDay(i int, f *found) int {
	n := r.any(i, "morgens", "vormittags", "nachmittags", "abends", "nachts")
	lead := r.any(i+1, "um", "gegen", "ab")
	minutes, words, _ := r.timeOfDay(i + 1 + lead)
	if n == 0 || words == 0 || f.times != nil {
		return 0
	}
	f.period, f.times = periods[r.word(i)], []int{minutes}
	return n + lead + words
}

// nextWeekOn reads nächste Woche Montag.
func (r *reader) nextWeekOn(i int, f *found) int {
	n := r.any(i, "nachste woche am", "nachste woche")
	d, ok := weekdayOf(r.word(i + n))
	if n == 0 || !ok {
		return 0
	}
	f.date = date{kind: weekdayly, weekday: d, which: nextWeek}
	return n + 1 + r.partOf(i+n+1, f)
}

// yearly reads jedes Jahr am 3. Juni.
func (r *reader) yearly(i int, f *found) int {
	n := r.any(i, "jedes jahr am", "jahrlich am")
	if n == 0 {
		return 0
	}
	var g found
	on := r.monthDay(i+n, &g)
	if on == 0 {
		return 0
	}
	f.date, f.repeat.yearly = g.date, true
	return n + on
}

var pointedTime = text.Pattern(`^(\d{1,2})[.:](\d{2})$`)

// inGerman reads 9 Uhr 30, 9.30 Uhr, halb zehn, Viertel nach neun, zehn vor acht,
// fünf vor halb neun, Mittag.
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
	m, ok := numbers[r.word(i)]
	if v, err := strconv.Atoi(r.word(i)); err == nil && len(r.word(i)) == 2 {
		m, ok = v, true
	}
	if ok && m > 1 && m < 60 && units[r.word(i+1)] == 0 && hour%60 == 0 {
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
