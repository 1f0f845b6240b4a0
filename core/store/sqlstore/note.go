package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// Note stores words of the gateway itself; see core.InboundStore.
func (s *Store) Note(ctx context.Context, n core.Note) (core.Noted, error) {
	var out core.Noted
	update := s.update
	if slices.ContainsFunc(n.Effects, func(e core.Effect) bool { _, ok := e.(core.Redact); return ok }) {
		update = s.unbounded // a whole day may go
	}
	err := update(ctx, "note", n.User, func(t *tx) error {
		out = core.Noted{}
		return t.note(discreet(n), &out)
	})
	return out, err
}

func (t *tx) note(n core.Note, out *core.Noted) error {
	fresh, err := t.fresh(n)
	if err != nil || !fresh {
		out.Duplicate = err == nil
		return err
	}
	if n.Identity != 0 {
		t.by(core.Actor{Via: core.ViaIdentity, ID: int64(n.Identity), At: n.Now})
	} else {
		t.by(core.Actor{At: n.Now})
	}
	now, questions := t.ordered(n)
	if err := t.apply(now, out); err != nil {
		return err
	}
	if err := t.noteMessages(n, out); err != nil {
		return err
	}
	if err := t.apply(questions, out); err != nil {
		return err
	}
	if _, err = t.deliverAll(n.Deliveries, out.Messages, nil, n.Now); err != nil || n.Command == nil {
		return err
	}
	return t.unpark(n.Identity, n.Now)
}

// also stores a note of another user.
func (t *tx) also(n core.Note) error {
	if err := t.send(); err != nil {
		return err
	}
	other := t.beside()
	other.user = n.User
	if err := other.unfrozen(); err != nil {
		return err
	}
	if err := other.note(n, &core.Noted{}); err != nil {
		return err
	}
	t.wake = append(t.wake, other.wake...)
	other.wake = nil
	return other.flushAll()
}

// ordered returns the effects of a note, and apart from them the questions that
// its messages ask.
func (t *tx) ordered(n core.Note) (now, questions []core.Effect) {
	for _, e := range t.sourced(n) {
		if _, ok := e.(core.AskApproval); ok {
			questions = append(questions, e)
			continue
		}
		now = append(now, e)
	}
	return now, questions
}

// sourced returns the effects of a note; what a command makes was made from the
// command, unless it names another message.
func (t *tx) sourced(n core.Note) []core.Effect {
	if n.Command == nil {
		return n.Effects
	}
	command := core.MessageID(t.lastMessage + 1)
	out := slices.Clone(n.Effects)
	for i, e := range out {
		switch e := e.(type) {
		case core.AddItem:
			if e.Item.SourceMessage == 0 {
				e.Item.SourceMessage = command
			}
			out[i] = e
		case core.SetReminder:
			if e.Reminder.Source == 0 {
				e.Reminder.Source = command
			}
			out[i] = e
		}
	}
	return out
}

// discreet returns a note that does not keep what it redacts: a reply that asks
// for it quotes it.
func discreet(n core.Note) core.Note {
	if oldest(n.Effects) == 0 || n.Event == nil {
		return n
	}
	e := *n.Event
	e.Raw, e.Quote = nil, nil
	n.Event = &e
	if n.Command != nil {
		c := *n.Command
		c.Quote = nil
		n.Command = &c
	}
	return n
}

// oldest is the first message that effects redact, or 0.
func oldest(effects []core.Effect) (first core.MessageID) {
	for _, e := range effects {
		if r, ok := e.(core.Redact); ok && (first == 0 || r.Message < first) {
			first = r.Message
		}
	}
	return first
}

// fresh admits a note's event and key, and reports whether both are new.
func (t *tx) fresh(n core.Note) (bool, error) {
	said, err := t.said(n.Once)
	if err != nil {
		return false, err
	}
	if n.Event != nil {
		var message core.MessageID
		if n.Command != nil && !said {
			message = core.MessageID(t.lastMessage + 1)
		}
		how, err := t.admit(*n.Event, "done")
		if err != nil || how == eventKnown {
			return false, err
		}
		if err := t.inTurn(*n.Event); err != nil {
			return false, err
		}
		if err := t.keep(*n.Event, how, message, "done", n.Now); err != nil {
			return false, err
		}
	}
	if said || n.Once == "" {
		return !said, nil
	}
	return true, t.exec(`INSERT INTO once (user_id, key, at) VALUES ($1, $2, $3)`, t.user, n.Once, ms(n.Now))
}

// said reports whether the user was told once already.
func (t *tx) said(once string) (yes bool, err error) {
	if once == "" {
		return false, nil
	}
	err = t.row(`SELECT EXISTS (SELECT 1 FROM once WHERE user_id = $1 AND key = $2)`, t.user, once).Scan(&yes)
	return yes, err
}

func (t *tx) noteMessages(n core.Note, out *core.Noted) error {
	p := place{thread: n.Thread, segment: n.Segment, identity: n.Identity}
	if n.Event != nil {
		p.channel = n.Event.Address.Channel
	}
	if n.Command != nil || len(n.Messages) > 0 {
		thread, err := threadOr(t, t.user, p.thread)
		if err != nil {
			return err
		}
		p.thread = thread
	}
	if n.Command != nil {
		id, err := t.insert(*n.Command, p)
		if err == nil {
			err = t.refer(n.Identity, n.Event.NativeID, id)
		}
		if err != nil {
			return err
		}
		if err := t.used(n.Identity, n.Now, n.Window); err != nil {
			return err
		}
	}
	for _, m := range n.Messages {
		at := p
		if m.Kind == core.KindChat {
			var err error
			if at, err = t.spoken(p, n.Now); err != nil {
				return err
			}
		}
		id, err := t.insert(m, at)
		if err != nil {
			return err
		}
		out.Messages = append(out.Messages, id)
		if n.Event != nil && m.Kind == core.KindChat {
			if err := t.refer(n.Identity, n.Event.NativeID, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// spoken is the place of words that were said as the assistant without a turn:
// they come last, in the day that goes on.
func (t *tx) spoken(p place, now time.Time) (place, error) {
	var last int64
	err := t.row(
		`SELECT last_position, COALESCE((SELECT g.id FROM segments g WHERE g.user_id = h.user_id AND g.thread_id = h.id ORDER BY g.label DESC LIMIT 1), 0)
		FROM threads h WHERE h.user_id = $1 AND h.id = $2`, t.user, p.thread).Scan(&last, &p.segment)
	if err != nil {
		return p, err
	}
	p.position = nextPosition(last, now)
	if err := t.exec(`UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, t.user, p.thread,
		p.position); err != nil {
		return p, err
	}
	return p, t.counted(p.segment, 1)
}

// apply carries out effects in order. out may be nil.
func (t *tx) apply(effects []core.Effect, out *core.Noted) error {
	if out == nil {
		out = &core.Noted{}
	}
	for _, e := range effects {
		if err := t.applyOne(e, out); err != nil {
			return err
		}
	}
	if err := t.told(effects); err != nil {
		return err
	}
	if first := oldest(effects); first != 0 {
		return t.redactNotices(first)
	}
	return nil
}

// redactNotices empties the gateway's own words since a redacted message: an
// answer to a command may show a summary or a loop made from it.
func (t *tx) redactNotices(since core.MessageID) error {
	const ours = ` WHERE user_id = $1 AND delivery_id IN (SELECT d.id FROM messages m JOIN deliveries d ON d.user_id = m.user_id AND d.message_id = m.id
		WHERE m.user_id = $1 AND m.id > $2 AND m.kind = 'notice' AND m.redacted = 0 AND d.message_id > 0)`
	for _, query := range []string{
		`DELETE FROM delivery_parts` + ours + ` AND state = 'pending'`,
		`UPDATE delivery_parts SET body = '{"text":""}'` + ours,
		`UPDATE messages SET body = '', tokens = 0, extra = '{}', redacted = 1 WHERE user_id = $1 AND id > $2 AND kind = 'notice' AND redacted = 0`,
	} {
		if err := t.exec(query, t.user, since); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) applyOne(e core.Effect, out *core.Noted) error {
	switch e := e.(type) {
	case core.SetSettings:
		return t.exec(`UPDATE users SET settings = $2 WHERE id = $1`, t.user, text(e.Settings))
	case core.SetName:
		return t.exec(`UPDATE users SET name = $2 WHERE id = $1`, t.user, e.Name)
	case core.OpenThread:
		return t.openThread(e)
	case core.UseThread:
		return t.useThread(e.Identity, e.Thread)
	case core.StopTurn:
		return t.stopTurn(e.Thread, out)
	case core.RetryTurn:
		return t.retryTurn(e, out)
	case core.Redact:
		return t.redact(e, out)
	case core.Summarize:
		return t.summarizeAnew(e)
	case core.CloseLoop:
		return t.closeLoop(e)
	case core.AddItem:
		return t.addItem(e)
	case core.ArchiveItem:
		return t.archiveItem(e)
	case core.RestoreItem:
		return t.restoreItem(e)
	case core.OpenLoop:
		return t.openLoop(e)
	case core.MentionLoop:
		return t.mentionLoop(e.Loop, e.At)
	case core.SetReminder:
		return t.setReminder(e)
	case core.CancelReminder:
		return t.cancelReminder(e)
	case core.Undo:
		return t.undo(e)
	case core.Approve:
		return t.approve(e, out)
	case core.Deny:
		return t.deny(e)
	case core.Release:
		return t.releaseParked(e)
	case core.Resume:
		return t.resumePending(e.At)
	case core.AskApproval:
		return t.askApproval(e.Approval)
	case core.Decide:
		return t.decide(e)
	case core.Tell:
		return nil // told does
	}
	return t.applyLink(e)
}

func (t *tx) summarizeAnew(e core.Summarize) error {
	if err := t.exec(`UPDATE segments SET stale = 1, error = '' WHERE user_id = $1 AND id = $2`, t.user,
		e.Segment); err != nil {
		return err
	}
	return t.summarize(e.Segment, e.At)
}

// applyLink makes the changes that join and part people, their browsers and keys.
func (t *tx) applyLink(e core.Effect) error {
	switch e := e.(type) {
	case core.NewLink:
		return t.newLink(e.Code)
	case core.NewWebLink:
		return t.newWebLink(e.Code)
	case core.WrongLink:
		return t.wrongLink(e.Address, e.At)
	case core.UseLink:
		return t.useLink(e)
	case core.AcceptLink:
		return t.acceptLink(e)
	case core.Unlink:
		return t.unlink(e.Identity)
	case core.Split:
		return t.split(e)
	case core.UseYes:
		return t.useYes(e)
	case core.AddKey:
		_, err := t.addKey(e.Key)
		return err
	case core.Also:
		return t.also(e.Note)
	case core.RevokeKey:
		return t.revokeKey(e.Key)
	case core.EndSession:
		return t.endSession(e.Session)
	}
	return fmt.Errorf("effect %T is not known", e)
}

// releaseParked sends what is parked for an identity.
func (t *tx) releaseParked(e core.Release) error {
	if err := t.exec(`UPDATE identities SET blocked = 0, teased = 0 WHERE user_id = $1 AND id = $2`, t.user,
		e.Identity); err != nil {
		return err
	}
	return t.unpark(e.Identity, e.At)
}

// deny takes a pairing code back. What its address wrote is dropped; the events
// themselves stay known, so that a repeat of one is not held again.
func (t *tx) deny(e core.Deny) error {
	c, err := t.useCode(core.CodePair, e.CodeHash, e.At)
	if err != nil {
		return err
	}
	return t.exec(
		`UPDATE events SET state = 'done', payload = NULL WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held'`,
		c.Address.Channel, c.Address.Account, c.Address.External)
}

func (t *tx) openThread(e core.OpenThread) error {
	id := core.ThreadID(t.nextID())
	err := t.exec(`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES ($1, $2, 'thread', $3, $4)`, t.user,
		id, e.Title, ms(e.At))
	if err != nil {
		return err
	}
	return t.useThread(e.Identity, id)
}

func (t *tx) useThread(identity core.IdentityID, thread core.ThreadID) error {
	if thread != 0 {
		var mode core.Mode
		err := t.row(`SELECT mode FROM threads WHERE user_id = $1 AND id = $2`, t.user, thread).Scan((*string)(&mode))
		if err != nil {
			return found(err)
		}
		if mode == core.ModeContinuous {
			thread = 0
		}
	}
	return t.exec(`UPDATE identities SET thread_id = $3 WHERE user_id = $1 AND id = $2`, t.user, identity, thread)
}

// stopTurn asks the running turn of a thread to stop. One that waits to be tried
// again ends here, and gives back what it had reserved.
func (t *tx) stopTurn(thread core.ThreadID, out *core.Noted) error {
	thread, err := threadOr(t, t.user, thread)
	if err != nil {
		return err
	}
	h, busy, err := t.head(threadKey(thread))
	if err != nil {
		return err
	}
	if !busy || h.state != core.JobReady || h.ref == 0 {
		return t.askTurn(thread, stopIt, out)
	}
	return t.dropTurn(core.TurnID(h.ref), core.Lease{Job: h.id, Key: threadKey(thread)})
}

// dropTurn ends a turn without a reply, and gives back what it had reserved.
func (t *tx) dropTurn(id core.TurnID, l core.Lease) error {
	var day string
	var reserved int
	err := t.row(`UPDATE turns SET state = 'stopped', stop = 1 WHERE user_id = $1 AND id = $2 RETURNING day, reserved`,
		t.user, id).Scan(&day, &reserved)
	if err != nil {
		return err
	}
	if reserved > 0 {
		if err := t.spend(day, core.Usage{}, reserved, 0); err != nil {
			return err
		}
	}
	if err := t.forgetCalls(id); err != nil {
		return err
	}
	return t.end(l, "")
}

// forgetCalls drops the journal of a turn that ended.
func (t *tx) forgetCalls(id core.TurnID) error {
	return t.exec(`DELETE FROM journal WHERE user_id = $1 AND turn_id = $2`, t.user, id)
}

// What may be asked of a running turn.
const (
	stopIt    = `UPDATE turns SET stop = 1 WHERE user_id = $1 AND thread_id = $2 AND state = 'running' RETURNING id`
	restartIt = `UPDATE turns SET restarts = restarts + 1 WHERE user_id = $1 AND thread_id = $2 AND state = 'running' RETURNING id`
)

// askTurn sets a flag of the running turn of a thread.
func (t *tx) askTurn(thread core.ThreadID, what string, out *core.Noted) error {
	var id core.TurnID
	err := t.row(what, t.user, thread).Scan(&id)
	if errors.Is(found(err), core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	out.StopTurns = append(out.StopTurns, id)
	t.wake = append(t.wake, core.TurnTopic(t.user, id))
	return nil
}

// retryTurn restarts the running turn, makes one that waits run now, or starts
// one for what is pending.
func (t *tx) retryTurn(e core.RetryTurn, out *core.Noted) error {
	thread, err := threadOr(t, t.user, e.Thread)
	if err != nil {
		return err
	}
	e.Thread = thread
	n, err := t.count(
		`UPDATE jobs SET run_at = $3 WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running') AND state = 'ready'`,
		t.user, threadKey(e.Thread), ms(e.At))
	if err != nil || n > 0 {
		t.wake = append(t.wake, core.QueueTurn)
		return err
	}
	if _, busy, err := t.head(threadKey(e.Thread)); err != nil || busy {
		if err == nil {
			err = t.askTurn(e.Thread, restartIt, out)
		}
		return err
	}
	return t.turnIfPending(e.Thread, e.At)
}

func (t *tx) turnIfPending(thread core.ThreadID, at time.Time) error {
	run, err := t.pending(thread)
	if err != nil || len(run) == 0 {
		return err
	}
	if _, busy, err := t.head(threadKey(thread)); err != nil || busy {
		return err
	}
	return t.enqueue(turnJob(thread, at))
}

func (t *tx) resumePending(at time.Time) error {
	rows, err := t.rows(`SELECT id FROM threads WHERE user_id = $1`, t.user)
	ids, err := collect(rows, err, func(r scanner) (id core.ThreadID, err error) { return id, r.Scan(&id) })
	for _, id := range ids {
		if err != nil {
			return err
		}
		err = t.turnIfPending(id, at)
	}
	return err
}

func (t *tx) closeLoop(e core.CloseLoop) error {
	n, err := t.count(
		`UPDATE loops SET state = 'closed', mentioned_at = $3, changed = $4, tainted = tainted | $5 WHERE user_id = $1 AND id = $2 AND state = 'open'`, t.user, e.Loop, ms(e.At), t.change(), ended(e.Tainted))
	if err == nil && n == 0 {
		return core.ErrNotFound
	}
	return err
}
