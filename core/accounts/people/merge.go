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
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/markup"
)

// MergeStore is the part of a store that a Merger uses.
type MergeStore interface {
	store.MergeStore
	Wakes(ctx context.Context) <-chan string
	Note(ctx context.Context, n store.Note) (store.Noted, error)
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

// Merger carries out merges, in one process at a time; a second one would find them done.
type Merger struct {
	Store    MergeStore
	Channels core.Channels
	Language string        // of people who chose none
	Poll     time.Duration // interval without a wake-up
	Leases   Leases
	Log      *zap.Logger
	Now      func() time.Time
	Standing Standing
	Crash    core.Crash // after a merge
}

// Run carries out merges until ctx ends.
func (v *Merger) Run(ctx context.Context) error {
	wakes := v.Store.Wakes(ctx)
	var warned time.Time
	for {
		wait, err := v.All(ctx)
		if err != nil && ctx.Err() == nil && v.Now().Sub(warned) >= warnEvery {
			v.Log.Warn("merge failed; it is retried", zap.Error(err))
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

// sleep waits for a wake-up of merges, at most as long as wait; false: ctx ended.
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
			if topic == core.TopicMerges {
				return true
			}
		case <-end:
			return true
		}
	}
}

// openMerges bounds the merges of one round.
const openMerges = 50

// All carries out every merge as far as possible now, and returns the wait before the next round (0: none is left).
func (v *Merger) All(ctx context.Context) (time.Duration, error) {
	list, err := v.Store.Merges(ctx, openMerges)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	next := v.Poll // if another process has the lease
	err = v.Leases.While(ctx, mergeLease, func(ctx context.Context) error {
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

// mergeLease is the lease of the process that carries out merges.
const mergeLease = "merges"

// one carries out a merge, or returns how long it must wait.
func (v *Merger) one(ctx context.Context, m store.Merge) (wait time.Duration, err error) {
	if m.Phase == store.MergeAsked {
		began := v.Now()
		m, wait, err = v.Store.Carry(ctx, m.ID, began)
		if err != nil || m.Phase != store.MergeTold {
			return wait, err
		}
		v.Log.Info("users merged", zap.Int64("from", int64(m.From)), zap.Int64("into", int64(m.Into)),
			zap.Duration("took", v.Now().Sub(began)))
		v.Crash.At("merged")
	}
	if err := v.tell(ctx, m); err != nil {
		return 0, fmt.Errorf("tell of a merge: %w", err)
	}
	return 0, v.Store.Told(ctx, m.ID)
}

// tell tells the identity that requested a merge that it is done.
func (v *Merger) tell(ctx context.Context, m store.Merge) error {
	u, err := v.Store.User(ctx, m.Into)
	if errors.Is(err, core.ErrNotFound) {
		return nil // the user was deleted, or merged again
	}
	if err != nil {
		return err
	}
	list, err := v.Store.Identities(ctx, m.Into)
	for _, i := range list {
		if i.ID != m.Identity {
			continue
		}
		now := v.Now()
		text, err := v.doneText(ctx, u)
		if err != nil {
			return err
		}
		_, err = v.Store.Note(ctx, store.Note{User: u.ID, Identity: i.ID, Once: fmt.Sprintf("merge:%d", m.ID), Now: now,
			Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}},
			Deliveries: []core.NewDelivery{{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice,
				Parts: markup.Parts(text, v.Channels.Capabilities(i.Address.Channel))}}})
		if err != nil {
			return err
		}
	}
	return err
}

// doneText returns the text that a merge is done.
func (v *Merger) doneText(ctx context.Context, u core.User) (string, error) {
	language := cmp.Or(u.Settings.Language, v.Language)
	text := say(language).Joined
	more, err := v.Standing.Beyond(ctx, u.ID, language)
	if err == nil && more != "" {
		text += "\n\n" + more
	}
	return text, err
}

// Carry carries a merge out for an operator who waits for it: nobody is told of its end.
func Carry(ctx context.Context, st store.MergeStore, id store.MergeID, now func() time.Time) error {
	for {
		m, wait, err := st.Carry(ctx, id, now())
		switch {
		case err != nil || m.Phase == store.MergeDone:
			return err
		case m.Phase == store.MergeTold:
			return st.Told(ctx, id)
		}
		if job.Wait(ctx, wait); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
