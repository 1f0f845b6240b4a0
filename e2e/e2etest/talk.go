//go:build e2e

package e2etest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

const Ada = int64(111222333)

func TestAPersonIsAnsweredOnTelegram(t *testing.T) {
	t.Parallel()
	Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := NewTown(t, database(t))
		g := w.Start()
		w.Telegram.Say(Ada, "hello")
		if got := w.Sent(Ada, 1)[0].Text; got != "echo: hello" {
			t.Errorf("got %q", got)
		}
		w.Telegram.Say(Ada, "/help")
		if got := w.Sent(Ada, 2)[1].Text; !strings.Contains(got, "/today") {
			t.Errorf("got %q", got)
		}
		if d := g.Stop(); d > 10*time.Second {
			t.Errorf("it took %s to end", d)
		}
		w.Start()
		w.Telegram.Say(Ada, "still there?")
		if got := w.Sent(Ada, 3)[2].Text; got != "echo: still there?" {
			t.Errorf("got %q", got)
		}
	})
}

func TestTheOwnerPairsThenLetsAFriendIn(t *testing.T) {
	t.Parallel()
	w := NewTown(t, "")
	w.Env = append(w.Env, "EVERTHREAD_ACCESS_POLICY=pairing")
	g := w.Start()
	code := g.Logged(`/start ([A-Z0-9]{10})`)
	w.Telegram.Say(Ada, "/start "+code[1])
	w.Sent(Ada, 1)

	const bob = int64(5)
	w.Telegram.Say(bob, "let me in please")
	w.Telegram.Say(bob, "hello?")
	pair := regexp.MustCompile(`[A-Z0-9]{8}`).FindString(w.Sent(bob, 1)[0].Text)
	w.Telegram.Say(Ada, "/approve "+pair)
	w.Sent(Ada, 2)
	if got := w.Sent(bob, 2)[1].Text; got != "echo: hello?" { // one answer to the held messages
		t.Errorf("got %q", got)
	}
	l := w.Ledger()
	w.Settle(l, g)
	w.Check(l, bob, []string{"let me in please", "hello?"})
	if strings.Contains(fmt.Sprint(w.Telegram.Sent(Ada)), "let me in") {
		t.Error("the owner was shown a stranger's words")
	}
}

func TestAWebhookIsOnlyTakenWithItsSecret(t *testing.T) {
	t.Parallel()
	w := NewTown(t, "")
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook",
		"EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET=s3cret-s3cret-s3cret",
		"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
	g := w.Start()
	post := func(secret, body string) int {
		r, err := http.NewRequest(http.MethodPost, g.URL+"/webhooks/telegram", strings.NewReader(body))
		Must(t, err)
		if secret != "" {
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		}
		resp, err := http.DefaultClient.Do(r)
		Must(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	update := `{"update_id":1,"message":{"message_id":1,"date":` + fmt.Sprint(time.Now().Unix()) +
		`,"chat":{"id":111222333,"type":"private"},"from":{"id":111222333,"is_bot":false,"first_name":"Ada"},"text":"by webhook"}}`
	for _, c := range []struct {
		name, secret, body string
		want               int
	}{
		{"no secret", "", update, 401}, {"wrong secret", "wrong", update, 401},
		{"too large", "s3cret-s3cret-s3cret", strings.Repeat("x", 2<<20), 413},
		{"malformed", "s3cret-s3cret-s3cret", `{"update_id":`, 200},
		{"right", "s3cret-s3cret-s3cret", update, 200}, {"again", "s3cret-s3cret-s3cret", update, 200},
	} {
		if got := post(c.secret, c.body); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	if got := w.Sent(Ada, 1)[0].Text; got != "echo: by webhook" {
		t.Errorf("got %q", got)
	}
	time.Sleep(300 * time.Millisecond) // nothing more may arrive, which has no event
	if n := len(w.Telegram.Sent(Ada)); n != 1 {
		t.Errorf("got %d replies, want 1", n)
	}
}
