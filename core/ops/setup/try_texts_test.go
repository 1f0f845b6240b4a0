package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/everthread/everthread/core/text/i18n"
)

// TestFault_everyLanguage in every language, with the same values and no placeholder left.
func TestFault_everyLanguage(t *testing.T) {
	t.Parallel()
	en, fr := wordsOf("en"), wordsOf("fr")
	for _, language := range i18n.Languages() {
		w := wordsOf(language)
		for kind, text := range en.Faults {
			for _, part := range []string{"{where}", " ({detail})"} {
				if strings.Contains(text, part) != strings.Contains(w.Faults[kind], part) {
					t.Errorf("%s: %s: %s is not in both", language, kind, part)
				}
			}
			said := w.said(&Fault{Wrong: kind, Where: "there", Err: errors.New("never said")})
			if said == "" || strings.ContainsAny(said, "{}") || strings.Contains(said, "()") || strings.Contains(said, "never") {
				t.Errorf("%s: %s: %q", language, kind, said)
			}
		}
	}
	f := &Fault{Wrong: WrongUnreached, Where: "db", Reason: ReasonTime, Detail: "dial tcp: i/o timeout"}
	if got := fr.said(f); !strings.Contains(got, "db ne répond pas (rien n’est venu à temps)") {
		t.Errorf("got %q", got)
	}
	if f.Reason = ""; !strings.Contains(fr.said(f), "(dial tcp: i/o timeout)") {
		t.Errorf("got %q", fr.said(f))
	}
}
