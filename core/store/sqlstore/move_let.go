package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// inTurn fails with core.ErrMoving if an event of the same address is held that was received
// before this one.
func (t *tx) inTurn(e core.Inbound) error {
	if t.moving != letting {
		return nil
	}
	var waits bool
	err := t.row(
		`SELECT EXISTS (SELECT 1 FROM events h WHERE h.user_id = 0 AND h.channel = $1 AND h.account = $2 AND h.external = $3 AND h.state = 'held' AND h.event_id <> $4
		AND ($5 = 0 OR h.received_at < (SELECT o.received_at FROM events o WHERE o.user_id = 0 AND o.message_id = 0 AND o.channel = $1 AND o.account = $2 AND o.event_id = $4)))`,
		e.Address.Channel, e.Address.Account, e.Address.External, e.EventID, flag(e.Held)).Scan(&waits)
	if err == nil && waits {
		return core.ErrMoving
	}
	return err
}

// letIn ends a move when no events are held for its users any more, or after a while. New
// events then no longer wait for held ones.
func (s *Store) letIn(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	if m.plan.Let == 0 {
		m.plan.Let = ms(now)
	}
	waits := false
	err := s.step(ctx, m, func(p *pair, next *move) {
		for _, t := range []*tx{p.from, p.into} {
			var held bool
			p.try(func() (err error) { held, err = t.hasHeld(); return err })
			waits = waits || held && now.Before(at(m.plan.Let).Add(moveLetFor))
		}
		if waits {
			return
		}
		next.next(core.MoveDone)
		p.exec(`UPDATE users SET moving = 0 WHERE id IN ($1, $2) AND moving = $3`, m.From, m.Into, letting)
	})
	return waiting(waits), err
}

// hasHeld reports whether events are held for the user.
func (t *tx) hasHeld() (yes bool, err error) {
	err = t.row(
		`SELECT EXISTS (SELECT 1 FROM events WHERE user_id = 0 AND state = 'held' AND payload IS NOT NULL AND (channel, account, external) IN
		(SELECT channel, account, external FROM addresses WHERE user_id = $1))`, t.user).Scan(&yes)
	return yes, err
}
