package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// A user who is moved. All kinds of waiting end with the move.
const (
	paused  = 1 // nothing is answered, summarised or embedded
	frozen  = 2 // nothing is written; what comes in is held by who brings it
	letting = 3 // what was held comes in before what is new
)

// Phases of a move between core.MoveAsked and core.MoveTold, and after it.
const (
	phaseOrder  = "order"  // positions are planned
	phaseRoom   = "room"   // the target user makes room for the source user
	phaseDays   = "days"   // segments and summaries
	phaseCopy   = "copy"   // all other rows
	phaseSwitch = "switch" // identities and what is under way
	phaseClean  = "clean"  // what was copied goes
	phaseLet    = "let"    // what was held is let in
)

// How long a step waits for what others do.
const (
	moveWaits    = 100 * time.Millisecond
	moveTellFor  = 5 * time.Second  // the answer to who asked goes out first
	moveLetFor   = 10 * time.Second // for what was held; the rest comes later
	moveOffUntil = time.Hour        // jobs of users who are moved; the end of the move wakes them
)

// move is a core.Move with what its steps must know.
type move struct {
	core.Move
	cursor string
	plan   movePlan
}

// movePlan is fixed when a move begins.
type movePlan struct {
	Message int64             `json:"message,omitempty"` // added to message numbers
	ID      int64             `json:"id,omitempty"`      // added to other ids
	Thread  core.ThreadID     `json:"thread,omitempty"`  // the continuous one of the target user
	Was     core.ThreadID     `json:"was,omitempty"`     // of the source user
	Through int64             `json:"through,omitempty"` // last message of the target user
	Tell    core.IdentityID   `json:"tell,omitempty"`    // of the target user, where the end is told
	Answers core.TurnID       `json:"answers,omitempty"` // running turn of the thread that stays
	Turns   []core.TurnID     `json:"turns,omitempty"`   // running ones that come along
	Goes    core.IdentityID   `json:"goes,omitempty"`    // of a split
	Live    []core.DeliveryID `json:"live,omitempty"`    // under way when it began
	Let     int64             `json:"let,omitempty"`     // since when what was held is waited for
}

const moveColumns = `id, kind, from_user, into_user, identity_id, phase, cursor, plan, copied, total, asked_at`

func scanMove(row scanner) (move, error) {
	var m move
	var plan string
	var asked int64
	err := row.Scan(&m.ID, (*string)(&m.Kind), &m.From, &m.Into, &m.Identity, (*string)(&m.Phase), &m.cursor, &plan,
		&m.Rows, &m.Total, &asked)
	if err != nil {
		return m, found(err)
	}
	m.AskedAt = at(asked)
	if err := unjson(plan, &m.plan); err != nil {
		return m, err
	}
	if m.Phase == core.MoveTold || m.Phase == phaseClean || m.Phase == phaseLet || m.Phase == core.MoveDone {
		m.Identity = m.plan.Tell
	}
	return m, nil
}

// Ask makes a move; see core.MoveStore.
func (s *Store) Ask(ctx context.Context, m core.Move) (core.MoveID, error) {
	var id core.MoveID
	err := s.update(ctx, "ask for a move", m.From, func(t *tx) (err error) {
		if id, err = t.askMove(m); err != nil {
			return err
		}
		return t.did(core.AuditMove, "user", int64(m.Into))
	})
	return id, err
}

// askMove stores a move of the user. Which of two users stays is decided when it
// begins, as both are locked then. Of a merge the user is paused at once: what
// they write after the answer is kept for both.
func (t *tx) askMove(m core.Move) (core.MoveID, error) {
	if m.From == m.Into || m.From == 0 || m.Kind == core.MoveMerge && m.Into == 0 {
		return 0, core.ErrRefused
	}
	if err := t.send(); err != nil {
		return 0, err
	}
	counter := t.beside()
	if err := counter.ask(counter.lock()); err != nil {
		return 0, err
	}
	id := core.MoveID(counter.nextID())
	err := counter.exec(
		`INSERT INTO moves (id, kind, from_user, into_user, identity_id, phase, asked_at) VALUES ($1, $2, $3, $4, $5, 'asked', $6)`,
		id, string(m.Kind), m.From, m.Into, m.Identity, ms(m.AskedAt))
	if err != nil {
		return 0, err
	}
	if m.Kind == core.MoveMerge && t.moving == 0 {
		if err := t.setMoving(paused); err != nil {
			return 0, err
		}
	}
	t.wake = append(t.wake, core.TopicMoves)
	return id, counter.flushAll()
}

// Moves lists moves that are not done.
func (s *Store) Moves(ctx context.Context, limit int) ([]core.Move, error) {
	rows, err := s.one(ctx).rows(`SELECT `+moveColumns+` FROM moves WHERE phase <> 'done' ORDER BY id LIMIT $1`, limit)
	return collect(rows, err, func(r scanner) (core.Move, error) {
		m, err := scanMove(r)
		return m.Move, err
	})
}

// Move returns a move, or ErrNotFound.
func (s *Store) Move(ctx context.Context, id core.MoveID) (core.Move, error) {
	m, err := s.moveByID(ctx, id)
	return m.Move, err
}

func (s *Store) moveByID(ctx context.Context, id core.MoveID) (move, error) {
	m, err := scanMove(s.one(ctx).row(`SELECT `+moveColumns+` FROM moves WHERE id = $1`, id))
	return m, wrap("read move", err)
}

// Told ends MoveTold; see core.MoveStore.
func (s *Store) Told(ctx context.Context, id core.MoveID) error {
	return s.writeShared(ctx, "told of a move", func(q querier) error {
		_, err := q.exec(`UPDATE moves SET phase = 'clean', cursor = '' WHERE id = $1 AND phase = 'told'`, id)
		return err
	})
}

// Carry does the next step of a move; see core.MoveStore.
func (s *Store) Carry(ctx context.Context, id core.MoveID, now time.Time) (core.Move, time.Duration, error) {
	m, err := s.moveByID(ctx, id)
	if err != nil || m.Phase == core.MoveTold || m.Phase == core.MoveDone {
		return m.Move, 0, err
	}
	wait, err := s.carry(ctx, m, now)
	switch {
	case errors.Is(err, core.ErrChanged): // another process was faster
		err = nil
	case errors.Is(err, core.ErrNotFound) && m.Phase == core.MoveAsked:
		err = s.dropMove(ctx, m, now) // who was to be moved is gone
	}
	s.shrink(err != nil)
	if err != nil {
		return m.Move, 0, fmt.Errorf("%s of %d into %d: %s: %w", m.Kind, m.From, m.Into, m.Phase, err)
	}
	m, err = s.moveByID(ctx, id)
	return m.Move, wait, err
}

// shrink makes pages smaller after a step that failed, as one may be too much for
// the time that it has, and larger again after one that did not.
func (s *Store) shrink(failed bool) {
	const most = 10
	if n := s.shrunk.Load(); failed && n < most {
		s.shrunk.Add(1)
	} else if !failed && n > 0 {
		s.shrunk.Add(-1)
	}
}

func (s *Store) carry(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	switch {
	case m.Phase == core.MoveAsked && m.Kind == core.MoveSplit:
		return s.beginSplit(ctx, m, now)
	case m.Phase == core.MoveAsked:
		return s.beginMerge(ctx, m, now)
	case m.Phase == phaseOrder:
		return 0, s.orderMerge(ctx, m)
	case m.Phase == phaseRoom:
		return 0, s.makeRoom(ctx, m)
	case m.Phase == phaseDays && m.Kind == core.MoveSplit:
		return 0, s.splitDays(ctx, m)
	case m.Phase == phaseDays:
		return 0, s.joinDays(ctx, m)
	case m.Phase == phaseCopy:
		return 0, s.copyRows(ctx, m)
	case m.Phase == phaseSwitch && m.Kind == core.MoveSplit:
		return s.switchSplit(ctx, m, now)
	case m.Phase == phaseSwitch:
		return s.switchMerge(ctx, m, now)
	case m.Phase == phaseClean:
		return 0, s.cleanRows(ctx, m)
	case m.Phase == phaseLet:
		return s.letIn(ctx, m, now)
	}
	return 0, fmt.Errorf("phase %q is not known", m.Phase)
}

// pair is one transaction of both users of a move, who are locked in the order
// of their ids.
type pair struct {
	*tx
	from, into *tx
}

// step runs f in one transaction of both users and moves the move on to what f
// makes of it. core.ErrChanged if somebody else did that since it was read.
func (s *Store) step(ctx context.Context, m move, f func(p pair, m *move) error) error {
	left := m.Kind == core.MoveMerge && m.Phase == phaseLet // only the target user is
	first := m.From
	if left {
		first = m.Into
	} else if m.Into > 0 { // 0 counts users, and is locked after any of them
		first = min(m.From, m.Into)
	}
	return s.updateFrozen(ctx, "step", first, func(t *tx) error {
		p := pair{tx: t, from: t, into: t}
		if m.From != t.user && !left {
			p.from = t.beside()
			p.from.user = m.From
		}
		if m.Into != t.user {
			p.into = t.beside()
			p.into.user = m.Into
		}
		if err := p.hold(m); err != nil {
			return err
		}
		next := m
		if err := f(p, &next); err != nil {
			return err
		}
		return p.end(next)
	})
}

// hold locks those users that are not locked yet, and sees that the move is what it was.
func (p pair) hold(m move) error {
	for _, t := range []*tx{p.from, p.into} {
		if t == p.tx {
			continue
		}
		if err := t.enter(); err != nil {
			return err
		}
	}
	now, err := scanMove(p.row(`SELECT `+moveColumns+` FROM moves WHERE id = $1`, m.ID))
	if err != nil {
		return err
	}
	if now.Phase != m.Phase || now.cursor != m.cursor {
		return core.ErrChanged
	}
	return nil
}

// end stores how far the move is.
func (p pair) end(m move) error {
	err := p.exec(
		`UPDATE moves SET from_user = $2, into_user = $3, phase = $4, cursor = $5, plan = $6, copied = $7, total = $8 WHERE id = $1`,
		m.ID, m.From, m.Into, string(m.Phase), m.cursor, text(m.plan), m.Rows, m.Total)
	for _, t := range []*tx{p.from, p.into} {
		if err != nil || t == p.tx {
			continue
		}
		err = t.flushAll()
		p.wake = append(p.wake, t.wake...)
	}
	return err
}

// next moves to a phase.
func (m *move) next(phase core.MovePhase) { m.Phase, m.cursor = phase, "" }

// waits reports whether jobs of a queue wait until the user is no longer moved.
// What is to be delivered goes on, except for who is frozen.
func (t *tx) waits(queue string) bool {
	return t.moving == frozen || t.moving == paused && (queue == core.QueueTurn || queue == core.QueueSummarize ||
		queue == core.QueueEmbed || queue == core.QueueCompress || queue == core.QueueSpeak)
}

// halted reports whether nothing of a user's is answered or made.
func (t *tx) halted() bool { return t.moving == paused || t.moving == frozen }

// putOff makes a job wait until the move ends.
func (t *tx) putOff(id core.JobID, now time.Time) error {
	return t.exec(
		`UPDATE jobs SET state = 'ready', run_at = $3 WHERE user_id = $1 AND id = $2 AND (state = 'ready' OR state = 'running' AND lease_until <= $4)`,
		t.user, id, ms(now.Add(moveOffUntil)), ms(now))
}

// setMoving says whether a user is moved.
func (t *tx) setMoving(n int) error {
	return t.exec(`UPDATE users SET moving = $2 WHERE id = $1`, t.user, n)
}

// wakeJobs lets the jobs that waited run. Of who was frozen that is all of them.
func (t *tx) wakeJobs(now time.Time) error {
	where := ` AND state IN ('ready', 'waiting') AND run_at > $2`
	if t.moving != frozen {
		where += ` AND queue IN ('turn', 'summarize', 'embed')`
	}
	rows, err := t.rows(`SELECT DISTINCT queue FROM jobs WHERE user_id = $1`+where, t.user, ms(now))
	queues, err := collect(rows, err, func(r scanner) (q string, err error) { return q, r.Scan(&q) })
	if err != nil {
		return err
	}
	for _, queue := range append(queues, core.QueueTurn) {
		t.awaken(queue)
	}
	return t.exec(`UPDATE jobs SET run_at = $2 WHERE user_id = $1`+where, t.user, ms(now))
}
