package sqlstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
)

// copier copies the source user's rows of one table.
type copier struct {
	table string
	rows  func(m *merger)
}

// copiers lists how tables are copied, after the days with their summaries, windows and messages.
func copiers() []copier {
	out := []copier{
		{"threads", (*merger).copyThreads}, {"messages", (*merger).copyMessages}, {"turns", (*merger).copyTurns},
		{"epochs", (*merger).copyEpochs}, {"loops", (*merger).copyLoops}, {"deliveries", (*merger).copyDeliveries},
		{"usage", (*merger).copyUsage}, {"usage_parts", (*merger).copyUsageParts}, {"audit", (*merger).copyAudit}, {"events", (*merger).moveEvents},
		{"agent_keys", (*merger).copyAgentKeys},
	}
	for _, t := range Tables() {
		if t.Merge == MergeShifted {
			out = append(out, copier{t.Name, t.copyShifted})
		}
	}
	return append(out, copier{"items", (*merger).findItems}, copier{"file_pages", (*merger).findFilePages},
		copier{"windows", func(m *merger) { m.copyEmbeddings(core.VectorWindow, "windows") }})
}

// copyShifted copies rows that change only in their ids. Rows that the target user has already are left out.
func (t Table) copyShifted(m *merger) {
	args := []any{m.from.user, m.into.user}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	columns, values := []string{t.Owner}, []string{`CAST($2 AS bigint)`}
	for _, c := range t.columns() {
		value := c
		switch of := t.refersTo(c); of {
		case "":
		case "messages":
			value = `CASE WHEN ` + c + ` > 0 THEN ` + c + ` + ` + arg(m.numbers.message) + ` ELSE 0 END`
		case "threads":
			value = `CASE WHEN ` + c + ` = ` + arg(m.was) + ` THEN ` + arg(m.thread) + ` WHEN ` + c + ` > 0 THEN ` + c + ` + ` +
				arg(m.numbers.id) + ` ELSE 0 END`
		default:
			value = `CASE WHEN ` + c + ` > 0 THEN ` + c + ` + ` + arg(m.numbers.id) + ` ELSE 0 END`
		}
		columns, values = append(columns, c), append(values, value)
	}
	m.exec(`INSERT INTO `+t.Name+` (`+strings.Join(columns, ", ")+`) SELECT `+strings.Join(values, ", ")+` FROM `+t.Name+`
		WHERE user_id = $1 ON CONFLICT DO NOTHING`, args...)
}

// refersTo returns the table that a column refers to, or "". Loose columns say it in their names.
func (t Table) refersTo(column string) string {
	switch {
	case column == "id":
		return t.Name
	case t.Refs[column] != "" || !slices.Contains(t.Loose, column):
		return t.Refs[column]
	case strings.Contains(column, "message"):
		return "messages"
	case strings.Contains(column, "thread"):
		return "threads"
	}
	return column
}

// columns returns all columns after the owner, sorted. It is for tables that name all columns.
func (t Table) columns() []string {
	all := slices.Concat(t.Words, t.Sealed, t.Loose, t.Plain, t.Numbers, slices.Collect(maps.Keys(t.Refs)))
	if t.Row == "id" {
		all = append(all, "id")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// copyThreads copies plain threads.
func (m *merger) copyThreads() {
	m.exec(`INSERT INTO threads (user_id, id, mode, title, own, name, last_position, edits, summaries, created_at)
		SELECT CAST($2 AS bigint), id + $3, mode, title, own, name, last_position, edits, summaries, created_at FROM threads WHERE user_id = $1 AND id <> $4`,
		m.from.user, m.into.user, m.numbers.id, m.was)
}

// copyMessages copies messages of no day, and rewrites the references in all messages except in a person's own words.
func (m *merger) copyMessages() {
	m.exec(messageCopy+` AND segment_id = 0`, m.from.user, m.into.user, m.numbers.id, m.numbers.message, m.was,
		m.thread, 0)
	eachRow(m, `SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id > $2
		AND (role <> 'user' AND (extra <> '{}' OR body LIKE '%[#%') OR extra LIKE '%"news":%' OR extra LIKE '%"decides":%' OR extra LIKE '%"quoted":%')`,
		scanMessage, func(x core.Message) int64 {
			id := x.ID
			if m.numbers.row(&x) {
				m.exec(`UPDATE messages SET body = $3, extra = $4 WHERE user_id = $1 AND id = $2`, m.into.user, m.numbers.messageID(id),
					x.Text, text(extraOf(x)))
			}
			return int64(id)
		})
}

// rowsAtOnce is how many rows are held in memory.
const rowsAtOnce = 1000

// eachPage calls f for pages of the rows of a query of the source user's rows with ids above $2, in their order. f
// returns the last id.
func eachPage[T any](m *merger, query string, scan func(scanner) (T, error), f func(page []T) int64) {
	for after, n := int64(0), rowsAtOnce; n == rowsAtOnce && m.err == nil; {
		page := listOf(m, scan, query+` ORDER BY id LIMIT $3`, m.from.user, after, rowsAtOnce)
		if n = len(page); n > 0 {
			after = f(page)
		}
	}
}

// eachRow is eachPage for functions of one row, which return its id.
func eachRow[T any](m *merger, query string, scan func(scanner) (T, error), f func(row T) int64) {
	eachPage(m, query, scan, func(page []T) (last int64) {
		for _, row := range page {
			last = f(row)
		}
		return last
	})
}

// copyTurns copies turns, with the reservations of running ones.
func (m *merger) copyTurns() {
	r := m.numbers
	m.rewrite("turns",
		`id, thread_id, identity_id, segment_id, state, inputs, stop, restarts, failures, error, reserved, day, started_at, ended_at, epoch_id, snapshot, task_id, task_due`,
		rewriting{"id": ids(r.other), "thread_id": ids(r.thread), "identity_id": ids(r.other), "segment_id": ids(r.segment),
			"epoch_id": ids(r.other), "task_id": ids(r.other), "inputs": texts(r.ids), "snapshot": texts(r.snapshot)})
	m.exec(`INSERT INTO usage (user_id, day, reserved, task_reserved) SELECT CAST($2 AS bigint), day, SUM(reserved), SUM(CASE WHEN task_id > 0 THEN reserved ELSE 0 END)
		FROM turns WHERE user_id = $1 AND state = 'running' AND reserved > 0 GROUP BY day
		ON CONFLICT (user_id, day) DO UPDATE SET reserved = usage.reserved + excluded.reserved, task_reserved = usage.task_reserved + excluded.task_reserved`,
		m.from.user, m.into.user)
}

func (m *merger) copyEpochs() {
	m.rewrite("epochs", `id, thread_id, data`, rewriting{"id": ids(m.numbers.other), "thread_id": ids(m.numbers.thread),
		"data": texts(m.numbers.epoch)})
}

func (m *merger) copyLoops() {
	m.rewrite("loops", `id, body, state, sources, opened_at, mentioned_at, tainted, due_at, asked`, rewriting{
		"id": ids(m.numbers.other), "body": texts(m.numbers.text), "sources": texts(m.numbers.ids)})
}

// rewriting maps columns to functions that return their values at the target user.
type rewriting map[string]func(value any) any

func ids[T ~int64](f func(T) T) func(any) any {
	return func(value any) any { return int64(f(T(int64Of(value)))) }
}

func texts(f func(string) string) func(any) any {
	return func(value any) any { return f(fmt.Sprint(value)) }
}

func int64Of(v any) int64 {
	n, _ := v.(int64)
	return n
}

// rewrite copies rows through the program, as SQL cannot rewrite them. The first column is the id.
func (m *merger) rewrite(table, columns string, become rewriting) {
	names := strings.Split(columns, ", ")
	scan := func(r scanner) ([]any, error) { return scanValues(r, len(names)) }
	eachPage(m, `SELECT `+columns+` FROM `+table+` WHERE user_id = $1 AND id > $2`, scan, func(rows [][]any) (last int64) {
		for n, row := range rows {
			last = int64Of(row[0])
			for i, name := range names {
				if f := become[name]; f != nil {
					row[i] = f(row[i])
				}
			}
			rows[n] = append([]any{int64(m.into.user)}, row...)
		}
		m.insertAll(table, `user_id, `+columns, rows)
		return last
	})
}

func placeholders(from, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("$%d", from+i))
	}
	return strings.Join(out, ", ")
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

// copyDeliveries copies deliveries. The keys of their parts do not change.
func (m *merger) copyDeliveries() {
	m.exec(`INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, error, created_at, expires_at, born)
		SELECT CAST($2 AS bigint), id + $3, CASE WHEN message_id > 0 THEN message_id + $4 ELSE 0 END, CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END, channel, account, external, kind, state, why, error,
			created_at, expires_at, CASE WHEN born = '' THEN user_id || '-' || id ELSE born END FROM deliveries WHERE user_id = $1`,
		m.from.user, m.into.user, m.numbers.id, m.numbers.message)
}

// copyUsage adds the usage of both users.
func (m *merger) copyUsage() {
	m.exec(`INSERT INTO usage (user_id, day, prompt, cached, completion, turns, calls, bytes, task_tokens)
		SELECT CAST($2 AS bigint), day, prompt, cached, completion, turns, calls, bytes, task_tokens FROM usage WHERE user_id = $1
		ON CONFLICT (user_id, day) DO UPDATE SET prompt = usage.prompt + excluded.prompt, cached = usage.cached + excluded.cached,
			completion = usage.completion + excluded.completion, turns = usage.turns + excluded.turns,
			calls = usage.calls + excluded.calls, bytes = usage.bytes + excluded.bytes, task_tokens = usage.task_tokens + excluded.task_tokens`,
		m.from.user, m.into.user)
}

// copyUsageParts adds what the calls of both users took.
func (m *merger) copyUsageParts() {
	m.exec(`INSERT INTO usage_parts (user_id, day, model, purpose, calls, prompt, cached, completion, amount)
		SELECT CAST($2 AS bigint), day, model, purpose, calls, prompt, cached, completion, amount FROM usage_parts
		WHERE user_id = $1 `+addParts, m.from.user, m.into.user)
}

// copyAudit copies audit rows with the new ids of their objects.
func (m *merger) copyAudit() {
	eachRow(m, `SELECT `+auditColumns+` FROM audit WHERE user_id = $1 AND id > $2`, scanAudit, func(r audit.Row) int64 {
		if r.Via == core.ViaIdentity {
			r.ViaID = m.numbers.other(r.ViaID)
		}
		for i, id := range r.IDs {
			switch r.Object {
			case "message":
				r.IDs[i] = int64(m.numbers.messageID(core.MessageID(id)))
			case "identity", "turn", "question":
				r.IDs[i] = m.numbers.other(id)
			}
		}
		m.exec(putAudit, m.into.user, m.into.nextID(), ms(r.At), string(r.Via), r.ViaID, string(r.What), r.Object,
			text(r.IDs), r.Tool, string(r.Result))
		return int64(r.ID)
	})
}

// moveEvents moves events with their ids, which are those of the services.
func (m *merger) moveEvents() {
	m.exec(`UPDATE event_ids SET user_id = $2 WHERE (channel, account, event_id) IN (SELECT channel, account, event_id FROM events WHERE user_id = $1)`,
		m.from.user, m.into.user)
	m.exec(`INSERT INTO events (user_id, message_id, channel, account, event_id, external, state, received_at, payload)
		SELECT CAST($2 AS bigint), CASE WHEN message_id > 0 THEN message_id + $3 ELSE 0 END, channel, account, event_id, external, state, received_at, payload
		FROM events WHERE user_id = $1`, m.from.user, m.into.user, m.numbers.message)
	m.exec(`DELETE FROM events WHERE user_id = $1`, m.from.user)
}

func (m *merger) copyAgentKeys() {
	m.exec(`INSERT INTO agent_keys (user_id, id, name, sealed, created_at) SELECT CAST($2 AS bigint), id, name, sealed, created_at
		FROM agent_keys WHERE user_id = $1`, m.from.user, m.into.user)
}

// findItems indexes copied memory items, and counts them in their themes.
func (m *merger) findItems() {
	type item struct {
		id, updated            int64
		content, theme, status string
		made                   core.Theme
	}
	scan := fields(func(i *item) []any {
		return []any{&i.id, &i.content, &i.theme, &i.status, &i.made.Name, &i.made.Description, &i.updated, &i.made.Tainted}
	})
	there := map[int64]bool{}
	for _, id := range listOf(m, column[int64], `SELECT id FROM items WHERE user_id = $1 AND id > $2`, m.into.user, m.numbers.id) {
		there[id] = true
	}
	for _, i := range listOf(m, scan,
		`SELECT i.id, i.content, i.theme, i.status, h.name, h.description, i.updated_at, h.tainted FROM items i JOIN themes h ON h.user_id = $1 AND h.slug = i.theme
		WHERE i.user_id = $1 ORDER BY i.id`, m.from.user) {
		if id := m.numbers.other(i.id); there[id] {
			m.into.countTheme(i.theme, i.made, int(flag(i.status == string(core.ItemActive))), at(i.updated))
			m.into.index(core.DocItem, id, i.content)
		}
	}
	m.copyEmbeddings(core.VectorItem, "items")
}

// findFilePages indexes copied pages of files.
func (m *merger) findFilePages() {
	eachRow(m, `SELECT id, name, title, body FROM file_pages WHERE user_id = $1 AND id > $2`, scanPageDoc, func(d doc) int64 {
		if d.body != "" {
			m.into.index(core.DocFile, m.numbers.other(d.id), d.body)
		}
		return d.id
	})
	m.copyEmbeddings(core.VectorFile, "file_pages")
}

// copyEmbeddings copies the states and vectors of the copied rows of a table.
func (m *merger) copyEmbeddings(kind core.VectorKind, table string) {
	m.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, error, revision, updated_at)
		SELECT CAST($2 AS bigint), e.kind, e.id + $3, e.config, e.state, e.error, e.revision, e.updated_at FROM embeddings e
		WHERE e.user_id = $1 AND e.kind = $4 AND e.id IN (SELECT x.id - $3 FROM `+table+` x WHERE x.user_id = $2 AND x.id > $3)`,
		m.from.user, m.into.user, m.numbers.id, string(kind))
	m.execAll(m.s.dialect.Vector.Copy(kind, m.from.user, m.into.user, m.numbers.id)...)
}
