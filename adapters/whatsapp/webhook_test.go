package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// inbox is a core.Receiver.
type inbox struct {
	mu    sync.Mutex
	in    []core.Inbound
	calls int
	fail  error
	woken chan struct{}
}

func newInbox() *inbox { return &inbox{woken: make(chan struct{}, 100)} }

func (b *inbox) Receive(_ context.Context, in ...core.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	b.in = append(b.in, in...)
	select {
	case b.woken <- struct{}{}:
	default:
	}
	return b.fail
}

// wait returns the events once what returns true for them.
func (b *inbox) wait(t *testing.T, what func(core.Inbound) bool) core.Inbound {
	t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for {
		b.mu.Lock()
		for _, in := range b.in {
			if what(in) {
				b.mu.Unlock()
				return in
			}
		}
		b.mu.Unlock()
		select {
		case <-b.woken:
		case <-late.C:
			t.Fatal("it did not come")
		}
	}
}

func hello() string {
	return string(whatsapptest.Body(ada, "wamid.1", time.Unix(1790000000, 0), map[string]any{
		"type": "text", "text": map[string]any{"body": "hëllo 🙂 a/b@c <d>"},
	}))
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	good := whatsapptest.Sign([]byte(hello()))
	for name, c := range map[string]struct {
		signature string
		body      string
		fail      error
		code      int
		kinds     string
	}{
		"stored":                 {good, hello(), nil, 200, "message"},
		"with the secret before": {sign("older-secret", []byte(hello())), hello(), nil, 200, "message"},
		"not stored":             {good, hello(), errors.New("disk full"), 503, "message"},
		"forged":                 {sign("guess", []byte(hello())), hello(), nil, 401, ""},
		"of an empty secret":     {sign("", []byte(hello())), hello(), nil, 401, ""},
		"of another body":        {good, strings.Replace(hello(), "wamid.1", "wamid.2", 1), nil, 401, ""},
		"of the same rewritten":  {good, strings.ReplaceAll(hello(), `\/`, `/`), nil, 401, ""},
		"in upper case":          {"sha256=" + strings.ToUpper(good[7:]), hello(), nil, 401, ""},
		"of another algorithm":   {"sha512=" + good[7:], hello(), nil, 401, ""},
		"signed but not JSON":    {whatsapptest.Sign([]byte(`{"object":`)), `{"object":`, nil, 200, "unsupported"},
		"signed and empty":       {whatsapptest.Sign(nil), "", nil, 200, "unsupported"},
		"of another number":      {"", strings.Replace(hello(), whatsapptest.PhoneNumberID, "999", 1), nil, 200, ""},
		"too large":              {"", hello() + strings.Repeat(" ", maxPayload), nil, 413, ""},
		"at the limit":           {"", hello() + strings.Repeat(" ", maxPayload-len(hello())), nil, 200, "message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.signature == "" {
				c.signature = whatsapptest.Sign([]byte(c.body))
			}
			b := newInbox()
			b.fail = c.fail
			rec := postWebhook(t, b, c.signature, strings.NewReader(c.body))
			if rec.Code != c.code {
				t.Errorf("answered %d, want %d", rec.Code, c.code)
			}
			var kinds []string
			for _, in := range b.in {
				kinds = append(kinds, string(in.Kind))
			}
			if got := strings.Join(kinds, " "); got != c.kinds {
				t.Errorf("stored %q, want %q", got, c.kinds)
			}
		})
	}
}

// An unsigned body is refused before it is read.
func TestWebhook_withoutSignature(t *testing.T) {
	t.Parallel()
	good := whatsapptest.Sign([]byte(hello()))
	for _, signature := range []string{"", "sha256=", good[:len(good)-1], good[7:], good + "0"} {
		b := newInbox()
		if rec := postWebhook(t, b, signature, unread{t}); rec.Code != http.StatusUnauthorized || b.calls > 0 {
			t.Errorf("%q: answered %d after %d calls", signature, rec.Code, b.calls)
		}
	}
}

func postWebhook(t *testing.T, r core.Receiver, signature string, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	ch := open(t, nil, Options{Config: Config{PreviousSecret: "older-secret"}}).(channel.Handler)
	req := httptest.NewRequest(http.MethodPost, WebhookPath, body)
	if signature != "" {
		req.Header.Set(signatureHeader, signature)
	}
	rec := httptest.NewRecorder()
	ch.Routes(r)["POST "+WebhookPath].ServeHTTP(rec, req)
	return rec
}

// A secret that is not configured accepts no signature.
func TestWebhook_noPreviousSecret(t *testing.T) {
	t.Parallel()
	ch := open(t, nil, Options{}).(*Channel)
	if ch.signed(sign("", []byte("x")), []byte("x")) || !ch.signed(whatsapptest.Sign([]byte("x")), []byte("x")) {
		t.Error("the empty secret signs")
	}
}

// All events of a body are one call.
func TestWebhook_storesAtOnce(t *testing.T) {
	t.Parallel()
	b := newInbox()
	body := thousand(t)
	if rec := postWebhook(t, b, whatsapptest.Sign(body), strings.NewReader(string(body))); rec.Code != 200 {
		t.Errorf("answered %d", rec.Code)
	}
	if b.calls != 1 || len(b.in) != 1000 {
		t.Errorf("%d calls with %d events", b.calls, len(b.in))
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]int{
		"hub.mode=subscribe&hub.challenge=42&hub.verify_token=" + whatsapptest.VerifyToken:   200,
		"hub.mode=subscribe&hub.challenge=42&hub.verify_token=guess":                         403,
		"hub.mode=subscribe&hub.challenge=42":                                                403,
		"hub.mode=unsubscribe&hub.challenge=42&hub.verify_token=" + whatsapptest.VerifyToken: 403,
		"": 403,
	} {
		rec := httptest.NewRecorder()
		ch := open(t, nil, Options{}).(channel.Handler)
		ch.Routes(newInbox())["GET "+WebhookPath].ServeHTTP(rec,
			httptest.NewRequest(http.MethodGet, WebhookPath+"?"+query, nil))
		if rec.Code != want || want == 200 && rec.Body.String() != "42" || want != 200 &&
			strings.Contains(rec.Body.String(), "42") {
			t.Errorf("%q: answered %d %q", query, rec.Code, rec.Body)
		}
	}
}

// Only the right signature is accepted.
func FuzzSignature(f *testing.F) {
	good := whatsapptest.Sign([]byte(hello()))
	for _, s := range []string{good, strings.ToUpper(good), good[:20], "", "sha256=" + strings.Repeat("0", 64)} {
		f.Add(s, hello())
	}
	f.Fuzz(func(t *testing.T, signature, body string) {
		ch := open(t, nil, Options{Config: Config{PreviousSecret: "older-secret"}}).(*Channel)
		want := signature == sign(whatsapptest.AppSecret, []byte(body)) || signature == sign("older-secret", []byte(body))
		if got := ch.signed(signature, []byte(body)); got != want {
			t.Errorf("signature %q of %q: %v", signature, body, got)
		}
	})
}

// Any signed body is stored.
func FuzzWebhook(f *testing.F) {
	f.Add(hello())
	f.Add(`{"entry":[{"changes":[{"field":"messages","value":[]}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		b := newInbox()
		if rec := postWebhook(t, b, whatsapptest.Sign([]byte(body)), strings.NewReader(body)); rec.Code != 200 {
			t.Errorf("answered %d", rec.Code)
		}
		if len(b.in) == 0 && !json.Valid([]byte(body)) {
			t.Error("not kept")
		}
	})
}
