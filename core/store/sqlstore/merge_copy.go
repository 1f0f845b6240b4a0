package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// copying copies or removes the rows of one table, a page at a time in the order of their keys.
type copying struct {
	table string
	key   string // columns after user_id that order the pages
	where string // condition of the rows; empty: all
	split string // condition of the rows of a split: @ is the table, ? the identity; empty: none
	page  int
	// rows copies or removes the rows of a page.
	rows func(p *pair, m *move, g keyRange)
}

// keyRange is a range of rows: those after one key, up to and including another.
type keyRange struct {
	after, through []any
	numbers        renumbering
	last           bool
	split          string // of the copying, for a split
	goes           core.IdentityID
}

// Conditions of rows that came through an identity.
const (
	came       = `@.identity_id = ?`
	cameWith   = `(SELECT c.identity_id FROM messages c WHERE c.user_id = $1 AND c.id = @.message_id) = ?`
	cameFrom   = `(SELECT c.identity_id FROM messages c WHERE c.user_id = $1 AND c.id = @.source_message) = ?`
	setWith    = `(SELECT c.identity_id FROM messages c JOIN tasks k ON k.user_id = $1 AND k.message_id = c.id WHERE c.user_id = $1 AND k.id = @.task_id) = ?`
	cameToSend = `@.identity_id = ? AND COALESCE((SELECT c.identity_id FROM messages c WHERE c.user_id = $1 AND c.id = @.message_id), ?) = ?`
	all        = `CAST(? AS bigint) > 0`
)

// copies lists the tables in the order in which they are copied: a referenced table comes before
// those that refer to it.
func copies(kind core.MoveKind) []copying {
	list := copyings()
	if kind == core.MoveSplit {
		list = slices.DeleteFunc(list, func(c copying) bool { return c.split == "" })
	}
	return list
}

func copyings() []copying {
	list := []copying{
		{table: "turns", key: "id", split: came, page: 250, rows: (*pair).copyTurns},
		{table: "messages", key: "id", split: came, page: 300, rows: (*pair).copyMessages},
	}
	list = append(list, plainly(func(t Table) bool { return t.Split != "" })...)
	list = append(list, []copying{
		{table: "events", key: "message_id", split: cameWith, where: "message_id > 0", page: 500, rows: (*pair).moveEvents},
		{table: "epochs", key: "id", page: 50, rows: (*pair).copyEpochs},
		{table: "deliveries", key: "id", split: cameToSend, page: 500, rows: (*pair).copyDeliveries},
		{table: "loops", key: "id", split: all, page: 250, rows: (*pair).copyLoops},
		{table: "items", key: "id", split: cameFrom, page: 100, rows: (*pair).copyItems},
		{table: "reminders", key: "id", split: cameFrom, page: 500, rows: (*pair).copyReminders},
		{table: "standing", key: "id", split: cameWith, page: 500, rows: (*pair).copyInstructions},
		{table: "approvals", key: "id", split: came, page: 500, rows: (*pair).copyApprovals},
		{table: "audit", key: "id", page: 250, rows: (*pair).copyAudit},
		{table: "windows", key: "id", page: 250, rows: (*pair).copyWindows},
		{table: "file_pages", key: "id", split: cameWith, page: 50, rows: (*pair).copyFilePages},
		{table: "usage", key: "day", page: 500, rows: (*pair).copyUsage},
	}...)
	return append(list, plainly(func(t Table) bool { return t.Split == "" })...)
}

// plainly lists the copying of tables whose rows change only in their ids.
func plainly(which func(t Table) bool) (out []copying) {
	for _, t := range Tables() {
		if t.Page > 0 && which(t) {
			out = append(out, copying{table: t.Name, key: t.Key, split: t.Split, page: t.Page, rows: t.copyPage})
		}
	}
	return out
}

// copyPage copies a page of rows with their ids at the target user.
func (t Table) copyPage(p *pair, m *move, g keyRange) {
	args := []any{m.From, m.Into}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	shifted := func(column string, by any) string {
		return `CASE WHEN ` + column + ` > 0 THEN ` + column + ` + ` + arg(by) + ` ELSE 0 END`
	}
	columns, values := []string{t.Owner}, []string{`CAST($2 AS bigint)`}
	for _, c := range t.columns() {
		value := c
		switch of := t.Refs[c]; {
		case of == "messages" || slices.Contains(t.Loose, c) && strings.HasSuffix(c, "message_id"):
			value = shifted(c, m.plan.Message)
		case of != "" || slices.Contains(t.Loose, c) || c == "id":
			value = shifted(c, m.plan.ID)
		}
		columns, values = append(columns, c), append(values, value)
	}
	where := g.between(t.Key, arg)
	where += g.of(t.Name, len(args)+1)
	p.exec(`INSERT INTO `+t.Name+` (`+strings.Join(columns, ", ")+`) SELECT `+strings.Join(values, ", ")+` FROM `+t.Name+`
		WHERE user_id = $1`+where+` ON CONFLICT DO NOTHING`, g.args(args...)...)
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

// between returns the condition of the keys of a page.
func (g keyRange) between(key string, arg func(v any) string) string {
	list := func(values []any) string {
		var out []string
		for _, v := range values {
			out = append(out, arg(v))
		}
		return strings.Join(out, ", ")
	}
	if !strings.Contains(key, ",") {
		return ` AND ` + key + ` > ` + list(g.after) + ` AND ` + key + ` <= ` + list(g.through)
	}
	return ` AND (` + key + `) > (` + list(g.after) + `) AND (` + key + `) <= (` + list(g.through) + `)`
}

// copyRows copies the next page of a merge.
func (s *Store) copyRows(ctx context.Context, m move) error {
	r, err := s.numbersOf(ctx, m)
	if err != nil {
		return err
	}
	return s.paged(ctx, m, copies(m.Kind), r, func(_ *pair, m *move) { m.next(phaseSwitch) })
}

// paged processes the next page of a list of tables, and calls end after the last one. The
// cursor holds the table and the last key.
func (s *Store) paged(ctx context.Context, m move, list []copying, r renumbering, end func(p *pair, m *move)) error {
	table, rest, _ := strings.Cut(m.cursor, "\n")
	n := max(0, slices.IndexFunc(list, func(c copying) bool { return c.table == table }))
	c := list[n]
	g, cursor, err := s.pageOf(ctx, m, c, rest)
	if err != nil {
		return err
	}
	g.numbers = r
	return s.step(ctx, m, func(p *pair, m *move) {
		if len(g.through) > 0 {
			c.rows(p, m, g)
			p.err = wrap(c.table, p.err)
		}
		switch {
		case !g.last:
			m.cursor = c.table + "\n" + cursor
		case n+1 < len(list):
			m.cursor = list[n+1].table + "\n"
		default:
			end(p, m)
		}
	})
}

// numbersOf returns the renumbering of a move, with its days.
func (s *Store) numbersOf(ctx context.Context, m move) (r renumbering, err error) {
	r = m.numbers()
	r.segments, err = s.segmentsOf(ctx, m)
	return r, err
}

// pageOf returns the page after a cursor, and the cursor of its last row.
func (s *Store) pageOf(ctx context.Context, m move, c copying, cursor string) (keyRange, string, error) {
	columns := strings.Split(c.key, ", ")
	g := keyRange{after: make([]any, len(columns)), last: true}
	parts := strings.SplitN(cursor, "\t", len(columns))
	for i, column := range columns {
		g.after[i] = startOf(c.table, column)
		if cursor != "" {
			g.after[i] = keyValue(c.table, column, parts[i])
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
		row, err := scanValues(s.one(ctx).row(`SELECT `+c.key+` FROM `+c.table+` WHERE `+where+` ORDER BY `+order+
			fmt.Sprintf(` LIMIT 1 OFFSET $%d`, len(args)+1), append(slices.Clone(args), offset)...), len(columns))
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return row, err
	}
	size := c.page
	if !s.dialect.OneWriter {
		size *= 5 // no other user waits for it
	}
	size = max(1, size>>s.shrunk.Load())
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

// of returns the condition of a split's rows, besides the keys; n is the number of its argument, which args appends.
func (g keyRange) of(alias string, n int) string {
	if g.split == "" {
		return ""
	}
	return ` AND ` + strings.NewReplacer("@", alias, "?", fmt.Sprintf("$%d", n)).Replace(g.split)
}

func (g keyRange) args(list ...any) []any {
	if g.split == "" {
		return list
	}
	return append(list, g.goes)
}

// startOf returns a value before all those of a key column.
func startOf(table, column string) any {
	if textKey(table, column) {
		return ""
	}
	return int64(-1)
}

func textKey(table, column string) bool {
	return slices.ContainsFunc(Tables(), func(t Table) bool { return t.Name == table && t.textual(column) })
}

func keyValue(table, column, s string) any {
	if textKey(table, column) {
		return s
	}
	return int64(cursorNumber(s))
}

func keyCursor(values []any) string {
	var out []string
	for _, v := range values {
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

// copyMessages copies messages into the merged order, counts them in their days, and renumbers their references.
func (p *pair) copyMessages(m *move, g keyRange) {
	p.exec(`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, revision, redacted, covered, solo, refused)
		SELECT CAST($2 AS bigint), m.id + $3, CASE WHEN m.thread_id = $7 THEN $8 ELSE m.thread_id + $4 END, COALESCE(s.into_id, 0),
			CASE WHEN m.turn_id > 0 THEN m.turn_id + $4 ELSE 0 END, CASE WHEN m.identity_id > 0 THEN m.identity_id + $4 ELSE 0 END, m.channel, m.role, m.kind, m.body, m.tokens, m.extra,
			CASE WHEN t.state = 'running' THEN 0 ELSE COALESCE(o.position, m.position) END, COALESCE(o.position, m.shown), m.sent_at, m.platform_at, m.revision, m.redacted, `+covered(m)+`, m.solo, m.refused
		FROM messages m LEFT JOIN move_segments s ON s.user_id = $1 AND s.segment_id = m.segment_id
			LEFT JOIN move_positions o ON o.user_id = $1 AND o.message_id = m.id
			LEFT JOIN turns t ON t.user_id = $1 AND t.id = m.turn_id
		WHERE m.user_id = $1 AND m.id > $5 AND m.id <= $6`+g.of("m", 9), g.args(m.From, m.Into, m.plan.Message, m.plan.ID, g.after[0], g.through[0], m.plan.Was, m.plan.Thread)...)
	p.countDays(m, g)
	p.renumberMessages(m, g)
}

// covered returns the covered column of a copied message: a split copies no summaries.
func covered(m *move) string {
	if m.Kind == core.MoveSplit {
		return "0"
	}
	return "m.covered"
}

// countDays counts the messages of a page in their days.
func (p *pair) countDays(m *move, g keyRange) {
	type count struct {
		id         core.SegmentID
		all, since int
	}
	scan := fields(func(c *count) []any { return []any{&c.id, &c.all, &c.since} })
	for _, c := range listOf(p, scan, `SELECT segment_id, COUNT(*), COALESCE(SUM(CASE WHEN `+covered(m)+
		` = 0 THEN 1 ELSE 0 END), 0) FROM messages m
		WHERE user_id = $1 AND id > $2 AND id <= $3 AND segment_id > 0 AND kind = 'chat' AND (role = 'user' OR role = 'assistant' AND (body <> '' OR redacted = 1))`+g.of("m", 4)+` GROUP BY segment_id`,
		g.args(m.From, g.after[0], g.through[0])...) {
		m.Rows += c.all
		p.exec(
			`UPDATE segments SET messages = messages + $3, since_summary = since_summary + $4 WHERE user_id = $1 AND id = $2`,
			m.Into, g.numbers.segment(c.id), c.all, c.since)
	}
}

// renumberMessages rewrites the references in messages of a page, except in a person's own words.
func (p *pair) renumberMessages(m *move, g keyRange) {
	if m.Kind == core.MoveSplit {
		return // a split keeps ids
	}
	for _, x := range listOf(p, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND id <= $3 AND (role <> 'user' AND (extra <> '{}' OR body LIKE '%[#%') OR extra LIKE '%"news":%' OR extra LIKE '%"decides":%' OR extra LIKE '%"quoted":%')`,
		m.From, g.after[0], g.through[0]) {
		if g.numbers.row(&x) {
			p.exec(`UPDATE messages SET body = $3, extra = $4 WHERE user_id = $1 AND id = $2`, m.Into, g.numbers.messageID(x.ID), x.Text, text(extraOf(x)))
		}
	}
}

// moveEvents moves events to the target user. It does not copy them, as their keys are those of the services.
func (p *pair) moveEvents(m *move, g keyRange) {
	p.exec(`UPDATE event_ids SET user_id = $2 WHERE (channel, account, event_id) IN (SELECT channel, account, event_id FROM events WHERE user_id = $1 AND message_id > $3 AND message_id <= $4`+g.of("events", 5)+`)`,
		g.args(m.From, m.Into, g.after[0], g.through[0])...)
	args := g.args(g.after[0], g.through[0])
	become := fmt.Sprintf(`message_id + $%d`, len(args)+2) + strings.TrimPrefix(eventRest, `message_id`)
	p.handAs(handing{"events", eventRest, become, ` AND message_id > $2 AND message_id <= $3` + g.of("events", 4)}, m.From, m.Into, args, m.plan.Message)
}

// cleanings lists the tables in the order in which they are emptied: a table that refers to others comes before these.
func cleanings() (out []copying) {
	left := slices.DeleteFunc(Tables(), func(t Table) bool { return t.Key == "" || t.Shared })
	for len(left) > 0 {
		n := len(left) - 1
		referenced := func(o Table) bool { return slices.Contains(slices.Collect(maps.Values(o.Refs)), left[n].Name) }
		for n > 0 && slices.ContainsFunc(left, referenced) {
			n--
		}
		c := copying{table: left[n].Name, key: left[n].Key, page: cleanPage}
		c.rows = func(p *pair, m *move, g keyRange) { p.cleanPage(m, c, g) }
		out = append(out, c)
		left = slices.Delete(left, n, n+1)
	}
	return out
}

// cleanPage is how many rows of a table one step removes.
const cleanPage = 500

// cleanRows removes the next page of copied rows.
func (s *Store) cleanRows(ctx context.Context, m move) error {
	if m.Kind == core.MoveSplit {
		return s.cleanSplit(ctx, m)
	}
	return s.paged(ctx, m, cleanings(), renumbering{}, func(p *pair, m *move) {
		m.next(phaseLet)
		p.exec(`DELETE FROM move_positions WHERE user_id = $1`, m.Into)
		p.deleteRows(m.From)
	})
}

// cleanPage removes a page of rows with their terms and vectors.
func (p *pair) cleanPage(m *move, c copying, g keyRange) {
	kind, indexed := map[string]core.DocKind{"messages": core.DocMessage, "summaries": core.DocSummary,
		"items": core.DocItem, "file_pages": core.DocFile}[c.table]
	if indexed {
		p.execAll(p.s.dialect.Terms.DropRange(kind, m.From, 0, int64Of(g.through[0])))
	}
	vectors, embedded := map[string]core.VectorKind{"windows": core.VectorWindow, "items": core.VectorItem,
		"file_pages": core.VectorFile}[c.table]
	if embedded {
		p.dropVectors(vectors, m.From, ` AND id <= $3`, g.through[0])
		p.exec(`DELETE FROM embeddings WHERE user_id = $1 AND kind = $2 AND id <= $3`, m.From, string(vectors), g.through[0])
	}
	columns := strings.Count(c.key, ",") + 1
	p.exec(`DELETE FROM `+c.table+` WHERE user_id = $1 AND (`+c.key+`) <= (`+placeholders(2, columns)+`)`,
		append([]any{m.From}, g.through...)...)
}
