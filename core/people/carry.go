package people

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// Carry carries all moves out until the move id is done, for an operator who waits for it:
// nobody else is notified of that one. tell receives its state after each step.
func Carry(ctx context.Context, st core.MoveStore, id core.MoveID, now func() time.Time, tell func(core.Move)) error {
	for {
		m, err := st.Move(ctx, id)
		if err != nil || m.Phase == core.MoveDone {
			return err
		}
		wait, err := carryAll(ctx, st, id, now)
		if err != nil {
			return err
		}
		tell(m)
		if job.Wait(ctx, wait); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// carriedAtOnce bounds the moves of one step.
const carriedAtOnce = 100

// carryAll does a step of every move, and returns the wait before the next one.
func carryAll(ctx context.Context, st core.MoveStore, id core.MoveID, now func() time.Time) (time.Duration, error) {
	list, err := st.Moves(ctx, carriedAtOnce)
	if err != nil {
		return 0, err
	}
	shortest := time.Duration(-1)
	for _, m := range list {
		if m.Phase == core.MoveTold && m.ID != id {
			continue // the serving process notifies the person first
		}
		if m.Phase == core.MoveTold {
			if err := st.Told(ctx, m.ID); err != nil {
				return 0, err
			}
		}
		_, wait, err := st.Carry(ctx, m.ID, now())
		if err != nil {
			return 0, err
		}
		if shortest < 0 || wait < shortest {
			shortest = wait
		}
	}
	return max(shortest, 0), nil
}
