package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const identityColumns = `i.user_id, i.id, i.channel, i.account, i.external, i.name, i.thread_id, i.blocked, i.last_used, i.window_until, i.teased, i.aliases`

func scanIdentity(row scanner) (i core.Identity, err error) {
	return i, found(row.Scan(&i.User, &i.ID, &i.Address.Channel, &i.Address.Account, &i.Address.External, &i.Name,
		&i.Thread, &i.Blocked, asTime(&i.LastUsed), asTime(&i.Window), &i.Asked, asJSON(&i.Aliases)))
}

// Identify returns the identity and user at an address, or ErrNotFound.
func (s *Store) Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error) {
	i, u, err := s.identify(ctx, a)
	if errors.Is(err, core.ErrNotFound) { // nobody, or the address changed hands between both reads
		i, u, err = s.identify(ctx, a)
	}
	return i, u, wrap("identify", err)
}

// identify reads the ids at an address, and then the rows of these ids.
func (s *Store) identify(ctx context.Context, a core.Address) (core.Identity, core.User, error) {
	var user core.UserID
	var identity core.IdentityID
	err := found(s.one(ctx).row(`SELECT user_id, identity_id FROM addresses WHERE channel = $1 AND account = $2 AND external = $3`,
		a.Channel, a.Account, a.External).Scan(&user, &identity))
	if err != nil {
		return core.Identity{}, core.User{}, err
	}
	var u core.User
	i, err := scanIdentity(joined{s.one(ctx).row(`SELECT `+identityColumns+`, `+ownerColumns+`
		FROM identities i JOIN users u ON u.id = $1
		WHERE i.user_id = $1 AND i.id = $2 AND i.channel = $3 AND i.account = $4 AND i.external = $5 AND i.detached = 0`,
		user, identity, a.Channel, a.Account, a.External),
		userDest(&u)})
	return i, u, err
}

// joined is a row that ends with columns of another table.
type joined struct {
	scanner
	rest []any
}

// Scan scans the first columns into dest and the others into rest.
func (j joined) Scan(dest ...any) error { return j.scanner.Scan(append(dest, j.rest...)...) }

// Append stores inbound messages of one identity; see store.InboundStore.
func (s *Store) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	var out store.Appended
	how := make([]admission, len(a.Events))
	var to route
	first := append(admitAll(a, how), readRoute(a, &to))
	err := s.transact(ctx, "append", tx{user: a.User, first: first, together: true}, func(t *tx) {
		fresh := t.admitted(a.Events, how)
		out = store.Appended{Duplicates: len(a.Events) - len(fresh)}
		if len(fresh) == 0 {
			return
		}
		if to.identity.ID == 0 {
			t.fail(core.ErrNotFound)
			return
		}
		out.Turn, out.Postponed = t.claimNow(a, to, fresh)
		for _, n := range fresh {
			out.Messages = append(out.Messages, t.appendNew(a, n, how[n], &to, out.Turn))
		}
		t.recordUse(to, a)
		if a.Paused || a.Heard {
			return
		}
		t.wantTurn(a, to, out)
	})
	return out, err
}

// appendNew stores the nth message with its event and its decision, if any.
func (t *tx) appendNew(a store.Append, n int, how admission, to *route, turn *core.Turn) core.MessageID {
	if a.Heard {
		to.last = nextPosition(to.last, a.Now)
	}
	id, withDay := t.appendOne(a.Messages[n], a.Events[n], to, turn, a.Heard)
	t.keep(a.Events[n], how, id, "done", withDay && a.Messages[n].Day.End.After(a.Now), a.Now)
	d := a.Messages[n].Decides
	if d == nil {
		return id
	}
	t.by(core.Actor{Via: core.ViaIdentity, ID: int64(a.Identity), At: a.Now})
	t.decide(effect.Decide{Approval: d.Approval, Identity: a.Identity, Yes: d.Yes, At: a.Now})
	if d.Yes && d.Always {
		tool := t.allowTool(d.Approval, a.Now.Add(core.AllowLife), a.Now)
		t.auditAction(audit.Row{What: audit.Allowed, Tool: tool})
	}
	return id
}

// admitAll returns the statements that admit the events.
func admitAll(a store.Append, how []admission) []Statement {
	var out []Statement
	for n, e := range a.Events {
		out = append(out, admits(a.User, e, &how[n]))
	}
	return out
}

// admitted lists the indexes of the events to store now: new ones, and those that were held.
func (t *tx) admitted(events []core.Inbound, how []admission) (out []int) {
	for n, e := range events {
		if how[n] == eventKnown {
			how[n] = t.unhold(e)
		}
		if how[n] != eventKnown {
			out = append(out, n)
		}
	}
	return out
}

// route is the destination of an identity's messages, and its state.
type route struct {
	identity core.Identity
	thread   core.ThreadID
	mode     core.Mode
	title    string
	epoch    core.TurnID
	edits    int64
	told     int64
	last     int64 // last position of the thread
	head     head  // of the thread's jobs; its id is 0 if there is none
	pending  bool  // messages wait for an answer
	label    string
	segment  core.SegmentID // of the day label; 0: it is not open yet
	ends     int64          // when the segment ends
	marked   bool           // the segment is marked as having messages outside windows
	raw      bool           // raw payloads are removed with the segment
	since    int64          // messages of the segment since its summary
	state    string
	retry    int64 // when the segment's summary, which failed, is tried again
	other    bool  // another identity was used after this one
}

// readRoute returns the statement that reads a route, with the day of the first message: to
// the thread of the Append, or to the identity's current thread.
func readRoute(a store.Append, r *route) Statement {
	if len(a.Messages) > 0 {
		r.label = a.Messages[0].Day.Label
	}
	return Statement{Query: `SELECT ` + identityColumns + `, h.id, h.mode, ` + ownTitle + `, ` + lastPosition + `, h.epoch_id, h.edits, h.news,
			COALESCE(j.id, 0), COALESCE(j.state, ''), COALESCE(j.ref, 0),
			EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = h.id AND ` + unread + `),
			COALESCE(g.id, 0), COALESCE(g.ends_at, 0), COALESCE(g.unwindowed, 0), COALESCE(g.raw, 0), COALESCE(g.since_summary, 0),
			COALESCE(g.state, ''), COALESCE(g.retry_at, 0),
			EXISTS (SELECT 1 FROM identities WHERE user_id = $1 AND id <> i.id AND last_used >= i.last_used)
		FROM identities i JOIN threads h ON h.user_id = $1 AND h.id = CASE WHEN CAST($4 AS bigint) > 0 THEN CAST($4 AS bigint) WHEN i.thread_id > 0 THEN i.thread_id
			ELSE (SELECT c.id FROM threads c WHERE c.user_id = $1 AND c.mode = 'continuous') END
		LEFT JOIN jobs j ON j.user_id = $1 AND j.key = 'thread:' || h.id AND j.state IN ('ready', 'running')
		LEFT JOIN segments g ON g.user_id = $1 AND g.thread_id = h.id AND g.label = $3
		WHERE i.user_id = $1 AND i.id = $2 AND i.detached = 0`, Args: []any{a.User, a.Identity, r.label, a.Thread},
		Scan: func(row Row) error {
			*r = route{label: r.label}
			i, err := scanIdentity(joined{row, []any{&r.thread, &r.mode, &r.title, &r.last, &r.epoch, &r.edits, &r.told,
				&r.head.id, &r.head.state, &r.head.ref, &r.pending, &r.segment, &r.ends, &r.marked, &r.raw,
				&r.since, &r.state, &r.retry, &r.other}})
			r.identity = i
			if errors.Is(err, core.ErrNotFound) {
				return nil
			}
			return err
		}}
}

// claimNow returns the turn of messages that are about to be stored, if it can be claimed with
// them: the thread is idle, nothing else waits and the budget allows it.
func (t *tx) claimNow(a store.Append, to route, fresh []int) (*core.Turn, *store.Postponed) {
	solo := slices.ContainsFunc(fresh, func(n int) bool { return a.Messages[n].Solo })
	if a.Claim == nil || a.Paused || a.Heard || t.merging || a.RunAt.After(a.Claim.Now) || to.head.id != 0 ||
		to.pending || solo && len(fresh) > 1 {
		return nil, nil
	}
	b := a.Budget
	if p := t.postpone(&b, a.Claim.Now); p != nil {
		return nil, p
	}
	return &core.Turn{User: t.user, ID: core.TurnID(t.nextID()), Thread: to.thread, Mode: to.mode, Title: to.title,
		Identity: to.identity.ID, Address: to.identity.Address, State: core.TurnRunning, StartedAt: a.Claim.Now,
		Reserved: b.Reserve, Solo: solo}, nil
}

// appendOne stores one message, as the next input of turn if that is not nil, or at the last position if no turn is to
// read it. It reports whether raw payloads are removed with the message's day.
func (t *tx) appendOne(m core.NewMessage, e core.Inbound, to *route, turn *core.Turn,
	heard bool) (id core.MessageID, withDay bool) {
	p := place{thread: to.thread, identity: to.identity.ID, channel: to.identity.Address.Channel}
	if heard {
		p.position = to.last
	}
	if to.mode == core.ModeContinuous && m.Kind == core.KindChat {
		p.segment, withDay = t.segment(to, m)
	}
	if turn != nil {
		to.last = nextPosition(to.last, turn.StartedAt)
		p.turn, p.position, turn.Segment = turn.ID, to.last, p.segment
	}
	id = t.insert(m, p)
	if turn != nil {
		turn.Inputs, turn.Event, turn.Address.Place = append(turn.Inputs, id), e.EventID, m.Place
		if m.Speaker != nil {
			turn.Reply = e.NativeID
		}
	}
	t.refer(to.identity.ID, e.NativeID, id)
	t.fetchJobs(id, e, m)
	return id, withDay
}

// refer stores the service's id of a message, for replies and edits.
func (t *tx) refer(identity core.IdentityID, native string, m core.MessageID) {
	if native == "" || m == 0 {
		return
	}
	t.exec(`INSERT INTO refs (user_id, identity_id, native_id, message_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, identity_id, native_id) DO NOTHING`, t.user, identity, native, m)
}

func (t *tx) fetchJobs(id core.MessageID, e core.Inbound, m core.NewMessage) {
	for i, f := range m.Attachments {
		if f.Ref == "" {
			t.readLater(id, i, f, m.SentAt)
			continue
		}
		t.enqueue(store.NewJob{User: t.user, Queue: core.QueueFetch + e.Address.Channel,
			Key: key("fetch", int64(id), int64(i)), Ref: int64(id), Payload: json.RawMessage(text(i)), RunAt: m.SentAt})
	}
}

// usedWithin is how far an identity's last_used may lag while no other identity is used. It
// saves a write for most messages.
const usedWithin = time.Minute

// recordUse records that an identity was used and can be written to. Its parked deliveries go
// out after the reply, or immediately if there will be none.
func (t *tx) recordUse(to route, a store.Append) {
	i := to.identity
	known := !to.other && !i.Blocked && !i.Asked && a.Now.Sub(i.LastUsed) < usedWithin && !a.Window.After(i.Window)
	if !known {
		t.used(i.ID, a.Now, a.Window)
	}
	if a.Paused {
		t.unpark(i.ID, a.Now)
	}
}

// used records that an identity was used, and the end of its messaging window.
func (t *tx) used(identity core.IdentityID, now, window time.Time) {
	t.exec(`UPDATE identities SET last_used = $3, blocked = 0, teased = 0,
		window_until = CASE WHEN window_until > $4 THEN window_until ELSE $4 END WHERE user_id = $1 AND id = $2`, t.user,
		identity, ms(now), ms(window))
}

// Edit replaces the text of a message; see store.InboundStore.
func (s *Store) Edit(ctx context.Context, user core.UserID, identity core.IdentityID, e core.Inbound, m core.NewMessage,
	now time.Time) error {
	return s.update(ctx, "edit", user, func(t *tx) {
		old := t.referred(identity, e.Target)
		if old.Redacted {
			e.Raw = nil
		}
		how := t.admit(e, "done")
		if how == eventKnown {
			return
		}
		t.keep(e, how, old.ID, "done", false, now)
		heard := old.Speaker != nil && old.Kind == core.KindChat && old.Turn == 0 && old.Position > 0
		asks := m.Asks && heard && valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM segments WHERE user_id = $1 AND id = $2
			AND state = 'open')`, t.user, old.Segment) // what was said on a day that is over is not answered today
		if old.Redacted || old.Text == m.Text && !asks {
			return
		}
		if old.Text != m.Text {
			t.rewrite(old, m, now)
		}
		if asks { // it waits, and gets its place when a turn reads it
			t.exec(`UPDATE messages SET position = 0 WHERE user_id = $1 AND id = $2`, t.user, old.ID)
			t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, t.user, old.Thread)
		}
		// One that no turn has read gets a turn: that of its first text may have failed.
		if (asks || old.Position == 0) && !t.ownSettings().Paused {
			t.exec(`UPDATE messages SET refused = 0 WHERE user_id = $1 AND id = $2`, t.user, old.ID)
			t.turnIfPending(old.Thread, now)
		}
	})
}

// Referred returns the message with the service's id native, or ErrNotFound.
func (s *Store) Referred(ctx context.Context, user core.UserID, identity core.IdentityID,
	native string) (core.MessageID, error) {
	var id core.MessageID
	err := s.one(ctx).row(`SELECT message_id FROM refs WHERE user_id = $1 AND identity_id = $2 AND native_id = $3`, user,
		identity, native).Scan(&id)
	return id, found(err)
}

// Quoted returns the message with the service's id native, or ErrNotFound; see store.InboundStore.
func (s *Store) Quoted(ctx context.Context, user core.UserID, identity core.IdentityID,
	native string) (m core.Message, part string, err error) {
	err = s.view(ctx, "read quoted message", func(q querier) error {
		m, err = scanMessage(q.row(`SELECT `+prefixed("m", messageColumns)+referredMessage, user, identity, native))
		if err != nil || m.Role != core.RoleAssistant || m.Redacted {
			return err
		}
		sent, err := list(q, scanDelivery, s.deliveriesOf(), user, m.ID, m.ID)
		for _, d := range sent {
			if err == nil {
				err = loadParts(q, &d)
			}
			n := slices.IndexFunc(d.Parts, func(p core.DeliveryPart) bool { return p.NativeID == native })
			if n >= 0 && len(d.Parts) > 1 {
				part = d.Parts[n].Part.Text
			}
		}
		return err
	})
	return m, part, err
}

const referredMessage = ` FROM refs r JOIN messages m ON m.user_id = $1 AND m.id = r.message_id
	WHERE r.user_id = $1 AND r.identity_id = $2 AND r.native_id = $3`

func (t *tx) referred(identity core.IdentityID, native string) core.Message {
	return rowOf(t, scanMessage, `SELECT `+prefixed("m", messageColumns)+referredMessage, t.user, identity, native)
}

func (t *tx) rewrite(old core.Message, m core.NewMessage, now time.Time) {
	t.exec(`INSERT INTO revisions (user_id, message_id, revision, body, replaced_at) VALUES ($1, $2, $3, $4, $5)`,
		t.user, old.ID, old.Revision, old.Text, ms(now))
	t.exec(`UPDATE messages SET body = $3, tokens = $4, revision = revision + 1 WHERE user_id = $1 AND id = $2`,
		t.user, old.ID, m.Text, m.Tokens)
	if brought := (&core.Message{Role: m.Role, ForwardedFrom: m.ForwardedFrom, Tainted: m.Tainted, Quote: m.Quote,
		Attachments: m.Attachments, Identity: 1}); brought.Foreign() && !old.Foreign() {
		t.alter(old.ID, func(m *core.Message) { m.Tainted = true }) // the edit brings somebody else's words
	}
	t.withdraw(old, now)
	t.reindex(old, m.Text)
	t.reembedMessage(old)
	t.invalidate(old)
}

// invalidate marks everything that rests on a message as outdated, after the message changed.
func (t *tx) invalidate(m core.Message) {
	if m.Kind != core.KindChat {
		return
	}
	t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, t.user, m.Thread)
	if m.Covered {
		t.exec(`UPDATE segments SET stale = 1, error = '' WHERE user_id = $1 AND id = $2`, t.user, m.Segment)
	}
	t.stalePages(m)
	t.restart(m.Turn)
}

// restart asks a running turn to start over.
func (t *tx) restart(turn core.TurnID) {
	if t.count(`UPDATE turns SET restarts = restarts + 1 WHERE user_id = $1 AND id = $2 AND state = 'running'`, t.user, turn) > 0 {
		t.wake = append(t.wake, core.TurnTopic(t.user, turn))
	}
}
