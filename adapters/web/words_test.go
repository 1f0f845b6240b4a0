package web

import (
	"testing"
	"time"
)

func TestWords_numbersAndDates(t *testing.T) {
	t.Parallel()
	at := func(lang string) string {
		v := &Visit{Lang: lang, Words: say(lang), Zone: time.UTC}
		return v.Moment(time.Date(2026, 3, 1, 9, 5, 0, 0, time.UTC))
	}
	for got, want := range map[string]string{
		Size("en", 512): "512\u00a0B", Size("en", 1536): "1.5\u00a0KB", Size("fr", 20<<20): "20\u00a0Mo",
		Size("fr", 2<<20+100<<10): "2,1\u00a0Mo", at("en"): "1 March 2026, 09:05",
		at("fr"): "1er mars 2026 à 09:05",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLanguage_ofAPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chosen, house, accepted, want string }{
		{"fr", "en", "en", "fr"}, {"fr-CA", "en", "", "fr"}, {"es", "fr", "fr", "en"}, {"de-CH", "fr", "fr", "de"},
		{"", "en", "fr-FR,fr;q=0.9,en;q=0.5", "fr"},
		{"", "fr", "en-US", "en"}, {"", "fr", "nl", "fr"}, {"", "fr", "de-AT,en;q=0.5", "de"}, {"", "fr", "", "fr"},
		{"", "", "\xff;;;", "en"}, {"", "en", "frisian", "en"},
	} {
		if got := languageOf(c.chosen, c.house, c.accepted); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
