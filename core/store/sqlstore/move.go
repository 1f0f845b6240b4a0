package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// States of a user who is moved. They end with the move.
const (
	paused  = 1 // nothing is answered, summarised or embedded
	frozen  = 2 // nothing is written; receivers hold new events
	letting = 3 // held events are received before new ones
)

// Phases of a move between core.MoveAsked and core.MoveTold, and after it.
const (
	phaseOrder  = "order"  // positions are planned
	phaseRoom   = "room"   // the target user makes room for the source user
	phaseDays   = "days"   // segments and summaries
	phaseCopy   = "copy"   // all other rows
	phaseSwitch = "switch" // identities and what is under way
	phaseClean  = "clean"  // copied rows are deleted at the source
	phaseLet    = "let"    // held events are received
)

// How long steps wait for others.
const (
	moveWaits    = 100 * time.Millisecond
	moveTellFor  = 5 * time.Second  // for the answer to the request to be sent
	moveLetFor   = 10 * time.Second // for held events; the rest is received later
	moveOffUntil = time.Hour        // for jobs of moved users; the end of the move wakes them
)

// move is a core.Move with the state of its steps.
type move struct {
	core.Move
	cursor string
	plan   movePlan
}

// movePlan is fixed when a move begins.
type movePlan struct {
	Message int64             `json:"message,omitempty"` // offset of message ids
	ID      int64             `json:"id,omitempty"`      // offset of other ids
	Thread  core.ThreadID     `json:"thread,omitempty"`  // the target user's continuous thread
	Was     core.ThreadID     `json:"was,omitempty"`     // the source user's continuous thread
	Through int64             `json:"through,omitempty"` // the target user's last message
	Tell    core.IdentityID   `json:"tell,omitempty"`    // of the target user, where the end is reported
	Answers core.TurnID       `json:"answers,omitempty"` // the target thread's running turn
	Turns   []core.TurnID     `json:"turns,omitempty"`   // running turns to transfer
	Goes    core.IdentityID   `json:"goes,omitempty"`    // the identity that is split off
	Live    []core.DeliveryID `json:"live,omitempty"`    // unfinished when the move began
	Let     int64             `json:"let,omitempty"`     // when the wait for held events began
}

const moveColumns = `id, kind, from_user, into_user, identity_id, phase, cursor, plan, copied, total, asked_at`

func scanMove(row scanner) (move, error) {
	var m move
	err := row.Scan(&m.ID, &m.Kind, &m.From, &m.Into, &m.Identity, &m.Phase, &m.cursor, asJSON(&m.plan), &m.Rows, &m.Total,
		asTime(&m.AskedAt))
	if err != nil {
		return m, found(err)
	}
	if m.Phase == core.MoveTold || m.Phase == phaseClean || m.Phase == phaseLet || m.Phase == core.MoveDone {
		m.Identity = m.plan.Tell
	}
	return m, nil
}

// Ask creates a move; see core.MoveStore.
func (s *Store) Ask(ctx context.Context, m core.Move) (core.MoveID, error) {
	var id core.MoveID
	err := s.update(ctx, "ask for a move", m.From, func(t *tx) {
		id = t.askMove(m)
		t.did(core.AuditMove, "user", int64(m.Into))
	})
	return id, err
}

// askMove stores a move of the user. Which of two users is the target is decided when the move begins, as both are
// locked then. A merge pauses the user immediately, so that messages after the answer are kept for both.
func (t *tx) askMove(m core.Move) (id core.MoveID) {
	if m.From == m.Into || m.From == 0 || m.Kind == core.MoveMerge && m.Into == 0 {
		t.fail(core.ErrRefused)
		return 0
	}
	t.asUser(0, func(zero *tx) {
		id = core.MoveID(zero.nextID())
		zero.exec(`INSERT INTO moves (id, kind, from_user, into_user, identity_id, phase, asked_at) VALUES ($1, $2, $3, $4, $5, 'asked', $6)`,
			id, string(m.Kind), m.From, m.Into, m.Identity, ms(m.AskedAt))
	})
	if m.Kind == core.MoveMerge && t.moving == 0 {
		t.setMoving(paused)
	}
	t.wake = append(t.wake, core.TopicMoves)
	return id
}

// Moves lists unfinished moves.
func (s *Store) Moves(ctx context.Context, limit int) ([]core.Move, error) {
	scan := func(r scanner) (core.Move, error) {
		m, err := scanMove(r)
		return m.Move, err
	}
	return list(s.one(ctx), scan, `SELECT `+moveColumns+` FROM moves WHERE phase <> 'done' ORDER BY id LIMIT $1`, limit)
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
	return s.execShared(ctx, "told of a move",
		`UPDATE moves SET phase = 'clean', cursor = '' WHERE id = $1 AND phase = 'told'`, id)
}

// Carry runs the next step of a move; see core.MoveStore.
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
		err = s.dropMove(ctx, m, now) // the user is gone
	}
	s.shrink(err != nil)
	if err != nil {
		return m.Move, 0, fmt.Errorf("%s of %d into %d: %s: %w", m.Kind, m.From, m.Into, m.Phase, err)
	}
	m, err = s.moveByID(ctx, id)
	return m.Move, wait, err
}

// shrink halves pages after a failed step, as a page may take longer than its timeout, and
// doubles them again after successful ones.
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

// pair is one transaction of both users of a move, which are locked in the order of their ids.
type pair struct {
	*tx
	from, into *tx
}

// step runs f in one transaction of both users and stores the move as f leaves it.
// core.ErrChanged if another process has advanced the move since it was read.
func (s *Store) step(ctx context.Context, m move, f func(p *pair, m *move)) error {
	merged := m.Kind == core.MoveMerge && m.Phase == phaseLet // the source user is gone
	first := m.From
	if merged {
		first = m.Into
	} else if m.Into > 0 { // 0 counts users, and is locked after them
		first = min(m.From, m.Into)
	}
	return s.updateFrozen(ctx, "step", first, func(t *tx) {
		p := &pair{tx: t, from: t, into: t}
		if m.From != t.user && !merged {
			p.from = t.forUser(m.From)
		}
		if m.Into != t.user {
			p.into = t.forUser(m.Into)
		}
		p.hold(m)
		if t.err == nil {
			f(p, &m)
			p.end(m)
		}
	})
}

// hold locks the user that is not locked yet. core.ErrChanged if the move has changed since m was read.
func (p *pair) hold(m move) {
	for _, t := range []*tx{p.from, p.into} {
		if t != p.tx {
			t.enter()
		}
	}
	now := rowOf(p, scanMove, `SELECT `+moveColumns+` FROM moves WHERE id = $1`, m.ID)
	if now.Phase != m.Phase || now.cursor != m.cursor {
		p.fail(core.ErrChanged)
	}
}

// end stores the progress of the move.
func (p *pair) end(m move) {
	p.exec(`UPDATE moves SET from_user = $2, into_user = $3, phase = $4, cursor = $5, plan = $6, copied = $7, total = $8 WHERE id = $1`,
		m.ID, m.From, m.Into, string(m.Phase), m.cursor, text(m.plan), m.Rows, m.Total)
	p.from.flush()
	p.into.flush()
}

// next moves to a phase.
func (m *move) next(phase core.MovePhase) { m.Phase, m.cursor = phase, "" }

// waits reports whether jobs of a queue wait until the user's move ends. Deliveries continue unless the user is frozen.
func (t *tx) waits(queue string) bool {
	return t.moving == frozen || t.moving == paused && (queue == core.QueueTurn || queue == core.QueueSummarize ||
		queue == core.QueueEmbed || queue == core.QueueCompress || queue == core.QueueSpeak)
}

// halted reports whether nothing is answered or generated for the user.
func (t *tx) halted() bool { return t.moving == paused || t.moving == frozen }

// postponeJob makes a job wait until the move ends.
func (t *tx) postponeJob(id core.JobID, now time.Time) {
	t.exec(`UPDATE jobs SET state = 'ready', run_at = $3 WHERE user_id = $1 AND id = $2 AND (state = 'ready' OR state = 'running' AND lease_until <= $4)`,
		t.user, id, ms(now.Add(moveOffUntil)), ms(now))
}

// setMoving stores the user's state of being moved.
func (t *tx) setMoving(n int) {
	t.exec(`UPDATE users SET moving = $2 WHERE id = $1`, t.user, n)
}

// wakeJobs makes waiting jobs run; all of them if the user was frozen.
func (t *tx) wakeJobs(now time.Time) {
	where := ` AND state IN ('ready', 'waiting') AND run_at > $2`
	if t.moving != frozen {
		where += ` AND queue IN ('turn', 'summarize', 'embed')`
	}
	queues := listOf(t, column[string], `SELECT DISTINCT queue FROM jobs WHERE user_id = $1`+where, t.user, ms(now))
	for _, queue := range append(queues, core.QueueTurn) {
		t.awaken(queue)
	}
	t.exec(`UPDATE jobs SET run_at = $2 WHERE user_id = $1`+where, t.user, ms(now))
}

// inTurn fails with core.ErrMoving if an event of the same address is held that was received before this one.
func (t *tx) inTurn(e core.Inbound) {
	if t.moving != letting {
		return
	}
	waits := valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM events h WHERE h.user_id = 0 AND h.channel = $1 AND h.account = $2 AND h.external = $3 AND h.state = 'held' AND h.event_id <> $4
		AND ($5 = 0 OR h.received_at < (SELECT o.received_at FROM events o WHERE o.user_id = 0 AND o.message_id = 0 AND o.channel = $1 AND o.account = $2 AND o.event_id = $4)))`,
		e.Address.Channel, e.Address.Account, e.Address.External, e.EventID, flag(e.Held))
	if waits {
		t.fail(core.ErrMoving)
	}
}

// letIn ends a move when no events are held for its users any more, or after a while. New
// events then no longer wait for held ones.
func (s *Store) letIn(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	if m.plan.Let == 0 {
		m.plan.Let = ms(now)
	}
	waits := false
	err := s.step(ctx, m, func(p *pair, next *move) {
		for _, t := range []*tx{p.from, p.into} {
			waits = waits || t.hasHeld() && now.Before(at(m.plan.Let).Add(moveLetFor))
		}
		if waits {
			return
		}
		next.next(core.MoveDone)
		p.exec(`UPDATE users SET moving = 0 WHERE id IN ($1, $2) AND moving = $3`, m.From, m.Into, letting)
	})
	return waiting(waits), err
}

// hasHeld reports whether events are held for the user.
func (t *tx) hasHeld() bool {
	return valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM events WHERE user_id = 0 AND state = 'held' AND payload IS NOT NULL AND (channel, account, external) IN
		(SELECT channel, account, external FROM addresses WHERE user_id = $1))`, t.user)
}
