package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Commit writes a reply and ends its turn; see store.TurnStore.
func (s *Store) Commit(ctx context.Context, r store.Reply, c *store.Claim) (store.Committed, error) {
	var out store.Committed
	var st state
	var said []core.Message
	err := s.transact(ctx, "commit reply", tx{user: r.Turn.User, first: []Statement{readState(r, &st)},
		together: len(r.Effects) == 0}, func(t *tx) { // effects may take long
		out = store.Committed{}
		if !st.held {
			t.fail(core.ErrFenced)
			return
		}
		r := withoutChanged(r, st)
		said = t.say(r, &st)
		out.Messages = idsOf(said)
		t.by(core.Actor{Via: core.ViaIdentity, ID: int64(r.Turn.Identity), At: r.Now})
		before := t.news
		t.answers = true
		t.apply(r.Effects, nil)
		if r.Told == before { // the calls and results in the thread tell what the turn itself did
			r.Told = t.news
		}
		t.moveThread(r, &st)
		var direct core.DeliveryID
		direct, out.Delivery = t.deliverReply(r, st, said, c)
		out.Summary = t.summaryDue(r, st)
		t.speakJob(r, out.Messages)
		if st.parked && !st.blocked {
			t.unpark(r.Turn.Identity, r.Now)
		}
		t.closeTurn(r, st, direct)
		t.settle(r)
		out.Again = t.next(r, st)
	})
	return out, err
}

func idsOf(ms []core.Message) (ids []core.MessageID) {
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return ids
}

// state is the state that a commit depends on, read in one statement.
type state struct {
	held        bool  // the lease is still held
	last, epoch int64 // of the thread
	edits, news int64 // of the thread
	since       int   // messages of the segment since its summary
	marked      bool  // the segment is marked as having messages outside windows
	segment     core.SegmentState
	blocked     bool  // the identity cannot be written to
	queued      bool  // its address has the job of a delivery
	waiting     bool  // the thread has another turn job
	pending     bool  // the thread has messages that no turn has read, other than refused ones
	left        int   // number of inputs that are not redacted
	parked      bool  // the identity has parked deliveries
	retry       int64 // when the summary of the segment, which failed, is tried again; 0: it did not fail
}

// readState returns the statement that reads a state.
func readState(r store.Reply, s *state) Statement {
	lowest, highest := core.MessageID(0), core.MessageID(0)
	if n := len(r.Turn.Inputs); n > 0 {
		lowest, highest = slices.Min(r.Turn.Inputs), slices.Max(r.Turn.Inputs)
	}
	return Statement{Query: `SELECT ` + lastPosition + `, h.epoch_id, h.edits, h.news, COALESCE(g.since_summary, 0), COALESCE(g.unwindowed, 0), COALESCE(g.state, ''), i.blocked,
			EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND id = $5 AND state = 'running' AND attempt = $6),
			EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $7 AND state IN ('ready', 'running')),
			EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $8 AND state = 'waiting'),
			EXISTS (SELECT 1 FROM messages WHERE user_id = $1 AND thread_id = $2 AND ` + unread + ` AND refused = 0),
			(` + countLeft("$1", "$9", "$10", "$11") + `),
			EXISTS (SELECT 1 FROM deliveries WHERE user_id = $1 AND identity_id = $3 AND state = 'parked'), COALESCE(g.retry_at, 0)
		FROM threads h JOIN identities i ON i.user_id = $1 AND i.id = $3
		LEFT JOIN segments g ON g.user_id = $1 AND g.id = $4
		WHERE h.user_id = $1 AND h.id = $2`, Args: []any{r.Turn.User, r.Turn.Thread, r.Turn.Identity, r.Turn.Segment,
		r.Turn.Lease.Job, r.Turn.Lease.Attempt, core.AddressKey(r.Turn.Address), r.Turn.Lease.Key, lowest, highest,
		r.Turn.ID}, Scan: func(row Row) error {
		return found(row.Scan(&s.last, &s.epoch, &s.edits, &s.news, &s.since, &s.marked, &s.segment, &s.blocked, &s.held,
			&s.queued, &s.waiting, &s.pending, &s.left, &s.parked, &s.retry))
	}}
}

// withoutChanged returns the reply without the parts that rest on messages changed or redacted while it was written:
// derived parts of a new epoch's head lose their text, and a reply whose inputs are all gone becomes empty.
func withoutChanged(r store.Reply, st state) store.Reply {
	if r.Epoch != nil && r.Epoch.Edits != st.edits {
		e := *r.Epoch
		e.Head = slices.Clone(e.Head)
		for i := range e.Head {
			if h := &e.Head[i]; h.Segment != 0 || len(h.Loops) > 0 {
				h.Text, h.Error = "", "changed while the turn ran"
			}
		}
		r.Epoch = &e
	}
	if len(r.Turn.Inputs) > 0 && r.State != core.TurnFailed && st.left == 0 {
		r.State, r.Messages, r.Deliveries, r.Epoch, r.Effects, r.News, r.Told = core.TurnStopped, nil, nil, nil, nil, nil, 0
	}
	return r
}

// say appends the messages of a reply to the turn's thread and segment.
func (t *tx) say(r store.Reply, st *state) (said []core.Message) {
	last, counted := st.last, 0
	for _, m := range r.Messages {
		p := place{thread: r.Turn.Thread, segment: r.Turn.Segment, turn: r.Turn.ID, identity: r.Turn.Identity,
			channel: r.Turn.Address.Channel}
		if m.Kind == core.KindChat {
			last = nextPosition(last, r.Now)
			p.position = last
		}
		if m.Kind == core.KindChat && m.Role == core.RoleAssistant && m.Text != "" {
			counted++
		}
		id := t.insert(m, p)
		kept, err := stored(t.user, id, m, p)
		t.fail(err)
		said = append(said, kept)
	}
	st.since += counted
	t.counted(r.Turn.Segment, counted, st.marked)
	st.last = last
	return said
}

// deliverReply stores the deliveries of a reply; the first is claimed if a claim is given and its address is idle. A
// single one to the sender is direct: its id is returned, and kept by the turn.
func (t *tx) deliverReply(r store.Reply, st state, said []core.Message,
	c *store.Claim) (direct core.DeliveryID, claimed *core.Delivery) {
	if len(r.Deliveries) != 1 || r.Deliveries[0].Identity != r.Turn.Identity || len(said) == 0 ||
		said[len(said)-1].Kind != core.KindChat {
		return 0, t.deliverAll(r.Deliveries, idsOf(said), c, r.Now)
	}
	direct = core.DeliveryID(t.nextID())
	return direct, t.deliverTo(direct, said[len(said)-1].ID, true, r.Deliveries[0],
		recipient{st.blocked, st.queued}, c, r.Now)
}

// moveThread writes a thread after a reply whose last message has the position last, if a reply changes it.
func (t *tx) moveThread(r store.Reply, st *state) {
	epoch := st.epoch
	if r.Epoch != nil {
		epoch = int64(r.Epoch.ID)
		t.exec(`INSERT INTO epochs (user_id, id, thread_id, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id, id) DO UPDATE SET data = excluded.data`, t.user, r.Epoch.ID, r.Turn.Thread,
			text(t.stillStanding(*r.Epoch)))
	}
	if news := told(r); r.Epoch != nil || news > st.news {
		t.exec(`UPDATE threads SET last_position = $3, epoch_id = $4, epoch_used = $5, news = $6 WHERE user_id = $1 AND id = $2`,
			t.user, r.Turn.Thread, st.last, epoch, ms(r.Now), max(news, st.news))
	}
}

// told returns the Told of a reply, or 0 if the turn failed.
func told(r store.Reply) int64 {
	if r.State == core.TurnFailed {
		return 0
	}
	return r.Told
}

func (t *tx) closeTurn(r store.Reply, st state, direct core.DeliveryID) {
	if r.News != nil && r.State != core.TurnFailed {
		t.keepNote(r.News, st)
	}
	snapshot, epoch := "", core.TurnID(0)
	if r.Snapshot != nil {
		snapshot, epoch = text(r.Snapshot), r.Snapshot.Epoch
	}
	t.exec(
		`UPDATE turns SET state = $3, ended_at = $4, snapshot = $5, epoch_id = $6, error = $7, delivery_id = $8
		WHERE user_id = $1 AND id = $2`, t.user, r.Turn.ID, string(r.State), ms(r.Now), snapshot, epoch, r.Error, direct)
	t.endRun(r.Turn, runState(r), r.Cause, r.Now)
	t.forgetCalls(r.Turn.ID)
	switch {
	case waits(r):
		t.unreadAgain(*r.Turn, r.Refused)
	case r.Drop:
		t.leavePrompts(*r.Turn)
	}
}

// waits reports whether the inputs of a reply's turn wait for another one, which only something new begins.
func waits(r store.Reply) bool { return r.State == core.TurnFailed && r.Turn.Task == 0 && !r.Drop }

// leavePrompts removes the inputs of a turn from all later prompts. Their place for display stays.
func (t *tx) leavePrompts(turn core.Turn) {
	for _, id := range turn.Inputs {
		t.exec(`UPDATE messages SET position = 0 WHERE user_id = $1 AND id = $2`, t.user, id)
	}
}

// unreadAgain makes the inputs of a turn pending again, refused or not. Their place for display stays.
func (t *tx) unreadAgain(turn core.Turn, refused bool) {
	for _, id := range turn.Inputs {
		t.exec(`UPDATE messages SET position = 0, turn_id = 0, refused = $3 WHERE user_id = $1 AND id = $2`, t.user, id,
			flag(refused))
		t.exec(`UPDATE threads SET failed = $3 WHERE user_id = $1 AND id = $2 AND failed < $3`, t.user,
			turn.Thread, id)
	}
}

// settle replaces the turn's reservation with the tokens used.
func (t *tx) settle(r store.Reply) {
	day, reserved := r.Day, 0
	if r.Turn.Reserved > 0 {
		t.get(columns{&day, &reserved}, `SELECT day, reserved FROM turns WHERE user_id = $1 AND id = $2`, t.user, r.Turn.ID)
	}
	t.spendTurn(r.Turn, day, r.Spent, reserved, 1)
}

// spendTurn counts what a turn took on a day, and releases that much of its reservation.
func (t *tx) spendTurn(turn *core.Turn, day string, spent core.Bill, reserved, turns int) {
	t.spend(day, spent, reserved, turns)
	if turn.Task != 0 {
		t.spendTask(day, spent.Total(), reserved)
	}
}

// spend counts what calls took on a day, in total and by model and purpose, and releases reserved tokens. Everything
// that is counted is counted here.
func (t *tx) spend(day string, spent core.Bill, reserved, turns int) {
	u := spent.Total()
	t.exec(`INSERT INTO usage (user_id, day, prompt, cached, completion, turns) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (user_id, day) DO UPDATE SET prompt = usage.prompt + excluded.prompt, cached = usage.cached + excluded.cached,
			completion = usage.completion + excluded.completion, turns = usage.turns + excluded.turns,
			reserved = CASE WHEN usage.reserved > $7 THEN usage.reserved - $7 ELSE 0 END`,
		t.user, day, u.Prompt, u.Cached, u.Completion, turns, reserved)
	for _, s := range spent {
		t.exec(`INSERT INTO usage_parts (user_id, day, model, purpose, calls, prompt, cached, completion, amount)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) `+addParts,
			t.user, day, s.Model, string(s.Purpose), s.Calls, s.Prompt, s.Cached, s.Completion, s.Amount)
	}
}

// addParts adds a row of usage_parts to one that is there.
const addParts = `ON CONFLICT (user_id, day, model, purpose) DO UPDATE SET calls = usage_parts.calls + excluded.calls,
	prompt = usage_parts.prompt + excluded.prompt, cached = usage_parts.cached + excluded.cached,
	completion = usage_parts.completion + excluded.completion, amount = usage_parts.amount + excluded.amount`

// next ends the turn's job, and ensures a turn for messages that are still pending.
func (t *tx) next(r store.Reply, st state) (again bool) {
	if r.Compress {
		t.enqueue(store.NewJob{Queue: core.QueueCompress, Key: core.CompressKey, Ref: int64(r.Turn.Thread),
			RunAt: r.Now, Unique: true})
	}
	t.dropJob(r.Turn.Lease, "")
	if st.waiting {
		t.promote(r.Turn.Lease.Key)
		return true
	}
	if !st.pending || waits(r) && !t.untried(r.Turn.Thread) {
		return false
	}
	t.enqueue(turnJob(r.Turn.Thread, r.Now))
	return true
}

// untried reports whether messages of a thread wait that no turn has read yet.
func (t *tx) untried(thread core.ThreadID) bool {
	return valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM messages WHERE user_id = $1 AND thread_id = $2 AND `+unread+`
		AND id > (SELECT failed FROM threads WHERE user_id = $1 AND id = $2))`, t.user, thread)
}

// summaryDue requests a summary if a reply makes one due. It returns the job if the reply claims it. One that failed is
// tried again at its own time, not with every reply.
func (t *tx) summaryDue(r store.Reply, st state) *store.Job {
	due := st.since >= r.SummarizeAfter && r.SummarizeAfter > 0 || r.Summarize
	if r.Turn.Segment == 0 || !due || st.segment != core.SegmentOpen || st.since == 0 ||
		st.retry > ms(r.Now) {
		return nil
	}
	return t.enqueueFor(summaryJob(r.Turn.Segment, r.Now), r.Summary)
}

// summarize enqueues the summary of a segment, once.
func (t *tx) summarize(id core.SegmentID, now time.Time) { t.enqueue(summaryJob(id, now)) }

func summaryJob(id core.SegmentID, now time.Time) store.NewJob {
	return store.NewJob{Queue: core.QueueSummarize, Key: core.SummaryKey, Ref: int64(id), RunAt: now, Unique: true}
}
