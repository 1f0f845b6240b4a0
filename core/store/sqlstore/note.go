package sqlstore

import (
	"context"
	"encoding/json"
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
	if err := t.removeLater(out.Files, n.Now); err != nil {
		return err
	}
	if _, err = t.deliverAll(n.Deliveries, out.Messages, nil, n.Now); err != nil || n.Command == nil {
		return err
	}
	return t.unpark(n.Identity, n.Now)
}

// removeLater enqueues the removal of attachments that were redacted: the caller removes them
// after the commit, but may die before it does.
func (t *tx) removeLater(files []string, now time.Time) error {
	if len(files) == 0 {
		return nil
	}
	return t.enqueue(core.NewJob{User: t.user, Queue: core.QueueRemove, Key: core.QueueRemove,
		Payload: json.RawMessage(text(files)), RunAt: now})
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
		case core.AddInstruction:
			if e.Instruction.Source == 0 {
				e.Instruction.Source = command
			}
			out[i] = e
		case core.SetTask:
			if e.Task.Source == 0 {
				e.Task.Source = command
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
		`SELECT last_position, COALESCE((SELECT g.id FROM segments g WHERE g.user_id = $1 AND g.thread_id = h.id ORDER BY g.label DESC LIMIT 1), 0)
		FROM threads h WHERE h.user_id = $1 AND h.id = $2`, t.user, p.thread).Scan(&last, &p.segment)
	if err != nil {
		return p, err
	}
	p.position = nextPosition(last, now)
	if err := t.exec(`UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, t.user, p.thread,
		p.position); err != nil {
		return p, err
	}
	return p, t.counted(p.segment, 1, false)
}
