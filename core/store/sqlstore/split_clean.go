package sqlstore

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

// movedDay is the condition of days with transferred messages.
const movedDay = `EXISTS (SELECT 1 FROM move_segments x WHERE x.user_id = $1 AND x.segment_id = @.id) AND CAST(? AS bigint) > 0`

// splitRules lists how the transferred rows of each table are removed at the source user:
// derived rows before messages.
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

// endThreads removes plain threads without messages and identities, unless a client has named
// them.
func (p *pair) endThreads(m *move) {
	for _, id := range p.plainThreads(m.Into) {
		const left = ` AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $2 AND m.position > 0)
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.thread_id = $2 AND m.shown <> m.position)
			AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.thread_id = $2)`
		p.execEach([]string{`DELETE FROM epochs WHERE user_id = $1 AND thread_id = $2` + left,
			`DELETE FROM threads WHERE user_id = $1 AND id = $2 AND mode = 'thread' AND name = ''` + left}, m.From, id)
	}
}
