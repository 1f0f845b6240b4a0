package web

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"
)

// TestBothLanguagesSayAll: every word is there in both, with the same verbs.
func TestBothLanguagesSayAll(t *testing.T) {
	t.Parallel()
	compare(t, "words", reflect.ValueOf(english), reflect.ValueOf(french))
}

func compare(t *testing.T, path string, en, fr reflect.Value) {
	t.Helper()
	switch en.Kind() {
	case reflect.Struct:
		for i := range en.NumField() {
			compare(t, path+"."+en.Type().Field(i).Name, en.Field(i), fr.Field(i))
		}
	case reflect.Map:
		if en.Len() == 0 || en.Len() != fr.Len() {
			t.Errorf("%s: %d in English, %d in French", path, en.Len(), fr.Len())
		}
		for _, k := range en.MapKeys() {
			if v := fr.MapIndex(k); !v.IsValid() {
				t.Errorf("%s: no French for %v", path, k)
			} else {
				compare(t, fmt.Sprintf("%s[%v]", path, k), en.MapIndex(k), v)
			}
		}
	case reflect.Array:
		for i := range en.Len() {
			compare(t, fmt.Sprintf("%s[%d]", path, i), en.Index(i), fr.Index(i))
		}
	case reflect.String:
		if en.String() == "" || fr.String() == "" {
			t.Errorf("%s is empty: %q, %q", path, en.String(), fr.String())
		}
		verbs := regexp.MustCompile(`%[a-z%]`)
		if a, b := verbs.FindAllString(en.String(), -1), verbs.FindAllString(fr.String(), -1); !slices.Equal(a, b) {
			t.Errorf("%s: %v in English, %v in French", path, a, b)
		}
	}
}

func TestNumbersAndDates(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 5, 0, 0, time.UTC)
	for got, want := range map[string]string{
		number("en", 1234567): "1,234,567", number("fr", 1234567): "1\u202f234\u202f567", number("en", 999): "999", number("en", -1000): "−1,000", number("en", 0): "0",
		size("en", 512): "512\u00a0B", size("en", 1536): "1.5\u00a0KB", size("fr", 20<<20): "20\u00a0Mo", size("fr", 2<<20+100<<10): "2,1\u00a0Mo",
		wordsOf("en").moment(at): "1 March 2026, 09:05", wordsOf("fr").moment(at): "1er mars 2026 à 09:05",
		wordsOf("fr").count(0, "%s message", "%s messages"): "0 message", wordsOf("en").count(0, "%s message", "%s messages"): "0 messages",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheLanguageOfAPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chosen, house, accepted, want string }{
		{"fr", "en", "en", "fr"}, {"fr-CA", "en", "", "fr"}, {"de", "fr", "fr", "en"}, {"", "en", "fr-FR,fr;q=0.9,en;q=0.5", "fr"},
		{"", "fr", "en-US", "en"}, {"", "fr", "de", "fr"}, {"", "fr", "", "fr"}, {"", "", "\xff;;;", "en"}, {"", "en", "frisian", "en"},
	} {
		if got := languageOf(c.chosen, c.house, c.accepted); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
