package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// deliverAll stores the deliveries of the last of ids. The first is claimed and returned if a
// claim is given and its address is idle.
func (t *tx) deliverAll(ds []core.NewDelivery, ids []core.MessageID, c *store.Claim,
	now time.Time) *core.Delivery {
	var message core.MessageID
	if len(ids) > 0 {
		message = ids[len(ids)-1]
	}
	var first *core.Delivery
	for n, d := range ds {
		claimed := t.deliver(message, d, c, now)
		if n == 0 {
			first, c = claimed, nil
		}
	}
	return first
}

// recipient is the state of an address.
type recipient struct {
	blocked bool // it cannot be written to
	busy    bool // it has an earlier delivery
}

// deliver stores one delivery; see deliverTo. Without an identity it is for the user's identity
// at its address, if there is one.
func (t *tx) deliver(m core.MessageID, n core.NewDelivery, c *store.Claim, now time.Time) *core.Delivery {
	if n.Identity == 0 && t.user != 0 {
		n.Identity = t.identityAt(n.To)
	}
	var r recipient
	t.get(columns{&r.blocked, &r.busy}, `SELECT COALESCE((SELECT blocked FROM identities WHERE user_id = $1 AND id = $2), 0),
		EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $3 AND state IN ('ready', 'running'))`, t.user, n.Identity,
		core.AddressKey(n.To))
	if r.blocked && n.Kind == core.DeliverRetraction {
		return nil // nothing can be deleted there, and it would be too late when they write again
	}
	return t.deliverTo(core.DeliveryID(t.nextID()), m, false, n, r, c, now)
}

// deliverTo stores one delivery with its parts and its job; parked and without a job if the
// recipient is blocked. It returns the delivery if it was claimed. direct: the turn of the message has the
// delivery's id.
func (t *tx) deliverTo(id core.DeliveryID, m core.MessageID, direct bool, n core.NewDelivery, r recipient,
	c *store.Claim, now time.Time) *core.Delivery {
	d := core.Delivery{User: t.user, ID: id, Message: m, To: n.To,
		Identity: n.Identity, Kind: n.Kind, State: core.DeliveryPending, Why: n.Why, CreatedAt: now, Expires: n.Expires}
	claimed := c != nil && !r.blocked && !r.busy
	switch {
	case r.blocked:
		d.State = core.DeliveryParked
	case claimed:
		d.Lease = core.Lease{Job: core.JobID(d.ID), Key: core.AddressKey(d.To), Attempt: 1, Until: c.Until}
		job := deliveryJob(d.To, d.ID, now)
		job.User = t.user
		t.exec(insertJob, jobRow(job, d.Lease.Job, store.JobRunning, d.Lease, c.Worker)...)
	default:
		t.addDeliveryJob(d, r.busy, now)
	}
	for i, p := range n.Parts {
		part := core.DeliveryPart{N: i, Part: p, State: core.DeliveryPending}
		part.Part.Place = n.To.Place
		if claimed && i == 0 {
			part.State, d.State = core.DeliverySending, core.DeliverySending
		}
		d.Parts = append(d.Parts, part)
	}
	t.insertDelivery(d, direct)
	if !claimed {
		return nil
	}
	keyParts(&d)
	return &d
}

// addDeliveryJob enqueues the job of a delivery, behind others if its address is busy.
func (t *tx) addDeliveryJob(d core.Delivery, busy bool, now time.Time) {
	job := deliveryJob(d.To, d.ID, now)
	if busy {
		t.addJob(job, store.JobWaiting)
		return
	}
	t.awaken(job.Queue)
	t.addJob(job, store.JobReady)
}

func deliveryJob(to core.Address, id core.DeliveryID, runAt time.Time) store.NewJob {
	return store.NewJob{Queue: core.QueueDeliver + to.Channel, Key: core.AddressKey(to), Ref: int64(id), RunAt: runAt}
}

// insertDelivery stores a delivery.
func (t *tx) insertDelivery(d core.Delivery, direct bool) {
	t.exec(
		`INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, created_at, expires_at, direct)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, t.user, d.ID, d.Message, d.Identity,
		d.To.Channel, d.To.Account, d.To.External, string(d.Kind), string(d.State), d.Why, ms(d.CreatedAt), ms(d.Expires),
		flag(direct))
	for _, p := range d.Parts {
		t.exec(`INSERT INTO delivery_parts (user_id, delivery_id, n, body, state) VALUES ($1, $2, $3, $4, $5)`,
			t.user, d.ID, p.N, text(p.Part), string(p.State))
	}
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

// deliveriesOf returns the query for deliveries of the user's ($1) messages from $2 to $3: of those that the turns of
// the messages name, and of the others.
func (s *Store) deliveriesOf() string {
	turns := fmt.Sprintf(s.dialect.OneOf, `SELECT turn_id FROM messages WHERE user_id = $1 AND id BETWEEN $2 AND $3`)
	direct := fmt.Sprintf(s.dialect.OneOf, `SELECT delivery_id FROM turns WHERE user_id = $1 AND id `+turns)
	const of = ` FROM deliveries WHERE user_id = $1 AND message_id BETWEEN $2 AND $3`
	return `SELECT ` + deliveryColumns + of + ` AND message_id > 0 AND direct = 0 UNION ALL
		SELECT ` + deliveryColumns + of + ` AND direct = 1 AND id ` + direct
}

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

// delivery returns a delivery of the user with its parts.
func (t *tx) delivery(id core.DeliveryID) core.Delivery {
	d, err := deliveryByID(t, t.user, id)
	t.fail(err)
	return d
}

func loadParts(q reader, d *core.Delivery) error {
	parts, err := list(q, fields(func(p *core.DeliveryPart) []any {
		return []any{&p.N, asJSON(&p.Part), &p.State, &p.NativeID, &p.Repeats, &p.Resent, asTime(&p.SentAt), &p.Error}
	}), `SELECT n, body, state, native_id, repeats, resent, sent_at, error FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2 ORDER BY n`, d.User, d.ID)
	d.Parts = parts
	keyParts(d)
	return err
}

// ClaimDelivery takes a due delivery job; see store.DeliveryStore.
func (s *Store) ClaimDelivery(ctx context.Context, ref store.JobRef, c store.Claim) (*core.Delivery, error) {
	var out *core.Delivery
	err := s.update(ctx, "claim delivery", ref.User, func(t *tx) {
		out = nil
		l, ok := t.take(ref, c)
		if !ok {
			return
		}
		d := t.delivery(core.DeliveryID(ref.Ref))
		d.Lease = l
		if !d.Expires.IsZero() && !c.Now.Before(d.Expires) && d.State == core.DeliveryPending {
			t.finishDelivery(&d, core.DeliveryExpired, "it was not delivered in time")
			return
		}
		if t.startPart(&d) {
			out = &d
			t.reachable(&d)
			t.findRetracted(&d)
		}
	})
	return out, err
}

// findRetracted sets the ids of the messages that a delivery deletes. What was on its way when they were deleted has
// arrived by now, as deliveries to an address follow each other.
func (t *tx) findRetracted(d *core.Delivery) {
	for i := range d.Parts {
		p := &d.Parts[i].Part
		user, id, n, ok := partOf(p.Retracts)
		if p.Retracts = ""; ok {
			t.find(&p.Retracts, `SELECT native_id FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2 AND n = $3`, t.user,
				t.currentID(user, id), n)
		}
	}
}

// reachable reads the messaging window of a delivery's identity.
func (t *tx) reachable(d *core.Delivery) {
	if d.Identity == 0 {
		return
	}
	i, err := scanIdentity(t.row(`SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND id = $2`,
		t.user, d.Identity))
	if err == nil {
		d.Window, d.Asked = i.Window, i.Asked
	}
}

// startPart marks the first unfinished part as sending. One that was already sending, as a process died, becomes
// unknown in d only. If nothing is left to send, because it was redacted, the delivery ends.
func (t *tx) startPart(d *core.Delivery) (started bool) {
	for i := range d.Parts {
		p := &d.Parts[i]
		switch {
		case p.State == core.DeliveryPending:
			p.State = core.DeliverySending
			t.markPart(d, p, core.DeliverySending)
			return true
		case p.State == core.DeliverySending && (p.Part.Text != "" || p.Part.Attachment != nil || p.Part.Retracts != ""):
			p.State = core.DeliveryUnknown
			t.exec(`UPDATE delivery_parts SET repeats = repeats + 1 WHERE user_id = $1 AND delivery_id = $2 AND n = $3`, t.user,
				d.ID, p.N)
			return true
		case p.State == core.DeliverySending:
			p.State = core.DeliveryUnknown
			t.markPart(d, p, core.DeliveryUnknown)
		}
	}
	if len(d.Parts) == 0 {
		t.finishDelivery(d, core.DeliveryFailed, "what it said was deleted")
		return false
	}
	t.finishDelivery(d, worst(d.Parts), "")
	return false
}

func (t *tx) markPart(d *core.Delivery, p *core.DeliveryPart, state core.DeliveryState) {
	// A receipt may arrive before the response to the request, which must not undo it.
	t.exec(
		`UPDATE delivery_parts SET state = CASE WHEN $4 = 'sent' AND state IN ('delivered', 'read', 'failed') THEN state ELSE $4 END,
		native_id = $5, sent_at = $6, error = $7 WHERE user_id = $1 AND delivery_id = $2 AND n = $3`,
		t.user, d.ID, p.N, string(state), p.NativeID, ms(p.SentAt), p.Error)
	if d.State == state {
		return
	}
	if state == core.DeliverySending || state == core.DeliveryPending {
		d.State = state
		t.exec(`UPDATE deliveries SET state = $3 WHERE user_id = $1 AND id = $2`, t.user, d.ID, string(state))
	}
}

// FinishPart stores the result of a part; see store.DeliveryStore.
func (s *Store) FinishPart(ctx context.Context, d *core.Delivery, n int, r store.PartResult,
	now time.Time) (bool, error) {
	var more bool
	var h holding
	before, parts := *d, slices.Clone(d.Parts)
	err := s.transact(ctx, "finish part", tx{user: d.User, first: []Statement{readHolding(d.User, d.Lease, &h)},
		together: true}, func(t *tx) {
		more = false
		*d = before
		copy(d.Parts, parts)
		if t.holdsAs(d.Lease, h); t.err != nil {
			return
		}
		p := &d.Parts[n]
		was := p.State
		p.State, p.Error = r.State, r.Error
		if r.State == core.DeliverySent {
			p.NativeID, p.SentAt = r.Receipt.NativeID, now
		}
		t.markPart(d, p, storedState(r))
		if was == core.DeliveryUnknown && (r.State == core.DeliveryPending || r.State == core.DeliveryParked) {
			// It may have arrived, and its repeat was refused for now: the next attempt is a repeat, too.
			t.exec(
				`UPDATE delivery_parts SET state = 'sending', repeats = $4 WHERE user_id = $1 AND delivery_id = $2 AND n = $3`,
				t.user, d.ID, p.N, p.Repeats)
		}
		more = t.afterPart(d, n, r, now)
	})
	return more, err
}

// storedState returns the state to store for a part: pending if it was parked, and sending if
// it may have arrived and will be tried again.
func storedState(r store.PartResult) core.DeliveryState {
	switch {
	case r.State == core.DeliveryParked:
		return core.DeliveryPending
	case r.State == core.DeliveryUnknown && !r.RetryAt.IsZero():
		return core.DeliverySending
	}
	return r.State
}

func (t *tx) afterPart(d *core.Delivery, n int, r store.PartResult, now time.Time) (more bool) {
	if r.State == core.DeliverySent {
		t.refer(d.Identity, r.Receipt.NativeID, d.Message)
	}
	if !r.RetryAt.IsZero() && (r.State != core.DeliverySent || n+1 < len(d.Parts)) {
		t.again(d.Lease, r.RetryAt, r.Error)
		return false
	}
	switch r.State {
	case core.DeliveryPending:
		t.again(d.Lease, now, r.Error)
		return false
	case core.DeliverySent, core.DeliveryUnknown:
		if t.nextPart(d, n+1) {
			return true
		}
		t.finishDelivery(d, worst(d.Parts[:n+1]), r.Error)
		return false
	case core.DeliveryParked:
		t.exec(
			`UPDATE identities SET blocked = 1, teased = CASE WHEN $3 = 1 THEN 1 ELSE teased END WHERE user_id = $1 AND id = $2`,
			t.user, d.Identity, flag(r.Asked))
	}
	t.finishDelivery(d, r.State, r.Error)
	return false
}

// nextPart stores part n as sending, if there is one that has not been redacted meanwhile. A part that is already
// sending was stored so by an earlier attempt of this write, as the lease is held.
func (t *tx) nextPart(d *core.Delivery, n int) bool {
	if n >= len(d.Parts) {
		return false
	}
	if t.count(`UPDATE delivery_parts SET state = 'sending' WHERE user_id = $1 AND delivery_id = $2 AND n = $3
		AND state IN ('pending', 'sending') AND body <> '{"text":""}'`, t.user, d.ID, n) == 0 {
		return false
	}
	d.Parts[n].State = core.DeliverySending
	return true
}

// worst returns unknown if any part is unknown, otherwise sent.
func worst(parts []core.DeliveryPart) core.DeliveryState {
	if slices.ContainsFunc(parts, func(p core.DeliveryPart) bool { return p.State == core.DeliveryUnknown }) {
		return core.DeliveryUnknown
	}
	return core.DeliverySent
}

// finishDelivery ends a delivery and its job.
func (t *tx) finishDelivery(d *core.Delivery, state core.DeliveryState, cause string) {
	d.State, d.Error = state, cause
	if d.Kind == core.DeliverRetraction {
		t.execEach([]string{`DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2`,
			`DELETE FROM deliveries WHERE user_id = $1 AND id = $2`}, t.user, d.ID)
		t.end(d.Lease, "")
		return
	}
	t.exec(setDelivered, t.user, d.ID, string(state), cause)
	t.end(d.Lease, "")
}

// unpark makes the parked deliveries of an identity pending again.
func (t *tx) unpark(identity core.IdentityID, now time.Time) {
	parked := listOf(t, scanDelivery, `SELECT `+deliveryColumns+
		` FROM deliveries WHERE user_id = $1 AND identity_id = $2 AND state = 'parked' ORDER BY id`, t.user, identity)
	for i := range parked {
		t.requeue(&parked[i], now)
	}
}

func (t *tx) requeue(d *core.Delivery, now time.Time) {
	t.exec(`UPDATE deliveries SET state = 'pending', error = '' WHERE user_id = $1 AND id = $2`, t.user, d.ID)
	t.queueDelivery(d, now)
}

// queueDelivery enqueues the job of a stored delivery.
func (t *tx) queueDelivery(d *core.Delivery, now time.Time) {
	_, busy := t.head(core.AddressKey(d.To))
	t.addDeliveryJob(*d, busy, now)
}
