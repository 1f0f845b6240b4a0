//go:build e2e

package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Ada asks for German: commands, notices, what she is reminded of and the page are in
// German from then on, and in English again when she asks for that on the page.
func TestSomebodySpeaksGerman(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	g := w.start()
	n := 0
	say := func(text string, want ...string) string {
		t.Helper()
		n++
		w.telegram.Say(ada, text)
		got := w.sent(ada, n)[n-1].Text
		for _, s := range want {
			if !strings.Contains(got, s) {
				t.Errorf("%s: got %q, want %q in it", text, got, s)
			}
		}
		return got
	}
	say("hello")
	say("/language klingon", "/language de (Deutsch)")
	say("/language Deutsch", "Ich spreche von jetzt an Deutsch mit dir.")
	say("/help", "Schreib mir einfach", "/search WÖRTER", "Was noch offen ist")
	say("/help day", "Das Datum kann")
	say("/today", "Zusammenfassung des Tages (Heute)", "Nachricht")
	say("/day vorgestern", "keine Nachrichten")
	say("/stop", "Es lief nichts.")
	say("/nonsense", "kenne ich nicht")
	say("/remind 2027-03-01 9:00 Ana", "Ich erinnere dich", "Montag, 1. März 2027, 09:00")
	say("/remind when the moon is full", "Darin erkenne ich keine Zeit")
	say("/mine", "Einstellungen geändert")

	link := regexp.MustCompile(`code=([A-Za-z0-9-]+)`).FindStringSubmatch(say("/web", "Deine Seite", "Er gilt einmal"))
	if link == nil {
		t.Fatal("there is no link")
	}
	v := g.newGuest(link[1])
	for path, want := range map[string][]string{
		"/":         {`lang="de"`, "Fortlaufend", "Zusammenfassung des Tages (Heute)", "Nachricht schreiben …"},
		"/settings": {"Einstellungen", "Zusammenfassungen der Tage", `<option value="de" selected>Deutsch`, "Alles löschen"},
		"/memory":   {"Gedächtnis", "Noch ist nichts gemerkt"},
		"/threads":  {"Noch keine Threads"},
		"/admin":    {"Hier ist nichts."},
	} {
		_, body := v.get(path)
		for _, s := range want {
			if !strings.Contains(body, s) {
				t.Errorf("%s lacks %q: %.3000s", path, s, body)
			}
		}
	}
	v.post("/settings/language", url.Values{"language": {"en"}})
	if _, body := v.get("/settings"); !strings.Contains(body, "are in English now") || !strings.Contains(body, `lang="en"`) {
		t.Errorf("the page in English says %.3000s", body)
	}
	say("/stop", "Nothing was running.")
}
