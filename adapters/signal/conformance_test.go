package signal

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMain(m *testing.M) {
	fulltest.Waits()
	goleak.VerifyTestMain(m)
}

const (
	ada = "2f9a1c00-1111-4222-8333-444455556666"
	bob = "3b0b1c00-1111-4222-8333-444455556666"
)

var toAda = core.Address{Channel: Name, Account: signaltest.Account, External: ada}

func TestConformance(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		s := signaltest.New()
		wire := &wire{Transport: &http.Transport{}}
		var ch *Channel
		return adaptertest.Harness{
			New: func(t *testing.T) core.Channel {
				ch = open(t, Options{Config: Config{APIURL: s.URL()}, HTTP: &http.Client{Transport: wire}})
				return ch
			},
			To:  toAda,
			Say: func(text string) { s.Say(ada, text) },
			// The service has no acknowledgements, and repeats nothing that it handed out. What shows that a message is
			// stored is its read mark, which follows as soon as an answer is being written.
			Unacknowledged: func() int {
				if err := ch.Typing(context.Background(), toAda, ""); err != nil {
					t.Errorf("typing: %v", err)
				}
				return s.Unread(ada)
			},
			Sent: func() []string { return texts(s.Sent(ada)) },
			Fail: func(f adaptertest.Fault) bool {
				if f == adaptertest.Away {
					wire.cut.Store(true)
					return true
				}
				s.Fail("send", 1, failure(f))
				return true
			},
			Close: func() { s.Close(); wire.CloseIdleConnections(); noErrors(t, s) },
		}
	})
}

func failure(f adaptertest.Fault) signaltest.Failure {
	switch f {
	case adaptertest.Refused:
		return signaltest.Failure{Code: codeUser, Message: "Invalid style: WAVY"}
	case adaptertest.Unreachable:
		return signaltest.Failure{Code: codeUser, Message: "Failed to send message", Type: "UNREGISTERED_FAILURE"}
	case adaptertest.Wait:
		return signaltest.Failure{Code: codeRate, Message: "rate limiting", Type: "RATE_LIMIT_FAILURE", Wait: 3}
	case adaptertest.Lost:
		return signaltest.Failure{Drop: true}
	case adaptertest.Broken:
		return signaltest.Failure{Code: codeInternal, Message: "An internal server error has occurred."}
	}
	return signaltest.Failure{} // hangs
}

// wire is a network that can be cut for the next call of a method.
type wire struct {
	*http.Transport
	cut atomic.Bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/rpc") && w.cut.CompareAndSwap(true, false) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("no route to host")}
	}
	return w.Transport.RoundTrip(r)
}

// open returns a channel with opts and the account of the fake daemon.
func open(t *testing.T, opts Options) *Channel {
	t.Helper()
	opts.Config.Account = cmp.Or(opts.Config.Account, signaltest.Account)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.HTTP = cmp.Or(opts.HTTP, (*egress.Gate)(nil).Client(opts.APIURL))
	opts.Log = cmp.Or(opts.Log, zap.NewNop())
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.opts.HTTP.CloseIdleConnections)
	return c
}

func texts(all []signaltest.Message) []string {
	var out []string
	for _, m := range all {
		if !m.Deleted {
			out = append(out, m.Text)
		}
	}
	return out
}

// noErrors checks that every request was one that the daemon understands.
func noErrors(t *testing.T, s *signaltest.Server) {
	t.Helper()
	for _, err := range s.Errors() {
		t.Errorf("request: %v", err)
	}
}
