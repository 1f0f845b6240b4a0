package job

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// Another process continues the work of a dead one within aliveFor + sayAlive + shareGrace (11 s).
const (
	aliveFor   = 8 * time.Second // without a heartbeat
	sayAlive   = 2 * time.Second // between heartbeats
	shareGrace = time.Second     // for which work is left to the process whose share it is in
)

// MemberStore stores the live processes.
type MemberStore interface {
	core.MemberStore
	Wakes(ctx context.Context) <-chan string
	Publish(ctx context.Context, topic string) error
}

// Members divides the users among the live processes: each user's work is in the share of one
// of them. It also releases the work of a dead process immediately. All fields are required;
// it is safe for concurrent use.
type Members struct {
	Store  MemberStore
	Worker string // this process
	Now    func() time.Time
	// Known reports whether this process knows the time well enough to claim work.
	Known func() bool
	Log   *zap.Logger

	share atomic.Pointer[core.Share]
}

// Share returns the users whose work this process takes first; all users until Run has found
// other processes.
func (m *Members) Share() core.Share {
	if !m.Known() {
		return core.NoShare()
	}
	if s := m.share.Load(); s != nil {
		return *s
	}
	return core.Share{}
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
	live, freed, err := m.Store.Join(ctx, core.Membership{Worker: m.Worker, Leaving: leaving, Now: now,
		Until: now.Add(aliveFor)})
	if err != nil {
		m.Log.Warn("heartbeat not stored", zap.Error(err))
		return
	}
	if freed > 0 {
		m.Log.Info("jobs of a dead process released", zap.Int("jobs", freed))
	}
	share := core.Share{N: slices.Index(live, m.Worker), Of: len(live), Grace: shareGrace}
	if leaving && len(live) == 0 { // no other process could take the work
		share = core.Share{}
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
