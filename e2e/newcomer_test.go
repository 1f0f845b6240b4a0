//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// bothPasts writes a Telegram export and a WhatsApp export of somebody.
func bothPasts(t *testing.T) (telegram, whatsapp string) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString(`{"name":"Helper Bot","type":"bot_chat","id":777,"messages":[`)
	for n, said := range []string{"My spare key lies under the blue flowerpot.", "I will remember that the key is under the flowerpot.", "My sailing boat is called Albatros.", "A fine name.", "My dentist is Doctor Moreau.", "Noted."} {
		from := []string{`"from":"Ada","from_id":"user5"`, `"from":"Helper Bot","from_id":"user777"`}[n%2]
		at := time.Date(2024, 3, 1, 8, n, 0, 0, time.UTC).Unix()
		fmt.Fprintf(&b, `%s{"id":%d,"type":"message","date_unixtime":"%d",%s,"text":%q}`, strings.Repeat(",", min(n, 1)), n+1, at, from, said)
	}
	for n := range 400 { // so much came after it that it has to be looked for
		from := []string{`"from":"Ada","from_id":"user5"`, `"from":"Helper Bot","from_id":"user777"`}[n%2]
		at := time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, n/4).Unix() + int64(n%4)
		fmt.Fprintf(&b, `,{"id":%d,"type":"message","date_unixtime":"%d",%s,"text":"Nothing much on this one of many days, number %d."}`, n+7, at, from, n)
	}
	b.WriteString("]}")
	telegram = filepath.Join(dir, "result.json")
	must(t, os.WriteFile(telegram, []byte(b.String()), 0o600))
	whatsapp = filepath.Join(dir, "WhatsApp Chat with Bob.txt")
	must(t, os.WriteFile(whatsapp, []byte("14/03/23, 09:05 - Messages and calls are end-to-end encrypted. Tap to learn more.\n"+
		"14/03/23, 09:06 - Ada: We meet the plumber at the harbour office on Thursday.\n14/03/23, 09:07 - Bob: Good, I bring the wrench.\n"), 0o600))
	return telegram, whatsapp
}

// setUp asks the wizard in an empty folder, and starts what it configured.
func setUp(t *testing.T, database string) (*town, *gateway) {
	t.Helper()
	w := newWizardOn(t, database)
	w.ask()
	w.answer(`Which model is to answer`, "demo")
	w.answer(`token of your Telegram bot`, telegramtest.Token)
	if database == "" {
		w.answer(`Anything else`, "")
	} else {
		w.answer(`Anything else`, "4")
		w.answer(`The address of the database`, database)
		w.answer(`Anything else`, "")
	}
	w.pair()
	w.answer(`How is it to run`, "no")
	must(t, w.end())
	made := w.town
	made.env = append(slices.DeleteFunc(made.env, func(v string) bool { return strings.HasPrefix(v, "EVERTHREAD_HTTP_LISTEN=") }),
		"EVERTHREAD_CONFIG="+filepath.Join(made.dir, "everthread.yaml"), "EVERTHREAD_CONTEXT_SILENCE=1ms")
	made.dir = filepath.Join(made.dir, "data")
	return made, made.start()
}

// Somebody new asks the wizard, brings their past from two apps, asks about it, has
// all of it in the prompt, and takes everything to another machine, where the
// conversation goes on.
func TestANewcomerBringsThePastAndTakesItAlong(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, g := setUp(t, database(t))
		l := w.ledger()
		sent := len(w.telegram.Sent(ada))
		ask := func(text string) string {
			sent++
			w.telegram.Say(ada, text)
			return w.sent(ada, sent)[sent-1].Text
		}
		ask("Hello, I am new here.")
		telegram, whatsapp := bothPasts(t)
		w.mustRun("import", "telegram", telegram, "--me", "Ada", "--no-summaries")
		w.mustRun("import", "whatsapp", whatsapp, "--me", "Ada", "--no-summaries")
		l.until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
		if got := ask("Where does my spare key lie?"); !strings.Contains(got, "2024-03-01, you said: “My spare key lies under the blue flowerpot.”") {
			t.Errorf("about Telegram it was answered %q", got)
		}
		if got := ask("Where do we meet the plumber?"); !strings.Contains(got, "2023-03-14, you said: “We meet the plumber at the harbour office on Thursday.”") {
			t.Errorf("about WhatsApp it was answered %q", got)
		}
		if got := ask("/strategy long"); !strings.Contains(got, "the whole conversation") {
			t.Errorf("the strategy: %q", got)
		}
		if got := ask("What is my sailing boat called?"); !strings.Contains(got, "My sailing boat is called Albatros.") {
			t.Errorf("with all in the prompt it was answered %q", got)
		}
		turn := w.lastTurn(l, "1")
		if s := turn.Snapshot; s.Strategy != "long" || s.Included < 10 || s.Total > s.Cap {
			t.Errorf("the snapshot is %+v", s)
		}
		shown := w.mustRun("turns", "show", fmt.Sprint(turn.ID))
		if !strings.Contains(shown, "Strategy long.") || !strings.Contains(shown, "the settings changed") {
			t.Errorf("it is explained by\n%s", shown)
		}
		l.until(`SELECT COUNT(*) FROM jobs`, 0, g)
		file := w.backUp(t.TempDir())
		g.stop()
		there := w.elsewhere(database(t))
		there.mustRun("restore", file)
		g = there.start()
		sent++
		w.telegram.Say(ada, "Who is my dentist?")
		if got := w.sent(ada, sent)[sent-1].Text; !strings.Contains(got, "My dentist is Doctor Moreau.") {
			t.Errorf("on the other machine it was answered %q\n%s", got, g.log)
		}
	})
}
