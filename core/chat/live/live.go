// Package live notifies open pages and waiting clients of changes of a user's rows, and of answers that are being
// written. A follower gets the news of this process, and those of other processes about users who are followed here.
//
// All news are stored, or about to be: they may be lost here, and followers read the store regularly.
package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// Bus carries news within and between processes.
type Bus interface {
	store.Waker
	store.Changes
}

// Hub passes news on to the followers of users. It is safe for concurrent use.
type Hub struct {
	bus    Bus
	worker string
	now    func() time.Time
	log    *zap.Logger

	listens chan struct{} // this process has begun to listen to the others
	asked   chan struct{} // another process asks which users are followed here

	mu    sync.Mutex
	feeds map[core.UserID]map[*Feed]struct{}
	afar  map[core.UserID]time.Time // users followed in other processes, until when at least
	told  map[previewID]time.Time   // when previews were last sent to other processes
	knows time.Time                 // when this process knows who is followed in the others
}

// New returns a hub. worker is the unique name of this process.
func New(bus Bus, worker string, now func() time.Time, log *zap.Logger) *Hub {
	return &Hub{bus: bus, worker: worker, now: now, log: log, listens: make(chan struct{}, 1), asked: make(chan struct{},
		1), feeds: map[core.UserID]map[*Feed]struct{}{}, afar: map[core.UserID]time.Time{}, told: map[previewID]time.Time{}}
}

// Preview is an answer that is being written.
type Preview struct {
	Turn   core.TurnID   `json:"turn"`
	Thread core.ThreadID `json:"thread"`
	Text   string        `json:"text"`
	// Missing is the number of bytes before Text that are not known here, because the answer
	// is too long to be passed between processes.
	Missing int `json:"missing,omitempty"`
}

// News is what happened since the last Next.
type News struct {
	Changed  bool      // rows of the user were written
	Previews []Preview // those that grew
}

// Feed is one follower of a user. It is for one goroutine; another one may call Close.
type Feed struct {
	hub     *Hub
	user    core.UserID
	session int64 // of the page that follows; 0: another follower
	wake    chan struct{}

	mu       sync.Mutex
	changed  bool
	previews []Preview
}

// Follow begins to follow a user. The caller closes the feed.
func (h *Hub) Follow(user core.UserID) *Feed { return h.FollowPage(user, 0) }

// FollowPage is Follow for an open page of a session.
func (h *Hub) FollowPage(user core.UserID, session int64) *Feed {
	f := &Feed{hub: h, user: user, session: session, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	first := len(h.feeds[user]) == 0
	if first {
		h.feeds[user] = map[*Feed]struct{}{}
	}
	h.feeds[user][f] = struct{}{}
	h.mu.Unlock()
	if first {
		h.announce(user)
	}
	return f
}

// Open reports whether a page of a session follows the user in this process.
func (h *Hub) Open(user core.UserID, session int64) bool {
	return slices.ContainsFunc(h.followers(user), func(f *Feed) bool { return f.session == session })
}

// Close ends following.
func (f *Feed) Close() {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	all := f.hub.feeds[f.user]
	delete(all, f)
	if len(all) == 0 {
		delete(f.hub.feeds, f.user)
	}
}

// Next waits for news, for at most wait. No news is not an error. It returns the error of ctx.
func (f *Feed) Next(ctx context.Context, wait time.Duration) (News, error) {
	select {
	case <-ctx.Done():
		return News{}, ctx.Err()
	case <-time.After(wait):
	case <-f.wake:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := News{Changed: f.changed, Previews: f.previews}
	f.changed, f.previews = false, nil
	return n, nil
}

// signal sends a value unless one is waiting.
func signal(sign chan struct{}) {
	select {
	case sign <- struct{}{}:
	default:
	}
}

func (f *Feed) change() {
	f.mu.Lock()
	f.changed = true
	f.mu.Unlock()
	signal(f.wake)
}

func (f *Feed) preview(p Preview) {
	f.mu.Lock()
	f.previews = append(slices.DeleteFunc(f.previews, func(old Preview) bool { return old.Turn == p.Turn }), p)
	f.mu.Unlock()
	signal(f.wake)
}

// all returns the feeds of all users.
func (h *Hub) all() (out []*Feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, feeds := range h.feeds {
		out = slices.AppendSeq(out, maps.Keys(feeds))
	}
	return out
}

// followers returns the feeds of a user in this process.
func (h *Hub) followers(user core.UserID) []*Feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.feeds[user]))
}

// Door is a channel of the gateway itself, for browsers or programs that read messages
// themselves: nothing is sent there.
type Door struct {
	Channel string // its name
	Can     core.Capabilities
}

var _ core.Describer = Door{}

// Name returns the channel's name.
func (d Door) Name() string { return d.Channel }

// Capabilities returns those of the channel.
func (d Door) Capabilities() core.Capabilities { return d.Can }

// Run waits until ctx ends: messages arrive over HTTP.
func (d Door) Run(ctx context.Context, _ core.Receiver) error { <-ctx.Done(); return nil }

// Send does nothing: the message is in the transcript, and its followers are notified.
func (d Door) Send(_ context.Context, _ core.Address, p core.Part) (core.Receipt, error) {
	return core.Receipt{NativeID: "sent-" + p.Key}, nil
}

// SittingStore is the part of a store that a Sitting uses.
type SittingStore interface {
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Turns(ctx context.Context, user core.UserID, limit int) ([]core.Turn, error)
	History(ctx context.Context, user core.UserID, thread core.ThreadID, before core.MessageID,
		limit int) ([]core.Message, error)
	Deliveries(ctx context.Context, q store.DeliveryQuery) ([]core.Delivery, error)
}

// Sitting is a conversation at an address whose user writes and waits for the replies. All fields are required.
type Sitting struct {
	Store   SittingStore
	Address core.Address
	User    core.UserID // who sat down; the address may be taken from them
	Since   time.Time
	Budget  Budget
}

// Pauses between two checks of Wait.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// Wait waits until the sitting is settled. Until then it calls tell after each check, with
// the running turn, if any, and with the error of the check. It returns core.ErrNotFound when the address is nobody's
// any more, and what was sent to it has arrived.
func (s *Sitting) Wait(ctx context.Context, tell func(running *core.Turn, err error)) error {
	for wait := firstLook; ctx.Err() == nil; wait = min(wait*5/4, lastLook) {
		done, running, err := s.Settled(ctx)
		if done {
			return err
		}
		tell(running, err)
		job.Wait(ctx, wait)
	}
	return ctx.Err()
}

// Recent returns the user and the newest readable messages of the conversation, oldest
// first, without those whose delivery to this address is still under way.
func (s *Sitting) Recent(ctx context.Context, limit int) (core.User, []core.Message, error) {
	i, u, err := s.Store.Identify(ctx, s.Address)
	if err != nil {
		return u, nil, err
	}
	messages, err := s.Store.History(ctx, u.ID, i.Thread, 0, 10*limit)
	if err != nil {
		return u, nil, err
	}
	coming, err := s.Store.Deliveries(ctx, store.DeliveryQuery{User: u.ID,
		States: []core.DeliveryState{core.DeliveryPending, core.DeliverySending}, Limit: 100})
	messages = slices.DeleteFunc(messages, func(m core.Message) bool {
		arrives := func(d core.Delivery) bool { return d.Message == m.ID && d.To == s.Address }
		return !readable(m) || slices.ContainsFunc(coming, arrives)
	})
	return u, messages[max(0, len(messages)-limit):], err
}

func readable(m core.Message) bool {
	kinds := []core.MessageKind{core.KindChat, core.KindDayPost, core.KindReminder}
	return slices.Contains(kinds, m.Kind) && m.Text != "" && (m.Role == core.RoleUser || m.Role == core.RoleAssistant)
}

// Settled reports whether no more answers are expected: all messages of the address are
// answered, and the answers have been sent. running is the running turn, or nil. If the address is nobody's any more,
// it is done with core.ErrNotFound.
func (s *Sitting) Settled(ctx context.Context) (done bool, running *core.Turn, err error) {
	i, u, err := s.Store.Identify(ctx, s.Address)
	if errors.Is(err, core.ErrNotFound) {
		if sending, err := s.sending(ctx, s.User); err != nil || len(sending) > 0 {
			return false, nil, err
		}
		return true, nil, err
	}
	if err != nil {
		return false, nil, err
	}
	turns, err := s.Store.Turns(ctx, u.ID, recent)
	if err != nil {
		return false, nil, err
	}
	for n := range turns {
		if turns[n].State == core.TurnRunning && turns[n].Identity == i.ID {
			return false, &turns[n], nil
		}
	}
	pending, err := s.pending(ctx, i, turns)
	if err != nil || pending && !u.Settings.Paused && !s.spent(ctx, u.ID) {
		return false, nil, err
	}
	sending, err := s.sending(ctx, u.ID)
	return err == nil && len(sending) == 0, nil, err
}

// pending reports whether a message of an identity waits for a turn. One of a failed turn does not.
func (s *Sitting) pending(ctx context.Context, i core.Identity, turns []core.Turn) (bool, error) {
	messages, err := s.Store.History(ctx, i.User, i.Thread, 0, 100)
	for _, m := range messages {
		if m.Role != core.RoleUser || m.Kind != core.KindChat || m.Identity != i.ID || m.Turn != 0 || m.Redacted {
			continue
		}
		gaveUp := func(turn core.Turn) bool { return turn.State == core.TurnFailed && slices.Contains(turn.Inputs, m.ID) }
		if !slices.ContainsFunc(turns, gaveUp) {
			return true, err
		}
	}
	return false, err
}

// spent reports whether the user's budget is used up.
func (s *Sitting) spent(ctx context.Context, user core.UserID) bool {
	until, err := s.Budget.Over(ctx, user)
	return err == nil && !until.IsZero()
}

// sending lists the unfinished deliveries to the address since the sitting began.
func (s *Sitting) sending(ctx context.Context, user core.UserID) ([]core.Delivery, error) {
	all, err := s.Store.Deliveries(ctx, store.DeliveryQuery{User: user, States: []core.DeliveryState{core.DeliveryPending,
		core.DeliverySending}, Limit: 100})
	return slices.DeleteFunc(all, func(d core.Delivery) bool {
		return d.To != s.Address || d.CreatedAt.Before(s.Since.Truncate(time.Millisecond))
	}), err
}
