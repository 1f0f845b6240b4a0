package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// wantTurn ensures that a turn answers the appended messages: the one claimed with them, or that of a job.
func (t *tx) wantTurn(a store.Append, to route, out store.Appended) {
	job := turnJob(to.thread, a.RunAt)
	switch {
	case out.Turn != nil:
		t.startClaimed(out.Turn, a, to)
		return
	case to.head.id != 0:
		t.queueTurn(to.head, to.thread, a.RunAt)
		return
	case out.Postponed != nil:
		job.RunAt = out.Postponed.Until
	}
	t.awaken(core.QueueTurn)
	t.addJob(job, store.JobReady)
}

// startClaimed stores a turn that is claimed with its messages.
func (t *tx) startClaimed(turn *core.Turn, a store.Append, to route) {
	turn.Lease = core.Lease{Job: core.JobID(turn.ID), Key: threadKey(turn.Thread), Attempt: 1, Until: a.Claim.Until}
	t.insertTurn(turn, a.Budget)
	job := turnJob(turn.Thread, turn.StartedAt)
	job.User, job.Ref = t.user, int64(turn.ID)
	t.exec(insertJob, jobRow(job, turn.Lease.Job, store.JobRunning, turn.Lease, a.Claim.Worker)...)
}

// insertTurn stores a running turn.
func (t *tx) insertTurn(turn *core.Turn, b store.Budget) {
	t.exec(`INSERT INTO turns (user_id, id, thread_id, identity_id, segment_id, state, inputs, reserved, day, started_at, task_id, task_due)
		VALUES ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9, $10, $11)`,
		t.user, turn.ID, turn.Thread, turn.Identity, turn.Segment, text(turn.Inputs), turn.Reserved,
		b.Day, ms(turn.StartedAt), turn.Task, ms(turn.Due))
}

// queueTurn ensures a job after new messages in a thread with the head h: a head that has no
// turn yet is postponed to runAt, as more was written; one with a turn gets a successor.
func (t *tx) queueTurn(h head, thread core.ThreadID, runAt time.Time) {
	if h.ref != 0 && h.state == store.JobRunning {
		t.wake = append(t.wake, core.TurnTopic(t.user, core.TurnID(h.ref))) // the message may join the turn
	}
	if h.ref == 0 && h.state == store.JobReady {
		t.awaken(core.QueueTurn)
		t.exec(`UPDATE jobs SET run_at = $3 WHERE user_id = $1 AND id = $2`, t.user, h.id, ms(runAt))
		return
	}
	if t.count(`UPDATE jobs SET run_at = $3 WHERE user_id = $1 AND key = $2 AND state = 'waiting'`, t.user,
		threadKey(thread), ms(runAt)) == 0 {
		t.addJob(turnJob(thread, runAt), store.JobWaiting)
	}
}

// turnJob returns the job of a thread's next turn. Its Ref is set when the turn begins.
func turnJob(thread core.ThreadID, runAt time.Time) store.NewJob {
	return store.NewJob{Queue: core.QueueTurn, Key: threadKey(thread), Payload: json.RawMessage(text(thread)), RunAt: runAt}
}

// begin starts a turn under a lease. Its inputs are the longest run of pending messages of one
// identity, which get their positions. The turn is nil if nothing is pending, which ends the job, or if the budget postpones it.
func (t *tx) begin(thread core.ThreadID, l core.Lease, now time.Time,
	b store.Budget) (*core.Turn, *store.Postponed) {
	run := t.pending(thread)
	if len(run) == 0 {
		t.end(l, "")
		return nil, nil
	}
	if run[0].solo != soloTask { // a task's tokens were reserved when it was due
		if p := t.postpone(&b, now); p != nil {
			t.again(l, p.Until, "")
			return nil, p
		}
	}
	turn := t.newTurn(thread, run, l, now, b)
	t.exec(`UPDATE jobs SET ref = $3 WHERE user_id = $1 AND id = $2`, t.user, l.Job, turn.ID)
	return turn, nil
}

type pendingMessage struct {
	id       core.MessageID
	identity core.IdentityID
	segment  core.SegmentID
	solo     int64 // 0, soloAsked or soloTask
	failed   bool  // a turn of it failed
	refused  bool  // by the model's server
	spot     spot
}

// unread is the condition of messages that wait for a turn: those of a person, and results of a client's tools. Results
// of our own tools are stored with their turn, and imported messages have positions from the start.
const unread = `kind = 'chat' AND role <> 'assistant' AND turn_id = 0 AND position = 0 AND redacted = 0`

// placeColumn is the extra of a message that has a place, and else an empty one; asJSON decodes it into a spot.
const placeColumn = `CASE WHEN extra LIKE '%"place":%' THEN extra ELSE '{}' END`

// spot is the place of a message.
type spot struct {
	Place string `json:"place"`
}

// pending returns the longest run of unanswered messages of one identity at one place. What has failed alone
// does not hold up what another identity said since; what was refused alone is not returned.
func (t *tx) pending(thread core.ThreadID) (first []pendingMessage) {
	scan := fields(func(p *pendingMessage) []any {
		return []any{&p.id, &p.identity, &p.segment, &p.solo, &p.failed, &p.refused, asJSON(&p.spot)}
	})
	all := listOf(t, scan, `SELECT id, identity_id, segment_id, solo,
			CASE WHEN id <= (SELECT failed FROM threads WHERE user_id = $1 AND id = $2) THEN 1 ELSE 0 END, refused, `+placeColumn+`
		FROM messages WHERE user_id = $1 AND thread_id = $2 AND `+unread+` ORDER BY id LIMIT 200`, t.user, thread)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].identity == all[0].identity && all[n].spot == all[0].spot &&
			all[n].solo == 0 && all[0].solo == 0 {
			n++
		}
		if slices.ContainsFunc(all[:n], func(p pendingMessage) bool { return !p.failed }) {
			return all[:n]
		}
		if first == nil && slices.ContainsFunc(all[:n], func(p pendingMessage) bool { return !p.refused }) {
			first = all[:n]
		}
		all = all[n:]
	}
	return first
}

func (t *tx) newTurn(thread core.ThreadID, run []pendingMessage, l core.Lease, now time.Time,
	b store.Budget) *core.Turn {
	turn := &core.Turn{User: t.user, ID: core.TurnID(t.nextID()), Thread: thread, Identity: run[0].identity,
		State: core.TurnRunning, Segment: run[len(run)-1].segment, Lease: l, StartedAt: now, Reserved: b.Reserve,
		Solo: run[0].solo != 0}
	if run[0].solo == soloTask {
		turn.Reserved = 0
		t.beginRun(turn, run[0].id, &b)
	}
	var failed core.MessageID
	var last int64
	t.get(columns{&turn.Mode, &turn.Title, &failed, &last},
		`SELECT h.mode, `+ownTitle+`, h.failed, `+lastPosition+` FROM threads h WHERE h.user_id = $1 AND h.id = $2`, t.user, thread)
	t.addInputs(turn, run, last, failed, now)
	t.insertTurn(turn, b)
	t.addressTurn(turn)
	return turn
}

// addInputs adds messages to the inputs of a turn, behind the last position of its thread. Messages up to failed keep
// their place for display.
func (t *tx) addInputs(turn *core.Turn, run []pendingMessage, last int64, failed core.MessageID, now time.Time) {
	for _, m := range run {
		last = nextPosition(last, now)
		turn.Inputs = append(turn.Inputs, m.id)
		t.exec(
			`UPDATE messages SET position = $3, shown = CASE WHEN id > $5 THEN $3 ELSE shown END, turn_id = $4, refused = 0 WHERE user_id = $1 AND id = $2`,
			t.user, m.id, last, turn.ID, failed)
	}
}

// JoinTurn adds pending messages to a running turn; see store.TurnStore.
func (s *Store) JoinTurn(ctx context.Context, turn *core.Turn, now time.Time) (joined bool, err error) {
	var next core.Turn
	err = s.update(ctx, "join turn", turn.User, func(t *tx) {
		t.holds(turn.Lease)
		run := t.pending(turn.Thread)
		if joined = len(run) > 0 && run[0].identity == turn.Identity && run[0].solo == 0 && !turn.Solo &&
			run[0].spot.Place == turn.Address.Place &&
			run[0].segment == turn.Segment && run[len(run)-1].segment == turn.Segment; !joined {
			return
		}
		var failed core.MessageID
		var last int64
		t.get(columns{&failed, &last}, `SELECT h.failed, `+lastPosition+` FROM threads h WHERE h.user_id = $1 AND h.id = $2`,
			t.user, turn.Thread)
		next = *turn
		next.Inputs = slices.Clone(turn.Inputs)
		t.addInputs(&next, run, last, failed, now)
		t.exec(`UPDATE turns SET inputs = $3 WHERE user_id = $1 AND id = $2`, t.user, turn.ID, text(next.Inputs))
		if len(t.pending(turn.Thread)) == 0 {
			t.exec(`DELETE FROM jobs WHERE user_id = $1 AND key = $2 AND state = 'waiting'`, t.user, threadKey(turn.Thread))
		}
		t.addressTurn(&next)
	})
	if err != nil || !joined {
		return false, err
	}
	*turn = next
	return true, nil
}

func (t *tx) addressTurn(turn *core.Turn) {
	i := rowOf(t, scanIdentity, `SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND id = $2`,
		t.user, turn.Identity)
	turn.Address = i.Address
	if len(turn.Inputs) > 0 {
		var x struct {
			spot
			Speaker core.Speaker `json:"speaker"`
		}
		t.find(columns{&turn.Event, asJSON(&x)}, `SELECT COALESCE((SELECT e.event_id FROM events e WHERE e.user_id = $1 AND e.message_id = $2 LIMIT 1), ''), extra FROM messages WHERE user_id = $1 AND id = $2`,
			t.user, slices.Max(turn.Inputs))
		turn.Address.Place, turn.Reply = x.Place, x.Speaker.Native
	}
}

// spotOf returns the place of the message that a query returns the id of, if an identity wrote it; else empty.
func (t *tx) spotOf(i core.IdentityID, source string, id int64) string {
	var s spot
	t.find(asJSON(&s), `SELECT `+placeColumn+` FROM messages WHERE user_id = $1 AND identity_id = $2 AND id = (`+source+`)`,
		t.user, i, id)
	return s.Place
}

// inPlace addresses deliveries to the place of the message that asked for them; see spotOf.
func (t *tx) inPlace(all []core.NewDelivery, source string, id int64) {
	for n := range all {
		all[n].To.Place = t.spotOf(all[n].Identity, source, id)
	}
}

// postpone reserves the tokens of a turn, or returns until when the budget forbids it.
func (t *tx) postpone(b *store.Budget, now time.Time) *store.Postponed {
	if !b.Closed.IsZero() {
		return &store.Postponed{Until: b.Closed, Budget: true}
	}
	if b.TurnsPerMinute > 0 {
		if p := t.tooFast(*b, now); p != nil {
			return p
		}
	}
	return t.reserve(b)
}

// reserve reserves b.Reserve tokens of the day's budget, or else b.Least, and then sets b.Reserve to that.
func (t *tx) reserve(b *store.Budget) *store.Postponed {
	if b.TokensPerDay <= 0 {
		return nil
	}
	used, reserved, err := usageOf(t, t.user, b.Day)
	t.fail(err)
	taken := used + reserved
	if taken+b.Reserve > b.TokensPerDay && b.Least > 0 {
		b.Reserve = b.Least
	}
	if taken > 0 && taken+b.Reserve > b.TokensPerDay {
		return &store.Postponed{Until: b.NextDay, Budget: true}
	}
	t.exec(`INSERT INTO usage (user_id, day, reserved) VALUES ($1, $2, $3)
		ON CONFLICT (user_id, day) DO UPDATE SET reserved = usage.reserved + excluded.reserved`, t.user, b.Day, b.Reserve)
	return nil
}

func (t *tx) tooFast(b store.Budget, now time.Time) *store.Postponed {
	var n int
	var first sql.NullInt64
	t.get(columns{&n, &first}, `SELECT COUNT(*), MIN(started_at) FROM (SELECT started_at FROM turns WHERE user_id = $1 ORDER BY id DESC LIMIT $3) newest
		WHERE started_at > $2`, t.user, ms(now.Add(-time.Minute)), b.TurnsPerMinute)
	if n < b.TurnsPerMinute {
		return nil
	}
	return &store.Postponed{Until: at(first.Int64).Add(time.Minute)}
}

// ClaimTurn takes a due turn job; see store.TurnStore.
func (s *Store) ClaimTurn(ctx context.Context, ref store.JobRef, c store.Claim,
	b store.Budget) (*core.Turn, *store.Postponed, error) {
	var turn *core.Turn
	var put *store.Postponed
	err := s.transact(ctx, "claim turn", tx{user: ref.User}, func(t *tx) {
		turn, put = nil, nil
		l, ok := t.take(ref, c)
		if !ok {
			return
		}
		var current core.TurnID
		var thread core.ThreadID
		t.get(columns{&current, &thread}, `SELECT ref, payload FROM jobs WHERE user_id = $1 AND id = $2`, t.user, ref.ID)
		if current != 0 {
			turn = t.resume(current, l)
			return
		}
		turn, put = t.begin(thread, l, c.Now, b)
	})
	return turn, put, err
}

// resume continues a turn whose earlier attempt did not end. If all of its inputs have been redacted, it ends here.
func (t *tx) resume(id core.TurnID, l core.Lease) *core.Turn {
	turn := t.turn(id)
	if t.left(turn) == 0 {
		t.dropTurn(id, l)
		return nil
	}
	turn.Lease, turn.Solo = l, true // whether its inputs were is not stored
	t.addressTurn(&turn)
	return &turn
}

// left counts the inputs of a turn that are not redacted.
func (t *tx) left(turn core.Turn) int {
	if len(turn.Inputs) == 0 {
		return 0
	}
	return valueOf[int](t, countLeft("$1", "$2", "$3", "$4"), t.user, slices.Min(turn.Inputs),
		slices.Max(turn.Inputs), turn.ID)
}

// countLeft returns the query of left, for inputs with ids from lowest to highest.
func countLeft(user, lowest, highest, turn string) string {
	return `SELECT COUNT(*) FROM messages WHERE user_id = ` + user + ` AND id BETWEEN ` + lowest + ` AND ` + highest +
		` AND turn_id = ` + turn + ` AND role <> 'assistant' AND redacted = 0 AND position > 0`
}

// ownTitle is the title of a thread h for its turns: models read what the person wrote.
const ownTitle = `CASE WHEN h.own = 1 THEN h.title ELSE '' END`

var turnColumns = `t.user_id, t.id, t.thread_id, (SELECT h.mode FROM threads h WHERE h.user_id = $1 AND h.id = t.thread_id), (SELECT ` + ownTitle + ` FROM threads h WHERE h.user_id = $1 AND h.id = t.thread_id), t.identity_id, t.segment_id, t.state, t.inputs, t.failures, t.error, t.reserved, t.started_at, t.snapshot, t.task_id, t.task_due, ` + taskModel("t.task_id")

func scanTurn(row scanner) (core.Turn, string, error) {
	var t core.Turn
	var snapshot string
	err := row.Scan(&t.User, &t.ID, &t.Thread, &t.Mode, &t.Title, &t.Identity, &t.Segment, &t.State,
		asJSON(&t.Inputs), &t.Failures,
		&t.LastError, &t.Reserved, asTime(&t.StartedAt), &snapshot, &t.Task, asTime(&t.Due), &t.Model)
	return t, snapshot, found(err)
}

func turnByID(q reader, user core.UserID, id core.TurnID) (core.Turn, string, error) {
	return scanTurn(q.row(`SELECT `+turnColumns+` FROM turns t WHERE t.user_id = $1 AND t.id = $2`, user, id))
}

// turn returns a turn of the user.
func (t *tx) turn(id core.TurnID) core.Turn {
	turn, _, err := turnByID(t, t.user, id)
	t.fail(err)
	return turn
}

// Flags returns the requests to a running turn.
func (s *Store) Flags(ctx context.Context, user core.UserID, turn core.TurnID) (store.TurnFlags, error) {
	var f store.TurnFlags
	err := s.one(ctx).row(`SELECT t.stop, t.restarts, EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = t.thread_id
			AND m.identity_id = t.identity_id AND m.solo = 0 AND `+unread+`)
		FROM turns t WHERE t.user_id = $1 AND t.id = $2`, user, turn).Scan(&f.Stop, &f.Restart, &f.More)
	return f, found(err)
}

// spent charges the usage of failed attempts of a turn, and returns how much of the turn's reservation that takes.
func (t *tx) spent(turn *core.Turn) (back int) {
	if len(turn.Used) == 0 {
		return 0
	}
	if turn.Reserved > 0 {
		var day string
		t.getOr(core.ErrNotFound, columns{&day, &back}, `SELECT day, reserved FROM turns WHERE user_id = $1 AND id = $2`, t.user,
			turn.ID)
		if back = min(back, turn.Used.Total().Tokens()); day != turn.Today {
			back = 0
		}
	}
	t.spendTurn(turn, turn.Today, turn.Used, back, 0)
	return back
}

// RetryTurn returns a failed turn to the queue.
func (s *Store) RetryTurn(ctx context.Context, turn *core.Turn, again time.Time, cause string) error {
	return s.update(ctx, "retry turn", turn.User, func(t *tx) {
		t.holds(turn.Lease)
		back := t.spent(turn)
		t.exec(
			`UPDATE turns SET failures = failures + $4, error = $3, reserved = reserved - $5 WHERE user_id = $1 AND id = $2`,
			t.user, turn.ID, cause, flag(cause != ""), back)
		t.again(turn.Lease, again, cause)
	})
}
