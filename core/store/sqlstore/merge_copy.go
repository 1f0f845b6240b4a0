package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// copying is how the rows of one table come along: a page of them at a time, in
// the order of their keys.
type copying struct {
	table string
	key   string // columns after user_id that pages are cut by
	where string // which rows; empty: all
	split string // which of them a split takes: @ stands for the table, ? for the identity; empty: none
	page  int
	// rows copies those of a page.
	rows func(p pair, m *move, g slab) error
}

// slab is a run of rows: those after one key through another.
type slab struct {
	after, through []any
	numbers        renumbering
	last           bool
	split          string // of the copying, for a split
	goes           core.IdentityID
}

// Which rows came through an identity.
const (
	came       = `@.identity_id = ?`
	cameWith   = `(SELECT c.identity_id FROM messages c WHERE c.user_id = @.user_id AND c.id = @.message_id) = ?`
	cameFrom   = `(SELECT c.identity_id FROM messages c WHERE c.user_id = @.user_id AND c.id = @.source_message) = ?`
	cameToSend = `@.identity_id = ? AND COALESCE((SELECT c.identity_id FROM messages c WHERE c.user_id = @.user_id AND c.id = @.message_id), ?) = ?`
	all        = `CAST(? AS bigint) > 0`
)

// copies are the tables in the order in which they are copied: who is named comes
// before who names it.
func copies(kind core.MoveKind) []copying {
	list := copyings()
	if kind == core.MoveSplit {
		list = slices.DeleteFunc(list, func(c copying) bool { return c.split == "" })
	}
	return list
}

func copyings() []copying {
	return []copying{
		{table: "turns", key: "id", split: came, page: 250, rows: pair.copyTurns},
		{table: "messages", key: "id", split: came, page: 300, rows: pair.copyMessages},
		{table: "revisions", key: "message_id", split: cameWith, page: 500, rows: pair.copyRevisions},
		{table: "refs", key: "identity_id, native_id", split: came, page: 1500, rows: pair.copyRefs},
		{table: "events", key: "message_id", split: cameWith, where: "message_id > 0", page: 500, rows: pair.moveEvents},
		{table: "epochs", key: "id", page: 50, rows: pair.copyEpochs},
		{table: "deliveries", key: "id", split: cameToSend, page: 500, rows: pair.copyDeliveries},
		{table: "loops", key: "id", split: all, page: 250, rows: pair.copyLoops},
		{table: "items", key: "id", split: cameFrom, page: 100, rows: pair.copyItems},
		{table: "reminders", key: "id", split: cameFrom, page: 500, rows: pair.copyReminders},
		{table: "windows", key: "id", page: 250, rows: pair.copyWindows},
		{table: "usage", key: "day", page: 500, rows: pair.copyUsage},
		{table: "once", key: "key", page: 500, rows: pair.copyOnce},
	}
}

// copyRows copies the next page of a merge. The cursor names the table and the
// last key.
func (s *Store) copyRows(ctx context.Context, m move) error {
	list := copies(m.Kind)
	n := 0
	table, rest, _ := strings.Cut(m.cursor, "\n")
	for i, c := range list {
		if c.table == table {
			n = i
		}
	}
	c := list[n]
	g, cursor, err := s.pageOf(ctx, m, c, rest)
	if err != nil {
		return err
	}
	if g.numbers, err = s.numbersOf(ctx, m); err != nil {
		return err
	}
	return s.step(ctx, m, func(p pair, m *move) error {
		if len(g.through) > 0 {
			if err := c.rows(p, m, g); err != nil {
				return fmt.Errorf("%s: %w", c.table, err)
			}
		}
		switch {
		case !g.last:
			m.cursor = c.table + "\n" + cursor
		case n+1 < len(list):
			m.cursor = list[n+1].table + "\n"
		default:
			m.next(phaseSwitch)
		}
		return nil
	})
}

// numbersOf are the numbers of a move with what became of its days.
func (s *Store) numbersOf(ctx context.Context, m move) (r renumbering, err error) {
	r = m.numbers()
	r.segments, err = s.segmentsOf(ctx, m)
	return r, err
}

// pageOf finds the page after a cursor: its keys, and the cursor of its last row.
func (s *Store) pageOf(ctx context.Context, m move, c copying, cursor string) (slab, string, error) {
	columns := strings.Split(c.key, ", ")
	g := slab{after: make([]any, len(columns)), last: true}
	parts := strings.SplitN(cursor, "\t", len(columns))
	for i, column := range columns {
		g.after[i] = startOf(column)
		if cursor != "" {
			g.after[i] = keyValue(column, parts[i])
		}
	}
	where := `user_id = $1 AND (` + c.key + `) > (` + placeholders(2, len(columns)) + `)`
	if c.where != "" {
		where += ` AND ` + c.where
	}
	if m.Kind == core.MoveSplit && c.split != "" {
		g.split, g.goes = c.split, m.plan.Goes
	}
	where += g.of(c.table, len(columns)+2)
	args := g.args(append([]any{m.From}, g.after...)...)
	read := func(order string, offset int) ([]any, error) {
		into := make([]any, len(columns))
		rows, err := s.one(ctx).rows(`SELECT `+c.key+` FROM `+c.table+` WHERE `+where+` ORDER BY `+order+fmt.Sprintf(` LIMIT 1 OFFSET $%d`, len(args)+1), append(slices.Clone(args), offset)...)
		got, err := collect(rows, err, func(r scanner) ([]any, error) {
			dest := make([]any, len(columns))
			for i := range into {
				dest[i] = &into[i]
			}
			return into, r.Scan(dest...)
		})
		if err != nil || len(got) == 0 {
			return nil, err
		}
		return got[0], nil
	}
	size := c.page
	if !s.dialect.OneWriter {
		size *= 5 // nobody else waits for it
	}
	through, err := read(c.key, size-1)
	if err != nil {
		return g, "", err
	}
	if through != nil {
		g.through, g.last = through, false
		return g, keyCursor(through), nil
	}
	g.through, err = read(strings.ReplaceAll(c.key, ",", " DESC,")+" DESC", 0)
	return g, keyCursor(g.through), err
}

// of is the condition of the rows of a page beside its keys; n is the number of
// its argument, which args adds.
func (g slab) of(alias string, n int) string {
	if g.split == "" {
		return ""
	}
	return ` AND ` + strings.NewReplacer("@", alias, "?", fmt.Sprintf("$%d", n)).Replace(g.split)
}

func (g slab) args(list ...any) []any {
	if g.split == "" {
		return list
	}
	return append(list, g.goes)
}

// startOf is before every value of a key column.
func startOf(column string) any {
	if textKey(column) {
		return ""
	}
	return int64(-1)
}

func textKey(column string) bool {
	return column == "native_id" || column == "day" || column == "key" || column == "slug"
}

func keyValue(column, s string) any {
	if textKey(column) {
		return s
	}
	return int64(cursorNumber(s))
}

func keyCursor(values []any) string {
	var out []string
	for _, v := range values {
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, "\t")
}

func placeholders(from, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("$%d", from+i))
	}
	return strings.Join(out, ", ")
}

// copyMessages copies messages into the order of both threads, counts them in
// their days, and renumbers what they name.
func (p pair) copyMessages(m *move, g slab) error {
	err := p.exec(`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, revision, redacted, covered, solo)
		SELECT CAST($2 AS bigint), m.id + $3, CASE WHEN m.thread_id = $7 THEN $8 ELSE m.thread_id + $4 END, COALESCE(s.into_id, 0),
			CASE WHEN m.turn_id > 0 THEN m.turn_id + $4 ELSE 0 END, CASE WHEN m.identity_id > 0 THEN m.identity_id + $4 ELSE 0 END, m.channel, m.role, m.kind, m.body, m.tokens, m.extra,
			CASE WHEN t.state = 'running' THEN 0 ELSE COALESCE(o.position, m.position) END, COALESCE(o.position, m.shown), m.sent_at, m.platform_at, m.revision, m.redacted, `+covered(m)+`, m.solo
		FROM messages m LEFT JOIN move_segments s ON s.user_id = m.user_id AND s.segment_id = m.segment_id
			LEFT JOIN move_positions o ON o.user_id = m.user_id AND o.message_id = m.id
			LEFT JOIN turns t ON t.user_id = m.user_id AND t.id = m.turn_id
		WHERE m.user_id = $1 AND m.id > $5 AND m.id <= $6`+g.of("m", 9),
		g.args(m.From, m.Into, m.plan.Message, m.plan.ID, g.after[0], g.through[0], m.plan.Was, m.plan.Thread)...)
	if err != nil {
		return err
	}
	if err := p.countDays(m, g); err != nil {
		return err
	}
	return p.renumberMessages(m, g)
}

// covered is whether a copied message is covered: a split brings no summaries.
func covered(m *move) string {
	if m.Kind == core.MoveSplit {
		return "0"
	}
	return "m.covered"
}

// countDays counts the messages of a page in their days.
func (p pair) countDays(m *move, g slab) error {
	rows, err := p.rows(`SELECT segment_id, COUNT(*), COALESCE(SUM(CASE WHEN `+covered(m)+` = 0 THEN 1 ELSE 0 END), 0) FROM messages m
		WHERE user_id = $1 AND id > $2 AND id <= $3 AND segment_id > 0 AND kind = 'chat' AND (role = 'user' OR role = 'assistant' AND (body <> '' OR redacted = 1))`+g.of("m", 4)+` GROUP BY segment_id`,
		g.args(m.From, g.after[0], g.through[0])...)
	type count struct {
		id         core.SegmentID
		all, since int
	}
	counts, err := collect(rows, err, func(r scanner) (c count, err error) { return c, r.Scan(&c.id, &c.all, &c.since) })
	for _, c := range counts {
		if err != nil {
			return err
		}
		m.Rows += c.all
		err = p.exec(`UPDATE segments SET messages = messages + $3, since_summary = since_summary + $4 WHERE user_id = $1 AND id = $2`,
			m.Into, g.numbers.segment(c.id), c.all, c.since)
	}
	return err
}

// renumberMessages rewrites what messages of a page name, unless they are a
// person's own words.
func (p pair) renumberMessages(m *move, g slab) error {
	if m.Kind == core.MoveSplit {
		return nil // its numbers stay
	}
	rows, err := p.rows(`SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id > $2 AND id <= $3 AND role <> 'user' AND (extra <> '{}' OR body LIKE '%[#%')`,
		m.From, g.after[0], g.through[0])
	named, err := collect(rows, err, scanMessage)
	for _, x := range named {
		if err != nil {
			return err
		}
		if g.numbers.row(&x) {
			err = p.exec(`UPDATE messages SET body = $3, extra = $4 WHERE user_id = $1 AND id = $2`, m.Into, g.numbers.messageID(x.ID), x.Text, text(extraOf(x)))
		}
	}
	return err
}

func (p pair) copyRevisions(m *move, g slab) error {
	return p.exec(`INSERT INTO revisions (user_id, message_id, revision, body, replaced_at) SELECT CAST($2 AS bigint), message_id + $3, revision, body, replaced_at
		FROM revisions WHERE user_id = $1 AND message_id > $4 AND message_id <= $5`+g.of("revisions", 6), g.args(m.From, m.Into, m.plan.Message, g.after[0], g.through[0])...)
}

func (p pair) copyRefs(m *move, g slab) error {
	return p.exec(`INSERT INTO refs (user_id, identity_id, native_id, message_id) SELECT CAST($2 AS bigint), identity_id + $3, native_id, message_id + $4
		FROM refs WHERE user_id = $1 AND (identity_id, native_id) > ($5, $6) AND (identity_id, native_id) <= ($7, $8)`+g.of("refs", 9),
		g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.after[1], g.through[0], g.through[1])...)
}

// moveEvents gives events to who stays: their keys are those of the services.
func (p pair) moveEvents(m *move, g slab) error {
	return p.exec(`UPDATE events SET user_id = $2, message_id = message_id + $3 WHERE user_id = $1 AND message_id > $4 AND message_id <= $5`+g.of("events", 6),
		g.args(m.From, m.Into, m.plan.Message, g.after[0], g.through[0])...)
}

// copyTurns copies turns; those that come along running are not so before the switch.
func (p pair) copyTurns(m *move, g slab) error {
	rows, err := p.rows(`SELECT id, thread_id, identity_id, segment_id, state, inputs, stop, restarts, failures, error, reserved, day, started_at, ended_at, epoch_id, snapshot
		FROM turns WHERE user_id = $1 AND id > $2 AND id <= $3`+g.of("turns", 4), g.args(m.From, g.after[0], g.through[0])...)
	type turn struct {
		id, identity, epoch, stop, restarts, failures, reserved, started, ended int64
		thread                                                                  core.ThreadID
		segment                                                                 core.SegmentID
		state, inputs, cause, day, snapshot                                     string
	}
	list, err := collect(rows, err, func(r scanner) (t turn, err error) {
		return t, r.Scan(&t.id, &t.thread, &t.identity, &t.segment, &t.state, &t.inputs, &t.stop, &t.restarts, &t.failures, &t.cause, &t.reserved, &t.day, &t.started, &t.ended, &t.epoch, &t.snapshot)
	})
	r := g.numbers
	for _, t := range list {
		if err != nil {
			return err
		}
		if t.state == string(core.TurnRunning) {
			t.state = string(core.TurnStopped)
		}
		err = p.exec(`INSERT INTO turns (user_id, id, thread_id, identity_id, segment_id, state, inputs, stop, restarts, failures, error, reserved, day, started_at, ended_at, epoch_id, snapshot)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`, m.Into, r.other(t.id), r.thread(t.thread), r.other(t.identity), r.segment(t.segment),
			t.state, r.ids(t.inputs), t.stop, t.restarts, t.failures, t.cause, t.reserved, t.day, t.started, t.ended, r.other(t.epoch), r.snapshot(t.snapshot))
	}
	m.Rows += len(list)
	return err
}

func (p pair) copyEpochs(m *move, g slab) error {
	rows, err := p.rows(`SELECT id, thread_id, data FROM epochs WHERE user_id = $1 AND id > $2 AND id <= $3`, m.From, g.after[0], g.through[0])
	type epoch struct {
		id     int64
		thread core.ThreadID
		data   string
	}
	list, err := collect(rows, err, func(r scanner) (e epoch, err error) { return e, r.Scan(&e.id, &e.thread, &e.data) })
	for _, e := range list {
		if err != nil {
			return err
		}
		err = p.exec(`INSERT INTO epochs (user_id, id, thread_id, data) VALUES ($1, $2, $3, $4)`, m.Into, g.numbers.other(e.id), g.numbers.thread(e.thread), g.numbers.epoch(e.data))
	}
	return err
}

// deliveryCopy and partCopy copy deliveries with their parts; those that are
// under way come with the switch. The keys of their parts stay what they were.
const (
	deliveryCopy = `INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, error, created_at, expires_at, born)
		SELECT CAST($2 AS bigint), id + $3, CASE WHEN message_id > 0 THEN message_id + $4 ELSE 0 END, CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END, channel, account, external, kind, state, why, error,
			created_at, expires_at, CASE WHEN born = '' THEN user_id || '-' || id ELSE born END FROM deliveries WHERE user_id = $1`
	partCopy = `INSERT INTO delivery_parts (user_id, delivery_id, n, body, state, native_id, repeats, resent, sent_at, error)
		SELECT CAST($2 AS bigint), p.delivery_id + $3, p.n, p.body, p.state, p.native_id, p.repeats, p.resent, p.sent_at, p.error FROM delivery_parts p WHERE p.user_id = $1`
)

func (p pair) copyDeliveries(m *move, g slab) error {
	err := p.exec(deliveryCopy+` AND id > $5 AND id <= $6 AND state NOT IN ('pending', 'sending')`+g.of("deliveries", 7), g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
	if err != nil {
		return err
	}
	return p.exec(partCopy+` AND p.delivery_id > $4 AND p.delivery_id <= $5 AND EXISTS (SELECT 1 FROM deliveries d WHERE d.user_id = $2 AND d.id = p.delivery_id + $3)`,
		m.From, m.Into, m.plan.ID, g.after[0], g.through[0])
}

func (p pair) copyLoops(m *move, g slab) error {
	rows, err := p.rows(`SELECT id, body, state, sources, opened_at, mentioned_at FROM loops WHERE user_id = $1 AND id > $2 AND id <= $3`, m.From, g.after[0], g.through[0])
	type loop struct {
		id, opened, mentioned int64
		body, state, sources  string
	}
	list, err := collect(rows, err, func(r scanner) (l loop, err error) {
		return l, r.Scan(&l.id, &l.body, &l.state, &l.sources, &l.opened, &l.mentioned)
	})
	for _, l := range list {
		if err != nil {
			return err
		}
		if m.Kind == core.MoveSplit {
			if goes, err := p.loopGoes(m, l.sources); err != nil {
				return err
			} else if !goes {
				continue
			}
		}
		err = p.exec(`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			m.Into, g.numbers.other(l.id), g.numbers.text(l.body), l.state, g.numbers.ids(l.sources), l.opened, l.mentioned)
	}
	return err
}

// copyItems copies memory. What who stays has in mind already is not doubled.
func (p pair) copyItems(m *move, g slab) error {
	rows, err := p.rows(`SELECT i.id, i.digest, i.content, i.theme, i.status, h.name, h.description, i.updated_at FROM items i JOIN themes h ON h.user_id = i.user_id AND h.slug = i.theme
		WHERE i.user_id = $1 AND i.id > $2 AND i.id <= $3`+g.of("i", 4), g.args(m.From, g.after[0], g.through[0])...)
	type item struct {
		id, updated                                        int64
		digest, content, theme, status, named, description string
	}
	list, err := collect(rows, err, func(r scanner) (i item, err error) {
		return i, r.Scan(&i.id, &i.digest, &i.content, &i.theme, &i.status, &i.named, &i.description, &i.updated)
	})
	for _, i := range list {
		if err != nil {
			return err
		}
		if err = p.copyItem(m, i.id); err != nil {
			continue
		}
		var there bool
		if err = p.row(`SELECT EXISTS (SELECT 1 FROM items WHERE user_id = $1 AND id = $2)`, m.Into, g.numbers.other(i.id)).Scan(&there); err != nil || !there {
			continue
		}
		active := int(flag(i.status == string(core.ItemActive)))
		if err = p.into.countTheme(i.theme, core.Theme{Name: i.named, Description: i.description}, active, at(i.updated)); err != nil {
			continue
		}
		if err = p.into.index(core.DocItem, g.numbers.other(i.id), i.content); err == nil {
			err = p.into.send()
		}
	}
	if err != nil {
		return err
	}
	return p.copyEmbeddings(m, core.VectorItem, "items", g)
}

func (p pair) copyItem(m *move, id int64) error {
	return p.exec(`INSERT INTO items (user_id, id, theme, type, content, tags, digest, source_thread, source_message, status, created_at, updated_at)
		SELECT CAST($2 AS bigint), id + $3, theme, type, content, tags, digest, CASE WHEN source_thread = $6 THEN $7 WHEN source_thread > 0 THEN source_thread + $3 ELSE 0 END,
			CASE WHEN source_message > 0 THEN source_message + $4 ELSE 0 END, status, created_at, updated_at
		FROM items WHERE user_id = $1 AND id = $5 ON CONFLICT DO NOTHING`, m.From, m.Into, m.plan.ID, m.plan.Message, id, m.plan.Was, m.plan.Thread)
}

// copyEmbeddings copies the states and vectors of a page of what was copied.
func (p pair) copyEmbeddings(m *move, kind core.VectorKind, table string, g slab) error {
	if err := p.into.send(); err != nil {
		return err
	}
	err := p.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, error, revision, updated_at)
		SELECT CAST($2 AS bigint), e.kind, e.id + $3, e.config, e.state, e.error, e.revision, e.updated_at FROM embeddings e
		WHERE e.user_id = $1 AND e.kind = $4 AND e.id > $5 AND e.id <= $6 AND EXISTS (SELECT 1 FROM `+table+` x WHERE x.user_id = $2 AND x.id = e.id + $3)`,
		m.From, m.Into, m.plan.ID, string(kind), g.after[0], g.through[0])
	if err != nil {
		return err
	}
	after, through := int64Of(g.after[0]), int64Of(g.through[0])
	return p.all(p.s.dialect.Vector.Copy(kind, m.From, m.Into, after, through, m.plan.ID))
}

func int64Of(v any) int64 {
	n, _ := v.(int64)
	return n
}

func (p pair) copyReminders(m *move, g slab) error {
	return p.exec(`INSERT INTO reminders (user_id, id, body, due_at, cron, zone, state, source_message, created_at, fired_at, message_id)
		SELECT CAST($2 AS bigint), id + $3, body, due_at, cron, zone, state, CASE WHEN source_message > 0 THEN source_message + $4 ELSE 0 END, created_at, fired_at,
			CASE WHEN message_id > 0 AND `+reminded(m)+` THEN message_id + $4 ELSE 0 END FROM reminders WHERE user_id = $1 AND id > $5 AND id <= $6`+g.of("reminders", 7),
		g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
}

// reminded tells whether the messages of reminders come along: they come through
// no identity.
func reminded(m *move) string {
	if m.Kind == core.MoveSplit {
		return "1 = 0"
	}
	return "1 = 1"
}

// copyWindows copies the windows of days that keep them.
func (p pair) copyWindows(m *move, g slab) error {
	err := p.exec(`INSERT INTO windows (user_id, id, segment_id, first_message, last_message, tokens)
		SELECT CAST($2 AS bigint), w.id + $3, s.into_id, w.first_message + $4, w.last_message + $4, w.tokens
		FROM windows w JOIN move_segments s ON s.user_id = w.user_id AND s.segment_id = w.segment_id AND s.windows = 1
		WHERE w.user_id = $1 AND w.id > $5 AND w.id <= $6`, m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])
	if err != nil {
		return err
	}
	return p.copyEmbeddings(m, core.VectorWindow, "windows", g)
}

// copyUsage adds up what was used. What is reserved comes with the turns that run.
func (p pair) copyUsage(m *move, g slab) error {
	return p.exec(`INSERT INTO usage (user_id, day, reserved, prompt, cached, completion, turns)
		SELECT CAST($2 AS bigint), day, 0, prompt, cached, completion, turns FROM usage WHERE user_id = $1 AND day > $3 AND day <= $4
		ON CONFLICT (user_id, day) DO UPDATE SET prompt = usage.prompt + excluded.prompt, cached = usage.cached + excluded.cached,
			completion = usage.completion + excluded.completion, turns = usage.turns + excluded.turns`, m.From, m.Into, g.after[0], g.through[0])
}

func (p pair) copyOnce(m *move, g slab) error {
	return p.exec(`INSERT INTO once (user_id, key, at) SELECT CAST($2 AS bigint), key, at FROM once WHERE user_id = $1 AND key > $3 AND key <= $4 ON CONFLICT (user_id, key) DO NOTHING`,
		m.From, m.Into, g.after[0], g.through[0])
}
