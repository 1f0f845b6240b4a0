//go:build e2e

package road

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

const (
	emptyAnswer = `{"id":"x","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":""}}]}`
	secretKey   = "sk-nobody-may-read-this-key"
)

// Failures between the services and the gateway cost no message and no answer, and the log
// reports them without a key.
func TestNetwork_troubleCostsNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		w.Env = append(w.Env, "EVERTHREAD_LLM_TIMEOUT=2s", "EVERTHREAD_LLM_API_KEY="+secretKey)
		g := w.Start()
		var said []string
		for _, c := range []struct {
			name   string
			before func()
		}{
			{"an empty answer", func() { m.trouble(1, answers(200, emptyAnswer, "Content-Type", "application/json")) }},
			{"an answer that is cut off", func() { m.trouble(1, cuts) }},
			{"a busy model", func() { m.trouble(1, answers(429, refusal, "Retry-After", "1")) }},
			{"a model that tells the key", func() { m.trouble(1, answers(500, `{"error":{"message":"no: `+secretKey+`"}}`)) }},
			{"a flood", func() { w.Telegram.Fail("sendMessage", 1, telegramtest.Failure{Code: 429, RetryAfter: 1}) }},
			{"polls that fail", func() { w.Telegram.Fail("getUpdates", 2, telegramtest.Failure{Code: 502}) }},
			{"after polls that failed", func() { w.Telegram.Fail("getUpdates", 2, telegramtest.Failure{Drop: true}) }},
			{"after polls without an answer", func() {}},
		} {
			c.before()
			said = append(said, c.name)
			w.Telegram.Say(e2etest.Ada, c.name)
			w.Answered(t, g, "echo: "+c.name)
		}
		l := w.Ledger()
		w.Settle(l, g)
		if got := w.Check(l, e2etest.Ada, said); got != (e2etest.Repeats{}) {
			t.Errorf("got %+v", got)
		}

		w.Telegram.Fail("sendMessage", 1, telegramtest.Failure{Code: 400,
			Description: "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 7"})
		w.Telegram.Say(e2etest.Bob, "**bold** and `code`")
		if got := w.Sent(e2etest.Bob, 1)[0]; got.Text != "echo: bold and code" || len(got.Entities) > 0 {
			t.Errorf("markup that was refused: got %q with %v", got.Text, got.Entities)
		}
		for _, secret := range []string{secretKey, telegramtest.Token} {
			if strings.Contains(g.Log.String(), secret) {
				t.Errorf("the log contains %q", secret)
			}
		}
	})
}

// What the model's server refuses, such as a program's tool that it does not take or a word in a
// chat, holds up nothing that follows on another channel.
func TestModel_refusedRequestHoldsUpNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		g := w.Start()
		w.AddOwner(g)
		key, _ := w.APIKey("", "chat")
		ask := func(text string, tools ...any) (int, string) {
			return g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
				"messages": []any{map[string]any{"role": "user", "content": text}}, "tools": tools})
		}
		m.trouble(0, refuses(t, "abracadabra"))
		tool := map[string]any{"type": "function", "function": map[string]any{"name": "abracadabra"}}
		code, out := ask("with a tool", tool)
		if code != http.StatusOK || !strings.Contains(out, "No tools can be used here") {
			t.Errorf("without the tool that is refused: got %d %s", code, out)
		}
		if code, out := ask("abracadabra"); code != http.StatusBadGateway || !strings.Contains(out, "not tried again") {
			t.Errorf("in a program's words: got %d %s", code, out)
		}
		if code, out := ask("and this?"); code != http.StatusOK || !strings.Contains(out, "echo: and this?") {
			t.Errorf("the next request: got %d %s", code, out)
		}
		w.Telegram.Say(e2etest.Ada, "and I?")
		w.Answered(t, g, "echo: and I?")
		sent := len(w.Telegram.Sent(e2etest.Ada))
		w.Telegram.Say(e2etest.Ada, "abracadabra")
		if got := w.Sent(e2etest.Ada, sent+1)[sent].Text; !strings.Contains(got, "didn't accept") {
			t.Errorf("the refused message: got %q", got)
		}
		if code, out := ask("still there?"); code != http.StatusOK || !strings.Contains(out, "echo: still there?") {
			t.Errorf("beside a refused message: got %d %s", code, out)
		}
	})
}

// While nobody writes, no model is called, however much time passes: the day is closed
// once, and no scheduled message needs a model.
func TestSilence_callsNoModel(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		g := w.Start()
		for n := range 5 {
			w.Ask(fmt.Sprint("the boat, part ", n))
		}
		w.RemindIn("every day at 9", "stretch")
		w.Set(time.Date(2026, 10, 25, 3, 5, 0, 0, time.UTC))
		w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Set(time.Date(2026, 10, 25, 8, 0, 30, 0, time.UTC))
		if got := w.Receive().Text; !strings.HasPrefix(got, "Summary: ") {
			t.Fatalf("got %q\n%s", got, g.Log)
		}
		w.Settle(w.Ledger(), g)
		asked := m.requests()
		for day := 25; day < 32; day++ {
			w.Set(time.Date(2026, 10, day, 9, 0, 1, 0, time.UTC))
			if got := w.Receive().Text; got != "⏰ stretch" {
				t.Errorf("on the %dth: got %q\n%s", day, got, g.Log)
			}
		}
		time.Sleep(lookedTwice) // no request may arrive, which has no event
		if n := m.requests(); asked < 6 || n != asked {
			t.Errorf("the model was asked %d times, and %d times more in a week of silence\n%s", asked, n-asked, g.Log)
		}
	})
}

// typingAgain exceeds the interval of typing notices.
const typingAgain = 6 * time.Second

// No typing notice is shown when no answer is being written: neither after it arrived nor
// after the turn gave up.
func TestTyping_endsWithTheAnswer(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		m := newMoody(t)
		w.UseModel(m.URL)
		w.Env = append(w.Env, "EVERTHREAD_LLM_TIMEOUT=1s", "EVERTHREAD_TURN_GIVE_UP_AFTER=3s")
		g := w.Start()
		m.trouble(1, hangs)
		w.Telegram.Say(e2etest.Ada, "hello")
		w.Answered(t, g, "echo: hello")
		m.trouble(0, hangs)
		w.Telegram.Say(e2etest.Bob, "hello")
		if got := w.Sent(e2etest.Bob, 1)[0].Text; !strings.Contains(got, "/retry") {
			t.Errorf("got %q", got)
		}
		ada, bob := w.Telegram.Actions(e2etest.Ada), w.Telegram.Actions(e2etest.Bob)
		if ada == 0 || bob == 0 {
			t.Errorf("typing was shown %d and %d times", ada, bob)
		}
		time.Sleep(typingAgain) // nothing may be shown, which has no event
		if a, b := w.Telegram.Actions(e2etest.Ada)-ada, w.Telegram.Actions(e2etest.Bob)-bob; a+b > 0 {
			t.Errorf("typing was shown %d times after an answer and %d times after none\n%s", a, b, g.Log)
		}
	})
}

// A network outage of days loses no delivery.
func TestReminders_surviveDaysWithoutNetwork(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		u, err := url.Parse(w.Telegram.URL())
		e2etest.Must(t, err)
		c := newCord(t, u.Host)
		w.Env = append(w.Env, "EVERTHREAD_CHANNELS_TELEGRAM_API_URL=http://"+c.address)
		g := w.Start()
		w.RemindIn("in 2 hours", "water the plants")
		w.Settle(w.Ledger(), g)
		c.pull()
		for _, after := range []time.Duration{2*time.Hour + time.Second, 3 * 24 * time.Hour} {
			w.Set(w.Now().Add(after))
			tries := func() int { return strings.Count(g.Log.String(), "part not sent") }
			before := tries() // one more attempt may be running
			for deadline := time.Now().Add(30 * time.Second); tries() < before+2; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("it was not tried\n%s", g.Log)
				}
			}
		}
		c.plug()
		if got := w.Receive().Text; got != "⏰ water the plants" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
	})
}
