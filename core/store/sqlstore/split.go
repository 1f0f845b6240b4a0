package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// beginSplit begins a split: it freezes the source user, and creates the target user, which
// has no address until the switch. Ids do not change.
func (s *Store) beginSplit(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	if busy, err := s.toldFirst(ctx, m, now); err != nil || busy {
		return moveWaits, err
	}
	waits := false
	err := s.step(ctx, m, func(p *pair, m *move) {
		there := listOf(p, scanIdentity, `SELECT `+identityColumns+
			` FROM identities i WHERE user_id = $1 AND id = $2 AND detached = 0`, m.From, m.Identity)
		if len(there) == 0 {
			m.next(core.MoveDone) // the identity was unlinked meanwhile
			return
		}
		if waits = p.begun(m, m.From, m.From); waits {
			return
		}
		p.planSplit(m, there[0], now)
		p.haltSplit(m, now)
		m.next(phaseDays)
	})
	return waiting(waits), err
}

// planSplit creates the target user with the settings of the source user.
func (p *pair) planSplit(m *move, i core.Identity, now time.Time) {
	settings := p.from.ownSettings()
	settings.Home = 0
	name := cmp.Or(i.Name, i.Address.Channel+" "+i.Address.External)
	m.Into = p.into.addUser(core.User{Name: name, Role: core.RoleMember, Settings: settings, CreatedAt: now})
	p.into.flush()
	m.Total = int(p.from.lastMessage)
	m.plan = movePlan{Goes: i.ID, Tell: i.ID, Thread: 1, Was: p.from.threadOr(0)}
	p.exec(`UPDATE users SET last_message = $2, last_id = $3, moving = 1, standing = $4, unindexed = 1 WHERE id = $1`,
		m.Into, p.from.lastMessage, p.from.lastID, p.standingOf(m.From))
}

// haltSplit freezes the source user, and notes the identity's unfinished deliveries and turns.
func (p *pair) haltSplit(m *move, now time.Time) {
	m.plan.Live = listOf(p, column[core.DeliveryID],
		`SELECT id FROM deliveries WHERE user_id = $1 AND state IN ('pending', 'sending')`+
			keyRange{split: cameToSend}.of("deliveries", 2)+` ORDER BY id`, m.From, m.plan.Goes)
	for _, t := range p.runningTurns(m.From, 0) {
		p.wake = append(p.wake, core.TurnTopic(m.From, t.ID))
		if t.Identity == m.plan.Goes {
			m.plan.Turns = append(m.plan.Turns, t.ID)
		}
	}
	p.haltJobs(m.From, now)
	p.from.setMoving(frozen)
}

// splitDays copies the days with messages of the identity. Their summaries are rewritten.
func (s *Store) splitDays(ctx context.Context, m move) error {
	return s.eachDay(ctx, m, (*pair).splitThreads, (*pair).splitDay)
}

// splitThreads copies the identity, which stays detached until the switch, and the plain
// threads that it was used in.
func (p *pair) splitThreads(m *move) {
	for _, id := range p.plainThreads(m.From) {
		p.exec(`INSERT INTO threads (user_id, id, mode, title, last_position, edits, summaries, created_at)
			SELECT CAST($2 AS bigint), id, mode, title, last_position, edits, summaries, created_at FROM threads
			WHERE user_id = $1 AND id = $4 AND (EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $4 AND m.identity_id = $3 AND m.position > 0)
				OR EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $4 AND m.identity_id = $3 AND m.shown <> m.position)
				OR EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.id = $3 AND i.thread_id = $4))`, m.From, m.Into, m.plan.Goes, id)
	}
	last := valueOf[int64](p, `SELECT last_position FROM threads WHERE user_id = $1 AND id = $2`, m.From, m.plan.Was)
	p.exec(`UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, m.Into, m.plan.Thread, last)
	p.exec(`INSERT INTO identities (user_id, id, channel, account, external, name, thread_id, blocked, last_used, window_until, teased, aliases, detached)
		SELECT CAST($2 AS bigint), id, channel, account, external, name, thread_id, blocked, last_used, window_until, teased, aliases, 1
		FROM identities WHERE user_id = $1 AND id = $3`, m.From, m.Into, m.plan.Goes)
}

func (p *pair) plainThreads(user core.UserID) []core.ThreadID {
	return listOf(p, column[core.ThreadID], `SELECT id FROM threads WHERE user_id = $1 AND mode = 'thread' ORDER BY id`, user)
}

func (p *pair) splitDay(m *move, g core.Segment) {
	first := valueOf[core.MessageID](p, `SELECT COALESCE(MIN(id), 0) FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND identity_id = $3`, m.From, g.ID, m.plan.Goes)
	if first == 0 {
		return
	}
	p.exec(`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, stale, post)
		SELECT CAST($2 AS bigint), id, CAST($4 AS bigint), label, zone, starts_at, ends_at, finalize_at, post_at, state, CAST($5 AS bigint), last_message,
			CASE WHEN state = 'final' THEN 1 ELSE 0 END, CASE WHEN post = 'due' THEN 'skipped' ELSE post END FROM segments WHERE user_id = $1 AND id = $3`,
		m.From, m.Into, g.ID, m.plan.Thread, first)
	p.remember(m, g.ID, day{into: g.ID})
}

// loopGoes reports whether all sources of a loop came through the identity.
func (p *pair) loopGoes(m *move, stored string) bool {
	var sources []core.MessageID
	return json.Unmarshal([]byte(stored), &sources) == nil && len(sources) > 0 && len(p.notGoing(m, sources)) == 0
}

// notGoing returns those of the messages that came through another identity.
func (p *pair) notGoing(m *move, ids []core.MessageID) (left []core.MessageID) {
	for _, id := range ids {
		n := valueOf[int](p, `SELECT COUNT(*) FROM messages WHERE user_id = $1 AND id = $2 AND identity_id = $3`, m.From, id, m.plan.Goes)
		if n == 0 {
			left = append(left, id)
		}
	}
	return left
}

// switchSplit transfers the identity to the target user, when no delivery is in progress. The
// source user stays frozen until its copied rows are removed.
func (s *Store) switchSplit(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	return s.switched(ctx, m, now, (*pair).splitIdentity, (*pair).switchDeliveries, (*pair).switchTurns,
		(*pair).switchJobs, (*pair).splitUser)
}

func (p *pair) splitIdentity(m *move, _ renumbering, _ time.Time) {
	i := rowOf(p, scanIdentity, `SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND id = $2`, m.From, m.plan.Goes)
	p.exec(`UPDATE identities SET detached = 1, thread_id = 0 WHERE user_id = $1 AND id = $2`, m.From, i.ID)
	p.attach(m.Into, int64(i.ID), i)
	p.exec(`UPDATE addresses SET user_id = $2 WHERE user_id = $1 AND identity_id = $3`, m.From, m.Into, i.ID)
	p.exec(`UPDATE tokens SET user_id = $2 WHERE (kind, hash) IN (SELECT kind, hash FROM codes WHERE user_id = $1 AND channel = $3 AND account = $4 AND external = $5)`,
		m.From, m.Into, i.Address.Channel, i.Address.Account, i.Address.External)
	p.exec(`UPDATE moves SET from_user = $2 WHERE from_user = $1 AND identity_id = $3 AND phase = 'asked'`, m.From, m.Into, i.ID)
	p.hand(handing{"codes", codeRest, codeRest, ` AND channel = $2 AND account = $3 AND external = $4`}, m.From, m.Into, i.Address.Channel, i.Address.Account, i.Address.External)
}

// stopHere ends the transferred turns at the source user, and releases their reservations
// there.
func (p *pair) stopHere(m *move) {
	for _, id := range m.plan.Turns {
		p.execEach([]string{
			`DELETE FROM journal WHERE user_id = $1 AND turn_id = $2`,
			`UPDATE usage SET reserved = reserved - (SELECT t.reserved FROM turns t WHERE t.user_id = $1 AND t.id = $2),
				task_reserved = task_reserved - (SELECT CASE WHEN t.task_id > 0 THEN t.reserved ELSE 0 END FROM turns t WHERE t.user_id = $1 AND t.id = $2)
				WHERE user_id = $1 AND day = (SELECT t.day FROM turns t WHERE t.user_id = $1 AND t.id = $2 AND t.reserved > 0)`,
			`UPDATE turns SET state = 'stopped' WHERE user_id = $1 AND id = $2`,
		}, m.From, id)
	}
}

// splitJob removes a job if it is transferred; the one that waited behind it runs next.
func (p *pair) splitJob(m *move, j core.Job) (goes bool) {
	switch {
	case j.State == core.JobDead:
	case j.Queue == core.QueueTurn:
		goes = slices.Contains(m.plan.Turns, core.TurnID(j.Ref))
	case strings.HasPrefix(j.Queue, core.QueueDeliver):
		goes = slices.Contains(m.plan.Live, core.DeliveryID(j.Ref))
	case strings.HasPrefix(j.Queue, core.QueueFetch), j.Queue == core.QueueDocument, j.Queue == core.QueueSpeak:
		goes = len(p.notGoing(m, []core.MessageID{core.MessageID(j.Ref)})) == 0
	}
	if goes {
		p.from.end(core.Lease{Job: j.ID, Key: j.Key}, "")
	}
	return goes
}

// splitUser starts the work of the target user.
func (p *pair) splitUser(m *move, _ renumbering, now time.Time) {
	p.into.setMoving(letting)
	p.into.resumeAll(now)
}
