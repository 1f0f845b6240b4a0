// Package live tells open pages and waiting clients what happens to a user: that
// something of theirs changed, and what there is of an answer that is being
// written. A follower hears of everything in this process, and of other
// processes what they do for users who are followed here.
//
// Nothing passes through here that is not stored or about to be: news may be
// lost, and followers read the store from time to time.
package live

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// Bus carries news within and between processes.
type Bus interface {
	core.Waker
	core.Changes
}

// Hub passes news on to those who follow a user. It is safe for concurrent use.
type Hub struct {
	bus    Bus
	worker string
	now    func() time.Time
	log    *zap.Logger

	listens chan struct{} // this process has begun to hear the others
	asked   chan struct{} // another process wants to know who is followed here

	mu    sync.Mutex
	feeds map[core.UserID]map[*Feed]struct{}
	// afar are users who are followed in other processes, and until when at least.
	afar map[core.UserID]time.Time
	// told are the previews that other processes were told of, and when.
	told map[previewID]time.Time
}

// New returns a hub. worker is this process's name, different from all others'.
func New(bus Bus, worker string, now func() time.Time, log *zap.Logger) *Hub {
	return &Hub{bus: bus, worker: worker, now: now, log: log, listens: make(chan struct{}, 1),
		asked: make(chan struct{}, 1), feeds: map[core.UserID]map[*Feed]struct{}{}, afar: map[core.UserID]time.Time{},
		told: map[previewID]time.Time{}}
}

// Preview is what there is of an answer that is being written.
type Preview struct {
	Turn   core.TurnID   `json:"turn"`
	Thread core.ThreadID `json:"thread"`
	Text   string        `json:"text"`
	// Missing is how many bytes before Text are not known here: the answer is too
	// long to be passed between processes.
	Missing int `json:"missing,omitempty"`
}

// News is what happened since the last look.
type News struct {
	// Changed: something of the user's was written.
	Changed bool
	// Previews are those that have more text, each with all of it.
	Previews []Preview
}

// Feed is one follower of a user. It is for one goroutine; Close may be called by
// another.
type Feed struct {
	hub  *Hub
	user core.UserID
	wake chan struct{}

	mu       sync.Mutex
	changed  bool
	previews []Preview
}

// Follow begins to follow a user. The feed is to be closed.
func (h *Hub) Follow(user core.UserID) *Feed {
	f := &Feed{hub: h, user: user, wake: make(chan struct{}, 1)}
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

// Next waits for news, for at most wait; none is no error. It ends with ctx.
func (f *Feed) Next(ctx context.Context, wait time.Duration) (News, error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return News{}, ctx.Err()
	case <-t.C:
	case <-f.wake:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := News{Changed: f.changed, Previews: f.previews}
	f.changed, f.previews = false, nil
	return n, nil
}

// signal leaves a sign, if there is none yet.
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
	for i, old := range f.previews {
		if old.Turn == p.Turn {
			f.previews = append(f.previews[:i], f.previews[i+1:]...)
			break
		}
	}
	f.previews = append(f.previews, p)
	f.mu.Unlock()
	signal(f.wake)
}

// all are the feeds of everybody.
func (h *Hub) all() (out []*Feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, feeds := range h.feeds {
		for f := range feeds {
			out = append(out, f)
		}
	}
	return out
}

// followers of a user in this process.
func (h *Hub) followers(user core.UserID) []*Feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*Feed
	for f := range h.feeds[user] {
		out = append(out, f)
	}
	return out
}
