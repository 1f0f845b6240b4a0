//go:build e2e

package road

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Ada chooses German: commands, notices, reminders and the page are in German from then
// on, and in English again when she chooses that on the page.
func TestLanguage_german(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	n := 0
	say := func(text string, want ...string) string {
		t.Helper()
		n++
		w.Telegram.Say(e2etest.Ada, text)
		got := w.Sent(e2etest.Ada, n)[n-1].Text
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
	say("/erinnere jeden Tag um 25 x", "„25“ ist keine Uhrzeit")
	say("/remind when the moon is full", "echo: /remind when the moon is full") // the model reads it
	say("/mine", "Einstellungen geändert")

	link := regexp.MustCompile(`code=([A-Za-z0-9-]+)`).FindStringSubmatch(say("/web", "Deine Seite", "Er gilt einmal"))
	if link == nil {
		t.Fatal("no link found")
	}
	v := g.NewGuest(link[1])
	for path, want := range map[string][]string{
		"/":                   {`lang="de"`, "Gedächtnis", "Zusammenfassung des Tages (Heute)", "Nachricht schreiben"},
		"/settings":           {"Einstellungen", `<option value="de" selected>Deutsch`},
		"/settings/assistant": {"Zusammenfassungen der Tage"},
		"/settings/data":      {"Alles löschen"},
		"/memory":             {"Gedächtnis", "Noch ist nichts gemerkt"},
		"/threads":            {"Noch keine Threads"},
		"/admin":              {"Hier ist nichts"},
	} {
		_, body := v.Get(path)
		for _, s := range want {
			if !strings.Contains(body, s) {
				t.Errorf("%s lacks %q: %.3000s", path, s, body)
			}
		}
	}
	v.Post("/settings/profile", url.Values{"name": {"Ada"}, "language": {"en"}})
	if _, body := v.Get("/settings"); !strings.Contains(body, "Saved. It is ") ||
		!strings.Contains(body, `lang="en"`) {
		t.Errorf("got page %.3000s, want it in English", body)
	}
	say("/stop", "Nothing was running.")
}
