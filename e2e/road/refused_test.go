//go:build e2e

package road

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

const carol = int64(777888999)

// linkBob makes Bob's chat a second app of the owner, Ada.
func linkBob(w *e2etest.Town, g *e2etest.Gateway) {
	w.AddOwner(g)
	w.Telegram.Say(e2etest.Ada, "/link")
	w.Telegram.Say(e2etest.Bob, "/link "+e2etest.ShownCode.FindString(w.Sent(e2etest.Ada, 2)[1].Text))
	w.Sent(e2etest.Ada, 3)
	w.Telegram.Say(e2etest.Ada, "OWNER")
	w.Sent(e2etest.Ada, 4)
	w.Sent(e2etest.Bob, 2)
}

// A message that the model's server refuses is not tried again because of what its person says
// in another app, and is answered when it is edited.
func TestModel_refusedMessageStaysAway(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		g := w.Start()
		linkBob(w, g)
		m.trouble(0, refuses(t, "abracadabra"))
		refused := w.Telegram.Say(e2etest.Ada, "abracadabra")
		if got := w.Sent(e2etest.Ada, 5)[4].Text; !strings.Contains(got, "didn't accept") {
			t.Fatalf("got %q", got)
		}
		for n, text := range []string{"and now?", "and then?"} {
			w.Telegram.Say(e2etest.Bob, text)
			if got := w.Sent(e2etest.Bob, n+3)[n+2].Text; got != "echo: "+text {
				t.Errorf("got %q", got)
			}
		}
		w.Ledger().Until(`SELECT (SELECT COUNT(*) FROM jobs WHERE key LIKE 'thread:%') +
			(SELECT COUNT(*) FROM turns WHERE state = 'running')`, 0, g)
		if got := e2etest.Texts(w.Telegram.Sent(e2etest.Ada))[4:]; len(got) > 1 {
			t.Errorf("it came back: %q\n%s", got, g.Log)
		}
		w.Telegram.Edit(e2etest.Ada, refused, "open sesame")
		w.Answered(t, g, "echo: open sesame")
	})
}

// While the model's server refuses the key, every message is answered, on the app that it came
// from, with the reason; afterwards those that wait are answered.
func TestModel_refusedKeyIsToldEverywhere(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		w.Env = append(w.Env, "EVERTHREAD_TURN_DEBOUNCE=1s") // both apps write before a turn begins
		g := w.Start()
		linkBob(w, g)
		key, _ := w.APIKey("", "chat")
		m.trouble(0, answers(http.StatusUnauthorized, refusal))
		w.Telegram.Say(e2etest.Ada, "of Ada")
		w.Telegram.Say(e2etest.Bob, "of Bob")
		w.Telegram.Say(carol, "of Carol")
		code, out := g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
			"messages": []any{map[string]any{"role": "user", "content": "of a program"}}})
		if code != http.StatusBadGateway || !strings.Contains(out, "refused the key") {
			t.Errorf("the program: got %d %s", code, out)
		}
		hears(t, w, g, e2etest.Ada, "server refused the request")
		hears(t, w, g, e2etest.Bob, "server refused the request")
		hears(t, w, g, carol, "not your fault")
		m.trouble(0, nil)
		w.Telegram.Say(e2etest.Ada, "and I?")
		hears(t, w, g, e2etest.Ada, "echo: and I?")
		hears(t, w, g, e2etest.Bob, "echo: of Bob")
		w.Telegram.Say(carol, "once more")
		hears(t, w, g, carol, "echo: once more")
	})
}

// hears waits until a chat has received a message with words.
func hears(t *testing.T, w *e2etest.Town, g *e2etest.Gateway, chat int64, words string) {
	t.Helper()
	has := func() bool {
		return slices.ContainsFunc(w.Telegram.Sent(chat), func(m telegramtest.Message) bool {
			return strings.Contains(m.Text, words)
		})
	}
	for deadline := time.Now().Add(20 * time.Second); !has(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d has %q, not %q\n%s", chat, e2etest.Texts(w.Telegram.Sent(chat)), words, g.Log)
		}
	}
}
