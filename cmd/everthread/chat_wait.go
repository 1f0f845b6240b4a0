package main

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/live"
)

// How often the chat looks whether an answer came.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// answered waits until all that was written here is answered, and the answers
// are printed.
func (t *sitting) answered(ctx context.Context) error {
	t.stopping.Store(false)
	t.waiting.Store(true)
	defer t.waiting.Store(false)
	sitting := &live.Sitting{Store: t.Store, Address: t.channel.Address(), Since: t.started, Budget: t.Turns}
	for wait := firstLook; ctx.Err() == nil; wait = min(wait*5/4, lastLook) {
		done, running, err := sitting.Settled(ctx)
		if done {
			return nil
		}
		if running != nil {
			t.tellFailure(*running)
		}
		if err != nil {
			t.Log.Warn("look for answers", zap.Error(err))
		}
		job.Wait(ctx, wait)
	}
	return ctx.Err()
}

// tellFailure says once per turn that its model call failed and is tried again.
func (t *sitting) tellFailure(turn core.Turn) {
	if turn.LastError == "" || t.told[turn.ID] {
		return
	}
	t.told[turn.ID] = true
	fmt.Fprintf(t.con.err, t.con.words().ChatRetry+"\n", short(turn.LastError, 200))
}
