package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// beginMerge begins a merge: it freezes the source user and pauses the target user. The owner is always the target.
func (s *Store) beginMerge(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	roles, err := s.rolesOf(ctx, m)
	if err != nil {
		return 0, err
	}
	if len(roles) < 2 {
		return 0, s.dropMove(ctx, m, now) // one of them is gone
	}
	if busy, err := s.toldFirst(ctx, m, now); err != nil || busy {
		return moveWaits, err
	}
	asked := m.From
	swapped := m
	if roles[m.From] == core.RoleOwner {
		swapped.From, swapped.Into = m.Into, m.From
	}
	waits := false
	err = s.step(ctx, swapped, func(p *pair, m *move) {
		if waits = p.begun(m, swapped.From, swapped.Into); waits {
			return
		}
		m.From, m.Into = swapped.From, swapped.Into
		p.planMerge(m, asked)
		p.halt(m, now)
		m.next(phaseOrder)
	})
	return waiting(waits), err
}

// waiting returns how long a move waits, if it does.
func waiting(waits bool) time.Duration {
	if waits {
		return moveWaits
	}
	return 0
}

// rolesOf reads the roles of the existing users of a move.
func (s *Store) rolesOf(ctx context.Context, m move) (map[core.UserID]core.UserRole, error) {
	out := map[core.UserID]core.UserRole{}
	for _, id := range []core.UserID{m.From, m.Into} {
		u, err := s.User(ctx, id)
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[id] = u.Role
	}
	return out, nil
}

// dropMove ends a move that has become pointless, and resumes users that were paused for it.
func (s *Store) dropMove(ctx context.Context, m move, now time.Time) error {
	err := s.execShared(ctx, "drop a move",
		`UPDATE moves SET phase = 'done', into_user = from_user WHERE id = $1 AND phase = 'asked'`, m.ID)
	for user := range until(&err, []core.UserID{m.From, m.Into}) {
		if user > 0 {
			err = s.unpause(ctx, user, now)
		}
	}
	return err
}

// unpause resumes a user, unless another move keeps them paused.
func (s *Store) unpause(ctx context.Context, user core.UserID, now time.Time) error {
	err := s.updateFrozen(ctx, "end a pause", user, func(t *tx) {
		kept := valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM moves WHERE phase <> 'done' AND (from_user = $1 OR into_user = $1))`, user)
		if !kept && t.moving == paused {
			t.setMoving(0)
			t.resumeAll(now)
		}
	})
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// moveBegun reports whether a move of one of the users, except other, is in progress.
func moveBegun(q reader, other core.MoveID, from, into core.UserID) (yes bool, err error) {
	err = q.row(`SELECT EXISTS (SELECT 1 FROM moves WHERE phase <> 'done' AND phase <> 'asked' AND id <> $1
		AND (from_user IN ($2, $3) OR into_user IN ($2, $3)))`, other, from, into).Scan(&yes)
	return yes, err
}

// begun is moveBegun for users other than those of another move.
func (p *pair) begun(m *move, from, into core.UserID) (yes bool) {
	yes, err := moveBegun(p, m.ID, from, into)
	p.fail(err)
	return yes
}

// toldFirst reports whether deliveries to the source user are still in progress. The move waits for them for a while.
func (s *Store) toldFirst(ctx context.Context, m move, now time.Time) (busy bool, err error) {
	if !now.Before(m.AskedAt.Add(moveTellFor)) {
		return false, nil
	}
	err = s.one(ctx).row(`SELECT EXISTS (SELECT 1 FROM deliveries d JOIN jobs j ON j.ref = d.id AND j.queue = 'deliver:' || d.channel
		WHERE d.user_id = $1 AND d.state IN ('pending', 'sending') AND j.user_id = $1 AND j.state IN ('ready', 'running') AND j.run_at <= $2)`, m.From, ms(now)).Scan(&busy)
	return busy, err
}

// planMerge reserves ids for the copied rows, after those of the target user.
func (p *pair) planMerge(m *move, asked core.UserID) {
	m.plan = movePlan{Message: p.into.lastMessage, ID: p.into.lastID, Through: p.into.lastMessage, Tell: m.Identity}
	if asked == m.From {
		m.plan.Tell += core.IdentityID(m.plan.ID)
	}
	m.plan.Was, m.plan.Thread = p.from.threadOr(0), p.into.threadOr(0)
	m.plan.Live = listOf(p, column[core.DeliveryID],
		`SELECT id FROM deliveries WHERE user_id = $1 AND state IN ('pending', 'sending') ORDER BY id`, m.From)
	m.Total = int(p.from.lastMessage + p.from.lastID)
	p.into.lastMessage += p.from.lastMessage
	p.into.added = true
	p.into.lastID += p.from.lastID
	p.into.dirty = true
}

// halt stops the work of the source user and the turns of the target user, and leaves room for
// all copied positions before the messages that are answered next.
func (p *pair) halt(m *move, now time.Time) {
	last := p.lastPosition(m)
	for _, t := range p.runningTurns(m.Into, m.plan.Thread) {
		m.plan.Answers = t.ID
		last = p.restand(m.Into, t, last)
	}
	p.exec(`UPDATE threads SET last_position = $3, edits = edits + 1 WHERE user_id = $1 AND id = $2`, m.Into,
		m.plan.Thread, last)
	p.haltTurns(m)
	p.haltJobs(m.From, now)
	p.into.setMoving(paused)
	p.from.setMoving(frozen)
}

// lastPosition returns a position beyond all messages of both threads after the merge.
func (p *pair) lastPosition(m *move) int64 {
	const last = `SELECT ` + lastPosition + ` FROM threads h WHERE h.user_id = $1 AND h.id = $2`
	was, is := valueOf[int64](p, last, m.From, m.plan.Was), valueOf[int64](p, last, m.Into, m.plan.Thread)
	return p.into.lastMessage + max(was, is)
}

// runningTurns lists the running turns of a user, in one thread if it is not 0.
func (p *pair) runningTurns(user core.UserID, thread core.ThreadID) []core.Turn {
	all := listOf(p, scanTurnOnly,
		`SELECT `+turnColumns+` FROM turns t WHERE t.user_id = $1 AND t.state = 'running' ORDER BY t.id`, user)
	return slices.DeleteFunc(all, func(t core.Turn) bool { return thread != 0 && t.Thread != thread })
}

// scanTurnOnly scans a turn without its snapshot.
func scanTurnOnly(r scanner) (core.Turn, error) {
	t, _, err := scanTurn(r)
	return t, err
}

// restand assigns the inputs of a turn positions after last, and returns the last one.
func (p *pair) restand(user core.UserID, t core.Turn, last int64) int64 {
	for _, id := range t.Inputs {
		last++
		p.exec(`UPDATE messages SET position = $3, shown = $3 WHERE user_id = $1 AND id = $2 AND turn_id = $4`, user, id, last, t.ID)
	}
	return last
}

// haltTurns stops the running turns of the source user. They run again after the move, with their journal. If both
// continuous threads have a running turn, the inputs of the source user's become pending instead.
func (p *pair) haltTurns(m *move) {
	for _, t := range p.runningTurns(m.From, 0) {
		p.wake = append(p.wake, core.TurnTopic(m.From, t.ID))
		if t.Thread != m.plan.Was || m.plan.Answers == 0 {
			m.plan.Turns = append(m.plan.Turns, t.ID)
			continue
		}
		p.from.giveBack(t)
	}
}

// giveBack makes the inputs of a turn pending again.
func (t *tx) giveBack(turn core.Turn) {
	h, busy := t.head(threadKey(turn.Thread))
	for _, id := range turn.Inputs {
		t.exec(`UPDATE messages SET position = 0, turn_id = 0 WHERE user_id = $1 AND id = $2 AND turn_id = $3`,
			turn.User, id, turn.ID)
	}
	if busy {
		t.dropTurn(turn.ID, core.Lease{Job: h.id, Key: threadKey(turn.Thread)})
	}
}

// haltJobs fences running jobs of the source user, except deliveries.
func (p *pair) haltJobs(user core.UserID, now time.Time) {
	for _, j := range listOf(p, scanJob, `SELECT `+jobColumns+
		` FROM jobs WHERE user_id = $1 AND state = 'running' AND queue NOT LIKE 'deliver:%'`, user) {
		if j.Queue != core.QueueTurn {
			p.from.release(j.Lease)
		}
		p.exec(`UPDATE jobs SET state = 'ready' WHERE user_id = $1 AND id = $2`, user, j.ID)
	}
	p.exec(`UPDATE jobs SET run_at = $2 WHERE user_id = $1 AND state IN ('ready', 'waiting')`, user,
		ms(now.Add(moveOffUntil)))
}

// orderPage is how many positions one step stores or changes.
const orderPage = 500

// orderMerge plans the positions of the merged thread, and stores those that change.
func (s *Store) orderMerge(ctx context.Context, m move) error {
	moved, err := s.movedPositions(ctx, m)
	if err != nil {
		return err
	}
	done := cursorNumber(m.cursor)
	for {
		page := moved[min(done, len(moved)):]
		page = page[:min(orderPage, len(page))]
		err := s.step(ctx, m, func(p *pair, m *move) {
			for _, x := range page {
				user := m.From
				if x.into {
					user = m.Into
				}
				p.exec(`INSERT INTO move_positions (user_id, message_id, was, position) VALUES ($1, $2, $3, $4)
					ON CONFLICT (user_id, message_id) DO NOTHING`, user, x.id, x.position, x.next)
			}
			if m.cursor = numberCursor(done + len(page)); len(page) == 0 {
				m.next(phaseRoom)
			}
		})
		if err != nil || len(page) == 0 {
			return err
		}
		done += len(page)
		m.cursor = numberCursor(done)
	}
}

// movedPositions returns the messages of both users whose position changes.
func (s *Store) movedPositions(ctx context.Context, m move) ([]placed, error) {
	var lists [2][]placed
	err := s.view(ctx, "read positions", func(q querier) error {
		for n, x := range []struct {
			user    core.UserID
			thread  core.ThreadID
			through int64
		}{{m.Into, m.plan.Thread, m.plan.Through}, {m.From, m.plan.Was, 1 << 62}} {
			all, err := list(q, fields(func(p *placed) []any { return []any{&p.id, &p.turn, &p.position} }),
				`SELECT id, turn_id, position FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > 0 ORDER BY position`, x.user, x.thread)
			if err != nil {
				return err
			}
			lists[n] = slices.DeleteFunc(all, func(p placed) bool {
				turn := core.TurnID(p.turn)
				return p.id > x.through || n == 0 && turn != 0 && turn == m.plan.Answers || n == 1 &&
					slices.Contains(m.plan.Turns, turn)
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(interleave(lists[0], lists[1]), func(p placed) bool { return p.next == p.position }), nil
}

// makeRoom assigns messages of the target user their new positions, the last one first.
func (s *Store) makeRoom(ctx context.Context, m move) error {
	before := int64(1) << 62
	if m.cursor != "" {
		before = int64(cursorNumber(m.cursor))
	}
	page, err := list(s.one(ctx), fields(func(p *placed) []any { return []any{&p.id, &p.position, &p.next} }),
		`SELECT message_id, was, position FROM move_positions WHERE user_id = $1 AND was < $2 ORDER BY was DESC LIMIT $3`,
		m.Into, before, orderPage)
	if err != nil {
		return err
	}
	return s.step(ctx, m, func(p *pair, m *move) {
		for _, x := range page {
			p.exec(`UPDATE messages SET position = $3, shown = $3 WHERE user_id = $1 AND id = $2 AND position > 0`, m.Into, x.id, x.next)
		}
		if len(page) < orderPage {
			m.next(phaseDays)
			return
		}
		m.cursor = numberCursor(int(page[len(page)-1].position))
	})
}

// placed is a message with its position, and the next one after the merge.
type placed struct {
	id, turn, position int64
	into               bool // of the target user
	next               int64
}

// interleave merges two threads, both sorted by position, in the order of time. Each message keeps its position, or
// gets the one after its predecessor if that is taken. Messages of one turn stay together.
func interleave(into, from []placed) []placed {
	out := make([]placed, 0, len(into)+len(from))
	last := int64(0)
	put := func(list []placed, own bool) []placed {
		n := block(list)
		for _, m := range list[:n] {
			m.into, m.next = own, max(last+1, m.position)
			last = m.next
			out = append(out, m)
		}
		return list[n:]
	}
	for len(into) > 0 || len(from) > 0 {
		if len(from) == 0 || len(into) > 0 && into[0].position <= from[0].position {
			into = put(into, true)
		} else {
			from = put(from, false)
		}
	}
	return out
}

// block returns how many messages at the beginning of a list belong to one turn.
func block(list []placed) int {
	n := 1
	for n < len(list) && list[n].turn != 0 && list[n].turn == list[0].turn {
		n++
	}
	return n
}
