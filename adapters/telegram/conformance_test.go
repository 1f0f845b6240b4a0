package telegram

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/internal/fulltest"
)

const ada = 111222333

func TestMain(m *testing.M) {
	fulltest.Waits()
	goleak.VerifyTestMain(m)
}

func TestConformance_polling(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		s := telegramtest.New()
		h := harness(s)
		h.New = func(t *testing.T) core.Channel {
			return open(t, Options{Config: Config{APIURL: s.URL()}})
		}
		h.Close = func() { s.Close(); noErrors(t, s) }
		return h
	})
}

func TestConformance_webhook(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		s := telegramtest.New()
		h := harness(s)
		var mu sync.Mutex
		mux := http.NewServeMux()
		ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			m := mux
			mu.Unlock()
			m.ServeHTTP(w, r)
		}))
		h.Mount = func(routes map[string]http.Handler) {
			m := http.NewServeMux()
			for pattern, handler := range routes {
				m.Handle(pattern, handler)
			}
			mu.Lock()
			defer mu.Unlock()
			mux = m
		}
		h.New = func(t *testing.T) core.Channel {
			return open(t, Options{Config: Config{APIURL: s.URL(), Mode: "webhook", WebhookSecret: "s3cret"},
				PublicURL: ours.URL})
		}
		h.Close = func() { s.Close(); ours.Close(); noErrors(t, s) }
		return h
	})
}

func harness(s *telegramtest.Server) adaptertest.Harness {
	return adaptertest.Harness{
		To:             core.Address{Channel: Name, Account: "123456", External: "111222333"},
		Say:            func(text string) { s.Say(ada, text) },
		Again:          func() { s.Again(s.LastUpdate()) },
		Unacknowledged: s.Pending,
		Sent: func() []string {
			var texts []string
			for _, m := range s.Sent(ada) {
				if !m.Deleted {
					texts = append(texts, m.Text)
				}
			}
			return texts
		},
		Fail: func(f adaptertest.Fault) bool { return fail(s, f) },
	}
}

func fail(s *telegramtest.Server, f adaptertest.Fault) bool {
	switch f {
	case adaptertest.Refused:
		s.Fail("sendMessage", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: message is too long"})
	case adaptertest.Unreachable:
		s.Fail("sendMessage", 1, telegramtest.Failure{Code: 403})
	case adaptertest.Wait:
		s.Fail("sendMessage", 1, telegramtest.Failure{Code: 429, RetryAfter: 3})
	case adaptertest.Lost:
		s.Fail("sendMessage", 1, telegramtest.Failure{Drop: true})
	case adaptertest.Broken:
		s.Fail("sendMessage", 1, telegramtest.Failure{Code: 502})
	case adaptertest.Hangs:
		s.Fail("sendMessage", 1, telegramtest.Failure{})
	default:
		return false // see TestSend_notLeft
	}
	return true
}

// open returns a channel with opts and the test server's token.
func open(t *testing.T, opts Options) *Channel {
	t.Helper()
	opts.Token, opts.Now = telegramtest.Token, time.Now
	opts.HTTP = cmp.Or(opts.HTTP, (*egress.Gate)(nil).Client(opts.APIURL))
	opts.Log = cmp.Or(opts.Log, zap.NewNop())
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.opts.HTTP.CloseIdleConnections)
	return c
}

// noErrors checks that every request matched the Bot API's description.
func noErrors(t *testing.T, s *telegramtest.Server) {
	t.Helper()
	for _, err := range s.Errors() {
		t.Errorf("request: %v", err)
	}
}
