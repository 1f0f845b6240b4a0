package recall

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/text/times"
)

// askedOn is when the questions of TestDates_namedDayIsFirst are asked: a Saturday.
var askedOn = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// dateQuestion is a question, and the days that it names: the labels of the first and the last.
type dateQuestion struct{ query, from, to string }

// topics are what people talk about, in three languages.
var topics = [][3]string{
	{"boiler", "chaudière", "Heizung"}, {"insurance", "assurance", "Versicherung"}, {"dentist", "dentiste", "Zahnarzt"},
	{"garden", "jardin", "Garten"}, {"holiday", "vacances", "Urlaub"}, {"school", "école", "Schule"},
	{"bicycle", "vélo", "Fahrrad"}, {"tax", "impôts", "Steuer"}, {"birthday", "anniversaire", "Geburtstag"},
	{"kitchen", "cuisine", "Küche"}, {"marathon", "marathon", "Marathon"}, {"library", "bibliothèque", "Bücherei"},
}

// halfAYear returns the conversation of half a year up to askedOn: both sides, several topics a day, many messages that
// name dates, weekdays and months themselves, and a summary of each day. topicsOf holds the topics of each day.
func halfAYear(t testing.TB) (w *world, topicsOf map[string][]int) {
	w, topicsOf = newWorld(t, "en", "fr", "de"), map[string][]int{}
	rng := rand.New(rand.NewPCG(13, 10))
	says := [3][]string{
		{"Let us talk about the %s. I will see to it on %s.", "The %s again: what happened on %s must not happen twice.", "When was the %s, on %s or in October?"},
		{"Parlons de %s, ce sera pour le %s.", "Encore %s : ce qui s'est passé le %s ne doit pas se répéter.", "Et %s, c'était le %s ou en octobre ?"},
		{"Reden wir über %s, das mache ich am %s.", "Schon wieder %s: was am %s passiert ist, darf nicht noch einmal passieren.", "War %s am %s oder im Oktober?"},
	}
	tags := []string{"en", "fr", "de"}
	for day := askedOn.AddDate(0, -6, 0); day.Before(askedOn); day = day.AddDate(0, 0, 1) {
		label := day.Format(time.DateOnly)
		for range 3 + rng.IntN(3) {
			language, topic := rng.IntN(3), rng.IntN(len(topics))
			other := day.AddDate(0, 0, rng.IntN(120)-60)
			text := fmt.Sprintf(says[language][rng.IntN(3)], topics[topic][language], times.DateName(other, tags[language]))
			w.say(label, core.RoleUser, text)
			w.say(label, core.RoleAssistant, []string{"Noted.", "C'est noté.", "Ist notiert."}[language])
			topicsOf[label] = append(topicsOf[label], topic)
		}
		w.summarize(label, fmt.Sprintf("## Summary\nThey spoke of the %s.", topics[topicsOf[label][0]][0]))
	}
	return w, topicsOf
}

// dateQuestions returns questions with dates of all kinds in three languages.
func dateQuestions(topicsOf map[string][]int) (out []dateQuestion) {
	rng := rand.New(rand.NewPCG(7, 5))
	ask := func(query string, from, to time.Time) {
		out = append(out, dateQuestion{query, from.Format(time.DateOnly), to.Format(time.DateOnly)})
	}
	today := askedOn.Truncate(24 * time.Hour)
	back := func(days int) time.Time { return today.AddDate(0, 0, -days) }
	for i := range 14 { // days of the calendar
		day := back(1 + rng.IntN(175))
		fr, de := times.MonthName(day.Month(), "fr"), times.MonthName(day.Month(), "de")
		n := day.Day()
		list := topicsOf[day.Format(time.DateOnly)]
		about := topics[list[rng.IntN(len(list))]]
		ordinal := times.DayOfMonth(n, "fr")
		forms := []string{
			"what happened on " + day.Format("January 2"), day.Format("2 January"),
			"what did I say about the " + about[0] + " on " + day.Format("2 January 2006"),
			fmt.Sprintf("que s'est-il passé le %s %s ?", ordinal, fr), fmt.Sprintf("qu'a-t-on dit de %s le %s %s", about[1], ordinal, fr),
			fmt.Sprintf("was war am %d. %s los?", n, de), fmt.Sprintf("was habe ich am %d. %s über %s gesagt", n, de, about[2]),
			day.Format("2006-01-02"), "what did we talk about on " + day.Format("Monday, 2 January"),
		}
		for k := range 5 {
			ask(forms[(i+2*k)%len(forms)], day, day)
		}
	}
	for i := 1; i <= 7; i++ { // weekdays
		day := back(i)
		en, fr, de := day.Weekday().String(), times.WeekdayName(day.Weekday(), "fr"), times.WeekdayName(day.Weekday(), "de")
		ask("what happened last "+en, day, day)
		ask("qu'est-ce qu'on a dit "+fr+" dernier ?", day, day)
		ask("was haben wir letzten "+de+" besprochen", day, day)
		ask("the "+topics[topicsOf[day.Format(time.DateOnly)][0]][0]+" last "+en, day, day)
		monday := back(5 + 7) // of last week
		that := monday.AddDate(0, 0, (int(day.Weekday())+6)%7)
		ask(en+" last week", that, that)
		ask(fr+" de la semaine dernière", that, that)
		ask(de+" letzte Woche", that, that)
	}
	for i, number := range [][3]string{{"two", "deux", "zwei"}, {"three", "trois", "drei"}, {"four", "quatre", "vier"}} {
		n := i + 2
		ask("what did we do "+number[0]+" days ago", back(n), back(n))
		ask("il y a "+number[1]+" jours", back(n), back(n))
		ask("vor "+number[2]+" Tagen", back(n), back(n))
		ask("what was it "+number[0]+" weeks ago", back(7*n+3), back(7*n-3))
		ask("il y a "+number[1]+" semaines", back(7*n+3), back(7*n-3))
		ask("vor "+number[2]+" Wochen", back(7*n+3), back(7*n-3))
		ask("the last "+number[0]+" weeks", back(7*n), today)
		ask("les "+number[1]+" dernières semaines", back(7*n), today)
		ask("in den letzten "+number[2]+" Wochen", back(7*n), today)
	}
	for m := time.June; m <= time.October; m++ { // months, their parts, and ranges
		en, fr, de := m.String(), times.MonthName(m, "fr"), times.MonthName(m, "de")
		on := func(day int) time.Time { return time.Date(2026, m, day, 0, 0, 0, 0, time.UTC) }
		last := on(1).AddDate(0, 1, -1)
		ask("what did we talk about in "+en, on(1), last)
		ask("de quoi a-t-on parlé en "+fr+" ?", on(1), last)
		ask("worüber haben wir im "+de+" geredet", on(1), last)
		ask("early "+en, on(1), on(10))
		ask("début "+fr, on(1), on(10))
		ask("Anfang "+de, on(1), on(10))
		ask("mid-"+en, on(11), on(20))
		ask("Mitte "+de, on(11), on(20))
		ask("fin "+fr, on(21), last)
		ask("Ende "+de, on(21), last)
		ask("from the 3rd to the 7th of "+en, on(3), on(7))
		ask(fmt.Sprintf("between %s 12 and %s 15", en, en), on(12), on(15))
		ask("du 3 au 7 "+fr, on(3), on(7))
		ask("entre le 20 et le 24 "+fr, on(20), on(24))
		ask("vom 3. bis 7. "+de, on(3), on(7))
		ask("was war zwischen dem 10. und dem 14. "+de, on(10), on(14))
	}
	ask("yesterday", back(1), back(1))
	ask("hier", back(1), back(1))
	ask("gestern", back(1), back(1))
	ask("the day before yesterday", back(2), back(2))
	ask("avant-hier", back(2), back(2))
	ask("vorgestern", back(2), back(2))
	ask("what happened last week?", back(12), back(6))
	ask("la semaine dernière", back(12), back(6))
	ask("letzte Woche", back(12), back(6))
	ask("last month", time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC))
	return out
}

// TestDates_namedDayIsFirst asks 200 questions with dates about half a year: the first hit is of the named day.
func TestDates_namedDayIsFirst(t *testing.T) {
	t.Parallel()
	w, topicsOf := halfAYear(t)
	list := dateQuestions(topicsOf)
	if len(list) < 200 {
		t.Fatalf("got %d questions", len(list))
	}
	stores := map[string]func(testing.TB) sqlStore{"sqlite": onSQLite}
	if postgresDSN() != "" {
		stores["postgres"] = onPostgres
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := w.into(open(t))
			right := 0
			for _, q := range list {
				got, err := s.Search(context.Background(), search.Query{User: me, Query: q.query, Now: askedOn,
					Location: time.UTC})
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Hits) > 0 && q.from <= got.Hits[0].Label && got.Hits[0].Label <= q.to {
					right++
					continue
				}
				t.Logf("%q: want %s to %s, got %s", q.query, q.from, q.to, labels(got.Hits))
			}
			t.Logf("%d of %d", right, len(list))
			if 100*right < 98*len(list) {
				t.Errorf("the named day is first for %d of %d questions", right, len(list))
			}
		})
	}
}

func labels(hits []search.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Label)
	}
	return out
}

// TestDates_dayIsListed checks that a query that is only a date lists that day: its summary, then what weighs most.
func TestDates_dayIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("2026-10-09", core.RoleUser, "On 13 October I go to the notary, in October at last")
	w.say("2026-10-13", core.RoleUser, "ok")
	long := w.say("2026-10-13", core.RoleUser, "The notary read us the whole contract, and we signed it in the end")
	w.say("2026-10-14", core.RoleUser, "What happened happened, as always in October")
	w.summarize("2026-10-13", "## Summary\nThe house is bought.")
	for _, query := range []string{"13 October", "what happened on October 13?", "was war am 13. Oktober los"} {
		got := w.search(query).Hits
		if want := fmt.Sprintf("2026-10-13 #%d #2", long); ids(got) != want {
			t.Errorf("%q: found %s, want %s", query, ids(got), want)
		}
	}
	if got := ids(w.search("the notary on 13 October").Hits); got != "2026-10-13 #3 #2 #1" {
		t.Errorf("a word beside the date: found %s", got)
	}
	if got := ids(w.search("13 October 2024").Hits); got == "" {
		t.Error("the words of a date on which nothing was said are not searched for")
	}
}
