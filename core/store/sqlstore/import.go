package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// importing is the import of a batch.
type importing struct {
	*tx
	b      store.ImportBatch
	thread core.ThreadID
	mode   core.Mode
	last   int64 // last position of the thread
	epoch  int64 // start of the current epoch; 0: none
	fresh  []incoming
	days   map[string]*importedDay
	opened int
	taken  store.Taken
}

// incoming is a new message of the batch.
type incoming struct {
	store.ImportMessage
	index    int // in the batch
	id       core.MessageID
	position int64
	segment  core.SegmentID
	terms    []string
}

// wanted returns the preferred position of a message.
func (m incoming) wanted() int64 {
	if m.Place > 0 {
		return m.Place
	}
	return m.SentAt.UnixMicro()
}

// PrepareImport finds the terms of new messages of a batch; see store.ImportStore.
func (s *Store) PrepareImport(ctx context.Context, b *store.ImportBatch) error {
	var known map[string]core.MessageID
	err := s.view(ctx, "prepare import", func(q querier) (err error) {
		known, err = knownKeys(q, b.User, b.Messages)
		return err
	})
	if err == nil {
		b.Terms = s.analyzedAll(*b, known)
	}
	return err
}

// Import stores messages of an archive; see store.ImportStore. It analyzes them before it locks the user's row.
func (s *Store) Import(ctx context.Context, b store.ImportBatch) (store.Imported, error) {
	if len(b.Terms) != len(b.Messages) {
		b.Terms = s.analyzedAll(b, nil)
	}
	var out store.Imported
	err := s.update(ctx, "import", b.User, func(t *tx) {
		in := &importing{tx: t, b: b, days: map[string]*importedDay{}, taken: b.Taken}
		out = store.Imported{Messages: make([]core.MessageID, len(b.Messages)), Taken: b.Taken}
		in.admit(&out)
		if len(in.fresh) == 0 {
			return
		}
		in.findThread()
		in.place()
		in.findDays()
		in.number()
		in.store()
		in.closeDays()
		in.updateThread()
		in.indexAll()
		for _, m := range in.fresh {
			out.Messages[m.index] = m.id
		}
		out.Fresh, out.Days, out.Taken = len(in.fresh), in.opened, in.taken
	})
	return out, err
}

// analyzedAll returns the terms of the searchable messages of a batch, except known ones.
func (s *Store) analyzedAll(b store.ImportBatch, known map[string]core.MessageID) [][]string {
	out := make([][]string, len(b.Messages))
	if s.analyze == nil || b.Thread != nil {
		return out
	}
	for i, m := range b.Messages {
		if _, ok := known[m.Key]; ok {
			continue
		}
		if m.Kind == core.KindChat && m.Text != "" && !m.Redacted && (m.Role != core.RoleTool || m.Outside) {
			out[i] = s.analyzed(m.Text)
		}
	}
	return out
}

// admit collects the new messages in the order of time, and sets the ids of the others.
func (in *importing) admit(out *store.Imported) {
	known, err := knownKeys(in, in.user, in.b.Messages)
	if err != nil {
		in.fail(err)
		return
	}
	own := in.own()
	for i, m := range in.b.Messages {
		if id, ok := known[m.Key]; ok {
			out.Messages[i] = id
			continue
		}
		if own[m.Was] == sameness(m.SentAt, m.Role, m.Kind) {
			out.Messages[i] = m.Was
			continue
		}
		known[m.Key] = 0
		in.fresh = append(in.fresh, incoming{ImportMessage: m, index: i, terms: in.b.Terms[i]})
	}
	slices.SortStableFunc(in.fresh, func(a, b incoming) int { return cmp.Compare(a.wanted(), b.wanted()) })
}

// knownKeys returns the keys that were imported before, with their messages. Each is looked up
// separately, so that the index is used whatever the planner's statistics.
func knownKeys(q reader, user core.UserID, ms []store.ImportMessage) (map[string]core.MessageID, error) {
	out, marks := make(map[string]core.MessageID, len(ms)), make([]string, 200)
	for i := range marks {
		marks[i] = `(` + placeholders(2+i, 1) + `)`
	}
	for page := range slices.Chunk(ms, 200) {
		args := []any{user}
		for _, m := range page {
			args = append(args, m.Key)
		}
		for len(args) < 201 { // one statement, prepared once
			args = append(args, page[0].Key)
		}
		type known struct {
			key string
			id  core.MessageID
		}
		all, err := list(q, fields(func(k *known) []any { return []any{&k.key, &k.id} }), `WITH given (key) AS (VALUES `+
			strings.Join(marks, ", ")+`)
			SELECT given.key, COALESCE((SELECT i.message_id FROM imported i WHERE i.user_id = $1 AND i.key = given.key), -1) FROM given`, args...)
		if err != nil {
			return nil, err
		}
		for _, k := range all {
			if k.id >= 0 {
				out[k.key] = k.id
			}
		}
	}
	return out, nil
}

// own reads the messages here that have the ids of exported ones, to recognise them.
func (in *importing) own() map[core.MessageID]string {
	out := map[core.MessageID]string{}
	var ids []core.MessageID
	for _, m := range in.b.Messages {
		if m.Was > 0 {
			ids = append(ids, m.Was)
		}
	}
	scan := fields(func(m *core.Message) []any { return []any{&m.ID, asTime(&m.SentAt), &m.Role, &m.Kind} })
	for _, r := range core.NewIDSet(ids...).Ranges() {
		here := listOf(in, scan, `SELECT id, sent_at, role, kind FROM messages WHERE user_id = $1 AND id BETWEEN $2 AND $3`,
			in.user, r[0], r[1])
		for _, m := range here {
			out[m.ID] = sameness(m.SentAt, m.Role, m.Kind)
		}
	}
	return out
}

func sameness(sent time.Time, role core.Role, kind core.MessageKind) string {
	return strconv.FormatInt(sent.UnixMilli(), 10) + " " + string(role) + " " + string(kind)
}

// findThread reads the thread and its state, and creates a plain one if need be. It fails with
// core.ErrChanged if messages would be placed within a running turn.
func (in *importing) findThread() {
	if in.b.Thread != nil {
		in.plainThread()
		return
	}
	var data string
	in.getOr(core.ErrNotFound, columns{&in.thread, &in.mode, &in.last, &data}, `SELECT h.id, h.mode, `+lastPosition+`, COALESCE(e.data, '') FROM threads h LEFT JOIN epochs e ON e.user_id = $1 AND e.id = h.epoch_id
		WHERE h.user_id = $1 AND h.mode = 'continuous'`, in.user)
	if data != "" {
		var e store.Epoch
		in.fail(unjson(data, &e))
		in.epoch = e.Start
	}
	started := valueOf[int64](in, `SELECT COALESCE(MIN(started_at), 0) FROM turns WHERE user_id = $1 AND thread_id = $2 AND state = 'running'`,
		in.user, in.thread)
	if started > 0 && in.fresh[len(in.fresh)-1].wanted() >= started*1000 {
		in.fail(core.ErrChanged)
	}
}

func (in *importing) plainThread() {
	h := in.b.Thread
	in.mode = core.ModeThread
	if in.find(columns{&in.thread, &in.last}, `SELECT h.id, `+lastPosition+` FROM threads h WHERE h.user_id = $1 AND h.name = $2 AND h.name <> ''`,
		in.user, h.Name) {
		return
	}
	in.thread = core.ThreadID(in.nextID())
	in.exec(
		`INSERT INTO threads (user_id, id, mode, title, name, created_at) VALUES ($1, $2, 'thread', $3, $4, $5)`, in.user, in.thread, h.Title, h.Name, ms(in.fresh[0].SentAt))
}

// number assigns the messages their ids, in the order of time.
func (in *importing) number() {
	for i := range in.fresh {
		m := &in.fresh[i]
		m.id = in.nextMessage()
		if d := in.days[m.Day.Label]; d != nil {
			m.segment = d.id
			d.last = m.id
		}
	}
}

// importedColumns are the columns of an imported message.
const importedColumns = `user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, revision, redacted, covered`

// store stores the messages, their keys and their revisions.
func (in *importing) store() {
	messages, keys := make([][]any, 0, len(in.fresh)), make([][]any, 0, len(in.fresh))
	for _, m := range in.fresh {
		messages = append(messages, in.columns(m))
		keys = append(keys, []any{int64(in.user), m.Key, int64(m.id)})
		for n, r := range m.Revisions {
			in.exec(
				`INSERT INTO revisions (user_id, message_id, revision, body, replaced_at) VALUES ($1, $2, $3, $4, $5)`, in.user,
				m.id, n, r.Text, ms(r.ReplacedAt))
		}
	}
	in.insertAll("messages", importedColumns, messages)
	for _, m := range in.fresh {
		for part, a := range m.Attachments {
			in.readLater(m.id, part, a, in.b.Now)
		}
	}
	in.insertAll("imported", `user_id, key, message_id`, keys)
}

// columns returns the row of a message.
func (in *importing) columns(m incoming) []any {
	x := "{}"
	if e := (extra{Calls: m.ToolCalls, CallID: m.ToolCallID, Tool: m.ToolName, Files: m.Attachments, Quote: m.Quote,
		Forwarded: m.ForwardedFrom, Outside: m.Outside, Tainted: m.Tainted, Task: m.Task, Own: m.Own,
		Early: m.Unfinished}); !e.empty() {
		x = text(e)
	}
	shown := m.position
	if shown == 0 {
		shown = m.wanted()
	}
	d := in.days[m.Day.Label]
	return []any{int64(in.user), int64(m.id), int64(in.thread), int64(m.segment), 0, 0, m.Channel, string(m.Role),
		string(m.Kind), m.Text, m.Tokens, x, m.position, shown, ms(m.SentAt), 0, len(m.Revisions), flag(m.Redacted),
		flag(d != nil && d.over && m.Kind == core.KindChat)}
}

// atOnce is how many rows one statement inserts.
const atOnce = 50

// insertAll inserts rows into a table, many at once.
func (t *transaction) insertAll(table, columns string, all [][]any) {
	if t.s.dialect.Copy != nil {
		t.copyAll(table, strings.Split(columns, ", "), all)
		return
	}
	insert := `INSERT INTO ` + table + ` (` + columns + `) VALUES `
	for page := range slices.Chunk(all, atOnce) {
		if len(page) < atOnce {
			for _, r := range page {
				t.exec(insert+`(`+placeholders(1, len(r))+`)`, r...)
			}
			return
		}
		rows := make([]string, len(page))
		for i, r := range page {
			rows[i] = `(` + placeholders(1+i*len(r), len(r)) + `)`
		}
		t.exec(insert+strings.Join(rows, ", "), slices.Concat(page...)...)
	}
}

// copyAll streams rows to the database.
func (t *transaction) copyAll(table string, columns []string, all [][]any) {
	if t.send(); t.err != nil {
		return
	}
	for _, r := range all {
		clean(r)
	}
	t.fail(t.s.dialect.Copy(t.ctx, t.conn, table, columns, all))
}

// indexAll adds the messages to the full-text index if it is up to date; otherwise Index does later.
func (in *importing) indexAll() {
	if in.s.analyze == nil {
		return
	}
	var through int64
	var version string
	in.get(columns{&through, &version}, `SELECT indexed, index_version FROM users WHERE id = $1`, in.user)
	if before := int64(in.fresh[0].id) - 1; through != before || before > 0 && version != in.s.analyze.Version() {
		return
	}
	docs := make([]TermDoc, 0, len(in.fresh))
	for _, m := range in.fresh {
		if m.terms != nil {
			docs = append(docs, TermDoc{int64(m.id), m.terms})
		}
	}
	in.execAll(in.s.dialect.Terms.PutAll(core.DocMessage, in.user, docs)...)
	in.added, in.unindexed = false, false
	in.exec(`UPDATE users SET indexed = $2, index_version = $3, unindexed = 0 WHERE id = $1`, in.user, in.lastMessage,
		in.s.analyze.Version())
}
