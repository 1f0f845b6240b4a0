package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everthread/everthread/core"
)

const identityColumns = `i.user_id, i.id, i.channel, i.account, i.external, i.name, i.thread_id, i.blocked, i.last_used`

func scanIdentity(row scanner) (core.Identity, error) {
	var i core.Identity
	var used int64
	err := row.Scan(&i.User, &i.ID, &i.Address.Channel, &i.Address.Account, &i.Address.External, &i.Name, &i.Thread, &i.Blocked, &used)
	i.LastUsed = at(used)
	return i, found(err)
}

// Identify returns who is at an address, or ErrNotFound.
func (s *Store) Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error) {
	var u core.User
	var settings string
	var created int64
	i, err := scanIdentity(joined{s.one(ctx).row(`SELECT `+identityColumns+`, u.name, u.role, u.settings, u.created_at
		FROM identities i JOIN users u ON u.id = i.user_id WHERE i.channel = $1 AND i.account = $2 AND i.external = $3`,
		a.Channel, a.Account, a.External), []any{&u.Name, (*string)(&u.Role), &settings, &created}})
	if err != nil {
		return i, u, wrap("identify", err)
	}
	u.ID, u.CreatedAt = i.User, at(created)
	return i, u, unjson(settings, &u.Settings)
}

// joined scans a row that ends with columns of another table.
type joined struct {
	scanner
	rest []any
}

// Scan scans the first columns into dest, the others into the rest.
func (j joined) Scan(dest ...any) error { return j.scanner.Scan(append(dest, j.rest...)...) }

// Append stores inbound messages of one identity; see core.InboundStore.
func (s *Store) Append(ctx context.Context, a core.Append) (core.Appended, error) {
	var out core.Appended
	err := s.update(ctx, "append", a.User, func(t *tx) error {
		out = core.Appended{}
		to, err := t.route(a.Identity)
		if err != nil {
			return err
		}
		if err := t.appendAll(a, to, &out); err != nil || len(out.Messages) == 0 {
			return err
		}
		if err := t.touch(to, a.Now, &out); err != nil || a.Paused {
			return err
		}
		return t.wantTurn(a, to, &out)
	})
	return out, err
}

// route is where messages of an identity go.
type route struct {
	identity core.Identity
	thread   core.ThreadID
	mode     core.Mode
	last     int64 // last position of the thread
}

func (t *tx) route(id core.IdentityID) (route, error) {
	var r route
	i, err := scanIdentity(t.row(`SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND id = $2`, t.user, id))
	if err != nil {
		return r, err
	}
	r.identity = i
	query, arg := `SELECT id, mode, last_position FROM threads WHERE user_id = $1 AND id = $2`, any(i.Thread)
	if i.Thread == 0 {
		query, arg = `SELECT id, mode, last_position FROM threads WHERE user_id = $1 AND mode = 'continuous' AND $2 = 0`, any(0)
	}
	err = t.row(query, t.user, arg).Scan(&r.thread, (*string)(&r.mode), &r.last)
	return r, found(err)
}

func (t *tx) appendAll(a core.Append, to route, out *core.Appended) error {
	for n, e := range a.Events {
		fresh, err := t.admit(e, core.MessageID(t.lastMessage+1), "done", a.Now)
		if err != nil {
			return err
		}
		if !fresh {
			out.Duplicates++
			continue
		}
		id, err := t.appendOne(a.Messages[n], e, to)
		if err != nil {
			return err
		}
		out.Messages = append(out.Messages, id)
	}
	return nil
}

func (t *tx) appendOne(m core.NewMessage, e core.Inbound, to route) (core.MessageID, error) {
	p := place{thread: to.thread, identity: to.identity.ID, channel: to.identity.Address.Channel}
	if to.mode == core.ModeContinuous && m.Kind == core.KindChat {
		seg, err := t.segment(to.thread, m.Day)
		if err != nil {
			return 0, err
		}
		p.segment = seg
	}
	id, err := t.insert(m, p)
	if err != nil {
		return 0, err
	}
	if err := t.refer(to.identity.ID, e.NativeID, id); err != nil {
		return 0, err
	}
	return id, t.fetchJobs(id, e, m)
}

// admit stores an event, and tells whether it is new. One that was held until
// its address became somebody's is admitted once more.
func (t *tx) admit(e core.Inbound, m core.MessageID, state string, now time.Time) (bool, error) {
	n, err := t.count(`INSERT INTO events (channel, account, event_id, user_id, external, state, message_id, received_at, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (channel, account, event_id) DO UPDATE SET user_id = excluded.user_id, state = excluded.state,
			message_id = excluded.message_id, payload = excluded.payload
		WHERE events.state = 'held' AND excluded.state <> 'held'`,
		e.Address.Channel, e.Address.Account, e.EventID, t.user, e.Address.External, state, m, ms(now), nullable(e.Raw))
	return n > 0, err
}

func nullable(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// refer remembers the service's id of a message, for replies and edits.
func (t *tx) refer(identity core.IdentityID, native string, m core.MessageID) error {
	if native == "" {
		return nil
	}
	return t.exec(`INSERT INTO refs (user_id, identity_id, native_id, message_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, identity_id, native_id) DO NOTHING`, t.user, identity, native, m)
}

func (t *tx) fetchJobs(id core.MessageID, e core.Inbound, m core.NewMessage) error {
	for i, f := range m.Attachments {
		if f.Ref == "" {
			continue
		}
		err := t.enqueue(core.NewJob{User: t.user, Queue: core.QueueFetch + e.Address.Channel, Key: key("fetch", int64(id), int64(i)),
			Ref: int64(id), Payload: json.RawMessage(text(i)), RunAt: m.SentAt})
		if err != nil {
			return err
		}
	}
	return nil
}

// touch records that an identity was used, and wakes what waited for it.
func (t *tx) touch(to route, now time.Time, out *core.Appended) error {
	err := t.exec(`UPDATE identities SET last_used = $3, blocked = 0 WHERE user_id = $1 AND id = $2`, t.user, to.identity.ID, ms(now))
	if err != nil {
		return err
	}
	if to.identity.Blocked {
		out.Unparked, err = t.unpark(to.identity.ID, now)
	}
	return err
}

// Edit replaces the text of a message; see core.InboundStore.
func (s *Store) Edit(ctx context.Context, user core.UserID, identity core.IdentityID, e core.Inbound, m core.NewMessage, now time.Time) error {
	return s.update(ctx, "edit", user, func(t *tx) error {
		old, err := t.referred(identity, e.Target)
		if err != nil {
			return err
		}
		fresh, err := t.admit(e, old.ID, "done", now)
		if err != nil || !fresh || old.Redacted || old.Text == m.Text {
			return err
		}
		return t.rewrite(old, m, now)
	})
}

// Referred returns the message that a service knows by native, or ErrNotFound.
func (s *Store) Referred(ctx context.Context, user core.UserID, identity core.IdentityID, native string) (core.MessageID, error) {
	var id core.MessageID
	err := s.one(ctx).row(`SELECT message_id FROM refs WHERE user_id = $1 AND identity_id = $2 AND native_id = $3`, user, identity, native).Scan(&id)
	return id, found(err)
}

func (t *tx) referred(identity core.IdentityID, native string) (core.Message, error) {
	return scanMessage(t.row(`SELECT `+prefixed("m", messageColumns)+` FROM refs r JOIN messages m ON m.user_id = r.user_id AND m.id = r.message_id
		WHERE r.user_id = $1 AND r.identity_id = $2 AND r.native_id = $3`, t.user, identity, native))
}

func (t *tx) rewrite(old core.Message, m core.NewMessage, now time.Time) error {
	err := t.exec(`INSERT INTO revisions (user_id, message_id, revision, body, replaced_at) VALUES ($1, $2, $3, $4, $5)`,
		t.user, old.ID, old.Revision, old.Text, ms(now))
	if err != nil {
		return err
	}
	err = t.exec(`UPDATE messages SET body = $3, tokens = $4, revision = revision + 1 WHERE user_id = $1 AND id = $2`, t.user, old.ID, m.Text, m.Tokens)
	if err != nil {
		return err
	}
	return t.disturbed(old)
}

// disturbed tells all that rests on a message that it is not what it was.
func (t *tx) disturbed(m core.Message) error {
	if m.Kind != core.KindChat {
		return nil
	}
	if err := t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, t.user, m.Thread); err != nil {
		return err
	}
	if m.Covered {
		if err := t.exec(`UPDATE segments SET stale = 1, error = '' WHERE user_id = $1 AND id = $2`, t.user, m.Segment); err != nil {
			return err
		}
	}
	return t.restart(m.Turn)
}

// restart asks a running turn to begin again.
func (t *tx) restart(turn core.TurnID) error {
	n, err := t.count(`UPDATE turns SET restarts = restarts + 1 WHERE user_id = $1 AND id = $2 AND state = 'running'`, t.user, turn)
	if n > 0 {
		t.wake = append(t.wake, core.TurnTopic(t.user, turn))
	}
	return err
}

// Hold keeps an event of nobody's; see core.InboundStore.
func (s *Store) Hold(ctx context.Context, h core.Hold) (bool, error) {
	var duplicate bool
	err := s.update(ctx, "hold", 0, func(t *tx) error {
		state := "done"
		if h.Keep {
			state = "held"
			h.Event.Raw = []byte(text(h.Event))
		}
		fresh, err := t.admit(h.Event, 0, state, h.Now)
		if err != nil || !fresh {
			duplicate = err == nil
			return err
		}
		if h.Code != nil {
			if err := t.putCode(*h.Code); err != nil {
				return err
			}
		}
		if h.Delivery == nil {
			return nil
		}
		_, err = t.deliver(0, *h.Delivery, nil, h.Now)
		return err
	})
	return duplicate, err
}

// Approved lists held events whose address is somebody's by now.
func (s *Store) Approved(ctx context.Context, limit int) ([]core.Inbound, error) {
	rows, err := s.one(ctx).rows(`SELECT e.payload FROM events e JOIN identities i
		ON i.channel = e.channel AND i.account = e.account AND i.external = e.external
		WHERE e.state = 'held' ORDER BY e.received_at LIMIT $1`, limit)
	return collect(rows, err, scanHeld)
}

func scanHeld(row scanner) (core.Inbound, error) {
	var in core.Inbound
	var raw []byte
	if err := row.Scan(&raw); err != nil {
		return in, err
	}
	return in, json.Unmarshal(raw, &in)
}
