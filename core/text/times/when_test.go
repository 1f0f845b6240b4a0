package times

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// elements are those that reader.element knows.
var elements = strings.Fields("ahead start end timed edge introduced count some nth day days_range year any_month " +
	"any_weekday each_weekday part each_part long_unit run days weekend which_one compact mid_month")

func TestDate(t *testing.T) {
	t.Parallel()
	const today = "2026-11-19" // a Thursday
	cases := map[string]string{
		"2026-11-16": "2026-11-16", "2026-2-3": "2026-02-03", "2025/11/19": "2025-11-19", "2027-01-01": "2027-01-01",
		"today": today, "Aujourd’hui": today, "aujourd'hui": today, "yesterday": Yesterday, "HIER": Yesterday,
		"avant-hier": "2026-11-17", "day before yesterday": "2026-11-17",
		"monday": "2026-11-16", "Mon": "2026-11-16", "mo": "2026-11-16", "last monday": "2026-11-16", "lundi": "2026-11-16",
		"lundi dernier": "2026-11-16", "thursday": "2026-11-12", "jeudi": "2026-11-12", "wednesday": "2026-11-18",
		"friday": "2026-11-13", "mar": "2026-11-17", "dim.": "2026-11-15", "19 nov": "2026-11-19", "20 nov": "2025-11-20",
		"nov 19": "2026-11-19", "Nov. 19, 2025": "2025-11-19", "19 novembre": "2026-11-19", "November 3rd": "2026-11-03",
		"the 1st of may": "2026-05-01", "1er août": "2026-08-01", "le 1er janvier": "2026-01-01", "12 déc": "2025-12-12",
		"3 mar": "2026-03-03", "14 juillet 1999": "1999-07-14", "Thursday 19 November 2026": "2026-11-19",
		"jeudi 19 novembre": "2026-11-19", "19/11": "2026-11-19", "19/11/2025": "2025-11-19", "19.11.2025": "2025-11-19",
		"29 feb": "2024-02-29", "gestern": Yesterday, "vorgestern": "2026-11-17", "19. März": "2026-03-19",
		"letzten Montag": "2026-11-16", "Donnerstag, 19. November 2026": "2026-11-19",
	}
	for s, want := range cases {
		if got, ok := Date(s, today); !ok || got != want {
			t.Errorf("%q: got %q, %v, want %q", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "soon", "31 feb", "32/1", "19/13", "2026-13-01", "2026-02-30", "19 jui", "19",
		"november", "1 2 3 4", "19 nov 26", "0 may", "-1 may", "/", "nov nov"} {
		if got, ok := Date(s, today); ok {
			t.Errorf("%q: got %q, want none", s, got)
		}
	}
}

func FuzzDate(f *testing.F) {
	for _, s := range []string{"2026-11-19", "19 nov", "lundi", "1er août", "29/2", "Thursday 19 November 2026",
		"´", "9999-12-31"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		label, ok := Date(s, "2026-11-19")
		if !ok || label == Yesterday {
			return
		}
		if d, err := time.Parse(time.DateOnly, label); err != nil || d.Format(time.DateOnly) != label {
			t.Errorf("%q: got %q", s, label)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for language, want := range map[string][2]string{"en": {"February", "Wednesday"}, "fr-CA": {"février", "mercredi"},
		"de": {"Februar", "Mittwoch"}, "FR": {"février", "mercredi"}, "fr_FR": {"février", "mercredi"},
		"frr": {"February", "Wednesday"}, "": {"February", "Wednesday"}} {
		if m, d := MonthName(time.February, language), WeekdayName(time.Wednesday, language); m != want[0] || d != want[1] {
			t.Errorf("%q: got %s, %s", language, m, d)
		}
	}
}

// TestLexicon checks what the catalogues say of times: phrases are folded, values are
// numbers, and an element of a rule that no code knows is a class.
func TestLexicon(t *testing.T) {
	t.Parallel()
	for language, classes := range i18n.Read[map[string][]string]("times") {
		for class, list := range *classes {
			for _, line := range list {
				value, after, ok := strings.Cut(line, ": ")
				if _, err := strconv.Atoi(value); ok && err != nil {
					t.Errorf("%s, %s: %q has the value %q", language, class, line, value)
				}
				for phrase := range strings.SplitSeq(cmp.Or(after, line), " | ") {
					plain := strings.TrimPrefix(phrase, "!")
					if n := len(strings.Fields(plain)); plain != text.Fold(plain) || n == 0 {
						t.Errorf("%s, %s: %q is never read", language, class, phrase)
					}
				}
			}
		}
	}
	for _, rules := range [][]rule{agoRules, dayRules, repeatRules, moreWeekdays, latestRules, monthRules, monthAlone} {
		for _, rule := range rules {
			for _, name := range rule.pattern {
				name = strings.Trim(name, "?!")
				if _, class := lexicon()[name]; !class && !slices.Contains(elements, name) {
					t.Errorf("%v: there is no element %s", rule.pattern, name)
				}
			}
		}
	}
}

func TestSpan_has(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		span  Span
		label string
		want  bool
	}{
		{Span{"2023-05-01", "2023-05-31"}, "2023-05-31", true},
		{Span{"2023-05-01", "2023-05-31"}, "2023-06-01", false},
		{Span{"05-01", "05-31"}, "1999-05-07", true},
		{Span{"05-01", "05-31"}, "2023-04-30", false},
		{Span{"05-01", "05-31"}, "", false},
	} {
		if got := c.span.Has(c.label); got != c.want {
			t.Errorf("%v, label %q: got %v", c.span, c.label, got)
		}
	}
}
