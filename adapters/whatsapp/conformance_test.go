package whatsapp

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMain(m *testing.M) {
	fulltest.Waits()
	goleak.VerifyTestMain(m)
}

// People of the tests: one with an id and a number, and one with a number only.
var (
	ada = whatsapptest.Person{Phone: "16505551234", UserID: "US.13491208655302741918", Name: "Ada"}
	bob = whatsapptest.Person{Phone: "4915112345678", Name: "Bob"}
)

func to(p whatsapptest.Person) core.Address {
	external := p.UserID
	if external == "" {
		external = "+" + p.Phone
	}
	return core.Address{Channel: Name, Account: whatsapptest.PhoneNumberID, External: external}
}

func TestConformance(t *testing.T) {
	for name, p := range map[string]whatsapptest.Person{"by id": ada, "by number": bob} {
		t.Run(name, func(t *testing.T) {
			adaptertest.Test(t, func(t *testing.T) adaptertest.Harness { return harness(t, p) })
		})
	}
}

func harness(t *testing.T, p whatsapptest.Person) adaptertest.Harness {
	s := whatsapptest.New()
	ours := serve(s)
	wire := &wire{Transport: &http.Transport{}}
	return adaptertest.Harness{
		New:            func(t *testing.T) core.Channel { return open(t, s, Options{HTTP: &http.Client{Transport: wire}}) },
		Mount:          ours.mount,
		To:             to(p),
		Say:            func(text string) { s.Say(p, text) },
		Again:          s.Again,
		Unacknowledged: s.Pending,
		Sent:           func() []string { return texts(s) },
		Fail: func(f adaptertest.Fault) bool {
			if f == adaptertest.Away {
				wire.cut.Store(true)
				return true
			}
			s.Fail("messages", 1, failure(f))
			return true
		},
		Close: func() { s.Close(); ours.Close(); wire.CloseIdleConnections(); noErrors(t, s) },
	}
}

// wire is a network that can be cut for the next message.
type wire struct {
	*http.Transport
	cut atomic.Bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/messages") && w.cut.CompareAndSwap(true, false) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("no route to host")}
	}
	return w.Transport.RoundTrip(r)
}

func failure(f adaptertest.Fault) whatsapptest.Failure {
	switch f {
	case adaptertest.Refused:
		return whatsapptest.Failure{HTTP: 400, Code: 131009, Details: "Parameter value is not valid"}
	case adaptertest.Unreachable:
		return whatsapptest.Failure{HTTP: 400, Code: 131026}
	case adaptertest.Wait:
		return whatsapptest.Failure{HTTP: 429, Code: 130429}
	case adaptertest.Lost:
		return whatsapptest.Failure{Drop: true}
	case adaptertest.Broken:
		return whatsapptest.Failure{HTTP: 500, Code: 131000}
	}
	return whatsapptest.Failure{} // hangs
}

func texts(s *whatsapptest.Server) []string {
	var out []string
	for _, m := range s.Sent() {
		out = append(out, m.Text)
	}
	return out
}

// gateway serves the webhook, as the gateway's HTTP server does.
type gateway struct {
	*httptest.Server
	mu  sync.Mutex
	mux *http.ServeMux
}

// serve starts a gateway that receives the webhooks of s.
func serve(s *whatsapptest.Server) *gateway {
	g := &gateway{mux: http.NewServeMux()}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		m := g.mux
		g.mu.Unlock()
		m.ServeHTTP(w, r)
	}))
	s.Webhook(g.URL + WebhookPath)
	return g
}

func (g *gateway) mount(routes map[string]http.Handler) {
	m := http.NewServeMux()
	for pattern, handler := range routes {
		m.Handle(pattern, handler)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mux = m
}

// open returns a channel on s.
func open(t *testing.T, s *whatsapptest.Server, opts Options) core.Channel {
	t.Helper()
	opts.PhoneNumberID, opts.AccessToken = whatsapptest.PhoneNumberID, whatsapptest.Token
	opts.AppSecret, opts.VerifyToken = whatsapptest.AppSecret, whatsapptest.VerifyToken
	usual := Default()
	opts.APIURL, opts.APIVersion, opts.TemplateLanguage = usual.APIURL, usual.APIVersion, usual.TemplateLanguage
	if s != nil {
		opts.APIURL = s.URL()
	}
	opts.HTTP = cmp.Or(opts.HTTP, (*egress.Gate)(nil).Client(opts.APIURL))
	opts.Log = cmp.Or(opts.Log, zap.NewNop())
	if opts.Now == nil {
		opts.Now = time.Now
	}
	ch, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// noErrors checks that every message matched Meta's description.
func noErrors(t *testing.T, s *whatsapptest.Server) {
	t.Helper()
	for _, err := range s.Errors() {
		t.Errorf("request: %v", err)
	}
}
