package telegram

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
)

const hello = `{"update_id":1,"message":{"message_id":5,"date":1,"from":{"id":7,"is_bot":false},"chat":{"id":7,"type":"private"},"text":"hello"}}`

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret string
		body   io.Reader
		fail   error
		code   int
		kind   core.InboundKind
	}{
		"stored":                 {"s3cret", strings.NewReader(hello), nil, 200, core.InMessage},
		"with the secret before": {"older", strings.NewReader(hello), nil, 200, core.InMessage},
		"wrong secret":           {"guess", unread{t}, nil, 401, ""},
		"no secret":              {"", unread{t}, nil, 401, ""},
		"not stored":             {"s3cret", strings.NewReader(hello), errors.New("disk full"), 503, core.InMessage},
		"malformed":              {"s3cret", strings.NewReader(`{"update_id":`), nil, 200, core.InUnsupported},
		"no bytes":               {"s3cret", strings.NewReader(""), nil, 200, core.InUnsupported},
		"too large":              {"s3cret", strings.NewReader(strings.Repeat(" ", 1<<20+1)), nil, 413, ""},
		"at the limit": {"s3cret", strings.NewReader(hello + strings.Repeat(" ", 1<<20-len(hello))), nil,
			200, core.InMessage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := open(t, Options{Config: Config{Mode: "webhook", WebhookSecret: "s3cret", PreviousSecret: "older"},
				PublicURL: "https://a.example/"})
			b := newInbox()
			b.fail = c.fail
			req := httptest.NewRequest(http.MethodPost, WebhookPath, c.body)
			if c.secret != "" {
				req.Header.Set("X-Telegram-Bot-Api-Secret-Token", c.secret)
			}
			rec := httptest.NewRecorder()
			ch.Routes(b)["POST /webhooks/telegram"].ServeHTTP(rec, req)
			if rec.Code != c.code {
				t.Errorf("answered %d, want %d", rec.Code, c.code)
			}
			if c.kind == "" && len(b.calls) > 0 {
				t.Errorf("passed on %+v", b.calls)
			}
			if c.kind != "" && (len(b.calls) != 1 || b.calls[0][0].Kind != c.kind || b.calls[0][0].EventID == "") {
				t.Errorf("passed on %+v", b.calls)
			}
		})
	}
}

func TestWebhook_onlyWhenAsked(t *testing.T) {
	t.Parallel()
	if routes := open(t, Options{}).Routes(newInbox()); len(routes) > 0 {
		t.Errorf("polling has routes %v", routes)
	}
}

func TestWebhook_isRegistered(t *testing.T) {
	t.Parallel()
	s := telegramtest.New()
	t.Cleanup(s.Close)
	c := open(t, Options{Config: Config{APIURL: s.URL(), Mode: "webhook", WebhookSecret: "x"},
		PublicURL: "http://127.0.0.1:1/"})
	running(t, c, newInbox())
	if err := s.Wait(within(t), func() bool { return s.Webhook() == "http://127.0.0.1:1/webhooks/telegram" }); err != nil {
		t.Errorf("webhook is %q", s.Webhook())
	}
	noErrors(t, s)
}

func TestWebhook_isWatched(t *testing.T) {
	t.Parallel()
	s := telegramtest.New()
	t.Cleanup(s.Close)
	down := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(down.Close)
	c := open(t, Options{Config: Config{APIURL: s.URL(), Mode: "webhook", WebhookSecret: "x"}, PublicURL: down.URL})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.watch(ctx, 10*time.Millisecond)
	}()
	if err := s.Wait(within(t), func() bool { return s.Webhook() == down.URL+WebhookPath }); err != nil {
		t.Error("the address was not set again")
	}
	cancel()
	<-done
}

func TestWebhook_trouble(t *testing.T) {
	t.Parallel()
	now := time.Unix(10000, 0)
	for name, c := range map[string]struct {
		info    models.WebhookInfo
		trouble bool
	}{
		"fine":      {models.WebhookInfo{URL: "https://a.example"}, false},
		"failing":   {models.WebhookInfo{LastErrorMessage: "Connection refused", LastErrorDate: 9990}, true},
		"long over": {models.WebhookInfo{LastErrorMessage: "Connection refused", LastErrorDate: 9000}, false},
	} {
		if err := webhookTrouble(c.info, now, 2*time.Minute); (err != nil) != c.trouble {
			t.Errorf("%s: %v", name, err)
		}
	}
}
