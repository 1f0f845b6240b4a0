package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Subscribe replaces the subscription of a session; see store.PushStore.
func (s *Store) Subscribe(ctx context.Context, user core.UserID, session int64, was string, n store.Subscription) error {
	return s.update(ctx, "subscribe", user, func(t *tx) {
		t.execOr(core.ErrNotFound, `UPDATE sessions SET push = $3, push_texts = $4, push_failed = $5, push_error = $6
			WHERE user_id = $1 AND id = $2 AND ($7 = '' OR push = $7)`, t.user, session, n.Sealed, flag(n.Texts),
			ms(n.FailedAt), n.Error, was)
	})
}

// Subscriptions counts the subscriptions of all users; see store.PushStore.
func (s *Store) Subscriptions(ctx context.Context, now time.Time) (all, failing int, err error) {
	err = s.one(ctx).row(`SELECT COUNT(*), COUNT(CASE WHEN push_failed > 0 THEN 1 END) FROM sessions WHERE push <> '' AND expires_at > $1`,
		ms(now)).Scan(&all, &failing)
	return all, failing, wrap("count subscriptions", err)
}

// ring enqueues the notifications of a message, one for each browser of the user that has a subscription.
func (t *tx) ring(m core.MessageID, now time.Time) {
	for _, id := range listOf(t, column[int64], `SELECT id FROM sessions WHERE user_id = $1 AND push <> '' AND expires_at > $2 ORDER BY id`,
		t.user, ms(now)) {
		t.enqueue(store.NewJob{Queue: core.QueuePush, Key: core.PushKey(id), Ref: int64(m), RunAt: now})
	}
}
