package telegram

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
)

const secretToken = "1:sk-secret-0123456789"

// guided tries a token with a server that returns these answers.
func guided(t *testing.T, language, url string) (channel.Tried, error) {
	t.Helper()
	c := Default()
	c.Token, c.APIURL = section.Secret(secretToken), url
	return c.Guide(language, channel.Host{Client: func(...string) *http.Client { return &http.Client{} }}).Try(t.Context())
}

func answers(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/bot"+secretToken+"/getMe") {
			body = "another address"
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestGuide_triesAToken(t *testing.T) {
	t.Parallel()
	tried, err := guided(t, "en", answers(t, 200, `{"ok":true,"result":{"username":"some_bot"}}`))
	if err != nil || tried.Name != "some_bot" || tried.Said != "The bot is @some_bot." || tried.Keys[1] != secretToken ||
		tried.Keys[2] != "api_url" {
		t.Errorf("got %+v, %v", tried, err)
	}
	for _, language := range []string{"en", "fr"} {
		w := say(language)
		for name, c := range map[string]struct{ url, want, says string }{
			"a server that is something": {answers(t, 200, "<html>"), w.NotTelegram, "127.0.0.1"},
			"a token that is refused": {answers(t, 401, `{"ok":false,"description":"Unauthorized"}`),
				w.Refused, "(Unauthorized)"},
		} {
			_, err := guided(t, language, c.url)
			var f *channel.Fault
			if !errors.As(err, &f) || f.Text != c.want || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), secretToken) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	var away *channel.Unreached
	if _, err := guided(t, "en", "http://127.0.0.1:1"); !errors.As(err, &away) || !errors.Is(err, syscall.ECONNREFUSED) ||
		strings.Contains(err.Error(), secretToken) {
		t.Errorf("no Telegram: %v", err)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	body := map[string]string{"getMe": `{"ok":true,"result":{"username":"some_bot"}}`,
		"getWebhookInfo": `{"ok":true,"result":{"url":"","pending_update_count":3}}`}
	date := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if date != "" {
			w.Header().Set("Date", date)
		}
		_, _ = io.WriteString(w, body[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]])
	}))
	t.Cleanup(s.Close)
	report := func(mode, language string) string {
		c, err := New(Options{Config: Config{Token: "1:a", APIURL: s.URL, Mode: mode, WebhookSecret: "s"},
			PublicURL: "https://x.example", HTTP: s.Client(), Log: zap.NewNop(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range c.Diagnose(context.Background(), language) {
			out = append(out, map[bool]string{true: "ok ", false: "bad "}[f.OK]+f.Check+" "+f.Detail)
		}
		return strings.Join(out, "\n")
	}
	for _, c := range []struct{ mode, hook, date, want string }{
		{"polling", "", "",
			"ok  the bot is @some_bot\nok webhook none, as polling requires; 3 updates are waiting\nok clock agrees with 127.0.0.1"},
		{"webhook", "", "", "ok webhook not registered yet"},
		{"polling", `{"ok":true,"result":{"url":"https://elsewhere/x"}}`, "", "ok webhook updates go to elsewhere until"},
		{"webhook", `{"ok":true,"result":{"url":"https://x.example/webhooks/telegram","pending_update_count":1}}`, "",
			"ok webhook registered; 1 updates are waiting"},
		{"webhook",
			`{"ok":true,"result":{"url":"https://x.example/webhooks/telegram","last_error_message":"refused","last_error_date":99999999999}}`, "", "bad webhook Telegram could not deliver to https://x.example/webhooks/telegram: refused"},
		{"polling", `{"ok":false,"description":"Flood"}`, "Mon, 02 Jan 2006 15:04:05 GMT",
			"bad webhook telegram rejects the token (Flood)"},
		{"polling", "", "Mon, 02 Jan 2006 15:04:05 GMT", "off from 127.0.0.1"},
	} {
		if date = c.date; c.hook != "" {
			body["getWebhookInfo"] = c.hook
		}
		if got := report(c.mode, "en"); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got\n%s", c.mode, c.hook, got)
		}
	}
	if got := report("polling", "de"); !strings.Contains(got, "der Bot ist @some_bot") {
		t.Error(got)
	}
	body["getMe"] = "<html>"
	if got := report("polling", "en"); !strings.HasPrefix(got, "bad  127.0.0.1") ||
		!strings.Contains(got, "does not answer like Telegram") {
		t.Errorf("got %s", got)
	}
}
