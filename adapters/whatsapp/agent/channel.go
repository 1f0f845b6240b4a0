// Package agent is the channel of WhatsApp's personal agents. A person creates an agent
// in their own app, and its key reaches nobody else. One Channel serves all keys.
//
// Policy. Each key has one poller, a stored cursor, its own rate limits and one sender at a time. The cursor is stored
// after Receiver.Receive stored the messages, and only then are they marked as read, as reading may remove them from
// the service. A message that may have arrived is never sent again, as its outcome cannot be determined.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/markup"
)

const Name = "whatsapp_agent"

const publicAPI = "https://api.whatsapp.com/agent/v1"

// maxText is the longest text of one message in UTF-16 units, with room for markup.
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

// Store is the used part of a channel.Store: the keys, and each account's cursor and lease.
type Store interface {
	Keys(ctx context.Context) ([]Key, error)
	Keeper(account string) core.Keeper
	Lease(ctx context.Context, account string, run func(ctx context.Context) error) error
}

// Options configure a Channel.
type Options struct {
	APIURL string
	Store  Store // nil: there are no keys
	HTTP   *http.Client
	Log    *zap.Logger
	Now    func() time.Time
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
	// polls is between two polls: a burst would use them up for most of a minute.
	keys, lease, standDown, polls              time.Duration
	firstPause, lastPause, busyPause, longPoll time.Duration
	conflicts                                  int           // conflicts within conflictsIn that are reported
	conflictsIn, deadSender                    time.Duration // deadSender: pause of messages with a dead key
}

func usual() pace {
	return pace{
		keys: 15 * time.Second, lease: 3 * time.Second, standDown: time.Minute, polls: 4300 * time.Millisecond,
		firstPause: 100 * time.Millisecond, lastPause: 30 * time.Second, busyPause: 5 * time.Second,
		longPoll: 25 * time.Second, conflicts: 3, conflictsIn: 10 * time.Minute, deadSender: 5 * time.Minute,
	}
}

// New returns the channel. It does not use the network.
func New(opts Options) *Channel {
	return &Channel{opts: opts, log: opts.Log.With(zap.String("channel", Name)), now: opts.Now, pace: usual(),
		refresh: make(chan struct{}, 1), agents: map[int64]*agent{}}
}

func (c *Channel) Name() string { return Name }

// Capabilities returns the limits of the Agent Platform. An agent has only one chat. Of its 12 messages a minute two
// remain in reserve: a burst of four and one every ten seconds are never more than ten in any minute.
func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{MaxText: maxText, Length: markup.UTF16Len, Push: true, RatePerChat: 0.1, BurstPerChat: 4,
		Files: true, Voice: true, NoRepeat: true, Personal: true}
}

// maxAnswer bounds an answer, in bytes. A hundred messages of 4096 characters fit.
const maxAnswer = 8 << 20

func newAPI(o Options, key string) *graph.API {
	return graph.New(strings.TrimRight(o.APIURL, "/"), key, o.HTTP, maxAnswer)
}

type agent struct {
	channel.State
	c       *Channel
	key     Key
	account string
	api     *graph.API
	limits  limits
	sending chan struct{} // held while sending: one at a time
	log     *zap.Logger
}

func (c *Channel) newAgent(k Key) *agent {
	account := strconv.FormatInt(k.ID, 10)
	return &agent{
		c: c, key: k, account: account, api: newAPI(c.opts, k.Secret), limits: newLimits(c.pace),
		sending: make(chan struct{}, 1), log: c.log.With(zap.String("account", account), zap.Int64("user", int64(k.User))),
	}
}

func (a *agent) report(err error) {
	if a.Report(err) {
		a.log.Warn("personal agent does not work", zap.Error(err))
	}
}

func (c *Channel) all() []*agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.agents), func(a, b *agent) int { return cmp.Compare(a.key.ID, b.key.ID) })
}

// CheckAccounts returns the error of every agent, or nil: its present failure and what to
// do, as far as this process knows it.
func (c *Channel) CheckAccounts() map[string]error {
	out := map[string]error{}
	for _, a := range c.all() {
		out[a.account] = a.Check()
	}
	return out
}

// Check returns an error if the keys cannot be read or if all agents fail. The failure of
// one agent is not the channel's; see CheckAccounts.
func (c *Channel) Check() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	var problems []error
	for _, a := range c.all() {
		problem := a.Check()
		if problem == nil {
			return nil
		}
		problems = append(problems, problem)
	}
	return errors.Join(problems...)
}

// Refresh lets Run read the keys immediately, after one was added or removed.
func (c *Channel) Refresh() {
	select {
	case c.refresh <- struct{}{}:
	default:
	}
}

// reload reads the keys and returns their agents. A changed key gets a new agent.
func (c *Channel) reload(ctx context.Context) (map[int64]*agent, error) {
	var keys []Key
	var err error
	if c.opts.Store != nil {
		keys, err = c.opts.Store.Keys(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("read the keys of personal agents: %w", err)
		if ctx.Err() == nil {
			c.err = err
		}
		return nil, err
	}
	c.err = nil
	next := make(map[int64]*agent, len(keys))
	for _, k := range keys {
		next[k.ID] = c.agents[k.ID]
		if a := next[k.ID]; a == nil || a.key.Secret != k.Secret || a.key.User != k.User ||
			!a.key.CreatedAt.Equal(k.CreatedAt) {
			next[k.ID] = c.newAgent(k)
		}
	}
	c.agents = next
	return next, nil
}

// agent returns the agent of an account, or a *core.Permanent error if it was removed.
func (c *Channel) agent(ctx context.Context, account string) (*agent, error) {
	id, err := strconv.ParseInt(account, 10, 64)
	if err != nil {
		return nil, &core.Permanent{Err: errors.New("the account is not the id of a personal agent")}
	}
	c.mu.Lock()
	a := c.agents[id]
	c.mu.Unlock()
	if a != nil {
		return a, nil
	}
	agents, err := c.reload(ctx)
	if err != nil {
		return nil, err
	}
	if a = agents[id]; a == nil {
		return nil, &core.Permanent{Err: errors.New("the key of this personal agent was removed")}
	}
	return a, nil
}

// Run receives with every key until ctx ends, and follows changes of the keys. The
// process with the lease of a key polls it. Run returns nil.
func (c *Channel) Run(ctx context.Context, r core.Receiver) error {
	defer c.opts.HTTP.CloseIdleConnections()
	running := map[int64]*poller{}
	defer func() {
		for _, p := range running {
			p.end()
		}
	}()
	for ctx.Err() == nil {
		if agents, err := c.reload(ctx); err == nil {
			c.follow(ctx, r, running, agents)
		} else if ctx.Err() == nil {
			c.log.Error("keys of personal agents not read", zap.Error(err))
		}
		select {
		case <-ctx.Done():
		case <-c.refresh:
		case <-time.After(c.pace.keys):
		}
	}
	return nil
}

// follow ends the pollers of removed or changed keys, and starts those of new ones.
func (c *Channel) follow(ctx context.Context, r core.Receiver, running map[int64]*poller, agents map[int64]*agent) {
	for id, p := range running {
		if agents[id] != p.a {
			p.end()
			delete(running, id)
		}
	}
	for id, a := range agents {
		if running[id] == nil {
			running[id] = start(ctx, a, r)
		}
	}
}

type poller struct {
	a      *agent
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func start(ctx context.Context, a *agent, r core.Receiver) *poller {
	ctx, cancel := context.WithCancel(ctx)
	p := &poller{a: a, cancel: cancel}
	p.done.Go(func() { a.keepPolling(ctx, r) })
	return p
}

func (p *poller) end() {
	p.cancel()
	p.done.Wait()
}

// errStopped means that the key cannot be used until somebody changes it.
var errStopped = errors.New("the agent is stopped")

// keepPolling polls whenever this process has the lease, until ctx ends or poll returns errStopped.
func (a *agent) keepPolling(ctx context.Context, r core.Receiver) {
	stopped := false
	for ctx.Err() == nil && !stopped {
		err := a.c.opts.Store.Lease(ctx, a.account, func(ctx context.Context) error {
			err := a.poll(ctx, r)
			stopped = errors.Is(err, errStopped)
			return err
		})
		if err != nil && ctx.Err() == nil && !stopped {
			a.log.Debug("lease of personal agent ended", zap.Error(err))
		}
		if !stopped && channel.Pause(ctx, a.c.pace.lease) != nil {
			return
		}
	}
}

// limits are the rolling limits of one key, one for each kind of call. Some calls remain
// in reserve, as the service may count differently.
type limits struct {
	messages, statuses, updates, uploads, lookups *limit
}

func newLimits(p pace) limits {
	return limits{messages: &limit{most: 10}, statuses: &limit{most: 11}, updates: &limit{most: 14, apart: p.polls},
		uploads: &limit{most: 11}, lookups: &limit{most: 11}}
}

const rolling = time.Minute

// limit admits at most `most` calls in any rolling minute, at least `apart` apart.
type limit struct {
	most  int
	apart time.Duration
	mu    sync.Mutex
	calls []time.Time // of the last minute, in order
}

// take counts a call at now and returns 0, or returns how long the call must wait.
func (l *limit) take(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(at time.Time) bool { return now.Sub(at) >= rolling })
	if n := len(l.calls); n > 0 && l.calls[n-1].Add(l.apart).After(now) {
		return l.calls[n-1].Add(l.apart).Sub(now)
	}
	if len(l.calls) < l.most {
		l.calls = append(l.calls, now)
		return 0
	}
	return l.calls[0].Add(rolling).Sub(now)
}

// wait takes a call as soon as the limit admits it. It returns an error only if ctx ends.
func (l *limit) wait(ctx context.Context, now func() time.Time) error {
	for {
		d := l.take(now())
		if d <= 0 {
			return ctx.Err()
		}
		if err := channel.Pause(ctx, d); err != nil {
			return err
		}
	}
}
