package matrix

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/internal/fulltest"
)

const (
	us    = "@assistant:hs.test"
	ada   = "@ada:hs.test"
	alice = "11111111-bbbb-4000-8000-000000000002"
)

func TestMain(m *testing.M) {
	fulltest.Waits()
	goleak.VerifyTestMain(m)
}

// keeper stores in memory, and can fail.
type keeper struct {
	mu     sync.Mutex
	values map[string]string
	before func(values map[string]string) error
}

func newKeeper(values map[string]string) *keeper {
	k := &keeper{values: map[string]string{}}
	maps.Copy(k.values, values)
	return k
}

func (k *keeper) State(_ context.Context, key string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.values[key], nil
}

func (k *keeper) SetState(_ context.Context, values map[string]string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.before != nil {
		if err := k.before(values); err != nil {
			return err
		}
	}
	for key, v := range values {
		if k.values[key] = v; v == "" {
			delete(k.values, key)
		}
	}
	return nil
}

func TestConformance_native(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		s := matrixtest.New(us)
		return harness(s, s.Direct(ada), ada, func(c *Channel) core.Channel { return c },
			core.Address{Channel: Name, Account: us, External: ada})
	})
}

func TestConformance_bridged(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		s := matrixtest.New(us)
		pick := func(c *Channel) core.Channel { return portalChannel{Channel: c.Carries()[0], carrier: c} }
		return harness(s, s.Portal(alice), matrixtest.Ghost(alice), pick,
			core.Address{Channel: "signal", Account: us, External: alice})
	})
}

// portalChannel is a bridged channel with its carrier.
type portalChannel struct {
	core.Channel
	carrier *Channel
}

func (p portalChannel) Run(ctx context.Context, r core.Receiver) error { return p.carrier.Run(ctx, r) }

func (p portalChannel) Capabilities() core.Capabilities {
	return p.Channel.(core.Describer).Capabilities()
}

// harness is an account that has synced before, with one person.
func harness(s *matrixtest.Server, room, person string, pick func(*Channel) core.Channel,
	to core.Address) adaptertest.Harness {
	k := newKeeper(map[string]string{keySync: s.Position()})
	var mu sync.Mutex
	var last string
	return adaptertest.Harness{
		New: func(t *testing.T) core.Channel { return pick(open(t, s, k, nil)) },
		To:  to,
		Say: func(text string) {
			id := s.Say(room, person, text)
			mu.Lock()
			last = id
			mu.Unlock()
		},
		Again:          func() { mu.Lock(); defer mu.Unlock(); s.Again(last) },
		Unacknowledged: s.Unacknowledged,
		Sent: func() []string {
			var texts []string
			for _, e := range s.Sent(room) {
				if e.Text() != "" {
					texts = append(texts, e.Text())
				}
			}
			return texts
		},
		Fail:  func(f adaptertest.Fault) bool { return fail(s, f) },
		Close: s.Close,
	}
}

func fail(s *matrixtest.Server, f adaptertest.Fault) bool {
	switch f {
	case adaptertest.Refused:
		s.Fail("send", 1, matrixtest.Failure{Code: http.StatusRequestEntityTooLarge, Err: "M_TOO_LARGE"})
	case adaptertest.Unreachable:
		s.Fail("send", 1, matrixtest.Failure{Code: http.StatusForbidden, Err: "M_FORBIDDEN"})
	case adaptertest.Wait:
		s.Fail("send", 1, matrixtest.Failure{Code: http.StatusTooManyRequests, Err: "M_LIMIT_EXCEEDED", RetryAfter: 3000})
	case adaptertest.Lost:
		s.Fail("send", 1, matrixtest.Failure{Drop: true})
	case adaptertest.Broken:
		s.Fail("send", 1, matrixtest.Failure{Code: http.StatusBadGateway, Err: "M_UNKNOWN"})
	case adaptertest.Hangs:
		s.Fail("send", 1, matrixtest.Failure{})
	default:
		return false // see TestSend_notLeft
	}
	return true
}

// open returns a channel on the test server with one bridge.
func open(t *testing.T, s *matrixtest.Server, k core.Keeper, change func(*Options)) *Channel {
	t.Helper()
	o := Options{
		Config: Config{Homeserver: s.URL(), UserID: us, AccessToken: matrixtest.Token,
			Autojoin: []string{"*:hs.test"}, Bridges: []string{"signal=" + matrixtest.Bot}},
		Keeper: k, HTTP: (*egress.Gate)(nil).Client(s.URL()), Log: zap.NewNop(), Now: time.Now, Rand: rand.Reader,
	}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.opts.HTTP.CloseIdleConnections)
	return c
}
