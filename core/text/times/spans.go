package times

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

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
		if n := r.length(i, "skip"); n > 0 {
			i += n
			continue
		}
		found, n := r.several(i, today)
		f := Found{}
		if n == 0 {
			n = r.readDay(i, &f)
			if f.Date.Kind == OfCalendar && !f.Date.exists() { // of June 31, June
				f = Found{}
				n = r.apply(monthAlone, i, &f)
			}
			found = f.spans(today)
		}
		for k := i; k < i+n && found != nil; k++ {
			number := f.Date.Kind == OfCalendar && (f.Date.Month == 0 || strings.ContainsAny(said[k], "-/."))
			parts[k] = f.Date.Kind != NoDay && (number || r.has(k, "weekday", "month", "maybe_month"))
		}
		spans = append(spans, found...)
		i += max(n, 1)
	}
	return spans, parts
}

var monthAlone = []rule{{[]string{"any_month"}, month}}

// dayFirst reports whether numbers such as 08/05 begin with the day: not in English.
func dayFirst(words []string) bool {
	r := &reader{words: words}
	others := 0
	for i := range words {
		if r.has(i, "day_first") {
			others++
		}
		if r.has(i, "month_first") {
			others--
		}
	}
	return others > 0
}

// spans returns the days up to today that f may mean; nil: it means only days to come, or none.
func (f Found) spans(today time.Time) []Span {
	d := f.Date
	days := func(from, to int) []Span { return []Span{spanOf(today.AddDate(0, 0, -from), today.AddDate(0, 0, -to))} }
	switch {
	case d.Which != Coming && d.Which != Last, d.Kind == Relative && d.Days > 0, d.Kind == Run && d.N > 0, d.Kind == NoDay:
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
	one := &reader{words: []string{w}, alone: true}
	return one.has(0, "weekday", "short_weekday") && !one.has(0, "month", "maybe_month") || one.has(0, "filler")
}

// label returns the label of the one day that all words name.
func (r *reader) label(today time.Time) (string, bool) {
	var f Found
	if n := r.readDay(0, &f); n == 0 || n != len(r.words) {
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

// several reads days that more than one date of readDay names together: a range, the days up to today, a part of a
// month, a weekday of a week.
func (r *reader) several(i int, today time.Time) (spans []Span, n int) {
	for _, read := range []func(int, time.Time) ([]Span, int){r.between, r.latest, r.ofMonth, r.inWeek} {
		if spans, n = read(i, today); n > 0 {
			return spans, n
		}
	}
	return nil, 0
}

// between reads from Monday to Wednesday, the 3rd to the 7th of May, vom 3. bis 7. Mai, entre mars et mai.
func (r *reader) between(i int, today time.Time) ([]Span, int) {
	lead := max(r.length(i, "from"), r.length(i, "the"))
	first, n := r.end(i + lead)
	k := i + lead + n
	to := r.length(k, "to")
	if to == 0 && lead > 0 {
		to = r.length(k, "and_the")
	}
	second, m := r.end(k + to)
	if n == 0 || to == 0 || m == 0 || first.Kind != second.Kind {
		return nil, 0
	}
	if first.Kind == OfCalendar {
		first.Month, second.Month = cmp.Or(first.Month, second.Month), cmp.Or(second.Month, first.Month)
		first.Year = cmp.Or(first.Year, second.Year)
		if first.Month == 0 {
			return nil, 0
		}
	}
	return stretched(Found{Date: first}.spans(today), Found{Date: second}.spans(today)), k + to + m - i
}

// end reads one end of a range: a day, a month, or the number of a day whose month is that of the other end.
func (r *reader) end(i int) (Day, int) {
	var f Found
	if n := r.readDay(i, &f); n > 0 && f.Date.exists() && slices.Contains([]Kind{OfCalendar, OfWeek, Relative, Ago},
		f.Date.Kind) {
		return f.Date, n
	}
	if d, n := r.day(i); n > 0 && d >= 1 && d <= 31 {
		return Day{Kind: OfCalendar, Day: d}, n
	}
	return Day{}, 0
}

// stretched returns the days from the first of one to the last of another; nil: there are none.
func stretched(first, second []Span) []Span {
	if len(first) == 0 || len(second) == 0 {
		return nil
	}
	from, to := first[0].From, second[0].To
	switch {
	case len(from) != len(to):
		return append(first, second...)
	case from <= to:
		return []Span{{from, to}}
	case len(from) == len("01-02"): // over the end of a year
		return []Span{{from, "12-31"}, {"01-01", to}}
	}
	day, err := time.Parse(time.DateOnly, from) // from Friday to Monday
	if from = day.AddDate(0, 0, -7).Format(time.DateOnly); err != nil || from > to {
		return append(first, second...)
	}
	return []Span{{from, to}}
}

// latestRules read the last two weeks, les trois derniers jours.
var latestRules = []rule{
	{strings.Fields("over? which some days"), ago},
	{strings.Fields("over? some which_after days"), ago},
}

func (r *reader) latest(i int, today time.Time) ([]Span, int) {
	var f Found
	n := r.apply(latestRules, i, &f)
	if n == 0 || f.Date.Which != Last {
		return nil, 0
	}
	return []Span{spanOf(f.Date.back(today), today)}, n
}

// monthRules read some days of a month: 3-7 May, May 3-7, early March, mid-May, fin juin, Anfang August. The days are
// in Date.Day and N.
var monthRules = []rule{
	{strings.Fields("on? from? the? days_range of? any_month year?"), ofEach},
	{strings.Fields("on? from? any_month days_range year?"), ofEach},
	{strings.Fields("over? part_of_month any_month year?"), ofEach},
	{strings.Fields("over? mid_month year?"), ofEach},
}

func ofEach(m match, f *Found) {
	month(m, f)
	if days, ok := m.pieces["days_range"]; ok {
		f.Date.Day, f.Date.N = days.value/100, days.value%100
		return
	}
	part := m.value("part_of_month")
	if mid, ok := m.pieces["mid_month"]; ok {
		f.Date.Month, part = time.Month(mid.value/100), mid.value%100
	}
	f.Date.Day, f.Date.N = 10*part-9, []int{10, 20, 31}[part-1]
}

func (r *reader) ofMonth(i int, today time.Time) ([]Span, int) {
	var f Found
	n := r.apply(monthRules, i, &f)
	if n == 0 {
		return nil, 0
	}
	prefix := fmt.Sprintf("%02d-", f.Date.Month)
	if f.Date.Year != 0 {
		prefix = fmt.Sprintf("%04d-%s", f.Date.Year, prefix)
	}
	return []Span{{fmt.Sprintf("%s%02d", prefix, f.Date.Day), fmt.Sprintf("%s%02d", prefix, f.Date.N)}}, n
}

// inWeek reads Tuesday last week, mardi de la semaine dernière, letzte Woche Dienstag.
func (r *reader) inWeek(i int, today time.Time) ([]Span, int) {
	var a, b Found
	n := r.readDay(i, &a)
	of := max(r.length(i+n, "of"), r.length(i+n, "on"))
	m := r.readDay(i+n+of, &b)
	if a.Date.Kind == Run {
		a, b = b, a
	}
	if n == 0 || m == 0 || a.Date.Kind != OfWeek || b.Date.Kind != Run || b.Date.Unit != Weeks || b.Date.N > 0 {
		return nil, 0
	}
	monday, _ := b.Date.run(today)
	day := monday.AddDate(0, 0, (int(a.Date.Weekday)+6)%7)
	return []Span{spanOf(day, day)}, n + of + m
}
