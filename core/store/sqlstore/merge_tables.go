package sqlstore

import (
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// copyTurns copies turns. Running ones are stored as stopped until the switch.
func (p *pair) copyTurns(m *move, g keyRange) {
	r := g.numbers
	stopped := func(state string) string {
		if state == string(core.TurnRunning) {
			return string(core.TurnStopped)
		}
		return state
	}
	m.Rows += p.copyThrough(m, g, "turns",
		`id, thread_id, identity_id, segment_id, state, inputs, stop, restarts, failures, error, reserved, day, started_at, ended_at, epoch_id, snapshot, task_id, task_due`,
		rewriting{"id": ids(r.other), "thread_id": ids(r.thread), "identity_id": ids(r.other), "segment_id": ids(r.segment),
			"epoch_id": ids(r.other), "task_id": ids(r.other), "state": texts(stopped), "inputs": texts(r.ids),
			"snapshot": texts(r.snapshot)}, nil)
}

func (p *pair) copyEpochs(m *move, g keyRange) {
	p.copyThrough(m, g, "epochs", `id, thread_id, data`, rewriting{"id": ids(g.numbers.other),
		"thread_id": ids(g.numbers.thread), "data": texts(g.numbers.epoch)}, nil)
}

// rewriting maps columns to functions that return their values at the target user.
type rewriting map[string]func(value any) any

func ids[T ~int64](f func(T) T) func(any) any {
	return func(value any) any { return int64(f(T(int64Of(value)))) }
}

func texts(f func(string) string) func(any) any {
	return func(value any) any { return f(fmt.Sprint(value)) }
}

// copyThrough copies those rows of a page that goes accepts (nil: all) through the program, as
// SQL cannot rewrite them. It returns their number on the page.
func (p *pair) copyThrough(m *move, g keyRange, table, columns string, become rewriting,
	goes func(row []any) bool) int {
	names := strings.Split(columns, ", ")
	rows := listOf(p, func(r scanner) ([]any, error) { return scanValues(r, len(names)) }, `SELECT `+columns+` FROM `+
		table+` WHERE user_id = $1 AND id > $2 AND id <= $3`+g.of(table, 4), g.args(m.From, g.after[0], g.through[0])...)
	for _, row := range rows {
		if goes != nil && !goes(row) {
			continue
		}
		for i, name := range names {
			if rewrite := become[name]; rewrite != nil {
				row[i] = rewrite(row[i])
			}
		}
		p.exec(`INSERT INTO `+table+` (user_id, `+columns+`) VALUES (`+placeholders(1, len(row)+1)+`)`,
			append([]any{m.Into}, row...)...)
	}
	return len(rows)
}

// scanValues scans a row of n columns, with texts as strings.
func scanValues(r scanner, n int) ([]any, error) {
	values, dest := make([]any, n), make([]any, n)
	for i := range values {
		dest[i] = &values[i]
	}
	err := r.Scan(dest...)
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			values[i] = string(b)
		}
	}
	return values, err
}

// deliveryCopy and partCopy copy deliveries with their parts; unfinished ones are copied in the
// switch. The keys of their parts do not change.
const (
	deliveryCopy = `INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, error, created_at, expires_at, born)
		SELECT CAST($2 AS bigint), id + $3, CASE WHEN message_id > 0 THEN message_id + $4 ELSE 0 END, CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END, channel, account, external, kind, state, why, error,
			created_at, expires_at, CASE WHEN born = '' THEN user_id || '-' || id ELSE born END FROM deliveries WHERE user_id = $1`
	partCopy = `INSERT INTO delivery_parts (user_id, delivery_id, n, body, state, native_id, repeats, resent, sent_at, error)
		SELECT CAST($2 AS bigint), p.delivery_id + $3, p.n, p.body, p.state, p.native_id, p.repeats, p.resent, p.sent_at, p.error FROM delivery_parts p WHERE p.user_id = $1`
)

func (p *pair) copyDeliveries(m *move, g keyRange) {
	p.exec(deliveryCopy+` AND id > $5 AND id <= $6 AND state NOT IN ('pending', 'sending')`+g.of("deliveries", 7),
		g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
	p.exec(partCopy+` AND p.delivery_id > $4 AND p.delivery_id <= $5 AND p.delivery_id IN
			(SELECT d.id - $3 FROM deliveries d WHERE d.user_id = $2 AND d.id > $4 + $3 AND d.id <= $5 + $3)`, m.From, m.Into, m.plan.ID, g.after[0], g.through[0])
}

func (p *pair) copyLoops(m *move, g keyRange) {
	goes := func(row []any) bool { return m.Kind != core.MoveSplit || p.loopGoes(m, fmt.Sprint(row[3])) }
	g.split = "" // goes decides
	p.copyThrough(m, g, "loops", `id, body, state, sources, opened_at, mentioned_at, tainted, due_at, asked`, rewriting{
		"id": ids(g.numbers.other), "body": texts(g.numbers.text), "sources": texts(g.numbers.ids)}, goes)
}

// copyItems copies memory items that the target user does not have.
func (p *pair) copyItems(m *move, g keyRange) {
	type item struct {
		id, updated            int64
		content, theme, status string
		made                   core.Theme
	}
	scan := fields(func(i *item) []any {
		return []any{&i.id, &i.content, &i.theme, &i.status, &i.made.Name, &i.made.Description, &i.updated, &i.made.Tainted}
	})
	for _, i := range listOf(p, scan,
		`SELECT i.id, i.content, i.theme, i.status, h.name, h.description, i.updated_at, h.tainted FROM items i JOIN themes h ON h.user_id = $1 AND h.slug = i.theme
		WHERE i.user_id = $1 AND i.id > $2 AND i.id <= $3`+g.of("i", 4), g.args(m.From, g.after[0], g.through[0])...) {
		p.copyItem(m, i.id)
		there := valueOf[bool](p, `SELECT EXISTS (SELECT 1 FROM items WHERE user_id = $1 AND id = $2)`, m.Into, g.numbers.other(i.id))
		if !there {
			continue
		}
		active := int(flag(i.status == string(core.ItemActive)))
		p.into.countTheme(i.theme, i.made, active, at(i.updated))
		p.into.index(core.DocItem, g.numbers.other(i.id), i.content)
	}
	p.copyEmbeddings(m, core.VectorItem, "items", g)
}

func (p *pair) copyItem(m *move, id int64) {
	p.exec(`INSERT INTO items (user_id, id, theme, type, content, tags, digest, source_thread, source_message, status, created_at, updated_at, tainted, history, noted)
		SELECT CAST($2 AS bigint), id + $3, theme, type, content, tags, digest, CASE WHEN source_thread = $6 THEN $7 WHEN source_thread > 0 THEN source_thread + $3 ELSE 0 END,
			CASE WHEN source_message > 0 THEN source_message + $4 ELSE 0 END, status, created_at, updated_at, tainted, history, noted
		FROM items WHERE user_id = $1 AND id = $5 ON CONFLICT DO NOTHING`, m.From, m.Into, m.plan.ID, m.plan.Message, id,
		m.plan.Was, m.plan.Thread)
}

// copyEmbeddings copies the states and vectors of a copied page.
func (p *pair) copyEmbeddings(m *move, kind core.VectorKind, table string, g keyRange) {
	p.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, error, revision, updated_at)
		SELECT CAST($2 AS bigint), e.kind, e.id + $3, e.config, e.state, e.error, e.revision, e.updated_at FROM embeddings e
		WHERE e.user_id = $1 AND e.kind = $4 AND e.id > $5 AND e.id <= $6 AND e.id IN (SELECT x.id - $3 FROM `+table+
		` x WHERE x.user_id = $2 AND x.id > $5 + $3 AND x.id <= $6 + $3)`, m.From, m.Into, m.plan.ID, string(kind), g.after[0], g.through[0])
	after, through := int64Of(g.after[0]), int64Of(g.through[0])
	p.execAll(p.s.dialect.Vector.Copy(kind, m.From, m.Into, after, through, m.plan.ID)...)
}

func int64Of(v any) int64 {
	n, _ := v.(int64)
	return n
}

func (p *pair) copyReminders(m *move, g keyRange) {
	p.exec(`INSERT INTO reminders (user_id, id, body, due_at, cron, zone, state, source_message, created_at, fired_at, message_id, tainted)
		SELECT CAST($2 AS bigint), id + $3, body, due_at, cron, zone, state, CASE WHEN source_message > 0 THEN source_message + $4 ELSE 0 END, created_at, fired_at,
			CASE WHEN message_id > 0 AND `+reminded(m)+
		` THEN message_id + $4 ELSE 0 END, tainted FROM reminders WHERE user_id = $1 AND id > $5 AND id <= $6`+
		g.of("reminders", 7), g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
}

// copyApprovals copies approvals, except open ones, as the target user has not seen them.
func (p *pair) copyApprovals(m *move, g keyRange) {
	p.exec(`INSERT INTO approvals (user_id, id, kind, state, identity_id, message_id, turn_id, word, subject, asked_at, expires_at, decided_at, code)
		SELECT CAST($2 AS bigint), id + $3, kind, state, identity_id + $3, CASE WHEN message_id > 0 THEN message_id + $4 ELSE 0 END,
			CASE WHEN turn_id > 0 THEN turn_id + $3 ELSE 0 END, word, subject, asked_at, expires_at, decided_at, code
		FROM approvals WHERE user_id = $1 AND id > $5 AND id <= $6 AND state <> 'open'`+g.of("approvals", 7), g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
}

// reminded returns the condition that the messages of reminders are copied. A split copies none,
// as they belong to no identity.
func reminded(m *move) string {
	if m.Kind == core.MoveSplit {
		return "1 = 0"
	}
	return "1 = 1"
}

// copyWindows copies windows of days whose windows are kept.
func (p *pair) copyWindows(m *move, g keyRange) {
	p.exec(`INSERT INTO windows (user_id, id, segment_id, first_message, last_message, tokens, passages)
		SELECT CAST($2 AS bigint), w.id + $3, s.into_id, w.first_message + $4, w.last_message + $4, w.tokens, w.passages
		FROM windows w JOIN move_segments s ON s.user_id = $1 AND s.segment_id = w.segment_id AND s.windows = 1
		WHERE w.user_id = $1 AND w.id > $5 AND w.id <= $6`, m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])
	p.copyEmbeddings(m, core.VectorWindow, "windows", g)
}

// copyUsage adds the usage of both users. Reservations are transferred with running turns.
func (p *pair) copyUsage(m *move, g keyRange) {
	p.exec(`INSERT INTO usage (user_id, day, reserved, prompt, cached, completion, turns, calls, bytes, task_tokens)
		SELECT CAST($2 AS bigint), day, 0, prompt, cached, completion, turns, calls, bytes, task_tokens FROM usage WHERE user_id = $1 AND day > $3 AND day <= $4
		ON CONFLICT (user_id, day) DO UPDATE SET prompt = usage.prompt + excluded.prompt, cached = usage.cached + excluded.cached,
			completion = usage.completion + excluded.completion, turns = usage.turns + excluded.turns,
			calls = usage.calls + excluded.calls, bytes = usage.bytes + excluded.bytes, task_tokens = usage.task_tokens + excluded.task_tokens`, m.From, m.Into,
		g.after[0], g.through[0])
}
