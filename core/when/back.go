package when

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// Next returns the first day from today on that d names and for which ahead holds; false: there is
// none, as for 31 June. Days are midnights in UTC. A day that is past by its words, or a
// calendar day of a given year, is returned whatever ahead says. No day is today.
func (d Day) Next(today time.Time, ahead func(day time.Time) bool) (time.Time, bool) {
	switch d.Kind {
	case Relative:
		return d.added(today), true
	case OfWeek:
		return d.weekday(today, ahead), true
	case OfCalendar:
		return d.dated(today, ahead)
	case Run:
		if d.Unit == Weekends && d.N == 0 {
			return Day{Weekday: time.Saturday}.weekday(today, ahead), true
		}
		from, _ := d.run(today)
		return from, true
	case Ago:
		return d.back(today), true
	}
	return today, true
}

// added moves a day. In a month without that day it is the last one.
func (d Day) added(today time.Time) time.Time {
	y, m, n := today.Date()
	start := date(y+d.Years, m+time.Month(d.Months), 1)
	last := start.AddDate(0, 1, -1).Day()
	return start.AddDate(0, 0, min(n, last)-1+d.Days)
}

func (d Day) weekday(today time.Time, ahead func(time.Time) bool) time.Time {
	days := (int(d.Weekday) - int(today.Weekday()) + 7) % 7
	switch {
	case d.Which == Last:
		return today.AddDate(0, 0, -d.since(today))
	case d.Which == NextWeek:
		monday := 7 - (int(today.Weekday())+6)%7 // 1 to 7
		return today.AddDate(0, 0, monday+(int(d.Weekday)+6)%7)
	case days == 0 && (d.Which != Coming || !ahead(today)):
		days = 7
	}
	if d.Which == WeekAfter {
		days += 7
	}
	return today.AddDate(0, 0, days)
}

// since returns the days since the last weekday, 1 to 7.
func (d Day) since(today time.Time) int { return (int(today.Weekday())-int(d.Weekday)+6)%7 + 1 }

func (d Day) dated(today time.Time, ahead func(time.Time) bool) (time.Time, bool) {
	if !d.exists() {
		return time.Time{}, false
	}
	if d.Which == Last || d.Year != 0 {
		from, _ := d.whole(today)
		return from, true
	}
	return d.inMonths(today, 1, ahead)
}

// inMonths returns the first calendar day that fits, in months from that of today in steps of one or -1.
func (d Day) inMonths(today time.Time, step int, fits func(time.Time) bool) (time.Time, bool) {
	y, m, _ := today.Date()
	for n := range 12 * 9 { // 29 February: eight years apart around 1900 and 2100
		month := date(y, m+time.Month(n*step), 1)
		t := month.AddDate(0, 0, cmp.Or(d.Day, 1)-1)
		if t.Month() == month.Month() && (d.Month == 0 || d.Month == t.Month()) && fits(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// exists reports whether there is such a calendar day. Without a year it may be 29 February.
func (d Day) exists() bool {
	t := date(cmp.Or(d.Year, 2024), cmp.Or(d.Month, 1), cmp.Or(d.Day, 1))
	return t.Month() == cmp.Or(d.Month, 1) && t.Day() == cmp.Or(d.Day, 1)
}

// whole returns the first and the last day of a calendar day, month or year whose year is given or the last.
func (d Day) whole(today time.Time) (from, to time.Time) {
	y := d.Year
	if d.Which == Last {
		if y = today.Year(); d.Month > today.Month() {
			y--
		}
	}
	from = date(y, cmp.Or(d.Month, 1), cmp.Or(d.Day, 1))
	switch {
	case d.Day != 0:
		return from, from
	case d.Month != 0:
		return from, from.AddDate(0, 1, -1)
	}
	return from, from.AddDate(1, 0, -1)
}

// run returns the first and the last day of a run. Weeks begin on Monday.
func (d Day) run(today time.Time) (from, to time.Time) {
	y, m, n := today.Date()
	monday := n - (int(today.Weekday())+6)%7 + 7*d.N
	switch d.Unit {
	case Weeks:
		return date(y, m, monday), date(y, m, monday+6)
	case Weekends:
		return date(y, m, monday+5), date(y, m, monday+6)
	case Months:
		m += time.Month(d.N)
		return date(y, m, 1), date(y, m+1, 0)
	}
	return date(y+d.N, 1, 1), date(y+d.N, 12, 31)
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// back returns the day that is so many units ago.
func (d Day) back(today time.Time) time.Time {
	switch d.Unit {
	case Weeks:
		return today.AddDate(0, 0, -7*d.N)
	case Months:
		return today.AddDate(0, -d.N, 0)
	case Years:
		return today.AddDate(-d.N, 0, 0)
	}
	return today.AddDate(0, 0, -d.N)
}

// Span is a range of days, both ends inclusive. The ends are labels (YYYY-MM-DD), or MM-DD for the days of every year.
type Span struct{ From, To string }

// Has reports whether a day is in the span.
func (s Span) Has(label string) bool {
	if len(s.From) == len("01-02") && len(label) == len(time.DateOnly) {
		label = label[5:]
	}
	return s.From <= label && label <= s.To
}

func spanOf(from, to time.Time) Span {
	return Span{from.Format(time.DateOnly), to.Format(time.DateOnly)}
}

// Spans returns the days that the words said in a question about earlier days name, and for each
// word of a date whether an answer may hold it too. Words are folded. today is its midnight in UTC.
// Words that name only days to come, such as tomorrow, are no date.
func Spans(said []string, today time.Time) (spans []Span, parts map[int]bool) {
	r := &reader{words: said, monthFirst: !dayFirst(said)}
	parts = map[int]bool{}
	for i := 0; i < len(said); {
		if found, n := r.several(i, today); n > 0 {
			spans = append(spans, found...)
			for k := i; k < i+n && found != nil; k++ {
				parts[k] = false
			}
			i += n
			continue
		}
		var f Found
		n := r.readDay(i, &f, false)
		if f.Date.Kind == OfCalendar && !f.Date.exists() { // of June 31, June
			n = r.wholeMonth(i, &f)
		}
		if n == 0 {
			i++
			continue
		}
		found := f.spans(today)
		spans = append(spans, found...)
		for k := i; k < i+n && found != nil; k++ {
			_, weekday := weekdayOf(said[k])
			m, _ := r.monthOf(said[k])
			number := f.Date.Kind == OfCalendar && (f.Date.Month == 0 || strings.ContainsAny(said[k], "-/."))
			parts[k] = weekday || m != 0 || number
		}
		i += n
	}
	return spans, parts
}

// dayFirst reports whether numbers such as 08/05 begin with the day: not in English.
func dayFirst(words []string) bool {
	others := 0
	for _, w := range words {
		if elsewhere(w) {
			others++
		}
		if english(w) {
			others--
		}
	}
	return others > 0
}

// Common words of English questions, and of those in other languages.
var (
	english   = text.OneOf("the on what when did of was to we")
	elsewhere = text.OneOf("le la les du au que quand ai je tu est ce der die das am ich wann was el los cuando")
)

// spans returns the days up to today that f may mean; nil: it means only days to come.
func (f Found) spans(today time.Time) []Span {
	d := f.Date
	days := func(from, to int) []Span { return []Span{spanOf(today.AddDate(0, 0, -from), today.AddDate(0, 0, -to))} }
	switch {
	case d.Which != Coming && d.Which != Last, d.Kind == Relative && d.Days > 0, d.Kind == Run && d.N > 0:
		return nil
	case d.Kind == Relative && d.Days == -1 && f.Period >= Evening: // it may reach into the next day
		return days(1, 0)
	case d.Kind == Relative:
		return days(-d.Days, -d.Days)
	case d.Kind == Lately:
		return days(14, 0)
	case d.Kind == OfWeek:
		n := d.since(today)
		if n == 7 && d.Which == Coming {
			return append(days(7, 7), days(0, 0)...)
		}
		return days(n, n)
	case d.Kind == Ago:
		return []Span{d.around(today)}
	case d.Kind == Run:
		from, to := d.run(today)
		if from.After(today) { // on Thursday, this weekend is the last one
			from, to = from.AddDate(0, 0, -7), to.AddDate(0, 0, -7)
		}
		if to.After(today) {
			to = today
		}
		return []Span{spanOf(from, to)}
	}
	return d.calendarSpan(today)
}

// around returns so many units ago, give or take the usual imprecision.
func (d Day) around(today time.Time) Span {
	t := d.back(today)
	switch {
	case d.Unit == Days && d.N > 9:
		return spanOf(t.AddDate(0, 0, -2), t.AddDate(0, 0, 2))
	case d.Unit == Weeks:
		return spanOf(t.AddDate(0, 0, -3), t.AddDate(0, 0, 3))
	case d.Unit == Months:
		return spanOf(t.AddDate(0, 0, -15), t.AddDate(0, 0, 15))
	case d.Unit == Years:
		return spanOf(t.AddDate(0, -4, 0), t.AddDate(0, 4, 0))
	}
	return spanOf(t, t)
}

func (d Day) calendarSpan(today time.Time) []Span {
	switch {
	case d.Year != 0 || d.Which == Last:
		return []Span{spanOf(d.whole(today))}
	case d.Month == 0:
		t, ok := d.newest(today)
		if !ok {
			return nil
		}
		return []Span{spanOf(t, t)}
	case d.Day == 0:
		return []Span{{fmt.Sprintf("%02d-01", d.Month), fmt.Sprintf("%02d-31", d.Month)}}
	}
	s := fmt.Sprintf("%02d-%02d", d.Month, d.Day)
	return []Span{{s, s}}
}

// newest returns the newest calendar day up to today.
func (d Day) newest(today time.Time) (time.Time, bool) {
	return d.inMonths(today, -1, func(t time.Time) bool { return !t.After(today) })
}

// Yesterday is what Date returns for the day before today, whatever its date is: a zone may have skipped one.
const Yesterday = "yesterday"

// Date reads a date in any supported language: 2026-11-19, 19/11, 19.11.2025, 19 nov, Thursday 19 November 2026,
// monday, hier, three days ago. Without a year it is the newest one up to today; a weekday is the last one before
// today. The result is a label, or Yesterday. today is a label.
func Date(s, today string) (string, bool) {
	now, _ := time.Parse(time.DateOnly, today)
	r := &reader{alone: true}
	for _, t := range tokenize(strings.ReplaceAll(text.Shorten(s, 64), ",", " ")) {
		r.words = append(r.words, t.word)
	}
	if label, ok := r.label(now); ok {
		return label, true
	}
	r.words = slices.DeleteFunc(r.words, r.filler)
	between := func(c rune) bool { return strings.ContainsRune(" /.", c) }
	numbers := strings.FieldsFunc(strings.Join(r.words, " "), between) // 19. 11.
	if !slices.ContainsFunc(numbers, func(n string) bool { return strings.Trim(n, "0123456789") != "" }) {
		r.words = []string{strings.Join(numbers, "/")}
	}
	return r.label(now)
}

// filler reports whether a word beside a date says nothing more.
func (r *reader) filler(w string) bool {
	m, _ := r.monthOf(w)
	_, isDay := (&reader{words: []string{w}, alone: true}).weekdayName(0, true)
	return isDay && m == 0 ||
		slices.ContainsFunc(words.Languages(), func(l string) bool { return slices.Contains(calendarOf(l).Fillers, w) })
}

// label returns the label of the one day that all words name.
func (r *reader) label(today time.Time) (string, bool) {
	var f Found
	if n := r.readDay(0, &f, false); n == 0 || n != len(r.words) {
		return "", false
	}
	d := f.Date
	t, ok := d.Next(today, func(time.Time) bool { return false })
	switch {
	case d.Kind == Relative && d.Days == -1:
		return Yesterday, true
	case d.Kind == Run || d.Kind == Lately || d.Kind == OfCalendar && (d.Day == 0 || !d.exists()):
		return "", false
	case d.Kind == OfCalendar && d.Year == 0:
		t, ok = d.newest(today)
	case d.Kind == OfWeek && d.Which == Coming:
		t = today.AddDate(0, 0, -d.since(today))
	}
	return t.Format(time.DateOnly), ok
}
