package agent

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const alex = "user:5"

func TestConformance(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		s := agenttest.New()
		s.Add("secret-7", alex)
		keepers := newKeepers()
		wire := &wire{Transport: &http.Transport{}}
		return adaptertest.Harness{
			New: func(t *testing.T) core.Channel {
				return open(t, s, keepers, &list{keys: []Key{{ID: 7, User: 3, Secret: "secret-7"}}}, wire)
			},
			To:             core.Address{Channel: Name, Account: "7", External: alex},
			Say:            func(text string) { s.Say("secret-7", text) },
			Again:          func() { s.Again("secret-7") },
			Unacknowledged: func() int { return s.Behind("secret-7", keepers.cursor("7")) },
			Sent:           func() []string { return texts(s, "secret-7") },
			Fail: func(f adaptertest.Fault) bool {
				if f == adaptertest.Away {
					wire.cut.Store(true)
					return true
				}
				if f == adaptertest.Unreachable {
					return false // does not exist here
				}
				s.Fail("messages", 1, failure(f))
				return true
			},
			Close: func() { s.Close(); wire.CloseIdleConnections(); noErrors(t, s) },
		}
	})
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

func failure(f adaptertest.Fault) agenttest.Failure {
	switch f {
	case adaptertest.Refused:
		return agenttest.Failure{HTTP: 403, Code: 131005}
	case adaptertest.Wait:
		return agenttest.Failure{HTTP: 429, Code: 130429}
	case adaptertest.Lost:
		return agenttest.Failure{Drop: true}
	case adaptertest.Broken:
		return agenttest.Failure{HTTP: 500, Code: 2}
	}
	return agenttest.Failure{} // hangs
}

// list is a list of keys that can change and fail.
type list struct {
	mu   sync.Mutex
	keys []Key
	err  error
}

func (l *list) Keys(context.Context) ([]Key, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Key(nil), l.keys...), l.err
}

func (l *list) set(err error, keys ...Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys, l.err = keys, err
}

// keepers keep the state of accounts, as a store does.
type keepers struct {
	mu     sync.Mutex
	values map[string]map[string]string
	err    error
}

func newKeepers() *keepers {
	return &keepers{values: map[string]map[string]string{}}
}

func (k *keepers) cursor(account string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, _ := strconv.ParseInt(k.values[account][cursorKey], 10, 64)
	return n
}

type keeper struct {
	k       *keepers
	account string
}

func (k keeper) State(_ context.Context, key string) (string, error) {
	k.k.mu.Lock()
	defer k.k.mu.Unlock()
	return k.k.values[k.account][key], nil
}

func (k keeper) SetState(_ context.Context, values map[string]string) error {
	k.k.mu.Lock()
	defer k.k.mu.Unlock()
	if k.k.err != nil {
		return k.k.err
	}
	if k.k.values[k.account] == nil {
		k.k.values[k.account] = map[string]string{}
	}
	maps.Copy(k.k.values[k.account], values)
	return nil
}

// stored is a Store that holds every lease.
type stored struct {
	*list
	kept *keepers
}

func (s stored) Keeper(account string) core.Keeper { return keeper{s.kept, account} }

func (s stored) Lease(ctx context.Context, _ string, run func(context.Context) error) error {
	return run(ctx)
}

// open returns a channel on s that holds every lease, with short pauses.
func open(t *testing.T, s *agenttest.Server, k *keepers, keys *list, via http.RoundTripper) *Channel {
	t.Helper()
	if via == nil {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		via = tr
	}
	c := New(Options{APIURL: s.URL(), Store: stored{keys, k}, HTTP: &http.Client{Transport: via}, Log: zap.NewNop(),
		Now: time.Now})
	c.pace.lease, c.pace.standDown, c.pace.polls = 10*time.Millisecond, 20*time.Millisecond, 0
	c.pace.firstPause, c.pace.busyPause = 10*time.Millisecond, 10*time.Millisecond
	return c
}

func texts(s *agenttest.Server, key string) []string {
	var out []string
	for _, m := range s.Sent(key) {
		out = append(out, m.Text)
	}
	return out
}

// noErrors checks that every request met the platform's rules.
func noErrors(t *testing.T, s *agenttest.Server) {
	t.Helper()
	for _, err := range s.Errors() {
		t.Errorf("request: %v", err)
	}
}
