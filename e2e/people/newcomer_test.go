//go:build e2e

package people

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// bothPasts writes a person's exports of Telegram and WhatsApp.
func bothPasts(t *testing.T) (telegram, whatsapp string) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString(`{"name":"Helper Bot","type":"bot_chat","id":777,"messages":[`)
	for n, said := range []string{"My spare key lies under the blue flowerpot.",
		"I will remember that the key is under the flowerpot.", "My sailing boat is called Albatros.", "A fine name.",
		"My dentist is Doctor Moreau.", "Noted."} {
		from := []string{`"from":"Ada","from_id":"user5"`, `"from":"Helper Bot","from_id":"user777"`}[n%2]
		at := time.Date(2024, 3, 1, 8, n, 0, 0, time.UTC).Unix()
		fmt.Fprintf(&b, `%s{"id":%d,"type":"message","date_unixtime":"%d",%s,"text":%q}`, strings.Repeat(",", min(n, 1)),
			n+1, at, from, said)
	}
	for n := range 400 { // enough later messages that it has to be searched for
		from := []string{`"from":"Ada","from_id":"user5"`, `"from":"Helper Bot","from_id":"user777"`}[n%2]
		at := time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, n/4).Unix() + int64(n%4)
		fmt.Fprintf(&b,
			`,{"id":%d,"type":"message","date_unixtime":"%d",%s,"text":"Nothing much on this one of many days, number %d."}`,
			n+7, at, from, n)
	}
	b.WriteString("]}")
	telegram = filepath.Join(dir, "result.json")
	e2etest.Must(t, os.WriteFile(telegram, []byte(b.String()), 0o600))
	whatsapp = filepath.Join(dir, "WhatsApp Chat with Bob.txt")
	e2etest.Must(t,
		os.WriteFile(whatsapp, []byte("14/03/23, 09:05 - Messages and calls are end-to-end encrypted. Tap to learn more.\n"+
			"14/03/23, 09:06 - Ada: We meet the plumber at the harbour office on Thursday.\n14/03/23, 09:07 - Bob: Good, I bring the wrench.\n"), 0o600))
	return telegram, whatsapp
}

// setUp runs the wizard in an empty folder, and starts the configured gateway.
func setUp(t *testing.T, database string) (*e2etest.Town, *e2etest.Gateway) {
	t.Helper()
	w := e2etest.NewWizardOn(t, database)
	w.Ask()
	w.Answer(`Which model should answer`, "demo")
	w.Answer(`token of your Telegram bot`, telegramtest.Token)
	if database == "" {
		w.Answer(`Anything else`, "")
	} else {
		w.Answer(`Anything else`, "5")
		w.Answer(`The address of the database`, database)
		w.Answer(`Anything else`, "")
	}
	w.Pair()
	w.Answer(`How should it run`, "no")
	e2etest.Must(t, w.End())
	made := w.Town
	made.Env = append(slices.DeleteFunc(made.Env, func(v string) bool {
		return strings.HasPrefix(v,
			"EVERTHREAD_HTTP_LISTEN=")
	}),
		"EVERTHREAD_CONFIG="+filepath.Join(made.Dir, "everthread.yaml"), "EVERTHREAD_CONTEXT_SILENCE=1ms")
	made.Dir = filepath.Join(made.Dir, "data")
	return made, made.Start()
}

// A new user runs the wizard, imports their history from two apps, asks about it, has all
// of it in the prompt, and moves everything to another machine, where the conversation
// continues.
func TestNewcomer_movesInAndOn(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, g := setUp(t, database(t))
		l := w.Ledger()
		sent := len(w.Telegram.Sent(e2etest.Ada))
		ask := func(text string) string {
			sent++
			w.Telegram.Say(e2etest.Ada, text)
			return w.Sent(e2etest.Ada, sent)[sent-1].Text
		}
		ask("Hello, I am new here.")
		telegram, whatsapp := bothPasts(t)
		w.MustRun("import", "telegram", telegram, "--me", "Ada", "--no-summaries")
		w.MustRun("import", "whatsapp", whatsapp, "--me", "Ada", "--no-summaries")
		l.Until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
		if got := ask("Where does my spare key lie?"); !strings.Contains(got,
			"2024-03-01, you said: “My spare key lies under the blue flowerpot.”") {
			t.Errorf("about Telegram it was answered %q", got)
		}
		if got := ask("Where do we meet the plumber?"); !strings.Contains(got,
			"2023-03-14, you said: “We meet the plumber at the harbour office on Thursday.”") {
			t.Errorf("about WhatsApp it was answered %q", got)
		}
		if got := ask("/strategy long"); !strings.Contains(got, "the whole conversation") {
			t.Errorf("the strategy: %q", got)
		}
		if got := ask("What is my sailing boat called?"); !strings.Contains(got, "My sailing boat is called Albatros.") {
			t.Errorf("with all in the prompt it was answered %q", got)
		}
		turn := w.LastTurn(l, "1")
		if s := turn.Snapshot; s.Strategy != "long" || s.Included < 10 || s.Total > s.Cap {
			t.Errorf("the snapshot is %+v", s)
		}
		shown := w.MustRun("turns", "show", fmt.Sprint(turn.ID))
		if !strings.Contains(shown, "Strategy long.") || !strings.Contains(shown, "the settings changed") {
			t.Errorf("got explanation\n%s", shown)
		}
		l.Until(`SELECT COUNT(*) FROM jobs`, 0, g)
		file := w.BackUp(t.TempDir())
		g.Stop()
		there := w.Empty()
		there.MustRun("restore", file)
		g = there.Start()
		sent++
		w.Telegram.Say(e2etest.Ada, "Who is my dentist?")
		if got := w.Sent(e2etest.Ada, sent)[sent-1].Text; !strings.Contains(got, "My dentist is Doctor Moreau.") {
			t.Errorf("on the other machine it was answered %q\n%s", got, g.Log)
		}
	})
}
