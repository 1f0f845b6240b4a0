package times

import (
	"cmp"
	"strings"
	"testing"
	"time"
)

// TestDate_sameWordsEverywhere checks that each of the three ways to read a day understands the
// same words: as the one day that /day shows, in a question about the past, and as a time ahead.
func TestDate_sameWordsEverywhere(t *testing.T) {
	t.Parallel()
	const today = "2026-11-19" // a Thursday
	now, err := time.Parse(time.DateOnly, today)
	if err != nil {
		t.Fatal(err)
	}
	// The label, the days of the past, and the first day that is not past; - is none.
	for words, want := range map[string][3]string{
		"yesterday":               {Yesterday, "2026-11-18..2026-11-18", "2026-11-18"},
		"ayer":                    {Yesterday, "2026-11-18..2026-11-18", "2026-11-18"},
		"last night":              {Yesterday, "2026-11-18..2026-11-19", "2026-11-18"},
		"hier soir":               {Yesterday, "2026-11-18..2026-11-19", "2026-11-18"},
		"heute":                   {today, "2026-11-19..2026-11-19", today},
		"tomorrow":                {"2026-11-20", "-", "2026-11-20"},
		"last Tuesday":            {"2026-11-17", "2026-11-17..2026-11-17", "2026-11-17"},
		"mardi dernier":           {"2026-11-17", "2026-11-17..2026-11-17", "2026-11-17"},
		"on Tuesday":              {"2026-11-17", "2026-11-17..2026-11-17", "2026-11-24"},
		"el martes":               {"2026-11-17", "2026-11-17..2026-11-17", "2026-11-24"},
		"next Tuesday":            {"2026-11-24", "-", "2026-11-24"},
		"mardi en huit":           {"2026-12-01", "-", "2026-12-01"},
		"on Thursday":             {"2026-11-12", "2026-11-12..2026-11-12 2026-11-19..2026-11-19", "2026-11-26"},
		"2026-03-14":              {"2026-03-14", "2026-03-14..2026-03-14", "2026-03-14"},
		"2026/03/14":              {"2026-03-14", "2026-03-14..2026-03-14", "2026-03-14"},
		"am 14.3.":                {"2026-03-14", "03-14..03-14", "2027-03-14"},
		"14.3.2026":               {"2026-03-14", "2026-03-14..2026-03-14", "2026-03-14"},
		"14.03.26":                {"2026-03-14", "2026-03-14..2026-03-14", "2026-03-14"},
		"14-3-2026":               {"2026-03-14", "2026-03-14..2026-03-14", "2026-03-14"},
		"on 3/14":                 {"2026-03-14", "03-14..03-14", "2027-03-14"},
		"14 March":                {"2026-03-14", "03-14..03-14", "2027-03-14"},
		"the first of March":      {"2026-03-01", "03-01..03-01", "2027-03-01"},
		"14 de marzo de 2026":     {"2026-03-14", "2026-03-14..2026-03-14", "2026-03-14"},
		"Samstag, den 14. März":   {"2026-03-14", "03-14..03-14", "2027-03-14"},
		"on the 14th":             {"2026-11-14", "2026-11-14..2026-11-14", "2026-12-14"},
		"le 20":                   {"2026-10-20", "2026-10-20..2026-10-20", "2026-11-20"},
		"three days ago":          {"2026-11-16", "2026-11-16..2026-11-16", "2026-11-16"},
		"il y a trois jours":      {"2026-11-16", "2026-11-16..2026-11-16", "2026-11-16"},
		"vor zwei Wochen":         {"2026-11-05", "2026-11-02..2026-11-08", "2026-11-05"},
		"a couple of weeks ago":   {"2026-11-05", "2026-11-02..2026-11-08", "2026-11-05"},
		"last week":               {"-", "2026-11-09..2026-11-15", "2026-11-09"},
		"next week":               {"-", "-", "2026-11-23"},
		"la semaine prochaine":    {"-", "-", "2026-11-23"},
		"this weekend":            {"-", "2026-11-14..2026-11-15", "2026-11-21"},
		"le mois dernier":         {"-", "2026-10-01..2026-10-31", "2026-10-01"},
		"nächstes Jahr":           {"-", "-", "2027-01-01"},
		"in March":                {"-", "03-01..03-31", "2027-03-01"},
		"last March":              {"-", "2026-03-01..2026-03-31", "2026-03-01"},
		"next March":              {"-", "-", "2027-03-01"},
		"March 2027":              {"-", "2027-03-01..2027-03-31", "2027-03-01"},
		"2026-03":                 {"-", "2026-03-01..2026-03-31", "2026-03-01"},
		"in 2028":                 {"-", "2028-01-01..2028-12-31", "2028-01-01"},
		"31 February":             {"-", "02-01..02-31", "-"},
		"2026-02-30":              {"-", "-", "-"},
		"0/3":                     {"-", "-", "-"},
		"the meeting about bread": {"-", "-", "-"},
	} {
		var r reader
		for _, token := range tokenize(words) {
			r.words = append(r.words, strings.TrimRight(token.word, "."))
		}
		label, _ := Date(words, today)
		spans, _ := Spans(r.words, now)
		ahead := ""
		if f, _, ok := Find(words, "de"); ok {
			if day, ok := f.Date.Next(now, func(day time.Time) bool { return day.After(now) }); ok {
				ahead = day.Format(time.DateOnly)
			}
		}
		past := ""
		for _, s := range spans {
			past += " " + s.From + ".." + s.To
		}
		got := [3]string{cmp.Or(label, "-"), cmp.Or(strings.TrimSpace(past), "-"), cmp.Or(ahead, "-")}
		if got != want {
			t.Errorf("%q: got %s, want %s", words, got, want)
		}
	}
}
