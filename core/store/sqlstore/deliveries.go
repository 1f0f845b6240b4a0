package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// Delivering reports whether a delivery to an address is under way or waits.
func (s *Store) Delivering(ctx context.Context, user core.UserID, to core.Address) (busy bool, err error) {
	err = s.view(ctx, "look for deliveries", func(r querier) error {
		return r.row(`SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running'))`,
			user, core.AddressKey(to)).Scan(&busy)
	})
	return busy, err
}

// Deliveries lists deliveries, newest first.
func (s *Store) Deliveries(ctx context.Context, q core.DeliveryQuery) ([]core.Delivery, error) {
	var out []core.Delivery
	err := s.view(ctx, "list deliveries", func(r querier) error {
		query, args := deliveryQuery(q)
		rows, err := r.rows(query, args...)
		if out, err = collect(rows, err, scanDelivery); err != nil {
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

// inTrouble is the condition of the index over deliveries that need a look.
const inTrouble = `state IN ('failed', 'unknown', 'parked', 'expired')`

// underWay is the condition of the index over those that are not done.
const underWay = `state IN ('pending', 'sending')`

// deliveryQuery says what to read. All users' are only read where an index
// holds few: those in trouble.
func deliveryQuery(q core.DeliveryQuery) (string, []any) {
	where, args, order := []string{"user_id = $2"}, []any{q.Limit, q.User}, "id"
	if q.User == 0 {
		where, args, order = []string{inTrouble}, []any{q.Limit}, "created_at"
	}
	if len(q.States) > 0 {
		var in []string
		for _, s := range q.States {
			args = append(args, string(s))
			in = append(in, fmt.Sprintf("$%d", len(args)))
		}
		where = append(where, "state IN ("+strings.Join(in, ", ")+")", narrowed(q.States))
	}
	return `SELECT ` + deliveryColumns + ` FROM deliveries WHERE ` + strings.Join(slices.Compact(where), " AND ") +
		` ORDER BY ` + order + ` DESC LIMIT $1`, args
}

// narrowed is the condition of the index that holds all of some states.
func narrowed(states []core.DeliveryState) string {
	for _, condition := range []string{inTrouble, underWay} {
		if !slices.ContainsFunc(states, func(s core.DeliveryState) bool {
			return !strings.Contains(condition,
				"'"+string(s)+"'")
		}) {
			return condition
		}
	}
	return "1 = 1"
}
