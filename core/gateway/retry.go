package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

const (
	storeBackoff = time.Second
	retryFor     = 5 * time.Minute
	lastWrite    = 2 * time.Second // for a write of a stopping process
)

// retry repeats a write that records finished work, so that an outage of the database does
// not cause the work to be done twice. During an outage no other process can claim it. It
// ends soon after ctx. Errors are wrapped with what.
func (g *Gateway) retry(ctx context.Context, what string, write func(ctx context.Context) error) error {
	until := g.Now().Add(retryFor)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { job.Wait(inner, lastWrite); cancel() })()
	for level := zap.WarnLevel; ; level = zap.DebugLevel {
		err := write(inner)
		if err == nil {
			return nil
		}
		if settled(err) || ctx.Err() != nil || !g.Now().Before(until) {
			return fmt.Errorf("%s: %w", what, err)
		}
		g.Log.Log(level, "write failed; it is retried", zap.String("what", what), zap.Error(err))
		job.Wait(ctx, storeBackoff)
	}
}

// settled reports whether an error is the store's decision, which a retry cannot change.
func settled(err error) bool { return refused(err) || errors.Is(err, core.ErrFenced) }

// uncertain has jobs of a user abandoned that this process may have claimed with a failed
// write. The write may have been committed, and then nobody would work on the jobs until
// their leases expire.
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

// abandon releases claims that this process does not know of, one user after another.
func (g *Gateway) abandon() {
	for more := true; more && !g.stopping.Load(); { // a process that ends leaves none behind
		job.Wait(g.ctx, storeBackoff)
		for user, at := range g.idle() {
			if err := g.Store.Abandon(g.ctx, user, g.Jobs.Name, at); err != nil {
				g.Log.Debug("claims not abandoned yet", zap.Int64("user", int64(user)), zap.Error(err))
				break // the store does not answer
			}
			g.sure(user, at)
		}
		g.mu.Lock()
		more = len(g.unsure) > 0
		g.mu.Unlock()
	}
}

// idle returns the users with a failed write for whom this process does nothing now, and
// the time of the write: any claim of theirs is one that this process does not know of.
func (g *Gateway) idle() map[core.UserID]time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := maps.Clone(g.unsure)
	for k := range g.doing {
		delete(out, k.user)
	}
	return out
}

// sure forgets a user's failed write, unless a later one failed.
func (g *Gateway) sure(user core.UserID, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unsure[user].Equal(at) {
		delete(g.unsure, user)
	}
}

// begin records that this process works on a job. It returns false if it does already: a
// claim that expired while the database was away remains ours until another process takes it.
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
