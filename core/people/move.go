package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/markup"
)

// MoveStore is the part of a store that a Mover uses.
type MoveStore interface {
	core.MoveStore
	Wakes(ctx context.Context) <-chan string
	Note(ctx context.Context, n core.Note) (core.Noted, error)
	User(ctx context.Context, id core.UserID) (core.User, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
}

// Leases hold names, each for one process at a time.
type Leases interface {
	// While runs f while this process holds a name. If another process holds it, it returns nil immediately.
	While(ctx context.Context, name string, f func(context.Context) error) error
}

// Standing knows the standing instructions.
type Standing interface {
	// Beyond returns a text about instructions of a user that have no room; empty: all have.
	Beyond(ctx context.Context, user core.UserID, language string) (string, error)
}

// Mover carries out merges and splits, in one process at a time; two repeat no step.
type Mover struct {
	Store    MoveStore
	Channels core.Channels
	Language string // of people who chose none
	// Released receives the messages that were held during a move.
	Released func(ctx context.Context) error
	Poll     time.Duration // interval without a wake-up
	Leases   Leases
	Log      *zap.Logger
	Now      func() time.Time
	Standing Standing
	Crash    core.Crash // after a step
}

// Run carries out moves until ctx ends.
func (v *Mover) Run(ctx context.Context) error {
	wakes := v.Store.Wakes(ctx)
	var warned time.Time
	for {
		wait, err := v.All(ctx)
		if err != nil && ctx.Err() == nil && v.Now().Sub(warned) >= warnEvery {
			v.Log.Warn("merge or split failed; it is retried", zap.Error(err))
			warned = v.Now()
		}
		if wait == 0 || err != nil {
			wait = v.Poll
		}
		if !sleep(ctx, wakes, min(wait, v.Poll)) {
			return nil
		}
	}
}

// warnEvery is the shortest interval between warnings.
const warnEvery = time.Minute

// sleep waits for a wake-up of moves, at most as long as wait; false: ctx ended.
func sleep(ctx context.Context, wakes <-chan string, wait time.Duration) bool {
	end := time.After(wait)
	for {
		select {
		case <-ctx.Done():
			return false
		case topic, ok := <-wakes:
			if !ok {
				return false
			}
			if topic == core.TopicMoves {
				return true
			}
		case <-end:
			return true
		}
	}
}

// openMoves bounds the moves of one round.
const openMoves = 50

// All carries out every move as far as possible now, and returns the wait before the next round (0: no move is left).
func (v *Mover) All(ctx context.Context) (time.Duration, error) {
	list, err := v.Store.Moves(ctx, openMoves)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	next := v.Poll // if another process has the lease
	err = v.Leases.While(ctx, moveLease, func(ctx context.Context) error {
		next = 0
		var errs []error
		for _, m := range list {
			wait, err := v.one(ctx, m)
			errs = append(errs, err)
			if wait > 0 && (next == 0 || wait < next) {
				next = wait
			}
		}
		return errors.Join(errs...)
	})
	return next, err
}

// moveLease is the lease of the process that carries out moves.
const moveLease = "moves"

// releaseEvery is the interval at which held messages are received while rows are moved.
const releaseEvery = 50 * time.Millisecond

// one carries out a move until it is done or must wait.
func (v *Mover) one(ctx context.Context, m core.Move) (time.Duration, error) {
	began, released := v.Now(), time.Time{}
	for m.Phase != core.MoveDone && ctx.Err() == nil {
		if m.Phase == core.MoveTold {
			if err := v.tell(ctx, m); err != nil {
				return 0, err
			}
			v.Log.Info("user moved", zap.String("kind", string(m.Kind)), zap.Int64("from", int64(m.From)),
				zap.Int64("into", int64(m.Into)), zap.Duration("took", v.Now().Sub(began)))
		}
		if now := v.Now(); now.Sub(released) > releaseEvery {
			v.release(ctx)
			released = now
		}
		var wait time.Duration
		var err error
		if m, wait, err = v.Store.Carry(ctx, m.ID, v.Now()); err != nil || wait > 0 {
			return wait, err
		}
		v.Crash.At("moved")
	}
	v.release(ctx)
	return 0, nil
}

// release receives held messages.
func (v *Mover) release(ctx context.Context) {
	if err := v.Released(ctx); err != nil && ctx.Err() == nil {
		v.Log.Warn("held messages wait for the scheduler", zap.Error(err))
	}
}

// tell notifies the person once that a move is done, and receives held messages.
func (v *Mover) tell(ctx context.Context, m core.Move) error {
	if err := v.notify(ctx, m); err != nil {
		return fmt.Errorf("notify of a finished %s: %w", m.Kind, err)
	}
	if err := v.Store.Told(ctx, m.ID); err != nil {
		return err
	}
	v.release(ctx)
	return nil
}

// notify notifies the identity that requested a move.
func (v *Mover) notify(ctx context.Context, m core.Move) error {
	user := m.Into
	u, err := v.Store.User(ctx, user)
	if err != nil {
		return err
	}
	list, err := v.Store.Identities(ctx, user)
	for _, i := range list {
		if i.ID != m.Identity {
			continue
		}
		now := v.Now()
		text, err := v.doneText(ctx, u, m.Kind)
		if err != nil {
			return err
		}
		_, err = v.Store.Note(ctx, core.Note{User: user, Identity: i.ID, Once: fmt.Sprintf("move:%d", m.ID), Now: now,
			Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}},
			Deliveries: []core.NewDelivery{{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice,
				Parts: markup.Parts(text, v.Channels.Capabilities(i.Address.Channel))}}})
		if err != nil {
			return err
		}
	}
	return err
}

// doneText returns the text that a move is done.
func (v *Mover) doneText(ctx context.Context, u core.User, kind core.MoveKind) (string, error) {
	language := cmp.Or(u.Settings.Language, v.Language)
	if kind == core.MoveSplit {
		return say(language).Split, nil
	}
	text := say(language).Joined
	more, err := v.Standing.Beyond(ctx, u.ID, language)
	if err == nil && more != "" {
		text += "\n\n" + more
	}
	return text, err
}

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
