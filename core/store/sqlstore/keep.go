package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

// Acquire takes or renews a lease; see store.LeaseStore.
func (s *Store) Acquire(ctx context.Context, name, worker string, now, until time.Time) (int64, bool, error) {
	var fence int64
	held := false
	err := s.writeShared(ctx, "acquire lease", func(t *transaction) {
		held = t.find(&fence, `INSERT INTO leases (name, worker, fence, until) VALUES ($1, $2, 1, $3)
			ON CONFLICT (name) DO UPDATE SET until = excluded.until, worker = excluded.worker,
				fence = CASE WHEN leases.worker = excluded.worker THEN leases.fence ELSE leases.fence + 1 END
			WHERE leases.worker = excluded.worker OR leases.until <= $4
			RETURNING fence`, name, worker, ms(until), ms(now))
	})
	return fence, held, err
}

// Release ends a lease.
func (s *Store) Release(ctx context.Context, name, worker string) error {
	return s.execShared(ctx, "release lease", `UPDATE leases SET until = 0 WHERE name = $1 AND worker = $2`, name, worker)
}

// execShared runs one statement in a transaction of no user.
func (s *Store) execShared(ctx context.Context, op, query string, args ...any) error {
	return s.writeShared(ctx, op, func(t *transaction) { t.exec(query, args...) })
}

// writeShared runs f in one writing transaction of no user.
func (s *Store) writeShared(ctx context.Context, op string, f func(t *transaction)) error {
	return s.transact(ctx, op, tx{unlocked: true}, func(t *tx) { f(t.transaction) })
}

// writeSharedLong is writeShared without the dialect's timeout.
func (s *Store) writeSharedLong(ctx context.Context, op string, f func(t *transaction)) error {
	return s.transact(ctx, op, tx{unlocked: true, long: true}, func(t *tx) { f(t.transaction) })
}

// Take reserves the next slot of a limiter: a leaky bucket, stored as the time of its next free slot in microseconds.
func (s *Store) Take(ctx context.Context, key string, every time.Duration, burst int,
	now time.Time) (time.Duration, error) {
	var slot int64
	err := s.writeShared(ctx, "take rate", func(t *transaction) {
		t.get(&slot, `INSERT INTO rates (key, at) VALUES ($1, $2)
			ON CONFLICT (key) DO UPDATE SET at = CASE WHEN rates.at + $3 > excluded.at THEN rates.at + $3 ELSE excluded.at END
			RETURNING at - $3`, key, now.Add(-every*time.Duration(burst-2)).UnixMicro(), every.Microseconds())
	})
	return max(0, time.UnixMicro(slot).Sub(now)), err
}

// Push blocks the limiter of key until `until`.
func (s *Store) Push(ctx context.Context, key string, until time.Time) error {
	return s.execShared(ctx, "push rate", `INSERT INTO rates (key, at) VALUES ($1, $2)
		ON CONFLICT (key) DO UPDATE SET at = CASE WHEN rates.at > excluded.at THEN rates.at ELSE excluded.at END`, key, until.UnixMicro())
}

// SetAttachment stores a fetched attachment; see store.MediaStore.
func (s *Store) SetAttachment(ctx context.Context, f store.Fetched) error {
	gone := false
	err := s.update(ctx, "set attachment", f.User, func(t *tx) {
		t.holds(f.Lease)
		m := t.message(f.Message)
		if gone = m.Redacted || f.Index >= len(m.Attachments); gone {
			t.end(f.Lease, "")
			return
		}
		was := m.Attachments[f.Index].Document
		m.Attachments[f.Index] = f.Attachment
		t.putExtra(m)
		if f.Text != "" && f.Revision == m.Revision {
			t.transcribed(m, f)
		}
		t.readLater(m.ID, f.Index, f.Attachment, m.SentAt)
		t.wasRead(m, was, f.Attachment.Document)
		if again := f.Attachment.Unheard; !again.IsZero() {
			t.retry(f.Lease, again, "the day's tokens are used up")
		} else {
			t.end(f.Lease, "")
		}
	})
	if err == nil && gone {
		return core.ErrNotFound
	}
	return err
}

// transcribed replaces a message's text by one with the transcript.
func (t *tx) transcribed(m core.Message, f store.Fetched) {
	t.exec(`UPDATE messages SET body = $3, tokens = $4 WHERE user_id = $1 AND id = $2`, t.user, m.ID, f.Text, f.Tokens)
	t.reindex(m, f.Text)
	t.reembedMessage(m)
}

// Lookup returns the journalled result of a call of an outside tool.
func (s *Store) Lookup(ctx context.Context, user core.UserID, turn core.TurnID, step, index int) (string, bool, error) {
	var body string
	err := s.one(ctx).row(`SELECT body FROM journal WHERE user_id = $1 AND turn_id = $2 AND step = $3 AND call = $4`, user,
		turn, step, index).Scan(&body)
	return body, err == nil, wrap("look up call", optional(err))
}

// Earlier returns the calls of other turns for messages; see store.JournalStore.
func (s *Store) Earlier(ctx context.Context, user core.UserID, turn core.TurnID,
	messages []core.MessageID) (out []store.CallRecord, err error) {
	scan := fields(func(c *store.CallRecord) []any { return []any{&c.Turn, &c.Step, &c.Index, &c.Tool, &c.Text} })
	for message := range until(&err, messages) {
		err = addTo(&out, s.one(ctx), scan, `SELECT turn_id, step, call, name, body FROM journal
			WHERE user_id = $1 AND message_id = $2 AND message_id > 0 AND turn_id <> $3 ORDER BY turn_id, step, call`, user, message, turn)
	}
	return out, wrap("look up earlier calls", err)
}

// Record journals the result of a call of an outside tool.
func (s *Store) Record(ctx context.Context, user core.UserID, c store.CallRecord) error {
	return s.update(ctx, "record call", user, func(t *tx) {
		if c.Result != "" {
			t.audit(audit.Row{At: c.At, Via: cmp.Or(c.By.Via, core.ViaGateway), ViaID: c.By.ID, What: audit.Call,
				Object: "turn", IDs: []int64{int64(c.Turn)}, Tool: c.Tool, Result: c.Result})
		}
		if c.Approval != 0 {
			t.recordApproved(c)
			return
		}
		message := core.MessageID(0)
		if c.Changes {
			message = slices.Max(append(t.turn(c.Turn).Inputs, 0))
		}
		t.exec(`INSERT INTO journal (user_id, turn_id, step, call, name, body, message_id, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (user_id, turn_id, step, call) DO UPDATE SET name = excluded.name, body = excluded.body, message_id = excluded.message_id, at = excluded.at`, t.user, c.Turn,
			c.Step, c.Index, c.Tool, c.Text, message, ms(c.At))
	})
}

// Sweep removes obsolete rows; see store.Janitor.
func (s *Store) Sweep(ctx context.Context, raw, now time.Time) (int, error) {
	total, err := s.sweepDays(ctx, raw, now)
	if err != nil {
		return int(total), err
	}
	var late []core.UserID
	err = s.writeSharedLong(ctx, "sweep", func(t *transaction) {
		late = listOf(t, column[core.UserID], `UPDATE deliveries SET state = 'expired', error = 'it was not delivered in time'
			WHERE expires_at > 0 AND state IN ('pending', 'parked') AND state = 'parked' AND expires_at <= $1 RETURNING user_id`,
			ms(now))
		total += int64(len(late))
		for _, step := range []struct {
			query  string
			before int64
		}{
			{`UPDATE events SET payload = NULL, state = 'done' WHERE payload IS NOT NULL AND with_day = 0 AND received_at < $1`,
				ms(raw)},
			{`DELETE FROM tokens WHERE (kind, hash) IN (SELECT kind, hash FROM codes WHERE expires_at > 0 AND expires_at <= $1)`,
				ms(now)},
			{`DELETE FROM tokens WHERE kind = 'session' AND hash IN (SELECT hash FROM sessions WHERE expires_at <= $1)`, ms(now)},
			{`DELETE FROM codes WHERE expires_at > 0 AND expires_at <= $1`, ms(now)},
			{`DELETE FROM sessions WHERE expires_at <= $1`, ms(now)},
			{`DELETE FROM tries WHERE until <= $1`, ms(now)},
			{`DELETE FROM rates WHERE at < $1`, now.UnixMicro()},
			{`DELETE FROM once WHERE at < $1`, ms(raw)},
			{`DELETE FROM journal WHERE message_id > 0 AND at < $1`, ms(raw)},
		} {
			total += t.count(step.query, step.before)
		}
	})
	if err == nil {
		s.changes.publish(slices.DeleteFunc(late, func(u core.UserID) bool { return u == 0 })...)
	}
	return int(total), err
}

const (
	sweptDays = 500            // in a transaction
	dayOfRaw  = 24 * time.Hour // a day's payloads are removed when the first of them are due
	skew      = time.Hour      // a process whose clock is slow still stores messages in a day that has ended
)

// sweepDays removes the raw payloads of the messages of days that have ended and that began before raw, and returns
// their number.
func (s *Store) sweepDays(ctx context.Context, raw, now time.Time) (total int64, err error) {
	ended := raw.Add(dayOfRaw)
	if latest := now.Add(-skew); latest.Before(ended) {
		ended = latest
	}
	type dayOf struct {
		user core.UserID
		id   core.SegmentID
	}
	for more := true; more && err == nil; {
		err = s.writeSharedLong(ctx, "sweep days", func(t *transaction) {
			days := listOf(t, fields(func(d *dayOf) []any { return []any{&d.user, &d.id} }),
				`SELECT user_id, id FROM segments WHERE raw = 1 AND ends_at < $1 ORDER BY ends_at LIMIT $2`, ms(ended), sweptDays)
			for _, d := range days {
				total += t.count(`UPDATE events SET payload = NULL WHERE user_id = $1 AND payload IS NOT NULL AND with_day = 1
					AND message_id IN (SELECT id FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0)`, d.user, d.id)
				t.exec(`UPDATE segments SET raw = 0 WHERE user_id = $1 AND id = $2`, d.user, d.id)
			}
			more = len(days) == sweptDays
		})
	}
	return total, err
}

// speakJob enqueues the job that speaks the answer of a turn, if requested.
func (t *tx) speakJob(r store.Reply, ids []core.MessageID) {
	if !r.Speak || r.State != core.TurnDone || len(ids) == 0 || len(r.Messages) == 0 {
		return
	}
	t.enqueue(store.NewJob{Queue: core.QueueSpeak, Key: core.SpeakKey, Ref: int64(ids[len(ids)-1]),
		Payload: json.RawMessage(text(r.Turn.Address)), RunAt: r.Now})
}

// Spoken adds a recording to a message; see store.SpeechStore.
func (s *Store) Spoken(ctx context.Context, x store.Spoken) error {
	gone := false
	err := s.update(ctx, "keep speech", x.User, func(t *tx) {
		t.holds(x.Lease)
		m := t.message(x.Message)
		if gone = m.Redacted || m.Kind != core.KindChat; gone {
			t.end(x.Lease, "")
			return
		}
		m.Attachments = append(m.Attachments, x.Attachment)
		t.putExtra(m)
		t.deliver(m.ID, x.Delivery, nil, x.Now)
		t.dropFailedSpeech()
		t.end(x.Lease, "")
	})
	if err == nil && gone {
		return core.ErrNotFound
	}
	return err
}

// Unspoken ends the job of an answer that could not be spoken; see store.SpeechStore. Only the last failed job is kept.
func (s *Store) Unspoken(ctx context.Context, user core.UserID, l core.Lease, cause string) error {
	return s.update(ctx, "give speech up", user, func(t *tx) {
		t.holds(l)
		t.dropFailedSpeech()
		t.end(l, cause)
	})
}

// dropFailedSpeech removes the job of an earlier answer that could not be spoken.
func (t *tx) dropFailedSpeech() {
	t.exec(`DELETE FROM jobs WHERE user_id = $1 AND key = $2 AND state = 'dead'`, t.user, core.SpeakKey)
}

// SpeechTrouble returns why the last answer was not spoken; see store.SpeechStore.
func (s *Store) SpeechTrouble(ctx context.Context, user core.UserID) (cause string, since time.Time, err error) {
	err = s.one(ctx).row(`SELECT error, since FROM jobs WHERE user_id = $1 AND key = $2 AND state = 'dead'
		ORDER BY id DESC LIMIT 1`, user, core.SpeakKey).Scan(&cause, asTime(&since))
	return cause, since, wrap("read speech", optional(err))
}
