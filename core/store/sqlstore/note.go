package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// Note stores messages of the gateway itself; see store.InboundStore.
func (s *Store) Note(ctx context.Context, n store.Note) (store.Noted, error) {
	var out store.Noted
	update := s.update
	if slices.ContainsFunc(n.Effects, redacts) {
		update = s.updateLong // a redaction may cover a whole day or thread
	}
	err := update(ctx, "note", n.User, func(t *tx) {
		out = store.Noted{}
		t.note(withoutQuotes(n), &out)
	})
	return out, err
}

// redacts reports whether an effect removes the words of messages.
func redacts(e core.Effect) bool {
	switch e.(type) {
	case effect.Redact, effect.DropThread:
		return true
	}
	return false
}

func (t *tx) note(n store.Note, out *store.Noted) {
	if !t.fresh(n) {
		out.Duplicate = t.err == nil
		return
	}
	if n.Identity != 0 {
		t.by(core.Actor{Via: core.ViaIdentity, ID: int64(n.Identity), At: n.Now})
	} else {
		t.by(core.Actor{At: n.Now})
	}
	now, questions := t.splitQuestions(n)
	t.apply(now, out)
	t.noteMessages(n, out)
	t.apply(questions, out)
	t.removeLater(out.Files, n.Now)
	t.deliverAll(n.Deliveries, out.Messages, nil, n.Now)
	if n.Command != nil {
		t.unpark(n.Identity, n.Now)
	}
}

// removeLater enqueues the removal of attachments that were redacted: the caller removes them
// after the commit, but may die before it does.
func (t *tx) removeLater(files []string, now time.Time) {
	if len(files) == 0 {
		return
	}
	t.enqueue(store.NewJob{User: t.user, Queue: core.QueueRemove, Key: core.QueueRemove,
		Payload: json.RawMessage(text(files)), RunAt: now})
}

// also stores a note of another user.
func (t *tx) also(n store.Note) {
	other := t.forUser(n.User)
	other.enter()
	other.note(n, &store.Noted{})
	other.flush()
}

// splitQuestions returns the effects of a note, and separately the approvals that its messages ask for.
func (t *tx) splitQuestions(n store.Note) (now, questions []core.Effect) {
	for _, e := range t.withSource(n) {
		if _, ok := e.(effect.AskApproval); ok {
			questions = append(questions, e)
			continue
		}
		now = append(now, e)
	}
	return now, questions
}

// withSource returns the effects of a note, with its command as the source of everything that
// they create without a source.
func (t *tx) withSource(n store.Note) []core.Effect {
	if n.Command == nil {
		return n.Effects
	}
	command := core.MessageID(t.lastMessage + 1)
	out := slices.Clone(n.Effects)
	for i, e := range out {
		switch e := e.(type) {
		case effect.AddItem:
			e.Item.SourceMessage = cmp.Or(e.Item.SourceMessage, command)
			out[i] = e
		case effect.AddInstruction:
			e.Instruction.Source = cmp.Or(e.Instruction.Source, command)
			out[i] = e
		case effect.SetPlan:
			e.Plan.Source = cmp.Or(e.Plan.Source, command)
			out[i] = e
		}
	}
	return out
}

// withoutQuotes returns a note that redacts without the quotes of its command: these may hold the text to redact.
func withoutQuotes(n store.Note) store.Note {
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

// oldest returns the first message that effects redact, or 0.
func oldest(effects []core.Effect) (first core.MessageID) {
	for _, e := range effects {
		if r, ok := e.(effect.Redact); ok && (first == 0 || r.Message < first) {
			first = r.Message
		}
	}
	return first
}

// fresh admits a note's event and key, and reports whether both are new.
func (t *tx) fresh(n store.Note) bool {
	repeated := t.repeated(n.Once)
	if n.Event != nil {
		var message core.MessageID
		if n.Command != nil && !repeated {
			message = core.MessageID(t.lastMessage + 1)
		}
		how := t.admit(*n.Event, "done")
		if how == eventKnown {
			return false
		}
		t.keep(*n.Event, how, message, "done", false, n.Now)
	}
	if repeated || n.Once == "" {
		return !repeated
	}
	t.exec(`INSERT INTO once (user_id, key, at) VALUES ($1, $2, $3)`, t.user, n.Once, ms(n.Now))
	return true
}

// repeated reports whether a note with the key once was stored already.
func (t *tx) repeated(once string) bool {
	if once == "" {
		return false
	}
	return valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM once WHERE user_id = $1 AND key = $2)`, t.user, once)
}

func (t *tx) noteMessages(n store.Note, out *store.Noted) {
	p := place{thread: n.Thread, segment: n.Segment, identity: n.Identity}
	if n.Event != nil {
		p.channel = n.Event.Address.Channel
	}
	if n.Command != nil || len(n.Messages) > 0 {
		p.thread = t.threadOr(p.thread)
	}
	if n.Command != nil {
		id := t.insert(*n.Command, p)
		t.refer(n.Identity, n.Event.NativeID, id)
		t.used(n.Identity, n.Now, n.Window)
	}
	for _, m := range n.Messages {
		at := p
		if m.Kind == core.KindChat {
			at = t.lastPlace(p, n.Now)
		}
		id := t.insert(m, at)
		out.Messages = append(out.Messages, id)
		if n.Event != nil && m.Kind == core.KindChat {
			t.refer(n.Identity, n.Event.NativeID, id)
		}
	}
}

// lastPlace returns the place of an assistant's message that belongs to no turn: the last position, in the current day.
func (t *tx) lastPlace(p place, now time.Time) place {
	var last int64
	t.get(columns{&last, &p.segment}, `SELECT `+lastPosition+`, COALESCE((SELECT g.id FROM segments g WHERE g.user_id = $1 AND g.thread_id = h.id ORDER BY g.label DESC LIMIT 1), 0)
		FROM threads h WHERE h.user_id = $1 AND h.id = $2`, t.user, p.thread)
	p.position = nextPosition(last, now)
	t.counted(p.segment, 1, false)
	return p
}

// changes reads the changes that the thread's prompt has not shown yet.
func changes(q querier, user core.UserID, w *store.Window) (err error) {
	w.Changes.Loops, err = loopsWhere(q, `changed > $2 ORDER BY changed DESC LIMIT 20`, user, w.Told)
	if err != nil {
		return err
	}
	if w.Changes.Themes, err = themesWhere(q, `AND changed > $2 ORDER BY changed DESC LIMIT 10`, user,
		w.Told); err != nil {
		return err
	}
	for _, h := range w.Epoch.Head {
		if h.Name != lastPart || h.Segment == 0 {
			continue
		}
		if w.Last, err = segmentByID(q, user, h.Segment); err != nil || w.Last.SummaryVersion <= h.Version {
			return err
		}
		w.LastSummary, err = summaryOf(q, w.Last)
	}
	return err
}

// lastPart is the name of the part of a head that shows the newest earlier day.
const lastPart = "last"

// keepNote stores the news of a turn's prompt with the message that they precede. If something
// they rest on was changed meanwhile, only the zone is kept.
func (t *tx) keepNote(n *store.TurnNews, st state) {
	t.alter(n.Message, func(m *core.Message) {
		if m.News = &n.News; n.Edits != st.edits {
			m.News = blankNews(m.News)
		}
	})
}

// alter changes the extra of a message, unless it is redacted.
func (t *tx) alter(id core.MessageID, change func(m *core.Message)) {
	m := t.message(id)
	if !m.Redacted {
		change(&m)
		t.putExtra(m)
	}
}

// blankNews returns news without its words.
func blankNews(n *core.News) *core.News { return &core.News{Zone: n.Zone} }

// redactNews blanks news about a loop made from a message, or about the summary of its day, and every note of what was
// sent unasked after the message, which may repeat it. A transaction lists all news once.
func (t *tx) redactNews(m core.Message, loops []core.LoopID) {
	if t.notes == nil {
		got := listOf(t, scanMessage, `SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND extra <> '{}' AND extra LIKE '%"news":%'`, t.user)
		t.notes = map[core.MessageID]core.News{}
		for _, n := range got {
			if n.News != nil && n.News.Text+n.News.Sent != "" {
				t.notes[n.ID] = *n.News
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.notes)) {
		n := t.notes[id]
		rests := id > m.ID && n.Sent != "" || n.Segment != 0 && n.Segment == m.Segment ||
			slices.ContainsFunc(n.Loops, func(l core.LoopID) bool { return slices.Contains(loops, l) })
		if !rests {
			continue
		}
		delete(t.notes, id)
		t.alter(id, func(m *core.Message) { m.News = blankNews(&n) })
	}
}
