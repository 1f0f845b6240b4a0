package job

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// How long a process is taken for alive that does not say so, how often it does, and how
// long work is left to the process in whose share it is. Another process goes on with
// the work of one that died within aliveFor + sayAlive + shareGrace (11 s).
const (
	aliveFor   = 8 * time.Second
	sayAlive   = 2 * time.Second
	shareGrace = time.Second
)

// MemberStore is where the live processes are kept.
type MemberStore interface {
	core.MemberStore
	Wakes(ctx context.Context) <-chan string
	Publish(ctx context.Context, topic string) error
}

// Members divide the users among the live processes: the work of each is one process's
// first. They also make the work of a process that died free at once. All fields are
// required; it is safe for concurrent use.
type Members struct {
	Store  MemberStore
	Worker string // this process
	Now    func() time.Time
	// Known reports whether this process knows the time well enough to claim work.
	Known func() bool
	Log   *zap.Logger

	share atomic.Pointer[core.Share]
}

// Share is what this process takes first; all there is until Run found others.
func (m *Members) Share() core.Share {
	if !m.Known() {
		return core.NoShare()
	}
	if s := m.share.Load(); s != nil {
		return *s
	}
	return core.Share{}
}

// Run keeps this process among the live ones. When leaving ends it goes on without a
// share, so that others take what is new, until ctx ends; then what is still claimed is
// free.
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

// join says that this process is alive, and sees who else is.
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
		m.Log.Warn("this process could not say that it is alive", zap.Error(err))
		return
	}
	if freed > 0 {
		m.Log.Info("going on with what a process that ended had begun", zap.Int("jobs", freed))
	}
	share := core.Share{N: slices.Index(live, m.Worker), Of: len(live), Grace: shareGrace}
	if leaving && len(live) == 0 { // nobody else is there to take it
		share = core.Share{}
	}
	if old := m.share.Swap(&share); old == nil || *old != share || freed > 0 {
		m.Store.Tell(core.TopicShares)
	}
}

// tell has the other processes look who is there.
func (m *Members) tell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, aliveFor/2)
	defer cancel()
	if err := m.Store.Publish(ctx, core.TopicMembers); err != nil {
		m.Log.Debug("other processes were not told", zap.Error(err))
	}
}

func (m *Members) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sayAlive)
	defer cancel()
	if err := m.Store.Leave(ctx, m.Worker); err != nil {
		m.Log.Warn("other processes will take over later", zap.Error(err))
		return
	}
	m.tell(ctx)
}
