package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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

// splitThreads copies the identity, which stays detached until the switch, and the plain threads that it was used in.
func (p *pair) splitThreads(m *move) {
	for _, id := range p.plainThreads(m.From) {
		p.exec(`INSERT INTO threads (user_id, id, mode, title, last_position, edits, summaries, created_at)
			SELECT CAST($2 AS bigint), id, mode, title, last_position, edits, summaries, created_at FROM threads
			WHERE user_id = $1 AND id = $4 AND (EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $4 AND m.identity_id = $3 AND m.position > 0)
				OR EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $4 AND m.identity_id = $3 AND m.shown <> m.position)
				OR EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.id = $3 AND i.thread_id = $4))`, m.From, m.Into, m.plan.Goes, id)
	}
	last := valueOf[int64](p, `SELECT `+lastPosition+` FROM threads h WHERE h.user_id = $1 AND h.id = $2`, m.From, m.plan.Was)
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

// stopHere ends the transferred turns at the source user, and releases their reservations there.
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

// movedDay is the condition of days with transferred messages.
const movedDay = `EXISTS (SELECT 1 FROM move_segments x WHERE x.user_id = $1 AND x.segment_id = @.id) AND CAST(? AS bigint) > 0`

// splitRules lists how the transferred rows of each table are removed at the source user: derived rows before messages.
func splitRules() []copying {
	list := []copying{
		{table: "segments", key: "id", page: 20, split: movedDay, rows: (*pair).partDays},
		{table: "items", key: "id", page: 50, split: cameFrom, rows: (*pair).partItems},
		{table: "file_pages", key: "id", page: 50, split: cameWith, rows: (*pair).partFilePages},
		{table: "reminders", key: "id", page: 200, split: cameFrom, rows: deleteOf("reminders", "id")},
		{table: "standing", key: "id", page: 200, split: cameWith, rows: deleteOf("standing", "id")},
		{table: "approvals", key: "id", page: 200, split: came, rows: deleteOf("approvals", "id")},
		{table: "loops", key: "id", page: 100, split: all, rows: (*pair).partLoops},
	}
	for _, c := range plainly(func(t Table) bool { return t.Split != "" }) {
		c.rows = deleteOf(c.table, c.key)
		list = append(list, c)
	}
	return append(list, []copying{
		{table: "deliveries", key: "id", page: 200, split: cameToSend, rows: (*pair).partDeliveries},
		{table: "messages", key: "id", page: 200, split: came, rows: (*pair).partMessages},
		{table: "turns", key: "id", page: 300, split: came, rows: deleteOf("turns", "id")},
	}...)
}

// cleanSplit removes the next page of transferred rows, and resumes the source user at the end.
func (s *Store) cleanSplit(ctx context.Context, m move) error {
	return s.paged(ctx, m, splitRules(), renumbering{}, func(p *pair, m *move) {
		m.next(phaseLet)
		p.endSplit(m)
	})
}

// deleteOf returns a function that deletes the rows of a page.
func deleteOf(table, key string) func(p *pair, m *move, g keyRange) {
	return func(p *pair, m *move, g keyRange) {
		args := []any{m.From}
		where := g.between(key, func(v any) string {
			args = append(args, v)
			return fmt.Sprintf("$%d", len(args))
		})
		p.exec(`DELETE FROM `+table+` WHERE user_id = $1`+where+g.of(table, len(args)+1), g.args(args...)...)
	}
}

func (p *pair) partDeliveries(m *move, g keyRange) {
	p.exec(`DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id > $2 AND delivery_id <= $3
		AND EXISTS (SELECT 1 FROM deliveries d WHERE d.user_id = $1 AND d.id = delivery_parts.delivery_id`+g.of("d", 4)+`)`,
		g.args(m.From, g.after[0], g.through[0])...)
	deleteOf("deliveries", "id")(p, m, g)
}

// partDays removes the summaries and windows of days with transferred messages. The summaries
// rest on them, as after a redaction.
func (p *pair) partDays(m *move, g keyRange) {
	for _, id := range listOf(p, column[core.SegmentID],
		`SELECT x.segment_id FROM move_segments x WHERE x.user_id = $1 AND x.segment_id > $2 AND x.segment_id <= $3`, m.From,
		g.after[0], g.through[0]) {
		p.partWindows(m, id)
		p.execEach([]string{
			`DELETE FROM summaries WHERE user_id = $1 AND segment_id = $2`,
			`UPDATE messages SET covered = 0 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND covered = 1`,
			`UPDATE messages SET body = '', tokens = 0, redacted = 1 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind IN ('day_summary', 'day_summary_post')`,
			`UPDATE segments SET hidden = CASE WHEN version > 0 THEN 1 ELSE hidden END, stale = 1, error = '', since_summary = messages, windowed = 0, unwindowed = 1
				WHERE user_id = $1 AND id = $2`,
		}, m.From, id)
		p.from.unindex(core.DocSummary, int64(id))
	}
}

func (p *pair) partWindows(m *move, id core.SegmentID) {
	for _, w := range listOf(p, column[int64], `SELECT id FROM windows WHERE user_id = $1 AND segment_id = $2`, m.From, id) {
		p.execAll(p.s.dialect.Vector.Drop(core.VectorWindow, m.From, w)...)
		p.execEach([]string{`DELETE FROM embeddings WHERE user_id = $1 AND kind = 'window' AND id = $2`,
			`DELETE FROM windows WHERE user_id = $1 AND id = $2`}, m.From, w)
	}
}

func (p *pair) partItems(m *move, g keyRange) {
	for _, i := range listOf(p, scanItem, selectItems+` WHERE i.user_id = $1 AND i.id > $2 AND i.id <= $3`+g.of("i", 4),
		g.args(m.From, g.after[0], g.through[0])...) {
		p.from.dropItem(i, i.UpdatedAt)
	}
}

// partLoops removes transferred loops, and transferred messages from the sources of others.
func (p *pair) partLoops(m *move, g keyRange) {
	for _, l := range listOf(p, fields(func(l *core.Loop) []any { return []any{&l.ID, asJSON(&l.Sources)} }),
		`SELECT id, sources FROM loops WHERE user_id = $1 AND id > $2 AND id <= $3`, m.From, g.after[0], g.through[0]) {
		switch left := p.notGoing(m, l.Sources); len(left) {
		case len(l.Sources):
		case 0:
			p.exec(`DELETE FROM loops WHERE user_id = $1 AND id = $2`, m.From, l.ID)
		default:
			p.exec(`UPDATE loops SET sources = $3 WHERE user_id = $1 AND id = $2`, m.From, l.ID, text(left))
		}
	}
}

// partMessages removes messages, and subtracts them from the counts of their days. It also
// removes days that become empty.
func (p *pair) partMessages(m *move, g keyRange) {
	for _, id := range listOf(p, column[int64],
		`SELECT id FROM messages WHERE user_id = $1 AND id > $2 AND id <= $3 AND segment_id > 0`+g.of("messages", 4), g.args(m.From, g.after[0], g.through[0])...) {
		p.from.unindex(core.DocMessage, id)
	}
	type count struct {
		id core.SegmentID
		n  int
	}
	counts := listOf(p, fields(func(c *count) []any { return []any{&c.id, &c.n} }),
		`SELECT segment_id, COUNT(*) FROM messages m WHERE user_id = $1 AND id > $2 AND id <= $3 AND segment_id > 0 AND kind = 'chat'
		AND (role = 'user' OR role = 'assistant' AND (body <> '' OR redacted = 1))`+g.of("m", 4)+` GROUP BY segment_id`,
		g.args(m.From, g.after[0], g.through[0])...)
	for _, c := range counts {
		p.exec(`UPDATE segments SET messages = messages - $3, since_summary = CASE WHEN since_summary > $3 THEN since_summary - $3 ELSE 0 END WHERE user_id = $1 AND id = $2`, m.From, c.id, c.n)
	}
	deleteOf("messages", "id")(p, m, g)
	for _, c := range counts {
		p.exec(`DELETE FROM segments WHERE user_id = $1 AND id = $2 AND messages = 0
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.segment_id = $2 AND m.segment_id > 0)`, m.From,
			c.id)
	}
}

// endSplit resumes the source user.
func (p *pair) endSplit(m *move) {
	settings := p.from.ownSettings()
	if settings.Home == m.plan.Goes {
		settings.Home = 0
	}
	p.endThreads(m)
	p.forgetPages(m)
	p.exec(`DELETE FROM move_segments WHERE user_id = $1`, m.From)
	p.exec(`UPDATE threads SET edits = edits + 1, summaries = summaries + 1, epoch_id = 0 WHERE user_id = $1`, m.From)
	p.exec(`UPDATE users SET moving = $3, settings = $2 WHERE id = $1`, m.From, text(settings), letting)
	p.from.resumeAll(m.AskedAt)
}

// endThreads removes plain threads without messages and identities, unless a client has named them.
func (p *pair) endThreads(m *move) {
	for _, id := range p.plainThreads(m.Into) {
		const left = ` AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $2 AND m.position > 0)
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $2 AND m.shown <> m.position)
			AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.thread_id = $2)`
		p.execEach([]string{`DELETE FROM epochs WHERE user_id = $1 AND thread_id = $2` + left,
			`DELETE FROM threads WHERE user_id = $1 AND id = $2 AND mode = 'thread' AND name = ''` + left}, m.From, id)
	}
}
