package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

// Delivering reports whether a delivery to an address is in progress or waiting.
func (s *Store) Delivering(ctx context.Context, user core.UserID, to core.Address) (busy bool, err error) {
	err = s.view(ctx, "look for deliveries", func(r querier) error {
		return r.row(`SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running'))`,
			user, core.AddressKey(to)).Scan(&busy)
	})
	return busy, err
}

// Deliveries lists deliveries, newest first.
func (s *Store) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]core.Delivery, error) {
	var out []core.Delivery
	err := s.view(ctx, "list deliveries", func(r querier) (err error) {
		query, args := deliveryQuery(q)
		if out, err = list(r, scanDelivery, query, args...); err != nil {
			return err
		}
		for i := range out {
			if err := loadParts(r, &out[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// inTrouble is the condition of the index of deliveries that need attention.
const inTrouble = `state IN ('failed', 'unknown', 'parked', 'expired')`

// worded returns the condition of a delivery of a user whose words were not all deleted.
func worded(user string) string {
	return `EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = ` + user + ` AND p.delivery_id = deliveries.id AND p.body <> '{"text":""}')`
}

// underWay is the condition of the index of unfinished deliveries.
const underWay = `state IN ('pending', 'sending')`

// deliveryQuery returns the query for q. Deliveries of all users are read only from the small
// index of those in trouble, of which those whose words were deleted are left out: they concern nobody any more.
func deliveryQuery(q store.DeliveryQuery) (string, []any) {
	where, args, order := []string{"user_id = $2"}, []any{q.Limit, q.User}, "id"
	if q.User == 0 {
		where, args, order = []string{inTrouble, worded("deliveries.user_id")}, []any{q.Limit}, "created_at"
	}
	if len(q.States) > 0 {
		var in []string
		for _, s := range q.States {
			args = append(args, string(s))
			in = append(in, fmt.Sprintf("$%d", len(args)))
		}
		narrow := narrowed(q.States)
		where = append(where, "state IN ("+strings.Join(in, ", ")+")", narrow)
		if narrow == inTrouble && q.User != 0 {
			where = append(where, worded("$2"))
		}
	}
	return `SELECT ` + deliveryColumns + ` FROM deliveries WHERE ` + strings.Join(slices.Compact(where), " AND ") +
		` ORDER BY ` + order + ` DESC LIMIT $1`, args
}

// narrowed returns the condition of an index that contains all of states.
func narrowed(states []core.DeliveryState) string {
	for _, condition := range []string{inTrouble, underWay} {
		outside := func(s core.DeliveryState) bool { return !strings.Contains(condition, "'"+string(s)+"'") }
		if !slices.ContainsFunc(states, outside) {
			return condition
		}
	}
	return "1 = 1"
}

// SetBlocked records whether an identity can be written to.
func (s *Store) SetBlocked(ctx context.Context, user core.UserID, identity core.IdentityID, blocked bool,
	now time.Time) error {
	return s.update(ctx, "set blocked", user, func(t *tx) {
		t.exec(`UPDATE identities SET blocked = $3 WHERE user_id = $1 AND id = $2`, t.user, identity, flag(blocked))
	})
}

// Redeliver makes a delivery in trouble pending again.
func (s *Store) Redeliver(ctx context.Context, user core.UserID, id core.DeliveryID, now time.Time) error {
	return s.update(ctx, "redeliver", user, func(t *tx) {
		t.execOr(core.ErrNotFound, `UPDATE deliveries SET state = 'pending', error = '', expires_at = 0
			WHERE user_id = $1 AND id = $2 AND state IN ('failed', 'parked', 'expired', 'unknown') AND `+worded("$1"), t.user, id)
		t.exec(`UPDATE delivery_parts SET state = 'pending' WHERE user_id = $1 AND delivery_id = $2 AND state IN ('failed', 'unknown', 'sending')`, t.user, id)
		t.did(audit.Retry, "delivery", int64(id))
		d := t.delivery(id)
		t.queueDelivery(&d, now)
	})
}

// Redirect replaces a parked delivery; see store.DeliveryStore.
func (s *Store) Redirect(ctx context.Context, d core.Delivery, to core.NewDelivery, now time.Time) error {
	return s.update(ctx, "redirect", d.User, func(t *tx) {
		t.execOr(core.ErrChanged,
			`UPDATE deliveries SET state = 'failed', error = $3 WHERE user_id = $1 AND id = $2 AND state = 'parked'
			AND NOT EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = $1 AND p.delivery_id = $2 AND p.state <> 'pending')`,
			t.user, d.ID, "it went to "+to.To.Channel+" instead: "+d.Error)
		t.deliver(d.Message, to, nil, now)
	})
}
