package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// How often the chat looks whether an answer came.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// answered waits until all that was written here is answered, and the answers
// are printed.
func (t *chat) answered(ctx context.Context) error {
	t.stopping.Store(false)
	t.waiting.Store(true)
	defer t.waiting.Store(false)
	for wait := firstLook; ctx.Err() == nil; wait = min(wait*5/4, lastLook) {
		done, err := t.settled(ctx)
		if done {
			return nil
		}
		if err != nil {
			t.Log.Warn("look for answers", zap.Error(err))
		}
		job.Wait(ctx, wait)
	}
	return ctx.Err()
}

// settled reports whether nothing more is to be expected.
func (t *chat) settled(ctx context.Context) (bool, error) {
	i, u, err := t.Store.Identify(ctx, t.channel.Address())
	if err != nil {
		return false, err
	}
	turns, err := t.Store.Turns(ctx, u.ID, 20)
	if err != nil {
		return false, err
	}
	for _, turn := range turns {
		if turn.State == core.TurnRunning && turn.Identity == i.ID {
			t.tellFailure(turn)
			return false, nil
		}
	}
	pending, err := t.pending(ctx, i, turns)
	if err != nil || pending && !u.Settings.Paused && !t.spent(ctx, u) {
		return false, err
	}
	sending, err := t.sending(ctx, u.ID)
	return err == nil && len(sending) == 0, err
}

// pending reports whether a message of this identity waits for a turn. Those of a
// turn that was given up have had their apology.
func (t *chat) pending(ctx context.Context, i core.Identity, turns []core.Turn) (bool, error) {
	messages, err := t.Store.History(ctx, i.User, i.Thread, 0, 100)
	for _, m := range messages {
		if m.Role != core.RoleUser || m.Kind != core.KindChat || m.Identity != i.ID || m.Turn != 0 || m.Redacted {
			continue
		}
		gaveUp := func(turn core.Turn) bool { return turn.State == core.TurnFailed && slices.Contains(turn.Inputs, m.ID) }
		if !slices.ContainsFunc(turns, gaveUp) {
			return true, err
		}
	}
	return false, err
}

// spent reports whether the user's budget lets no turn start today.
func (t *chat) spent(ctx context.Context, u core.User) bool {
	limit := t.Config.Limits.TokensPerDay
	if limit == 0 {
		return false
	}
	used, reserved, err := t.Store.UsageOf(ctx, u.ID, t.Calendar.Day(u.Settings, t.Now()).Label)
	taken := used + reserved
	return err == nil && taken > 0 && taken+t.Config.Context.TotalTokens+t.Config.LLM.MaxOutputTokens > limit
}

// sending lists what is on its way to this terminal since the chat began.
func (t *chat) sending(ctx context.Context, user core.UserID) ([]core.Delivery, error) {
	all, err := t.Store.Deliveries(ctx, core.DeliveryQuery{User: user, States: []core.DeliveryState{core.DeliveryPending, core.DeliverySending}, Limit: 100})
	return slices.DeleteFunc(all, func(d core.Delivery) bool {
		return d.To != t.channel.Address() || d.CreatedAt.Before(t.started.Truncate(time.Millisecond))
	}), err
}

// tellFailure says once per turn that its model call failed and is tried again.
func (t *chat) tellFailure(turn core.Turn) {
	if turn.LastError == "" || t.told[turn.ID] {
		return
	}
	t.told[turn.ID] = true
	fmt.Fprintf(t.con.err, "(no answer yet: %s; it is tried again, Ctrl-C stops it)\n", short(turn.LastError, 200))
}
