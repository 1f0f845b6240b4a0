package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

// errNotStored ends a first attempt whose messages were not stored.
var errNotStored = errors.New("its messages were not stored")

// ahead is the first attempt of a turn, begun while the messages of the turn are committed: it builds the prompt and
// asks the model. What needs rows of the store, and reading the model's answer, waits until the attempt is taken over,
// which is after the commit.
type ahead struct {
	turn   *core.Turn
	cancel context.CancelCauseFunc
	onText func(soFar string) // set before stored is closed
	stored chan struct{}      // closed when the attempt is taken over

	prompt core.Prompt
	err    error         // why there is no prompt
	built  chan struct{} // closed when there is one, or none
	answer core.Answer
	failed error         // why it is none, or incomplete
	done   chan struct{} // closed at the end
}

// begins starts the first attempt of a turn that may not be stored yet. before is the attempt that the transaction
// began before it was repeated, which ends, or nil.
func (g *Gateway) begins(t *core.Turn, u core.User, before *ahead) *ahead {
	before.end(errNotStored)
	ctx, cancel := context.WithCancelCause(g.ctx)
	b := &ahead{turn: t, cancel: cancel, built: make(chan struct{}), stored: make(chan struct{}),
		done: make(chan struct{})}
	g.work.Go(func() {
		defer close(b.done)
		defer cancel(nil)
		b.prompt, b.err = g.Prompts.Prompt(ctx, t, u, g.Now(), b.stored)
		close(b.built)
		if b.err == nil {
			g.Crash.At("ahead")
			b.answer, b.failed = g.Agent.Answer(ctx, t, u, b.prompt, b.stored, func(soFar string) { b.onText(soFar) })
		}
	})
	return b
}

// end ends an attempt that is not taken over; b may be nil.
func (b *ahead) end(cause error) {
	if b != nil {
		b.cancel(cause)
	}
}

// keep returns the attempt b if it is that of the stored turn t, and ends it otherwise; err says why nothing was stored.
// After an attempt in vain no other begins ahead until something could be stored, because each asks the model.
func (g *Gateway) keep(b *ahead, t *core.Turn, err error) *ahead {
	if err == nil || b != nil {
		g.unstored.Store(err != nil)
	}
	if b == nil || err == nil && b.turn == t {
		return b
	}
	b.end(errNotStored)
	return nil
}

// prompt returns the prompt of an attempt, and takes over the attempt b that has begun, if that is not nil.
func (g *Gateway) prompt(ctx context.Context, b *ahead, t *core.Turn, u core.User, now time.Time,
	onText func(soFar string)) (core.Prompt, error) {
	if b == nil {
		return g.Prompts.Prompt(ctx, t, u, now, nil)
	}
	context.AfterFunc(ctx, func() { b.end(context.Cause(ctx)) })
	b.onText = onText
	close(b.stored)
	<-b.built
	return b.prompt, b.err
}

// answer answers the prompt of an attempt; b began the attempt, or is nil.
func (g *Gateway) answer(ctx context.Context, b *ahead, t *core.Turn, u core.User, p core.Prompt,
	onText func(soFar string)) (core.Answer, error) {
	if b == nil {
		return g.Agent.Answer(ctx, t, u, p, nil, onText)
	}
	<-b.done
	return b.answer, b.failed
}
