package gateway

import (
	"context"
	"errors"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

const (
	storeBackoff = time.Second
	retryFor     = 5 * time.Minute
	lastWrite    = 2 * time.Second // of a write that a stopping process still waits for
)

// retry repeats a write that records what was done: a database that is away for
// a while must not have it done again. While it is away nobody else can take what
// this process has claimed. It ends soon after ctx.
func (g *Gateway) retry(ctx context.Context, what string, write func(ctx context.Context) error) error {
	until := g.Now().Add(retryFor)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { job.Wait(inner, lastWrite); cancel() })()
	for level := zap.WarnLevel; ; level = zap.DebugLevel {
		err := write(inner)
		if err == nil || settled(err) || ctx.Err() != nil || !g.Now().Before(until) {
			return err
		}
		g.Log.Log(level, "the store does not answer; it is tried again", zap.String("what", what), zap.Error(err))
		job.Wait(ctx, storeBackoff)
	}
}

// settled reports whether an error of the store is its answer.
func settled(err error) bool { return refused(err) || errors.Is(err, core.ErrFenced) }

// uncertain has turns and deliveries of a user taken up again that this process may have
// claimed with a write that failed: it may have been committed all the same, and nobody
// would work on them until their leases are over.
func (g *Gateway) uncertain(user core.UserID, err error) {
	if err == nil || refused(err) || errors.Is(err, core.ErrChanged) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.unsure) == 0 {
		g.work.Go(g.abandon)
	}
	g.unsure[user] = g.Now()
}

// abandon ends claims that this process does not know of, one user after another.
func (g *Gateway) abandon() {
	for more := true; more && !g.stopping.Load(); { // a process that ends leaves none behind
		job.Wait(g.ctx, storeBackoff)
		for user, at := range g.idle() {
			if err := g.Store.Abandon(g.ctx, user, g.Jobs.Name, at); err != nil {
				g.Log.Debug("claims not abandoned yet", zap.Int64("user", int64(user)), zap.Error(err))
				break // the store is away
			}
			g.sure(user, at)
		}
		g.mu.Lock()
		more = len(g.unsure) > 0
		g.mu.Unlock()
	}
}

// idle returns the users of whom a write failed and nothing is done here, so that what is
// claimed of theirs is what this process does not know of, and when that was.
func (g *Gateway) idle() map[core.UserID]time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := maps.Clone(g.unsure)
	for k := range g.doing {
		delete(out, k.user)
	}
	return out
}

// sure forgets the write of a user that failed at a time, unless another did since.
func (g *Gateway) sure(user core.UserID, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unsure[user].Equal(at) {
		delete(g.unsure, user)
	}
}

// begin notes that a job is being done here; false: it is already. A claim that
// lapsed while the database was away is still ours as long as nobody took it.
func (g *Gateway) begin(user core.UserID, id core.JobID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.doing[jobKey{user, id}] {
		return false
	}
	g.doing[jobKey{user, id}] = true
	return true
}

func (g *Gateway) end(user core.UserID, id core.JobID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.doing, jobKey{user, id})
}
