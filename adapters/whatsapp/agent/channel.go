// Package agent is the channel of WhatsApp's personal agents. A person creates an agent
// in their own app, and its key reaches nobody else. One Channel serves all keys.
//
// Policy. Each key has one poller, a stored cursor, its own rate limits and one sender at
// a time. The cursor is stored after Receiver.Receive stored the messages, and only then
// are they marked as read, as reading may remove them from the service. A message that
// may have arrived is never sent again, as its outcome cannot be determined.
package agent

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust/egress"
)

const Name = "whatsapp_agent"

const publicAPI = "https://api.whatsapp.com/agent/v1"

// maxText is the longest text of one message in UTF-16 units, with room for
// markup.
const maxText = 3800

var (
	_ core.Channel        = (*Channel)(nil)
	_ core.Describer      = (*Channel)(nil)
	_ core.Typer          = (*Channel)(nil)
	_ core.Checker        = (*Channel)(nil)
	_ core.Fetcher        = (*Channel)(nil)
	_ core.Diagnoser      = (*Channel)(nil)
	_ core.AccountChecker = (*Channel)(nil)
)

// Key is the key of one personal agent.
type Key = channel.Key

// Store is the used part of a channel.Store: the keys, and each account's cursor and
// lease.
type Store interface {
	Keys(ctx context.Context) ([]Key, error)
	Keeper(account string) core.Keeper
	Lease(ctx context.Context, account string, run func(ctx context.Context) error) error
}

// Options configure a Channel. Store is required.
type Options struct {
	APIURL string // empty: https://api.whatsapp.com/agent/v1
	Store  Store

	HTTP *http.Client     // nil: one with the default egress policy
	Log  *zap.Logger      // nil: none
	Now  func() time.Time // nil: time.Now
}

// Channel serves all personal agents. Its methods may be called concurrently, in any
// number of processes. The process with an agent's lease receives its messages.
type Channel struct {
	opts    Options
	log     *zap.Logger
	now     func() time.Time
	pace    pace
	refresh chan struct{}

	mu     sync.Mutex
	agents map[int64]*agent
	err    error // of reading the keys
}

type pace struct {
	keys, lease, standDown  time.Duration
	polls                   time.Duration // between two polls: a burst would use them up for most of a minute
	firstPause, lastPause   time.Duration
	busyPause, longPoll     time.Duration
	conflicts               int           // conflicts within conflictsIn that are reported
	conflictsIn, deadSender time.Duration // deadSender: pause of messages with a dead key
}

func usual() pace {
	return pace{
		keys: 15 * time.Second, lease: 3 * time.Second, standDown: time.Minute, polls: 4300 * time.Millisecond,
		firstPause: 100 * time.Millisecond, lastPause: 30 * time.Second, busyPause: 5 * time.Second,
		longPoll: 25 * time.Second, conflicts: 3, conflictsIn: 10 * time.Minute, deadSender: 5 * time.Minute,
	}
}

// New checks opts and returns the channel. It does not use the network.
func New(opts Options) (*Channel, error) {
	opts.APIURL = cmp.Or(opts.APIURL, publicAPI)
	if u, err := url.Parse(opts.APIURL); err != nil || u.Host == "" {
		return nil, errors.New("whatsapp_agent: api_url is not a URL")
	}
	if opts.Store == nil {
		return nil, errors.New("whatsapp_agent: a store is required")
	}
	if opts.HTTP == nil {
		opts.HTTP = (*egress.Gate)(nil).Client(opts.APIURL)
	}
	opts.Log = cmp.Or(opts.Log, zap.NewNop())
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.APIURL = strings.TrimRight(opts.APIURL, "/")
	return &Channel{
		opts: opts, log: opts.Log.With(zap.String("channel", Name)), now: opts.Now, pace: usual(),
		refresh: make(chan struct{}, 1), agents: map[int64]*agent{},
	}, nil
}

func (c *Channel) Name() string { return Name }

// Capabilities returns the limits of the Agent Platform. An agent has only one chat. Of
// its 12 messages a minute two remain in reserve: a burst of four and one every ten
// seconds are never more than ten in any minute.
func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{
		MaxText: maxText, Length: markup.UTF16Len, Push: true,
		RatePerChat: 0.1, BurstPerChat: 4, Files: true, Voice: true, NoRepeat: true, Personal: true,
	}
}

// maxAnswer bounds an answer, in bytes. A hundred messages of 4096 characters fit.
const maxAnswer = 8 << 20

type (
	apiError = graph.Error
	netError = graph.NetError
	call     = graph.Call
)

func newAPI(o Options, key string) *graph.API {
	return graph.New(o.APIURL, key, o.HTTP, maxAnswer)
}
