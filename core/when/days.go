package when

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// Kind is the way in which words name a day.
type Kind int

// The kinds of days.
const (
	NoDay      Kind = iota
	Relative        // years, months and days from today
	OfWeek          // a weekday
	OfCalendar      // a day of a month, a whole month or a whole year
	Run             // a week, a weekend, a month or a year
	Ago             // about so many units before today
	Lately          // the last two weeks
)

// Day is a day, or a run of days, as words name it.
type Day struct {
	Kind                Kind
	Years, Months, Days int          // Relative
	Weekday             time.Weekday // OfWeek
	Which               Which        // of several weekdays or months
	Year                int          // OfCalendar; 0: not given
	Month               time.Month   // OfCalendar; 0: not given
	Day                 int          // OfCalendar; 0: a whole month or year
	Said                string       // OfCalendar: as written; empty if not read by Find
	Unit                Unit         // Run and Ago
	N                   int          // Run: 0 is this one, -1 the last, 1 the next. Ago: units
}

// Which selects one of several weekdays or months.
type Which int

// The choices; Last is before today.
const (
	Coming    Which = iota // the next one, today if the time is still ahead
	NextOne                // the next one that is not today
	NextWeek               // the one of next week
	WeekAfter              // a week after the next one that is not today
	Last
)

// past reports whether the words of d mean a day before today, whatever today is.
func (d Day) past() bool {
	return d.Kind == Relative && d.Days < 0 || d.Which == Last || d.Kind == Run && d.N < 0 || d.Kind == Ago
}

// unlikely reports whether d is less likely than another day to be that of a time ahead.
func (d Day) unlikely() bool { return d.past() || d.Kind == OfCalendar && d.Day == 0 }

// day reads a day: tomorrow evening, next Tuesday, 3 June, le 1er, 23/11.
func (r *reader) day(i int, f *Found, going bool) int {
	if f.Date.Kind != NoDay || f.whole() {
		return 0
	}
	var g Found
	n := r.readDay(i, &g, going)
	d := g.Date
	now := d.Kind == Lately || d.Kind == Run && d.N == 0 && d.Unit != Weekends
	aside := d.unlikely() && (f.Repeat.Is() || going && d.Kind != Relative && d.Kind != OfWeek)
	if n == 0 || now || aside {
		return 0
	}
	f.Date = d
	if f.Period == AnyTime {
		f.Period = g.Period
	}
	return n
}

// readDay reads a day or a run of days at i, with a part of the day.
func (r *reader) readDay(i int, f *Found, going bool) int {
	dayOfMonth := func(i int, f *Found) int { return r.dayOfMonth(i, f, going) }
	for _, read := range []func(int, *Found) int{r.near, r.ago, r.dated, r.weekday, r.run, r.numeric, dayOfMonth,
		r.wholeMonth, r.wholeYear} {
		if n := read(i, f); n > 0 {
			return n
		}
	}
	return 0
}

// near reads a day relative to today.
func (r *reader) near(i int, f *Found) int {
	for _, c := range calendars() {
		for days, phrases := range [][]string{c.CalledToday, c.CalledYesterday, c.CalledBefore} {
			if n := r.any(i, phrases...); n > 0 {
				f.Date = Day{Kind: Relative, Days: -days}
				return n + r.partOf(i+n, f)
			}
		}
	}
	days, n := valued(r, i, relatives())
	if n > 0 && (r.word(i) != "morgen" || r.any(i-1, "der", "den", "dem", "guten") == 0) {
		period, _ := valued(r, i, relativeParts())
		f.Date, f.Period = Day{Kind: Relative, Days: days}, period
		return n + r.partOf(i+n, f)
	}
	if n := r.any(i, "recently", "lately", "recemment", "neulich", "recientemente"); n > 0 {
		f.Date = Day{Kind: Lately}
		return n
	}
	lead := r.any(i, "this", "ce", "cet", "cette")
	if r.ahead {
		lead = max(lead, r.german(i, "am", "in der"))
	}
	n = r.partOf(i+lead, f)
	if lead == 0 || n == 0 {
		return 0
	}
	f.Date = Day{Kind: Relative}
	return lead + n
}

// partOf reads the part of a day after the day: tomorrow morning.
func (r *reader) partOf(i int, f *Found) int {
	n := 1
	w := r.word(i)
	switch {
	case w == "apres" && r.word(i+1) == "midi":
		w, n = "apres-midi", 2
	case w == "morgen": // heute Morgen
		w = "morgens"
	}
	p := periods()[w]
	if p == AnyTime {
		return 0
	}
	f.Period = p
	return n
}

// ago reads three days ago, il y a 3 jours, vor zwei Wochen, hace un mes.
func (r *reader) ago(i int, f *Found) int {
	lead := r.any(i, "il y a", "y a", "vor", "hace")
	v, n := r.count(i + lead)
	k := i + lead + n
	unit, tail := units()[r.word(k)], 0
	if lead == 0 {
		tail = r.any(k+1, "ago", "earlier", "back")
	}
	if v < 1 || v >= 1000 || unit < Days || lead+tail == 0 {
		return 0
	}
	f.Date = Day{Kind: Ago, Unit: unit, N: int(v)}
	return k + 1 + tail - i
}

// weekday reads a weekday: on Monday, next Tuesday, lundi prochain, mardi en huit.
func (r *reader) weekday(i int, f *Found) int {
	lead := r.any(i, "on next", "on the next", "this coming", "on last", "on this", "on", "this", "next", "coming", "le",
		"ce", "for", "pour", "by", "last", "past", "am nachsten", "am kommenden", "am letzten", "nachsten", "nachster",
		"kommenden", "kommender", "diesen", "letzten", "letzter", "el")
	lead = cmp.Or(lead, r.german(i, "am", "bis", "fur", "ab", "den", "der"))
	d, ok := r.weekdayName(i+lead, i == 0 || lead > 0)
	if !ok {
		return 0
	}
	f.Date = Day{Kind: OfWeek, Weekday: d}
	if lead > 0 {
		switch r.word(i + lead - 1) {
		case "next":
			f.Date.Which = NextWeek
		case "nachsten", "nachster", "kommenden", "kommender":
			f.Date.Which = NextOne
		case "last", "past", "letzten", "letzter":
			f.Date.Which = Last
		}
	}
	n := lead + 1
	if which, words := valued(r, i+n, selectors()); words > 0 {
		f.Date.Which, n = which, n+words
	}
	return n + r.partOf(i+n, f)
}

// run reads next week, la semaine dernière, this weekend, letztes Jahr, nächste Woche Montag.
func (r *reader) run(i int, f *Found) int {
	k := i + max(r.any(i, "on the", "on", "at the", "le", "la", "l'", "the", "at"), r.german(i, "am", "im", "in der"))
	if n := r.nextWeekOn(k, f); n > 0 {
		return k - i + n
	}
	which, lead := valued(r, k, runs())
	k += lead
	w := strings.TrimPrefix(r.word(k), "l'")
	d := Day{Kind: Run, Unit: units()[w], N: which}
	if weekends(w) {
		d.Unit = Weekends
	}
	if d.Unit < Weeks || len(w) == 1 {
		return 0
	}
	known := lead > 0 || d.Unit == Weekends && k > i
	k++
	if n := r.any(k, "dernier", "derniere", "passe", "passee", "pasado", "pasada", "precedente", "precedent"); n > 0 {
		d.N, k, known = -1, k+n, true
	}
	if n := r.any(k, "prochain", "prochaine", "qui vient"); n > 0 {
		d.N, k, known = 1, k+n, true
	}
	if !known {
		return 0
	}
	f.Date = d
	return k - i
}

// nextWeekOn reads nächste Woche Montag.
func (r *reader) nextWeekOn(i int, f *Found) int {
	n := r.any(i, "nachste woche am", "nachste woche")
	d, ok := weekdayOf(r.word(i + n))
	if n == 0 || !ok {
		return 0
	}
	f.Date = Day{Kind: OfWeek, Weekday: d, Which: NextWeek}
	return n + 1 + r.partOf(i+n+1, f)
}

// dated reads a day with the name of its month: 3 June, June 3rd 2027, le 1er
// juin, the 3rd of June, am Donnerstag, dem 3. Dezember.
func (r *reader) dated(i int, f *Found) int {
	lead := max(r.any(i, "on the", "on", "le", "the", "for", "pour", "du", "by", "el"), r.german(i, "am", "bis zum",
		"zum", "vom", "den", "der"))
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

func (r *reader) monthDay(i int, f *Found) int {
	d, _, ok := dayNumberOf(r.word(i))
	of := r.any(i+1, "of", "de", "du")
	m, _ := r.monthOf(r.word(i + 1 + of))
	n := 2 + of
	if !ok || m == 0 {
		m, _ = r.monthOf(r.word(i))
		the := r.is(i+1, "the")
		d, _, ok = dayNumberOf(r.word(i + 1 + the))
		if later, _ := r.monthOf(r.word(i + 2 + the)); later != 0 { // June 3 July
			return 0
		}
		n = 2 + the
	}
	if !ok || m == 0 {
		return 0
	}
	year, words := r.year(i+n, 1900)
	f.Date = r.calendar(i, n+words, year, int(m), d)
	return n + words
}

var yearWord = text.Pattern(`^\d{4}$`)

// year reads a year from least on, perhaps after "of" or "de"; alone any year.
func (r *reader) year(i, least int) (year, n int) {
	of := r.any(i, "of", "de", "del")
	if y := atoi(r.word(i + of)); yearWord().MatchString(r.word(i+of)) && (y >= least || r.alone && y > 0) {
		return y, of + 1
	}
	return 0, 0
}

var (
	yearFirst = text.Pattern(`^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?$`)
	yearLast  = text.Pattern(`^(\d{1,2})([-/.])(\d{1,2})(?:[-/.](\d{4}|\d{2})|(\.))?$`)
)

// numeric reads 2026-11-23, 2026-11, 23/11, 23/11/2026, 23.11. and 23.11.2026. It reads a date without a year only
// alone, at the start of a text or after on or le, because 1/2 has other meanings.
func (r *reader) numeric(i int, f *Found) int {
	lead := max(r.any(i, "on the", "on", "le", "du", "el", "since", "depuis"),
		r.german(i, "am", "bis zum", "zum", "vom"))
	the := cmp.Or(lead, r.is(i, "the"))
	if m := yearFirst().FindStringSubmatch(r.word(i + the)); m != nil {
		f.Date = r.calendar(i+the, 1, atoi(m[1]), atoi(m[2]), atoi(m[3]))
		if m[3] == "" {
			f.Date.Day = 0
		}
		return the + 1
	}
	m := yearLast().FindStringSubmatch(r.word(i + lead))
	if m == nil {
		return 0
	}
	first := r.ahead && i == 0 && (m[2] == "/" || m[5] != "")
	if m[4] == "" && lead == 0 && !r.alone && !first {
		return 0
	}
	year, month, day := atoi(m[4]), atoi(m[3]), atoi(m[1])
	swapped := month > 12 && (m[2] == "/" || year != 0 || !r.ahead)
	if day <= 12 && (swapped || r.monthFirst && m[2] == "/") {
		day, month = month, day
	}
	if len(m[4]) == 2 {
		year += 2000
	}
	f.Date = r.calendar(i+lead, 1, year, month, day)
	return lead + 1
}

// calendar returns the day of a month in the n words from i on. A zero is no day, and no month.
func (r *reader) calendar(i, n, year, month, day int) Day {
	month, day = cmp.Or(month, 13), cmp.Or(day, 32)
	return Day{Kind: OfCalendar, Year: year, Month: time.Month(month), Day: day, Said: r.said(i, n)}
}

// dayOfMonth reads the 3rd, le 1er; le 3 only at an end of the text or before a time of day.
func (r *reader) dayOfMonth(i int, f *Found, going bool) int {
	lead := max(r.any(i, "on the", "the", "on", "le"), r.german(i, "am", "bis zum", "zum"))
	d, ordinal, ok := dayNumberOf(r.word(i + lead))
	if lead == 0 || !ok || d < 1 || d > 31 && (!ordinal || !going) {
		return 0
	}
	named := ordinals()[r.word(i+lead)] > 0
	_, _, timed := r.timeOfDay(i + lead + 1 + r.any(i+lead+1, "at", "a", "um", "gegen"))
	end := i+lead+1 == len(r.words)
	edge := i == 0 && r.ahead || going || end || timed
	switch {
	case named && (!edge || r.word(i) == "the"):
		return 0
	case !ordinal && (!edge || !slices.Contains([]string{"le", "am", "zum"}, r.word(i+lead-1))):
		return 0
	case r.word(i) == "the" && !r.ahead && !end: // the 2nd time
		return 0
	}
	f.Date = Day{Kind: OfCalendar, Day: d, Said: r.said(i+lead, 1)}
	return lead + 1
}

// wholeMonth reads June, in May, en mai, May 2023, last May. With a time ahead it must be in or next.
func (r *reader) wholeMonth(i int, f *Found) int {
	lead := r.any(i, "in", "en", "im", "next", "nachsten", "last", "letzten")
	m, doubtful := r.monthOf(r.word(i + lead))
	if m == 0 || lead > 0 && r.monthDay(i+lead, &Found{}) > 0 { // in June 3
		return 0
	}
	d := Day{Kind: OfCalendar, Month: m}
	switch r.word(i) {
	case "next", "nachsten":
		d.Which = NextOne
	case "last", "letzten":
		d.Which = Last
	}
	year, n := r.year(i+lead+1, 1950)
	d.Year = year
	if after := r.any(i+lead+1, "dernier", "passe", "pasado"); after > 0 {
		d.Which, n = Last, after
	}
	if lead+n == 0 && (r.ahead || doubtful && !r.introduces(i-1)) {
		return 0
	}
	f.Date = d
	return lead + 1 + n
}

// introduces reports whether the word before an ambiguous name of a month makes it a month.
func (r *reader) introduces(i int) bool {
	if r.is(i, "de") > 0 {
		return r.any(i-1, "mois", "mes") > 0
	}
	return r.any(i, "during", "since", "depuis", "seit", "early", "late", "mid", "debut", "fin", "desde", "of",
		"until") > 0
}

// wholeYear reads a year after in; looking back, also after since and the like.
func (r *reader) wholeYear(i int, f *Found) int {
	lead := r.any(i, "in", "en", "im jahr", "im")
	year, n := r.year(i+lead, 1950)
	since := r.any(i-1, "during", "since", "depuis", "seit", "jahr", "year", "annee", "ano", "of") > 0
	if n != 1 || year > 2100 || lead == 0 && (r.ahead || !since) {
		return 0
	}
	f.Date = Day{Kind: OfCalendar, Year: year}
	return lead + 1
}
