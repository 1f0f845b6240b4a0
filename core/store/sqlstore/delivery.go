package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// deliverAll stores the deliveries of the last of ids. The first is claimed and returned if a
// claim is given and its address is idle.
func (t *tx) deliverAll(ds []core.NewDelivery, ids []core.MessageID, c *core.Claim,
	now time.Time) (*core.Delivery, error) {
	var message core.MessageID
	if len(ids) > 0 {
		message = ids[len(ids)-1]
	}
	var first *core.Delivery
	for n, d := range ds {
		claimed, err := t.deliver(message, d, c, now)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			first, c = claimed, nil
		}
	}
	return first, nil
}

// recipient is the state of an address.
type recipient struct {
	blocked bool // it cannot be written to
	busy    bool // it has an earlier delivery
}

// deliver stores one delivery; see deliverTo. Without an identity it is for the user's identity
// at its address, if there is one.
func (t *tx) deliver(m core.MessageID, n core.NewDelivery, c *core.Claim, now time.Time) (*core.Delivery, error) {
	if n.Identity == 0 && t.user != 0 {
		var err error
		if n.Identity, err = t.identityAt(n.To); err != nil {
			return nil, err
		}
	}
	if err := t.leasesAsJobs(); err != nil {
		return nil, err
	}
	var r recipient
	err := t.row(`SELECT COALESCE((SELECT blocked FROM identities WHERE user_id = $1 AND id = $2), 0),
		EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $3 AND state IN ('ready', 'running'))`, t.user, n.Identity,
		core.AddressKey(n.To)).
		Scan(&r.blocked, &r.busy)
	if err != nil {
		return nil, err
	}
	return t.deliverTo(m, n, r, c, now)
}

// deliverTo stores one delivery with its parts and its job; parked and without a job if the
// recipient is blocked. It returns the delivery if it was claimed.
func (t *tx) deliverTo(m core.MessageID, n core.NewDelivery, r recipient, c *core.Claim,
	now time.Time) (*core.Delivery, error) {
	d := core.Delivery{User: t.user, ID: core.DeliveryID(t.nextID()), Message: m, To: n.To,
		Identity: n.Identity, Kind: n.Kind, State: core.DeliveryPending, Why: n.Why, CreatedAt: now, Expires: n.Expires}
	claimed := c != nil && !r.blocked && !r.busy
	switch {
	case r.blocked:
		d.State = core.DeliveryParked
	case claimed:
		d.Lease = core.Lease{Job: core.JobID(d.ID), Key: core.AddressKey(d.To), Attempt: 1, Until: c.Until}
	default:
		if err := t.addDeliveryJob(d, r.busy, now); err != nil {
			return nil, err
		}
	}
	if !claimed {
		c = &core.Claim{}
	}
	for i, p := range n.Parts {
		part := core.DeliveryPart{N: i, Part: p, State: core.DeliveryPending}
		if claimed && i == 0 {
			part.State, d.State = core.DeliverySending, core.DeliverySending
		}
		d.Parts = append(d.Parts, part)
	}
	if err := t.insertDelivery(d, c); err != nil || !claimed {
		return nil, err
	}
	keyParts(&d)
	return &d, t.keptLease()
}

// addDeliveryJob enqueues the job of a delivery, behind others if its address is busy.
func (t *tx) addDeliveryJob(d core.Delivery, busy bool, now time.Time) error {
	job := deliveryJob(d.To, d.ID, now)
	if busy {
		return t.addJob(job, core.JobWaiting)
	}
	t.awaken(job.Queue)
	return t.addJob(job, core.JobReady)
}

func deliveryJob(to core.Address, id core.DeliveryID, runAt time.Time) core.NewJob {
	return core.NewJob{Queue: core.QueueDeliver + to.Channel, Key: core.AddressKey(to), Ref: int64(id), RunAt: runAt}
}

// insertDelivery stores a delivery. The lease of a claim is kept in its row.
func (t *tx) insertDelivery(d core.Delivery, c *core.Claim) error {
	err := t.exec(
		`INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, created_at, expires_at, worker, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, t.user, d.ID, d.Message, d.Identity,
		d.To.Channel, d.To.Account, d.To.External, string(d.Kind), string(d.State), d.Why, ms(d.CreatedAt), ms(d.Expires),
		c.Worker, ms(c.Until))
	for _, p := range d.Parts {
		if err != nil {
			return err
		}
		err = t.exec(`INSERT INTO delivery_parts (user_id, delivery_id, n, body, state) VALUES ($1, $2, $3, $4, $5)`,
			t.user, d.ID, p.N, text(p.Part), string(p.State))
	}
	return err
}

// keyParts sets each part's idempotency key, which is the same for every attempt.
func keyParts(d *core.Delivery) {
	for i := range d.Parts {
		p := &d.Parts[i]
		p.Part.Key = fmt.Sprintf("everthread-%s-%d", cmp.Or(d.Born, fmt.Sprintf("%d-%d", d.User, d.ID)), p.N)
		if p.Resent > 0 {
			p.Part.Key += fmt.Sprintf("-%d", p.Resent)
		}
	}
}

const deliveryColumns = `user_id, id, message_id, identity_id, channel, account, external, kind, state, why, error, created_at, expires_at, born`

func scanDelivery(row scanner) (d core.Delivery, err error) {
	return d, found(row.Scan(&d.User, &d.ID, &d.Message, &d.Identity, &d.To.Channel, &d.To.Account, &d.To.External,
		&d.Kind, &d.State, &d.Why, &d.Error, asTime(&d.CreatedAt), asTime(&d.Expires), &d.Born))
}

func deliveryByID(q reader, user core.UserID, id core.DeliveryID) (core.Delivery, error) {
	d, err := scanDelivery(q.row(`SELECT `+deliveryColumns+` FROM deliveries WHERE user_id = $1 AND id = $2`, user, id))
	if err != nil {
		return d, err
	}
	return d, loadParts(q, &d)
}

func loadParts(q reader, d *core.Delivery) error {
	rows, err := q.rows(
		`SELECT n, body, state, native_id, repeats, resent, sent_at, error FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2 ORDER BY n`, d.User, d.ID)
	d.Parts, err = collect(rows, err, func(r scanner) (p core.DeliveryPart, err error) {
		return p, r.Scan(&p.N, asJSON(&p.Part), &p.State, &p.NativeID, &p.Repeats, &p.Resent, asTime(&p.SentAt), &p.Error)
	})
	keyParts(d)
	return err
}

// ClaimDelivery takes a due delivery job; see core.DeliveryStore.
func (s *Store) ClaimDelivery(ctx context.Context, ref core.JobRef, c core.Claim) (*core.Delivery, error) {
	var out *core.Delivery
	err := s.updateFrozen(ctx, "claim delivery", ref.User, func(t *tx) error {
		out = nil
		l, ok, err := t.take(ref, c)
		if err != nil || !ok {
			return err
		}
		d, err := deliveryByID(t, t.user, core.DeliveryID(ref.Ref))
		if err != nil {
			return err
		}
		d.Lease = l
		if !d.Expires.IsZero() && !c.Now.Before(d.Expires) && d.State == core.DeliveryPending {
			return t.finishDelivery(&d, core.DeliveryExpired, "it was not delivered in time")
		}
		started, err := t.startPart(&d)
		if !started || err != nil {
			return err
		}
		out = &d
		return t.reachable(&d)
	})
	return out, err
}

// reachable reads the messaging window of a delivery's identity.
func (t *tx) reachable(d *core.Delivery) error {
	if d.Identity == 0 {
		return nil
	}
	i, err := scanIdentity(t.row(`SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND id = $2`,
		t.user, d.Identity))
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	d.Window, d.Asked = i.Window, i.Asked
	return err
}

// startPart marks the first unfinished part as sending. One that was already sending, as a
// process died, becomes unknown in d only. If nothing is left to send, because it was
// redacted, the delivery ends.
func (t *tx) startPart(d *core.Delivery) (started bool, err error) {
	for i := range d.Parts {
		p := &d.Parts[i]
		switch {
		case p.State == core.DeliveryPending:
			p.State = core.DeliverySending
			return true, t.markPart(d, p, core.DeliverySending)
		case p.State == core.DeliverySending && (p.Part.Text != "" || p.Part.Attachment != nil):
			p.State = core.DeliveryUnknown
			return true,
				t.exec(`UPDATE delivery_parts SET repeats = repeats + 1 WHERE user_id = $1 AND delivery_id = $2 AND n = $3`, t.user,
					d.ID, p.N)
		case p.State == core.DeliverySending:
			p.State = core.DeliveryUnknown
			if err := t.markPart(d, p, core.DeliveryUnknown); err != nil {
				return false, err
			}
		}
	}
	if len(d.Parts) == 0 {
		return false, t.finishDelivery(d, core.DeliveryFailed, "what it said was deleted")
	}
	return false, t.finishDelivery(d, worst(d.Parts), "")
}

func (t *tx) markPart(d *core.Delivery, p *core.DeliveryPart, state core.DeliveryState) error {
	// A receipt may arrive before the response to the request, which must not undo it.
	err := t.exec(
		`UPDATE delivery_parts SET state = CASE WHEN $4 = 'sent' AND state IN ('delivered', 'read', 'failed') THEN state ELSE $4 END,
		native_id = $5, sent_at = $6, error = $7 WHERE user_id = $1 AND delivery_id = $2 AND n = $3`,
		t.user, d.ID, p.N, string(state), p.NativeID, ms(p.SentAt), p.Error)
	if err != nil || d.State == state {
		return err
	}
	if state == core.DeliverySending || state == core.DeliveryPending {
		d.State = state
		return t.exec(`UPDATE deliveries SET state = $3 WHERE user_id = $1 AND id = $2`, t.user, d.ID, string(state))
	}
	return nil
}

// FinishPart stores the result of a part; see core.DeliveryStore.
func (s *Store) FinishPart(ctx context.Context, d *core.Delivery, n int, r core.PartResult,
	now time.Time) (bool, error) {
	var more bool
	var h holding
	expected := s.parts.take(d.User, int64(d.ID))
	err := s.transactExpected(ctx, "finish part", d.User, expected, func(t *tx) error {
		more = false
		if err := t.holdsAs(d.Lease, h); err != nil {
			return err
		}
		p := &d.Parts[n]
		was := p.State
		p.State, p.Error = r.State, r.Error
		if r.State == core.DeliverySent {
			p.NativeID, p.SentAt = r.Receipt.NativeID, now
		}
		if err := t.markPart(d, p, storedState(r)); err != nil {
			return err
		}
		if was == core.DeliveryUnknown && (r.State == core.DeliveryPending || r.State == core.DeliveryParked) {
			if err := t.stillUnknown(d, p); err != nil {
				return err
			}
		}
		var err error
		more, err = t.afterPart(d, n, r, now)
		return err
	}, readSending(d, &h))
	return more, err
}

// readSending returns the statement that reads the holding of a delivery, whose lease is in its
// row or in a job.
func readSending(d *core.Delivery, h *holding) Statement {
	return Statement{Query: `SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND id = $2 AND state = 'running' AND attempt = $3),
			EXISTS (SELECT 1 FROM deliveries WHERE user_id = $1 AND id = $5 AND lease_until > 0),
			EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $4 AND state = 'waiting')`,
		Args: []any{d.User, d.Lease.Job, d.Lease.Attempt, d.Lease.Key, d.ID}, Scan: func(r Row) error {
			err := r.Scan(&h.held, &h.kept, &h.waits)
			h.kept = h.kept && !h.held && d.Lease.Attempt == 1
			h.held = h.held || h.kept
			return err
		}}
}

// stillUnknown keeps a part as one that may have arrived, after its repeat was refused for now:
// its next attempt is marked as a repeat, too.
func (t *tx) stillUnknown(d *core.Delivery, p *core.DeliveryPart) error {
	return t.exec(
		`UPDATE delivery_parts SET state = 'sending', repeats = $4 WHERE user_id = $1 AND delivery_id = $2 AND n = $3`,
		t.user, d.ID, p.N, p.Repeats)
}

// storedState returns the state to store for a part: pending if it was parked, and sending if
// it may have arrived and will be tried again.
func storedState(r core.PartResult) core.DeliveryState {
	switch {
	case r.State == core.DeliveryParked:
		return core.DeliveryPending
	case r.State == core.DeliveryUnknown && !r.RetryAt.IsZero():
		return core.DeliverySending
	}
	return r.State
}

func (t *tx) afterPart(d *core.Delivery, n int, r core.PartResult, now time.Time) (more bool, err error) {
	if r.State == core.DeliverySent {
		if err := t.refer(d.Identity, r.Receipt.NativeID, d.Message); err != nil {
			return false, err
		}
	}
	if !r.RetryAt.IsZero() && (r.State != core.DeliverySent || n+1 < len(d.Parts)) {
		return false, t.again(d.Lease, r.RetryAt, r.Error)
	}
	switch r.State {
	case core.DeliveryPending:
		return false, t.again(d.Lease, now, r.Error)
	case core.DeliverySent, core.DeliveryUnknown:
		if more, err := t.nextPart(d, n+1); more || err != nil {
			return more, err
		}
		return false, t.finishDelivery(d, worst(d.Parts[:n+1]), r.Error)
	case core.DeliveryParked:
		err := t.exec(
			`UPDATE identities SET blocked = 1, teased = CASE WHEN $3 = 1 THEN 1 ELSE teased END WHERE user_id = $1 AND id = $2`,
			t.user, d.Identity, flag(r.Asked))
		if err != nil {
			return false, err
		}
	}
	return false, t.finishDelivery(d, r.State, r.Error)
}

// nextPart stores part n as sending, if there is one that has not been redacted meanwhile. A
// part that is already sending was stored so by an earlier attempt of this write, as the lease
// is held.
func (t *tx) nextPart(d *core.Delivery, n int) (bool, error) {
	if n >= len(d.Parts) {
		return false, nil
	}
	rows, err := t.count(`UPDATE delivery_parts SET state = 'sending' WHERE user_id = $1 AND delivery_id = $2 AND n = $3
		AND state IN ('pending', 'sending') AND body <> '{"text":""}'`, t.user, d.ID, n)
	if err != nil || rows == 0 {
		return false, err
	}
	d.Parts[n].State = core.DeliverySending
	return true, nil
}

// worst returns unknown if any part is unknown, otherwise sent.
func worst(parts []core.DeliveryPart) core.DeliveryState {
	if slices.ContainsFunc(parts, func(p core.DeliveryPart) bool { return p.State == core.DeliveryUnknown }) {
		return core.DeliveryUnknown
	}
	return core.DeliverySent
}

// finishDelivery ends a delivery and its job.
func (t *tx) finishDelivery(d *core.Delivery, state core.DeliveryState, cause string) error {
	d.State, d.Error = state, cause
	if err := t.exec(setDelivered, t.user, d.ID, string(state), cause); err != nil {
		return err
	}
	return t.end(d.Lease, "")
}

// unpark makes the parked deliveries of an identity pending again.
func (t *tx) unpark(identity core.IdentityID, now time.Time) error {
	parked, err := list(t, scanDelivery, `SELECT `+deliveryColumns+
		` FROM deliveries WHERE user_id = $1 AND identity_id = $2 AND state = 'parked' ORDER BY id`, t.user, identity)
	for i := range parked {
		if err != nil {
			return err
		}
		err = t.requeue(&parked[i], now)
	}
	return err
}

func (t *tx) requeue(d *core.Delivery, now time.Time) error {
	if err := t.exec(`UPDATE deliveries SET state = 'pending', error = '' WHERE user_id = $1 AND id = $2`,
		t.user, d.ID); err != nil {
		return err
	}
	return t.queueDelivery(d, now)
}

// queueDelivery enqueues the job of a stored delivery.
func (t *tx) queueDelivery(d *core.Delivery, now time.Time) error {
	_, busy, err := t.head(core.AddressKey(d.To))
	if err != nil {
		return err
	}
	return t.addDeliveryJob(*d, busy, now)
}
