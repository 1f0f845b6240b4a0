package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Duration and renewal of a named lease. Another process takes a name over within leaseFor + Renew of a death.
const (
	leaseFor = 10 * time.Second
	Renew    = 3 * time.Second
)

// LeaseStore stores named leases.
type LeaseStore interface {
	Acquire(ctx context.Context, name, worker string, now, until time.Time) (fence int64, held bool, err error)
	Release(ctx context.Context, name, worker string) error
}

// Leases hold names, such as the accounts of polled channels, each for one process at a
// time. All fields are required; it is safe for concurrent use.
type Leases struct {
	Store  LeaseStore
	Worker string // this process
	Now    func() time.Time
	Log    *zap.Logger

	mu     sync.Mutex
	fences map[string]int64 // of the leases that this process has had
}

// While runs f while this process holds the lease of name. It returns when f has ended or the
// lease is lost; immediately, without an error, if another process holds it.
func (l *Leases) While(ctx context.Context, name string, f func(context.Context) error) error {
	held, err := l.acquire(ctx, name)
	if err != nil || !held {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Renew)
		defer cancel()
		if err := l.Store.Release(ctx, name, l.Worker); err != nil {
			l.Log.Warn("lease not released", zap.String("name", name), zap.Error(err))
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { defer cancel(); return f(ctx) })
	group.Go(func() error { defer cancel(); return l.renew(ctx, name) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Fence returns this process's fence of a name, for writes that only the holder may make.
func (l *Leases) Fence(name string) store.Fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return store.Fence{Lease: name, Worker: l.Worker, N: l.fences[name]}
}

func (l *Leases) acquire(ctx context.Context, name string) (bool, error) {
	now := l.Now()
	fence, held, err := l.Store.Acquire(ctx, name, l.Worker, now, now.Add(leaseFor))
	if held {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.fences == nil {
			l.fences = map[string]int64{}
		}
		l.fences[name] = fence
	}
	return held, err
}

// renew renews a lease until ctx ends. If that fails it returns, so that the work under the
// lease stops, before another process can take it.
func (l *Leases) renew(ctx context.Context, name string) error {
	until := l.Now().Add(leaseFor)
	for {
		Wait(ctx, Renew)
		if ctx.Err() != nil {
			return nil
		}
		asked := l.Now()
		try, cancel := context.WithTimeout(ctx, Renew)
		held, err := l.acquire(try, name)
		cancel()
		switch {
		case err == nil && !held:
			return fmt.Errorf("the lease of %s was taken by another process", name)
		case err == nil:
			until = asked.Add(leaseFor)
		case l.Now().Add(2 * Renew).After(until):
			return fmt.Errorf("renew the lease of %s: %w", name, err)
		}
	}
}

// Another process continues the work of a dead one within aliveFor + sayAlive + shareGrace (11 s).
const (
	aliveFor   = 8 * time.Second // without a heartbeat
	sayAlive   = 2 * time.Second // between heartbeats
	shareGrace = time.Second     // for which work is left to the process whose share it is in
)

// MemberStore stores the live processes.
type MemberStore interface {
	store.MemberStore
	Wakes(ctx context.Context) <-chan string
	Publish(ctx context.Context, topic string) error
}

// Members divides the users among the live processes: each user's work is in the share of one of them. It also releases
// the work of a dead process immediately. All fields are required; it is safe for concurrent use.
type Members struct {
	Store  MemberStore
	Worker string // this process
	Now    func() time.Time
	// Known reports whether this process knows the time well enough to claim work.
	Known func() bool
	Log   *zap.Logger

	share atomic.Pointer[store.Share]
}

// Share returns the users whose work this process takes first; all users until Run has found other processes.
func (m *Members) Share() store.Share {
	if !m.Known() {
		return store.NoShare()
	}
	if s := m.share.Load(); s != nil {
		return *s
	}
	return store.Share{}
}

// Run registers this process as a live one. When leaving ends it continues without a share,
// so that others take new work, until ctx ends; then its remaining claims are released.
func (m *Members) Run(ctx, leaving context.Context) {
	wakes := m.Store.Wakes(ctx)
	tick := time.NewTicker(sayAlive)
	defer tick.Stop()
	m.join(ctx, false)
	m.tell(ctx)
	left := leaving.Done()
	for {
		select {
		case <-ctx.Done():
			m.leave(ctx)
			return
		case <-left:
			left = nil
			m.join(ctx, true)
			m.tell(ctx)
		case topic := <-wakes:
			if topic == core.TopicMembers || topic == core.TopicListening {
				m.join(ctx, left == nil)
			}
		case <-tick.C:
			m.join(ctx, left == nil)
		}
	}
}

// join sends a heartbeat, and reads the live processes.
func (m *Members) join(ctx context.Context, leaving bool) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, aliveFor/2)
	defer cancel()
	now := m.Now()
	live, freed, err := m.Store.Join(ctx, store.Membership{Worker: m.Worker, Leaving: leaving, Now: now,
		Until: now.Add(aliveFor)})
	if err != nil {
		m.Log.Warn("heartbeat not stored", zap.Error(err))
		return
	}
	if freed > 0 {
		m.Log.Info("jobs of a dead process released", zap.Int("jobs", freed))
	}
	share := store.Share{N: slices.Index(live, m.Worker), Of: len(live), Grace: shareGrace}
	if leaving && len(live) == 0 { // no other process could take the work
		share = store.Share{}
	}
	if old := m.share.Swap(&share); old == nil || *old != share || freed > 0 {
		m.Store.Tell(core.TopicShares)
	}
}

// tell notifies the other processes of a change of members.
func (m *Members) tell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, aliveFor/2)
	defer cancel()
	if err := m.Store.Publish(ctx, core.TopicMembers); err != nil {
		m.Log.Debug("other processes not notified", zap.Error(err))
	}
}

func (m *Members) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sayAlive)
	defer cancel()
	if err := m.Store.Leave(ctx, m.Worker); err != nil {
		m.Log.Warn("process not unregistered; others take over later", zap.Error(err))
		return
	}
	m.tell(ctx)
}
