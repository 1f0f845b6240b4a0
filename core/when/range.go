package when

import (
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core/text"
)

// several reads days that more than one date of readDay names together: a range, the days up to today, a part of a
// month, a weekday of a week.
func (r *reader) several(i int, today time.Time) (spans []Span, n int) {
	for _, read := range []func(int, time.Time) ([]Span, int){r.between, r.numbered, r.latest, r.partOfMonth, r.inWeek} {
		if spans, n = read(i, today); n > 0 {
			return spans, n
		}
	}
	return nil, 0
}

// between reads from Monday to Wednesday, the 3rd to the 7th of May, vom 3. bis 7. Mai, entre mars et mai.
func (r *reader) between(i int, today time.Time) ([]Span, int) {
	lead := r.any(i, "from the", "from", "between the", "between", "vom", "von", "zwischen dem", "zwischen", "du", "de",
		"entre le", "entre", "the")
	first, n := r.end(i + lead)
	k := i + lead + n
	to := r.any(k, "to the", "to", "until the", "until", "till", "through", "bis zum", "bis", "au", "a", "jusqu'au",
		"jusqu'a")
	if to == 0 && lead > 0 {
		to = r.any(k, "and the", "and", "und dem", "und", "et le", "et")
	}
	second, m := r.end(k + to)
	if n == 0 || to == 0 || m == 0 || first.Kind != second.Kind {
		return nil, 0
	}
	if first.Kind == OfCalendar {
		first.Month, second.Month = orOther(first.Month, second.Month), orOther(second.Month, first.Month)
		if first.Month == 0 {
			return nil, 0
		}
		if first.Year == 0 {
			first.Year = second.Year
		}
	}
	return joined(Found{Date: first}.spans(today), Found{Date: second}.spans(today)), k + to + m - i
}

func orOther(m, other time.Month) time.Month {
	if m == 0 {
		return other
	}
	return m
}

// end reads one end of a range: a day, a month, or the number of a day whose month is that of the other end.
func (r *reader) end(i int) (Day, int) {
	var f Found
	if n := r.readDay(i, &f, false); n > 0 && f.Date.exists() && slices.Contains([]Kind{OfCalendar, OfWeek, Relative, Ago},
		f.Date.Kind) {
		return f.Date, n
	}
	if d, _, ok := dayNumberOf(r.word(i)); ok && d >= 1 && d <= 31 {
		return Day{Kind: OfCalendar, Day: d}, 1
	}
	return Day{}, 0
}

// joined returns the days from the first of one to the last of another; nil: there are none.
func joined(first, second []Span) []Span {
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

var dayRange = text.Pattern(`^(\d{1,2})\.?[-–](\d{1,2})(?:th|st|nd|rd)?\.?$`)

// numbered reads 3-7 May, May 3-7, 3.–7. Mai.
func (r *reader) numbered(i int, today time.Time) ([]Span, int) {
	lead := r.any(i, "on the", "on", "from", "the", "vom", "du")
	m, n := r.plainMonth(r.word(i+lead)), 2
	days := dayRange().FindStringSubmatch(r.word(i + lead + 1))
	if m == 0 {
		days = dayRange().FindStringSubmatch(r.word(i + lead))
		of := r.any(i+lead+1, "of", "de")
		m, n = r.plainMonth(r.word(i+lead+1+of)), 2+of
	}
	if m == 0 || days == nil {
		return nil, 0
	}
	year, words := r.year(i+lead+n, 1900)
	first := Day{Kind: OfCalendar, Year: year, Month: m, Day: atoi(days[1])}
	second := Day{Kind: OfCalendar, Year: year, Month: m, Day: atoi(days[2])}
	if first.Day == 0 || second.Day == 0 || !first.exists() || !second.exists() {
		return nil, 0
	}
	return joined(first.calendarSpan(today), second.calendarSpan(today)), lead + n + words
}

// latest reads the last two weeks, les trois derniers jours, die letzten drei Tage.
func (r *reader) latest(i int, today time.Time) ([]Span, int) {
	lead := r.any(i, "in the", "over the", "during the", "the", "les", "ces", "in den", "die", "den")
	before := r.any(i+lead, "last", "past", "previous", "letzten", "vergangenen")
	v, n := r.count(i + lead + before)
	k := i + lead + before + n
	after := 0
	if before == 0 {
		after = r.any(k, "derniers", "dernieres")
	}
	unit := units()[r.word(k+after)]
	if before+after == 0 || v < 1 || v >= 1000 || unit < Days {
		return nil, 0
	}
	return []Span{spanOf(Day{Unit: unit, N: int(v)}.back(today), today)}, k + after + 1 - i
}

var hyphenated = text.Pattern(`^(?:mid|mi)-(.+)$`)

// partOfMonth reads early March, mid-May, fin juin, Anfang August.
func (r *reader) partOfMonth(i int, today time.Time) ([]Span, int) {
	lead := r.any(i, "at the", "in the", "the", "in", "a la", "au", "en")
	k := i + lead
	from, to, n := 1, 10, r.any(k, "early", "beginning of", "start of", "anfang", "debut de", "debut")
	if n == 0 {
		from, to, n = 11, 20, r.any(k, "mid", "middle of", "mitte", "milieu de", "mi")
	}
	if n == 0 {
		from, to, n = 21, 31, r.any(k, "late", "end of", "ende", "fin de", "fin")
	}
	m := r.plainMonth(r.word(k + n))
	if split := hyphenated().FindStringSubmatch(r.word(k)); split != nil {
		from, to, n, m = 11, 20, 0, r.plainMonth(split[1])
	} else if n == 0 {
		return nil, 0
	}
	if m == 0 {
		return nil, 0
	}
	year, words := r.year(k+n+1, 1950)
	prefix := fmt.Sprintf("%02d-", m)
	if year != 0 {
		prefix = fmt.Sprintf("%04d-%s", year, prefix)
	}
	return []Span{{fmt.Sprintf("%s%02d", prefix, from), fmt.Sprintf("%s%02d", prefix, to)}}, lead + n + 1 + words
}

// inWeek reads Tuesday last week, mardi de la semaine dernière, letzte Woche Dienstag.
func (r *reader) inWeek(i int, today time.Time) ([]Span, int) {
	var a, b Found
	n := r.readDay(i, &a, false)
	of := r.any(i+n, "of", "de", "in der", "der", "on", "am")
	m := r.readDay(i+n+of, &b, false)
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

// plainMonth returns the month that a word names, 0: none.
func (r *reader) plainMonth(w string) time.Month {
	m, _ := r.monthOf(w)
	return m
}
