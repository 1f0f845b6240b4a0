package remind

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/when"
)

// day reads a day: tomorrow evening, next Tuesday, 3 June, le 1er, 23/11.
func (r *reader) day(i int, f *found, going bool) int {
	if f.date.kind != noDate || f.whole() {
		return 0
	}
	var g found
	n := r.near(i, &g)
	for _, read := range []func(int, *found) int{r.dated, r.weekday, r.nextSpan, r.numeric} {
		if n == 0 {
			n = read(i, &g)
		}
	}
	if n == 0 {
		n = r.dayOfMonth(i, &g, going)
	}
	if n == 0 {
		return 0
	}
	f.date = g.date
	if f.period == anyTime {
		f.period = g.period
	}
	return n
}

// near reads a day relative to today, with a part of it.
func (r *reader) near(i int, f *found) int {
	for words, days := range map[string]int{"today": 0, "aujourd'hui": 0, "aujourdhui": 0, "tomorrow": 1, "tmrw": 1,
		"demain": 1, "the day after tomorrow": 2, "day after tomorrow": 2, "apres-demain": 2, "apres demain": 2,
		"yesterday": -1, "hier": -1, "avant-hier": -2, "heute": 0, "morgen": 1, "ubermorgen": 2, "gestern": -1,
		"vorgestern": -2} {
		if n := r.is(i, words); n > 0 && (words != "morgen" || r.any(i-1, "der", "den", "dem", "guten") == 0) {
			f.date = date{kind: relative, days: days}
			return n + r.partOf(i+n, f)
		}
	}
	if n := r.any(i, "tonight"); n > 0 {
		f.date, f.period = date{kind: relative}, night
		return n
	}
	if lead := max(r.any(i, "this", "ce", "cet", "cette"), r.german(i, "am", "in der")); lead > 0 {
		if n := r.partOf(i+lead, f); n > 0 {
			f.date = date{kind: relative}
			return lead + n
		}
	}
	return 0
}

// partOf reads the part of a day after the day: tomorrow morning.
func (r *reader) partOf(i int, f *found) int {
	n := 1
	w := r.word(i)
	switch {
	case w == "apres" && r.word(i+1) == "midi":
		w, n = "apres-midi", 2
	case w == "morgen": // heute Morgen
		w = "morgens"
	}
	p := periods[w]
	if p == anyTime {
		return 0
	}
	f.period = p
	return n
}

// weekday reads a weekday: on Monday, next Tuesday, lundi prochain, mardi en huit.
func (r *reader) weekday(i int, f *found) int {
	lead := r.any(i, "on next", "on the next", "this coming", "on this", "on", "this", "next", "coming", "le", "ce",
		"for", "pour", "by", "last", "am nachsten", "am kommenden", "nachsten", "nachster", "kommenden", "kommender",
		"diesen", "letzten")
	lead = cmp.Or(lead, r.german(i, "am", "bis", "fur", "ab", "den", "der"))
	before := r.word(i + lead - 1)
	if lead == 0 {
		before = ""
	}
	d, ok := r.weekdayName(i+lead, i == 0 || lead > 0)
	if !ok {
		return 0
	}
	n := lead + 1
	f.date = date{kind: weekdayly, weekday: d}
	switch before {
	case "next":
		f.date.which = nextWeek
	case "nachsten", "nachster", "kommenden", "kommender":
		f.date.which = nextOne
	}
	n += r.whichOne(i+n, f)
	if before == "last" || before == "letzten" {
		f.date = date{kind: relative, days: -1}
	}
	return n + r.partOf(i+n, f)
}

// whichOne reads the words after a weekday that select one.
func (r *reader) whichOne(i int, f *found) int {
	for w, phrases := range map[which][]string{
		nextOne: {"prochain", "qui vient"},
		nextWeek: {"next week", "of next week", "de la semaine prochaine", "la semaine prochaine",
			"nachster woche", "der nachsten woche", "nachste woche"},
		weekAfter: {"en huit", "week", "in einer woche", "in acht tagen"},
	} {
		if n := r.any(i, phrases...); n > 0 {
			f.date.which = w
			return n
		}
	}
	if n := r.any(i, "dernier"); n > 0 {
		f.date = date{kind: relative, days: -1}
		return n
	}
	return 0
}

// weekdayName reads the name of a weekday. It reads short forms only in the person's
// language, and only if short.
func (r *reader) weekdayName(i int, short bool) (time.Weekday, bool) {
	w := r.word(i)
	if d, ok := weekdayOf(w); ok {
		return d, true
	}
	if n, ok := shortWeekdays[w]; ok && r.language == "de" { // do and so are words, too
		_, timed, _ := r.timeOfDay(i + 1 + r.any(i+1, "um"))
		return n, short && timed > 0
	}
	d, _, ok := when.Weekday(strings.TrimSuffix(w, "."), r.language)
	return d, ok && short
}

// nextSpan reads next week, la semaine prochaine, this weekend, next month.
func (r *reader) nextSpan(i int, f *found) int {
	lead := max(r.any(i, "on the", "on", "at the", "le", "la", "l'", "the", "ce", "this", "at"), r.german(i, "am",
		"im", "in der"))
	if n := r.nextWeekOn(i+lead, f); n > 0 {
		return lead + n
	}
	for _, next := range []struct {
		date
		words []string
	}{
		{date{kind: weekdayly, weekday: time.Monday, which: nextWeek},
			[]string{"next week", "semaine prochaine", "nachste woche", "nachster woche", "nachsten woche"}},
		{date{kind: weekdayly, weekday: time.Saturday, which: nextWeek}, []string{"next weekend", "next week-end",
			"week-end prochain", "weekend prochain", "nachstes wochenende", "nachsten wochenende"}},
		{date{kind: calendarly, day: 1}, []string{"next month", "mois prochain", "nachsten monat"}},
		{date{kind: calendarly, month: time.January, day: 1}, []string{"next year", "annee prochaine", "l'annee prochaine",
			"an prochain", "l'an prochain", "nachstes jahr", "nachsten jahr"}},
	} {
		if n := r.any(i+lead, next.words...); n > 0 {
			f.date = next.date
			return lead + n
		}
	}
	if n := r.any(i+lead, "weekend", "week-end", "wochenende"); n > 0 && (lead > 0 || r.is(i-1, "dieses") > 0) {
		f.date = date{kind: weekdayly, weekday: time.Saturday}
		return lead + n
	}
	return 0
}

var (
	dayNumber = text.Pattern(`^(\d{1,2})(st|nd|rd|th|er|e|eme)?$`)
	yearWord  = text.Pattern(`^(\d{4})$`)
	slashed   = text.Pattern(`^(\d{1,2})/(\d{1,2})(?:/(\d{4}|\d{2}))?$`)
	pointed   = text.Pattern(`^(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})?$`)
)

// dayNumberOf reads 3, 3rd, 1er, first.
func dayNumberOf(w string) (n int, ordinal, ok bool) {
	if m := dayNumber().FindStringSubmatch(w); m != nil {
		return atoi(m[1]), m[2] != "", true
	}
	n, ok = ordinals[w]
	return n, true, ok
}

func monthOf(w string) time.Month {
	m, _ := when.Month(strings.TrimSuffix(w, "."), "en", "fr", "de")
	return m
}

// weekdayOf returns the weekday with a full name.
func weekdayOf(w string) (time.Weekday, bool) {
	d, short, ok := when.Weekday(w, "en", "fr", "de")
	return d, ok && !short
}

// weekdaysOf returns the weekday of a plural: Mondays, lundis, montags.
func weekdaysOf(w string) (time.Weekday, bool) {
	one, many := strings.CutSuffix(w, "s")
	d, ok := weekdayOf(one)
	return d, ok && many
}

// dated reads a day with the name of its month: 3 June, June 3rd 2027, le 1er
// juin, the 3rd of June, am Donnerstag, dem 3. Dezember.
func (r *reader) dated(i int, f *found) int {
	lead := max(r.any(i, "on the", "on", "le", "the", "for", "pour", "du", "by"), r.german(i, "am", "bis zum", "zum",
		"den", "der"))
	if _, ok := r.weekdayName(i+lead, true); ok { // Thursday 3 June
		the := r.any(i+lead+1, "den", "dem", "der")
		if n := r.monthDay(i+lead+1+the, f); n > 0 {
			return lead + 1 + the + n
		}
	}
	if n := r.monthDay(i+lead, f); n > 0 {
		return lead + n
	}
	return 0
}

func (r *reader) monthDay(i int, f *found) int {
	d, _, ok := dayNumberOf(r.word(i))
	of := r.any(i+1, "of", "de", "du")
	m, n := monthOf(r.word(i+1+of)), 2+of
	if !ok || m == 0 {
		m = monthOf(r.word(i))
		the := r.is(i+1, "the")
		if d, _, ok = dayNumberOf(r.word(i + 1 + the)); !ok || m == 0 {
			return 0
		}
		n = 2 + the
	}
	f.date = date{kind: calendarly, month: m, day: d}
	if y := yearWord().FindStringSubmatch(r.word(i + n)); y != nil && atoi(y[1]) >= 1900 {
		f.date.year = atoi(y[1])
		n++
	}
	return n
}

// numeric reads 23/11, 23/11/2026, 23.11. and 23.11.2026. It reads a date without a year
// only at the start of a text or after on or le, because 1/2 has other meanings.
func (r *reader) numeric(i int, f *found) int {
	lead := max(r.any(i, "on the", "on", "le", "du"), r.german(i, "am", "bis zum", "zum"))
	m := slashed().FindStringSubmatch(r.word(i + lead))
	if m == nil {
		m = pointed().FindStringSubmatch(r.word(i + lead))
	}
	if m == nil || m[3] == "" && lead == 0 && i > 0 {
		return 0
	}
	f.date = date{kind: calendarly, year: atoi(m[3]), month: time.Month(atoi(m[2])), day: atoi(m[1])}
	if len(m[3]) == 2 {
		f.date.year += 2000
	}
	return lead + 1
}

// dayOfMonth reads the 3rd, le 1er; le 3 only at an end of the text or before a time of day.
func (r *reader) dayOfMonth(i int, f *found, going bool) int {
	lead := max(r.any(i, "on the", "the", "on", "le"), r.german(i, "am", "bis zum", "zum"))
	d, ordinal, ok := dayNumberOf(r.word(i + lead))
	if lead == 0 || !ok || d < 1 || d > 31 {
		return 0
	}
	named := ordinals[r.word(i+lead)] > 0
	_, _, timed := r.timeOfDay(i + lead + 1 + r.any(i+lead+1, "at", "a", "um", "gegen"))
	edge := i == 0 || going || i+lead+1 == len(r.tokens) || timed
	if named && !edge || !ordinal && (!edge || !slices.Contains([]string{"le", "am", "zum"},
		r.word(i+lead-1))) || r.word(i) == "the" && named {
		return 0
	}
	f.date = date{kind: calendarly, day: d}
	return lead + 1
}
