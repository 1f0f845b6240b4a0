package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// How often a part is sent again at the service's word, and how long that waits.
const (
	maxResent   = 5
	resentAfter = 2 * time.Second // it doubles
)

// readThrough is how far back, in ids, a read mark reaches.
const readThrough = 200

// Settle applies a service's status to a part of ours; see store.InboundStore.
func (s *Store) Settle(ctx context.Context, user core.UserID, identity core.IdentityID, e core.Inbound,
	now time.Time) (undelivered *core.Delivery, err error) {
	err = s.update(ctx, "settle", user, func(t *tx) {
		undelivered = nil
		d, p := t.statusPart(identity, e)
		var message core.MessageID
		if d != nil {
			message = d.Message
		}
		if t.takeIn(e, message, "done", now) && d != nil && t.settlePart(d, p, e, now) {
			undelivered = d
		}
	})
	return undelivered, err
}

// statusPart returns the part that a status refers to, or nil.
func (t *tx) statusPart(identity core.IdentityID, e core.Inbound) (*core.Delivery, *core.DeliveryPart) {
	if user, id, n, ok := partOf(e.Status.Key); ok {
		d, err := deliveryByID(t, t.user, t.currentID(user, id))
		if err != nil || d.Identity != identity || n >= len(d.Parts) {
			return nil, nil
		}
		if p := &d.Parts[n]; p.Part.Key == e.Status.Key || rank(e.Status.State) >= rank(core.DeliveryDelivered) {
			return &d, p
		}
		return nil, nil // of an earlier attempt
	}
	var message core.MessageID
	t.find(&message, `SELECT message_id FROM refs WHERE user_id = $1 AND identity_id = $2 AND native_id = $3`, t.user,
		identity, e.Target)
	for _, d := range listOf(t, scanDelivery, t.s.deliveriesOf(), t.user, message, message) {
		if d.Identity != identity {
			continue
		}
		t.fail(loadParts(t, &d))
		if n := slices.IndexFunc(d.Parts, func(p core.DeliveryPart) bool { return p.NativeID == e.Target }); n >= 0 {
			return &d, &d.Parts[n]
		}
	}
	return nil, nil
}

// partOf parses the key of a part, as keyParts writes it.
func partOf(key string) (user core.UserID, id core.DeliveryID, n int, ok bool) {
	read, _ := fmt.Sscanf(key, "everthread-%d-%d-%d", &user, &id, &n)
	return user, id, n, read == 3 && n >= 0
}

// currentID returns the id that a delivery of user, who may have been merged into t's user, has here.
func (t *tx) currentID(user core.UserID, id core.DeliveryID) core.DeliveryID {
	var now core.DeliveryID
	if !t.find(&now, `SELECT id FROM deliveries WHERE user_id = $1 AND born = $2 AND born <> ''`, t.user,
		fmt.Sprintf("%d-%d", user, id)) && user == t.user {
		return id
	}
	return now
}

// settlePart applies a status to a part, and reports whether that made its delivery failed or parked, as d says then.
func (t *tx) settlePart(d *core.Delivery, p *core.DeliveryPart, e core.Inbound, now time.Time) (undelivered bool) {
	if p.State != core.DeliveryPending && rank(e.Status.State) <= rank(p.State) || p.State == core.DeliveryFailed {
		return false
	}
	if p.NativeID == "" && e.Target != "" {
		p.NativeID, p.SentAt = e.Target, now
		t.refer(d.Identity, p.NativeID, d.Message)
	}
	switch e.Status.State {
	case core.DeliveryPending:
		return t.resend(d, p, e.Status.Error, now)
	case core.DeliveryParked:
		t.parkAgain(d, p, e.Status.Error)
		return true
	}
	p.State, p.Error = e.Status.State, e.Status.Error
	t.markPart(d, p, p.State)
	if e.Status.Through && p.State == core.DeliveryRead {
		t.readBefore(d)
	}
	if d.State == core.DeliveryPending || d.State == core.DeliverySending {
		t.wakeDelivery(d, now) // the process that sends the rest ends the delivery
	} else {
		t.exec(setDelivered, t.user, d.ID, string(core.DeliverySent), e.Status.Error)
	}
	if p.State != core.DeliveryFailed {
		return false
	}
	d.State = p.State
	return true
}

// wakeDelivery makes the job of a delivery run now that waited for a part to be settled.
func (t *tx) wakeDelivery(d *core.Delivery, now time.Time) {
	if t.count(`UPDATE jobs SET run_at = $4 WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running') AND state = 'ready' AND ref = $3 AND run_at > $4`,
		t.user, core.AddressKey(d.To), d.ID, ms(now)) > 0 {
		t.awaken(core.QueueDeliver + d.To.Channel)
	}
}

// rank orders the states in statuses.
func rank(s core.DeliveryState) int {
	switch s {
	case core.DeliverySent:
		return 1
	case core.DeliveryFailed, core.DeliveryPending, core.DeliveryParked:
		return 2
	case core.DeliveryDelivered:
		return 3
	case core.DeliveryRead:
		return 4
	}
	return 0
}

// resend makes a part pending again that the service did not deliver, under a new key. After
// maxResent times its delivery fails instead, and failed is true.
func (t *tx) resend(d *core.Delivery, p *core.DeliveryPart, cause string, now time.Time) (failed bool) {
	n := valueOf[int](t, `UPDATE delivery_parts SET state = 'pending', native_id = '', resent = resent + 1, error = $4
		WHERE user_id = $1 AND delivery_id = $2 AND n = $3 RETURNING resent`, t.user, d.ID, p.N, cause)
	if t.err != nil {
		return false
	}
	if n > maxResent {
		p.State, p.Error = core.DeliveryFailed, cause
		t.markPart(d, p, p.State)
		d.State = core.DeliveryFailed
		t.exec(setDelivered, t.user, d.ID, string(core.DeliveryFailed), cause)
		return true
	}
	t.requeue(d, now.Add(resentAfter<<min(n-1, 10)))
	return false
}

// parkAgain parks a delivery that the service accepted and then did not deliver.
func (t *tx) parkAgain(d *core.Delivery, p *core.DeliveryPart, cause string) {
	t.exec(`UPDATE delivery_parts SET state = 'pending', native_id = '', resent = resent + 1, error = $4
		WHERE user_id = $1 AND delivery_id = $2 AND n = $3`, t.user, d.ID, p.N, cause)
	t.exec(`UPDATE identities SET blocked = 1, window_until = 0 WHERE user_id = $1 AND id = $2`, t.user, d.Identity)
	d.State = core.DeliveryParked
	t.exec(`UPDATE deliveries SET state = 'parked', error = $3 WHERE user_id = $1 AND id = $2`, t.user, d.ID, cause)
}

// readBefore marks deliveries to an identity before d as read.
func (t *tx) readBefore(d *core.Delivery) {
	const earlier = ` AND id > $3 AND id < $4 AND identity_id = $2 AND state IN ('sent', 'delivered')`
	t.exec(`UPDATE delivery_parts SET state = 'read' WHERE user_id = $1 AND state IN ('sent', 'delivered')
		AND delivery_id IN (SELECT id FROM deliveries WHERE user_id = $1`+earlier+`)`, t.user, d.Identity,
		d.ID-readThrough, d.ID)
	t.exec(`UPDATE deliveries SET state = 'read' WHERE user_id = $1`+earlier, t.user, d.Identity,
		d.ID-readThrough, d.ID)
}

// setDelivered ends a delivery. If it was sent ($3), its state is that of its parts.
const setDelivered = `UPDATE deliveries SET error = $4, state = CASE
	WHEN $3 <> 'sent' THEN $3
	WHEN EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = $1 AND p.delivery_id = $2 AND p.state = 'failed') THEN 'failed'
	WHEN EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = $1 AND p.delivery_id = $2 AND p.state = 'unknown') THEN 'unknown'
	WHEN EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = $1 AND p.delivery_id = $2 AND p.state NOT IN ('delivered', 'read')) THEN 'sent'
	WHEN EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = $1 AND p.delivery_id = $2 AND p.state = 'delivered') THEN 'delivered'
	ELSE 'read' END WHERE user_id = $1 AND id = $2`

// Readdress gives an identity another External; see store.InboundStore.
func (s *Store) Readdress(ctx context.Context, i core.Identity, external string, aliases []string) error {
	return s.update(ctx, "readdress", i.User, func(t *tx) {
		t.execOr(core.ErrExists, `UPDATE addresses SET external = $3 WHERE user_id = $1 AND identity_id = $2 AND NOT EXISTS
			(SELECT 1 FROM addresses o WHERE o.channel = $4 AND o.account = $5 AND o.external = $3 AND NOT (o.user_id = $1 AND o.identity_id = $2))`,
			t.user, i.ID, external, i.Address.Channel, i.Address.Account)
		t.exec(`UPDATE identities SET external = $3, aliases = $4 WHERE user_id = $1 AND id = $2`, t.user, i.ID,
			external, text(aliases))
		to := i.Address
		to.External = external
		t.execEach([]string{
			`UPDATE deliveries SET external = $3 WHERE user_id = $1 AND identity_id = $2 AND ` + underWay,
			`UPDATE deliveries SET external = $3 WHERE user_id = $1 AND identity_id = $2 AND state = 'parked'`,
		}, t.user, i.ID, external)
		if to != i.Address {
			t.rekey(core.AddressKey(i.Address), core.AddressKey(to))
		}
	})
}

// rekey gives waiting and ready jobs another key. A running one ends under the old key.
func (t *tx) rekey(from, to string) {
	for _, state := range []string{"ready", "waiting"} {
		t.exec(`UPDATE jobs SET key = $3, state = 'waiting' WHERE user_id = $1 AND key = $2 AND state = '`+state+
			`'`, t.user, from, to)
	}
	if _, busy := t.head(to); !busy {
		t.promote(to)
	}
}

// State returns a value of a channel's state, "" if there is none; see store.StateStore.
func (s *Store) State(ctx context.Context, account, key string) (string, error) {
	var value string
	err := s.one(ctx).row(`SELECT value FROM states WHERE account = $1 AND key = $2`, account, key).Scan(&value)
	return value, wrap("read state", optional(err))
}

// States returns the values of an account; see store.StateStore.
func (s *Store) States(ctx context.Context, account string) (map[string]string, error) {
	type pair struct{ key, value string }
	pairs, err := list(s.one(ctx), fields(func(p *pair) []any { return []any{&p.key, &p.value} }),
		`SELECT key, value FROM states WHERE account = $1`, account)
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[p.key] = p.value
	}
	return out, wrap("read states", err)
}

// SetState stores values of a channel's state; see store.StateStore.
func (s *Store) SetState(ctx context.Context, account string, values map[string]string, f store.Fence) error {
	return s.writeSharedLong(ctx, "set state", func(t *transaction) {
		held := f == store.Fence{}
		if !held {
			t.get(&held, `SELECT EXISTS (SELECT 1 FROM leases WHERE name = $1 AND worker = $2 AND fence = $3)`, f.Lease,
				f.Worker, f.N)
		}
		if !held {
			t.fail(core.ErrFenced)
		}
		for key, value := range values {
			if value == "" {
				t.exec(`DELETE FROM states WHERE account = $1 AND key = $2`, account, key)
				continue
			}
			t.exec(`INSERT INTO states (account, key, value) VALUES ($1, $2, $3) ON CONFLICT (account, key) DO UPDATE SET value = excluded.value`,
				account, key, value)
		}
	})
}
