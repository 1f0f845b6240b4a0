package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// Finalize closes the days that are due.
func (e *Engine) Finalize(ctx context.Context) error { return e.summary.Finalize(ctx) }

// Summarize requests the summary of a day and waits for it. This process writes it, unless
// another is quicker.
func (e *Engine) Summarize(ctx context.Context, g core.Segment) (core.Segment, error) {
	now := e.Now()
	_, err := e.Store.Note(ctx, core.Note{User: g.User, Effects: []core.Effect{core.Summarize{Segment: g.ID, At: now}},
		Now: now})
	for err == nil {
		if err = e.summarizeDue(ctx, g.User); err != nil {
			break
		}
		g, err = e.Store.Segment(ctx, g.User, g.ID)
		switch {
		case err != nil:
			return g, err
		case g.SummaryError != "":
			return g, fmt.Errorf("%s; it can be requested again", g.SummaryError)
		case !g.Stale:
			return g, nil
		}
		job.Wait(ctx, pollEvery/5)
		if ctx.Err() != nil {
			return g, errors.New("stopped waiting; a server continues")
		}
	}
	return g, err
}

// summarizeDue runs a user's summary jobs that are due.
func (e *Engine) summarizeDue(ctx context.Context, user core.UserID) error {
	refs, _, err := e.Store.Due(ctx, []string{core.QueueSummarize}, e.Now(), 100, core.Share{})
	for _, r := range refs {
		if r.User == user {
			e.summary.Take(ctx, r)
		}
	}
	return err
}
