package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core/text/times"
)

// saturday is when the tests search.
var saturday = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func TestDates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, want, rest string }{
		{"what about the boiler", "", "boiler"},
		{"on 3 June", "06-03..06-03", "june"},
		{"June 3rd 2023", "2023-06-03..2023-06-03", "june"},
		{"the 3rd of June, 2023", "2023-06-03..2023-06-03", "june"},
		{"2023-05-08", "2023-05-08..2023-05-08", "2023-05-08"},
		{"on 08/05/2023", "2023-08-05..2023-08-05", "08/05/2023"},
		{"le 08/05/2023", "2023-05-08..2023-05-08", "08/05/2023"},
		{"25/12/2023", "2023-12-25..2023-12-25", "25/12/2023"},
		{"08.05.23", "2023-05-08..2023-05-08", "08.05.23"},
		{"le 3 juin", "06-03..06-03", "juin"},
		{"le 1er mai 2024", "2024-05-01..2024-05-01", "mai"},
		{"am 3. Juni", "06-03..06-03", "juni"},
		{"3 de junio de 2023", "2023-06-03..2023-06-03", "junio"},
		{"29 February", "02-29..02-29", "february"},
		{"31 June", "06-01..06-31", "31 june"},
		{"in May", "05-01..05-31", "may"},
		{"en mai", "05-01..05-31", "mai"},
		{"au mois de mars", "03-01..03-31", "mois mars"},
		{"May 2023", "2023-05-01..2023-05-31", "may"},
		{"may I ask", "", "may ask"},
		{"a trip to Mars", "", "trip mars"},
		{"last June", "2026-06-01..2026-06-30", "june"},
		{"last December", "2025-12-01..2025-12-31", "december"},
		{"in 2023", "2023-01-01..2023-12-31", "2023"},
		{"room 2023", "", "room 2023"},
		{"last Tuesday", "2026-11-17..2026-11-17", "tuesday"},
		{"mardi dernier", "2026-11-17..2026-11-17", "mardi"},
		{"on Monday", "2026-11-16..2026-11-16", "monday"},
		{"on Saturday", "2026-11-14..2026-11-14 2026-11-21..2026-11-21", "saturday"},
		{"last Saturday", "2026-11-14..2026-11-14", "saturday"},
		{"yesterday", "2026-11-20..2026-11-20", ""},
		{"hier", "2026-11-20..2026-11-20", ""},
		{"qu'est-ce qu'on a dit hier soir", "2026-11-20..2026-11-21", "dit"},
		{"avant-hier", "2026-11-19..2026-11-19", ""},
		{"the day before yesterday", "2026-11-19..2026-11-19", ""},
		{"aujourd’hui", "2026-11-21..2026-11-21", ""},
		{"this morning", "2026-11-21..2026-11-21", ""},
		{"last week", "2026-11-09..2026-11-15", ""},
		{"la semaine dernière", "2026-11-09..2026-11-15", ""},
		{"letzte Woche", "2026-11-09..2026-11-15", ""},
		{"last month", "2026-10-01..2026-10-31", ""},
		{"le mois dernier", "2026-10-01..2026-10-31", ""},
		{"last year", "2025-01-01..2025-12-31", ""},
		{"l'année dernière", "2025-01-01..2025-12-31", ""},
		{"this weekend", "2026-11-21..2026-11-21", ""},
		{"three days ago", "2026-11-18..2026-11-18", ""},
		{"il y a 3 jours", "2026-11-18..2026-11-18", ""},
		{"vor drei Tagen", "2026-11-18..2026-11-18", ""},
		{"hace tres días", "2026-11-18..2026-11-18", ""},
		{"two weeks ago", "2026-11-04..2026-11-10", ""},
		{"a couple of weeks ago", "2026-11-04..2026-11-10", ""},
		{"a month ago", "2026-10-06..2026-11-05", ""},
		{"a year ago", "2025-07-21..2026-03-21", ""},
		{"between 3 June and 5 July 2024", "2024-06-03..2024-07-05", ""},
	} {
		spans, rest := readDates(t, c.query, saturday, time.UTC)
		if spans != c.want {
			t.Errorf("%q: got %q, want %q", c.query, spans, c.want)
		}
		if rest != c.rest {
			t.Errorf("%q: got words %q, want %q", c.query, rest, c.rest)
		}
	}
}

// readDates returns the dates of a query, and its content words that are not part of one.
func readDates(t testing.TB, query string, now time.Time, zone *time.Location) (string, string) {
	q := newAnalyzer(t).Query(query)
	spans, parts := dates(q.tokens, now, zone)
	var out, rest []string
	for _, s := range spans {
		out = append(out, s.From+".."+s.To)
	}
	for _, w := range q.Words {
		if keep, part := parts[w.token]; (!part || keep) && w.Weight > digitOfWhole {
			rest = append(rest, w.Text)
		}
	}
	return strings.Join(out, " "), strings.Join(rest, " ")
}

func TestDates_inZones(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 29, 23, 30, 0, 0, time.UTC)
	for zone, want := range map[string]string{"Pacific/Kiritimati": "2026-03-29", "Europe/Paris": "2026-03-29",
		"Pacific/Pago_Pago": "2026-03-28", "UTC": "2026-03-28"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := readDates(t, "yesterday", at, location); got != want+".."+want {
			t.Errorf("%s: got %s, want %s", zone, got, want)
		}
	}
}

// TestDates_everyWrittenForm checks that dates are recognised in all their written forms.
func TestDates_everyWrittenForm(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 15000).Draw(t, "days"))
		label := day.Format(time.DateOnly)
		for _, layout := range []string{"2006-01-02", "2 January 2006", "January 2, 2006", "Jan 2 2006", "01/02/2006",
			"2. January 2006"} {
			spans, _ := dates(a.Query("what did we say on "+day.Format(layout)).tokens, saturday, nil)
			if len(spans) != 1 || spans[0] != (times.Span{From: label, To: label}) {
				t.Fatalf("%s: got %v, want %s", day.Format(layout), spans, label)
			}
		}
	})
}

func FuzzDates(f *testing.F) {
	for _, s := range []string{"3 June 2023", "il y a 3 jours", "99/99/9999", "last last last", "-1 May",
		"0000-00-00", "hace"} {
		f.Add(s)
	}
	a := newAnalyzer(f)
	f.Fuzz(func(t *testing.T, s string) {
		spans, _ := dates(a.Query(s).tokens, saturday, time.UTC)
		for _, span := range spans {
			if len(span.From) != len(span.To) || span.From > span.To {
				t.Fatal(fmt.Sprint(span))
			}
		}
	})
}
