// Package agent is the channel of WhatsApp's personal agents: an agent
// that a person makes in their own app, and whose key talks to nobody else. One Channel serves all keys.
//
// Policy. Each key has one poller, a stored cursor, its own rate limits and one
// sender at a time. The cursor is stored after Receiver.Receive took the
// messages, and only then are they marked as read, since reading may remove
// them from the service. A message that may have arrived is never sent again,
// since nothing tells what became of it.
package agent

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust/egress"
)

// Name is the channel's name.
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

// Store is what is asked of a channel.Store: the keys that are in use, and of each
// account its cursor and lease.
type Store interface {
	Keys(ctx context.Context) ([]Key, error)
	Keeper(account string) core.Keeper
	Lease(ctx context.Context, account string, run func(ctx context.Context) error) error
}

// Options configure a Channel. Store is required.
type Options struct {
	APIURL string // empty: https://api.whatsapp.com/agent/v1
	Store  Store

	HTTP *http.Client     // nil: the policy alone
	Log  *zap.Logger      // nil: none
	Now  func() time.Time // nil: time.Now
}

// Channel is all personal agents. Its methods may be called concurrently, by
// any number of processes; an agent's messages are taken by the one that has its
// lease.
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

// pace is how long things wait.
type pace struct {
	keys, lease, standDown  time.Duration
	polls                   time.Duration // from one to the next: used up in a burst, they would be missed for most of a minute
	firstPause, lastPause   time.Duration
	busyPause, longPoll     time.Duration
	conflicts               int           // how many are reported
	conflictsIn, deadSender time.Duration // within this time; how long messages of a dead key wait
}

// usual is the pace at which the service is asked.
func usual() pace {
	return pace{
		keys: 15 * time.Second, lease: 3 * time.Second, standDown: time.Minute, polls: 4300 * time.Millisecond,
		firstPause: 100 * time.Millisecond, lastPause: 30 * time.Second, busyPause: 5 * time.Second,
		longPoll: 25 * time.Second, conflicts: 3, conflictsIn: 10 * time.Minute, deadSender: 5 * time.Minute,
	}
}

// New checks opts and returns the channel. It does not use the network.
func New(opts Options) (*Channel, error) {
	if opts.APIURL == "" {
		opts.APIURL = publicAPI
	}
	if u, err := url.Parse(opts.APIURL); err != nil || u.Host == "" {
		return nil, errors.New("whatsapp_agent: api_url is no URL")
	}
	if opts.Store == nil {
		return nil, errors.New("whatsapp_agent: a store is required")
	}
	if opts.HTTP == nil {
		opts.HTTP = (*egress.Gate)(nil).Client(opts.APIURL)
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.APIURL = strings.TrimRight(opts.APIURL, "/")
	return &Channel{
		opts: opts, log: opts.Log.With(zap.String("channel", Name)), now: opts.Now, pace: usual(),
		refresh: make(chan struct{}, 1), agents: map[int64]*agent{},
	}, nil
}

// Name returns "whatsapp_agent".
func (c *Channel) Name() string { return Name }

// Capabilities returns the limits of the Agent Platform. An agent has one
// chat only; of its 12 messages a minute two are kept spare: four at once and one
// every ten seconds are never more than ten in any minute.
func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{
		MaxText: maxText, Length: markup.UTF16Len, Push: true,
		RatePerChat: 0.1, BurstPerChat: 4, Files: true, Voice: true, NoRepeat: true, Personal: true,
	}
}
