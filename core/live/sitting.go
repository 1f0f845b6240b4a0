package live

import (
	"context"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// SittingStore is the part of a store that a Sitting uses.
type SittingStore interface {
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Turns(ctx context.Context, user core.UserID, limit int) ([]core.Turn, error)
	History(ctx context.Context, user core.UserID, thread core.ThreadID, before core.MessageID,
		limit int) ([]core.Message, error)
	Deliveries(ctx context.Context, q core.DeliveryQuery) ([]core.Delivery, error)
}

// Sitting is a conversation at an address whose user writes and waits for the replies.
// All fields are required.
type Sitting struct {
	Store   SittingStore
	Address core.Address
	Since   time.Time
	Budget  Budget
}

// Pauses between two checks of Wait.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// Wait waits until the sitting is settled. Until then it calls tell after each check, with
// the running turn, if any, and with the error of the check.
func (s *Sitting) Wait(ctx context.Context, tell func(running *core.Turn, err error)) error {
	for wait := firstLook; ctx.Err() == nil; wait = min(wait*5/4, lastLook) {
		done, running, err := s.Settled(ctx)
		if done {
			return nil
		}
		tell(running, err)
		job.Wait(ctx, wait)
	}
	return ctx.Err()
}

// Recent returns the user and the newest readable messages of the conversation, oldest
// first, without those whose delivery to this address is still under way.
func (s *Sitting) Recent(ctx context.Context, limit int) (core.User, []core.Message, error) {
	i, u, err := s.Store.Identify(ctx, s.Address)
	if err != nil {
		return u, nil, err
	}
	messages, err := s.Store.History(ctx, u.ID, i.Thread, 0, 10*limit)
	if err != nil {
		return u, nil, err
	}
	coming, err := s.Store.Deliveries(ctx, core.DeliveryQuery{User: u.ID,
		States: []core.DeliveryState{core.DeliveryPending, core.DeliverySending}, Limit: 100})
	messages = slices.DeleteFunc(messages, func(m core.Message) bool {
		arrives := func(d core.Delivery) bool { return d.Message == m.ID && d.To == s.Address }
		return !readable(m) || slices.ContainsFunc(coming, arrives)
	})
	return u, messages[max(0, len(messages)-limit):], err
}

func readable(m core.Message) bool {
	kinds := []core.MessageKind{core.KindChat, core.KindDayPost, core.KindReminder}
	return slices.Contains(kinds, m.Kind) && m.Text != "" && (m.Role == core.RoleUser || m.Role == core.RoleAssistant)
}

// Settled reports whether no more answers are expected: all messages of the address are
// answered, and the answers have been sent. running is the running turn, or nil.
func (s *Sitting) Settled(ctx context.Context) (done bool, running *core.Turn, err error) {
	i, u, err := s.Store.Identify(ctx, s.Address)
	if err != nil {
		return false, nil, err
	}
	turns, err := s.Store.Turns(ctx, u.ID, recent)
	if err != nil {
		return false, nil, err
	}
	for n := range turns {
		if turns[n].State == core.TurnRunning && turns[n].Identity == i.ID {
			return false, &turns[n], nil
		}
	}
	pending, err := s.pending(ctx, i, turns)
	if err != nil || pending && !u.Settings.Paused && !s.spent(ctx, u.ID) {
		return false, nil, err
	}
	sending, err := s.sending(ctx, u.ID)
	return err == nil && len(sending) == 0, nil, err
}

// pending reports whether a message of an identity waits for a turn. Messages of a failed
// turn do not.
func (s *Sitting) pending(ctx context.Context, i core.Identity, turns []core.Turn) (bool, error) {
	messages, err := s.Store.History(ctx, i.User, i.Thread, 0, 100)
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

// spent reports whether the user's budget is used up.
func (s *Sitting) spent(ctx context.Context, user core.UserID) bool {
	until, err := s.Budget.Over(ctx, user)
	return err == nil && !until.IsZero()
}

// sending lists the unfinished deliveries to the address since the sitting began.
func (s *Sitting) sending(ctx context.Context, user core.UserID) ([]core.Delivery, error) {
	all, err := s.Store.Deliveries(ctx, core.DeliveryQuery{User: user, States: []core.DeliveryState{core.DeliveryPending,
		core.DeliverySending}, Limit: 100})
	return slices.DeleteFunc(all, func(d core.Delivery) bool {
		return d.To != s.Address || d.CreatedAt.Before(s.Since.Truncate(time.Millisecond))
	}), err
}
