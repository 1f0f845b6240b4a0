package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	err := s.step(ctx, m, func(p pair, m *move) error {
		i, err := scanIdentity(p.row(`SELECT `+identityColumns+
			` FROM identities i WHERE user_id = $1 AND id = $2 AND detached = 0`, m.From, m.Identity))
		if errors.Is(err, core.ErrNotFound) {
			m.next(core.MoveDone) // the identity was unlinked meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if waits, err = moveBegun(p, m.ID, m.From, m.From); err != nil || waits {
			return err
		}
		if err := p.planSplit(m, i, now); err != nil {
			return err
		}
		if err := p.haltSplit(m, now); err != nil {
			return err
		}
		m.next(phaseDays)
		return nil
	})
	if waits {
		return moveWaits, err
	}
	return 0, err
}

// planSplit creates the target user with the settings of the source user.
func (p pair) planSplit(m *move, i core.Identity, now time.Time) error {
	var settings core.Settings
	if err := unjson(p.from.settings, &settings); err != nil {
		return err
	}
	settings.Home = 0
	name := cmp.Or(i.Name, i.Address.Channel+" "+i.Address.External)
	id, err := p.into.addUser(core.User{Name: name, Role: core.RoleMember, Settings: settings, CreatedAt: now})
	if err != nil {
		return err
	}
	if err := p.into.flushAll(); err != nil {
		return err
	}
	p.into.dirty = false
	m.Into, m.Total = id, int(p.from.lastMessage)
	m.plan = movePlan{Goes: i.ID, Tell: i.ID, Thread: 1}
	if m.plan.Was, err = threadOr(p, m.From, 0); err != nil {
		return err
	}
	var standing int64
	if err := p.row(`SELECT standing FROM users WHERE id = $1`, m.From).Scan(&standing); err != nil {
		return err
	}
	return p.exec(`UPDATE users SET last_message = $2, last_id = $3, moving = 1, standing = $4, unindexed = 1 WHERE id = $1`,
		id, p.from.lastMessage, p.from.lastID, standing)
}

// haltSplit freezes the source user, and notes the identity's unfinished deliveries and turns.
func (p pair) haltSplit(m *move, now time.Time) (err error) {
	m.plan.Live, err = list(p, column[core.DeliveryID],
		`SELECT id FROM deliveries WHERE user_id = $1 AND state IN ('pending', 'sending')`+
			keyRange{split: cameToSend}.of("deliveries", 2)+` ORDER BY id`, m.From, m.plan.Goes)
	if err != nil {
		return err
	}
	turns, err := p.runningTurns(m.From, 0)
	for _, t := range turns {
		p.wake = append(p.wake, core.TurnTopic(m.From, t.ID))
		if t.Identity == m.plan.Goes {
			m.plan.Turns = append(m.plan.Turns, t.ID)
		}
	}
	if err != nil {
		return err
	}
	if err := p.haltJobs(m.From, now); err != nil {
		return err
	}
	return p.from.setMoving(frozen)
}

// splitDays copies the days with messages of the identity. Their summaries are rewritten.
func (s *Store) splitDays(ctx context.Context, m move) error {
	page, err := s.daysAfter(ctx, m.From, m.cursor)
	if err != nil {
		return err
	}
	return s.step(ctx, m, func(p pair, m *move) error {
		if m.cursor == "" {
			if err := p.splitThreads(m); err != nil {
				return err
			}
		}
		for _, g := range page {
			if err := p.splitDay(m, g); err != nil {
				return err
			}
		}
		if len(page) < dayPage {
			m.next(phaseCopy)
			return nil
		}
		m.cursor = numberCursor(int(page[len(page)-1].ID))
		return nil
	})
}

// splitThreads copies the identity, which stays detached until the switch, and the plain
// threads that it was used in.
func (p pair) splitThreads(m *move) error {
	ids, err := p.plainThreads(m.From)
	for _, id := range ids {
		if err != nil {
			return err
		}
		err = p.exec(`INSERT INTO threads (user_id, id, mode, title, last_position, edits, summaries, created_at)
			SELECT CAST($2 AS bigint), id, mode, title, last_position, edits, summaries, created_at FROM threads
			WHERE user_id = $1 AND id = $4 AND (EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $4 AND m.identity_id = $3)
				OR EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.id = $3 AND i.thread_id = $4))`, m.From,
			m.Into, m.plan.Goes, id)
	}
	if err != nil {
		return err
	}
	var last int64
	err = p.row(`SELECT last_position FROM threads WHERE user_id = $1 AND id = $2`, m.From, m.plan.Was).Scan(&last)
	if err != nil {
		return err
	}
	err = p.exec(`UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, m.Into, m.plan.Thread, last)
	if err != nil {
		return err
	}
	return p.exec(
		`INSERT INTO identities (user_id, id, channel, account, external, name, thread_id, blocked, last_used, window_until, teased, aliases, detached)
		SELECT CAST($2 AS bigint), id, channel, account, external, name, thread_id, blocked, last_used, window_until, teased, aliases, 1
		FROM identities WHERE user_id = $1 AND id = $3`, m.From, m.Into, m.plan.Goes)
}

func (p pair) plainThreads(user core.UserID) ([]core.ThreadID, error) {
	return list(p, column[core.ThreadID],
		`SELECT id FROM threads WHERE user_id = $1 AND mode = 'thread' ORDER BY id`, user)
}

func (p pair) splitDay(m *move, g core.Segment) error {
	var first core.MessageID
	err := p.row(
		`SELECT COALESCE(MIN(id), 0) FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND identity_id = $3`, m.From, g.ID, m.plan.Goes).Scan(&first)
	if err != nil || first == 0 {
		return err
	}
	err = p.exec(
		`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, stale, post)
		SELECT CAST($2 AS bigint), id, CAST($4 AS bigint), label, zone, starts_at, ends_at, finalize_at, post_at, state, CAST($5 AS bigint), last_message,
			CASE WHEN state = 'final' THEN 1 ELSE 0 END, CASE WHEN post = 'due' THEN 'skipped' ELSE post END FROM segments WHERE user_id = $1 AND id = $3`,
		m.From, m.Into, g.ID, m.plan.Thread, first)
	if err != nil {
		return err
	}
	return p.remember(m, g.ID, day{into: g.ID})
}

// loopGoes reports whether all sources of a loop came through the identity.
func (p pair) loopGoes(m *move, stored string) (bool, error) {
	var sources []core.MessageID
	if json.Unmarshal([]byte(stored), &sources) != nil || len(sources) == 0 {
		return false, nil
	}
	left, err := p.notGoing(m, sources)
	return err == nil && len(left) == 0, err
}

// notGoing returns those of the messages that came through another identity.
func (p pair) notGoing(m *move, ids []core.MessageID) (left []core.MessageID, err error) {
	for _, id := range ids {
		var n int
		err := p.row(`SELECT COUNT(*) FROM messages WHERE user_id = $1 AND id = $2 AND identity_id = $3`, m.From, id,
			m.plan.Goes).Scan(&n)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			left = append(left, id)
		}
	}
	return left, nil
}

// switchSplit transfers the identity to the target user, when no delivery is in progress. The
// source user stays frozen until its copied rows are removed.
func (s *Store) switchSplit(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	return s.switched(ctx, m, now, func(p pair) []switching {
		return []switching{p.splitIdentity, p.switchDeliveries, p.switchTurns, p.switchJobs, p.splitUser}
	})
}

func (p pair) splitIdentity(m *move, _ renumbering, _ time.Time) error {
	i, err := scanIdentity(p.row(`SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND id = $2`,
		m.From, m.plan.Goes))
	if err != nil {
		return err
	}
	err = p.execAll([]Statement{
		{Query: `UPDATE identities SET detached = 1, thread_id = 0 WHERE user_id = $1 AND id = $2`,
			Args: []any{m.From, i.ID}},
		{Query: `UPDATE identities SET detached = 0, external = $3, blocked = $4, last_used = $5, window_until = $6, teased = $7, aliases = $8 WHERE user_id = $1 AND id = $2`,
			Args: []any{m.Into, i.ID, i.Address.External, flag(i.Blocked), ms(i.LastUsed), ms(i.Window),
				flag(i.Asked), text(i.Aliases)}},
		{Query: `UPDATE addresses SET user_id = $2 WHERE user_id = $1 AND identity_id = $3`,
			Args: []any{m.From, m.Into, i.ID}},
		{Query: `UPDATE tokens SET user_id = $2 WHERE (kind, hash) IN (SELECT kind, hash FROM codes WHERE user_id = $1 AND channel = $3 AND account = $4 AND external = $5)`,
			Args: []any{m.From, m.Into, i.Address.Channel, i.Address.Account, i.Address.External}},
		{Query: `UPDATE moves SET from_user = $2 WHERE from_user = $1 AND identity_id = $3 AND phase = 'asked'`,
			Args: []any{m.From, m.Into, i.ID}},
	}...)
	if err != nil {
		return err
	}
	return p.hand(handing{"codes", codeRest, codeRest, ` AND channel = $2 AND account = $3 AND external = $4`},
		m.From, m.Into, i.Address.Channel, i.Address.Account, i.Address.External)
}

// stopHere ends the transferred turns at the source user, and releases their reservations
// there.
func (p pair) stopHere(m *move) error {
	for _, id := range m.plan.Turns {
		err := p.execEach([]string{
			`DELETE FROM journal WHERE user_id = $1 AND turn_id = $2`,
			`UPDATE usage SET reserved = reserved - (SELECT t.reserved FROM turns t WHERE t.user_id = $1 AND t.id = $2),
				task_reserved = task_reserved - (SELECT CASE WHEN t.task_id > 0 THEN t.reserved ELSE 0 END FROM turns t WHERE t.user_id = $1 AND t.id = $2)
				WHERE user_id = $1 AND day = (SELECT t.day FROM turns t WHERE t.user_id = $1 AND t.id = $2 AND t.reserved > 0)`,
			`UPDATE turns SET state = 'stopped' WHERE user_id = $1 AND id = $2`,
		}, m.From, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// splitJobs removes and returns the jobs to transfer; those that waited behind them run next.
func (p pair) splitJobs(m *move, list []core.Job) ([]core.Job, error) {
	var goes []core.Job
	for _, j := range list {
		yes := j.State != core.JobDead
		switch {
		case j.Queue == core.QueueTurn:
			yes = yes && slices.Contains(m.plan.Turns, core.TurnID(j.Ref))
		case strings.HasPrefix(j.Queue, core.QueueDeliver):
			yes = yes && slices.Contains(m.plan.Live, core.DeliveryID(j.Ref))
		case strings.HasPrefix(j.Queue, core.QueueFetch), j.Queue == core.QueueDocument, j.Queue == core.QueueSpeak:
			left, err := p.notGoing(m, []core.MessageID{core.MessageID(j.Ref)})
			if err != nil {
				return nil, err
			}
			yes = yes && len(left) == 0
		default:
			yes = false
		}
		if !yes {
			continue
		}
		goes = append(goes, j)
		if err := p.from.end(core.Lease{Job: j.ID, Key: j.Key}, ""); err != nil {
			return nil, err
		}
		if err := p.from.send(); err != nil {
			return nil, err
		}
	}
	return goes, nil
}

// splitUser starts the work of the target user.
func (p pair) splitUser(m *move, _ renumbering, now time.Time) error {
	if err := p.into.setMoving(letting); err != nil {
		return err
	}
	return p.resumeAll(p.into, now)
}
