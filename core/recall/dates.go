package recall

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Span is a range of days that a query names, both ends inclusive. The ends are
// labels (YYYY-MM-DD), or MM-DD for the days of every year.
type Span struct{ From, To string }

// Has reports whether a day is in the span.
func (s Span) Has(label string) bool {
	if len(s.From) == len("01-02") && len(label) == len(time.DateOnly) {
		label = label[5:]
	}
	return s.From <= label && label <= s.To
}

// dateReader reads the dates in the words of a query: in English and French, and
// month names, weekdays and common phrases in German and Spanish.
type dateReader struct {
	words    []string
	today    time.Time // midnight, as if the zone were UTC
	dayFirst bool
}

// reading is a date in a query.
type reading struct {
	n     int // words
	spans []Span
	keep  []int // places of the words that a message may hold too
}

// dates returns the days that tokens name, and for each token of a date whether a
// message may hold it too.
func dates(tokens []token, now time.Time, location *time.Location) (spans []Span, parts map[int]bool) {
	y, m, d := now.In(cmp.Or(location, time.UTC)).Date()
	r := dateReader{today: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
	for _, t := range tokens {
		r.words = append(r.words, t.text)
	}
	r.dayFirst = dayFirst(r.words)
	parts = map[int]bool{}
	for i := 0; i < len(r.words); i++ {
		found, ok := r.at(i)
		if !ok {
			continue
		}
		spans = append(spans, found.spans...)
		for k := i; k < i+found.n; k++ {
			parts[k] = slices.Contains(found.keep, k)
		}
		i += found.n - 1
	}
	return spans, parts
}

// dayFirst reports whether numbers such as 08/05 begin with the day: not in English.
func dayFirst(words []string) bool {
	other, english := 0, 0
	for _, w := range words {
		if slices.Contains([]string{"le", "la", "les", "du", "au", "que", "quand", "ai", "je", "tu", "est", "ce", "der",
			"die", "das", "am", "ich", "wann", "was", "el", "los", "cuando"}, w) {
			other++
		}
		if slices.Contains([]string{"the", "on", "what", "when", "did", "of", "was", "to", "we"}, w) {
			english++
		}
	}
	return other > english
}

// at reads the date that begins with word i.
func (r *dateReader) at(i int) (reading, bool) {
	for _, read := range []func(int) (reading, bool){r.numeric, r.dayAndMonth, r.monthAndDay, r.monthAlone, r.ago,
		r.relative, r.period, r.weekday, r.yearAlone} {
		if found, ok := read(i); ok {
			return found, true
		}
	}
	return reading{}, false
}

// word returns a word by its place, or nothing beyond the ends.
func (r *dateReader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i]
}

func (r *dateReader) is(i int, words ...string) bool {
	return r.word(i) != "" && slices.Contains(words, r.word(i))
}

var (
	yearFirst = regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?$`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})[-/.](\d{1,2})(?:[-/.](\d{4}|\d{2}))?$`)
)

// numeric reads 2023-05-08, 2023-05, 08/05/2023, and 08/05 after "on" or "le".
func (r *dateReader) numeric(i int) (reading, bool) {
	if m := yearFirst.FindStringSubmatch(r.word(i)); m != nil {
		y, month := atoi(m[1]), atoi(m[2])
		if m[3] == "" {
			return one(1, wholeMonth(y, time.Month(month)), month >= 1 && month <= 12)
		}
		return r.exact(i, 1, y, month, atoi(m[3]), i)
	}
	m := yearLast.FindStringSubmatch(r.word(i))
	if m == nil || m[3] == "" && !r.is(i-1, "on", "le", "du", "am", "el", "vom", "since", "depuis") {
		return reading{}, false
	}
	month, day := atoi(m[1]), atoi(m[2])
	if r.dayFirst || month > 12 || !strings.Contains(r.word(i), "/") {
		month, day = day, month
	}
	y := atoi(m[3])
	if len(m[3]) == 2 {
		y += 2000
	}
	return r.exact(i, 1, y, month, day, i)
}

// atoi returns a number of few digits, 0 if s is empty.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// exact reads one day. Year 0 means that day of every year.
func (r *dateReader) exact(i, n, year, month, day int, keep ...int) (reading, bool) {
	y := cmp.Or(year, 2024) // a leap year
	t := time.Date(y, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if int(t.Month()) != month || t.Day() != day || y < 1900 {
		return reading{}, false
	}
	if year == 0 {
		s := t.Format("01-02")
		return reading{n, []Span{{s, s}}, keep}, true
	}
	return reading{n, []Span{spanOf(t, t)}, keep}, true
}

func one(n int, s Span, ok bool, keep ...int) (reading, bool) { return reading{n, []Span{s}, keep}, ok }

func spanOf(from, to time.Time) Span {
	return Span{from.Format(time.DateOnly), to.Format(time.DateOnly)}
}

func wholeMonth(year int, m time.Month) Span {
	if year == 0 {
		return Span{fmt.Sprintf("%02d-01", m), fmt.Sprintf("%02d-31", m)}
	}
	return spanOf(time.Date(year, m, 1, 0, 0, 0, 0, time.UTC), time.Date(year, m+1, 0, 0, 0, 0, 0, time.UTC))
}

// dayAndMonth reads 3 June, 3rd of June 2023, le 3 juin, am 3. Juni, 3 de junio.
func (r *dateReader) dayAndMonth(i int) (reading, bool) {
	day := dayNumber(r.word(i))
	k := i + 1
	if r.is(k, "of", "de") {
		k++
	}
	month, _ := monthOf(r.word(k))
	if day == 0 || month == 0 {
		return reading{}, false
	}
	year, end := r.yearAt(k + 1)
	return r.exact(i, end-i, year, int(month), day, k)
}

// yearAt reads a year, perhaps after "of" or "de", and returns where the date ends.
func (r *dateReader) yearAt(k int) (year, end int) {
	if y := yearNumber(r.word(k)); y > 0 {
		return y, k + 1
	}
	if y := yearNumber(r.word(k + 1)); y > 0 && r.is(k, "of", "de", "del") {
		return y, k + 2
	}
	return 0, k
}

// monthAndDay reads June 3, June 3rd 2023.
func (r *dateReader) monthAndDay(i int) (reading, bool) {
	month, _ := monthOf(r.word(i))
	k := i + 1
	if r.is(k, "the") {
		k++
	}
	day := dayNumber(r.word(k))
	if next, _ := monthOf(r.word(k + 1)); day == 0 || month == 0 || next > 0 {
		return reading{}, false
	}
	year, end := r.yearAt(k + 1)
	return r.exact(i, end-i, year, int(month), day, i)
}

// monthAlone reads June, in May, en mai, May 2023. Last May is the newest one.
func (r *dateReader) monthAlone(i int) (reading, bool) {
	k := i
	last := r.is(i, "last", "letzten")
	if last {
		k++
	}
	month, doubtful := monthOf(r.word(k))
	if month == 0 {
		return reading{}, false
	}
	year, end := r.yearAt(k + 1)
	if r.is(k+1, "dernier", "pasado", "passe") {
		last, end = true, k+2
	}
	if last {
		if year = r.today.Year(); month > r.today.Month() {
			year--
		}
	}
	return one(end-i, wholeMonth(year, month), year > 0 || !doubtful || r.introduces(i-1), k)
}

// introduces reports whether the word before an ambiguous name of a month makes it a month.
func (r *dateReader) introduces(i int) bool {
	if r.is(i, "de") {
		return r.is(i-1, "mois", "mes")
	}
	return r.is(i, "in", "en", "im", "during", "since", "depuis", "seit", "early", "late", "mid", "debut", "fin",
		"desde", "of", "until")
}

// yearAlone reads 2023 after "in" and the like.
func (r *dateReader) yearAlone(i int) (reading, bool) {
	year := yearNumber(r.word(i))
	ok := year > 0 && r.is(i-1, "in", "en", "im", "during", "since", "depuis", "seit", "jahr", "year",
		"annee", "ano", "of")
	return one(1, Span{fmt.Sprintf("%04d-01-01", year), fmt.Sprintf("%04d-12-31", year)}, ok, i)
}
