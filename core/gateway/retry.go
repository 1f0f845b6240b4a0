package gateway

import (
	"context"
	"errors"
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
