package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// windowed is the condition of messages that windows are made of.
const windowed = `kind = 'chat' AND redacted = 0 AND body <> '' AND role <> 'tool'`

// Unwindowed returns a day with messages outside windows; see store.IndexStore. If the day
// turns out to have nothing new, PutWindows unmarks it.
func (s *Store) Unwindowed(ctx context.Context, user core.UserID, limit int) (out store.Unwindowed, err error) {
	err = s.view(ctx, "read unwindowed", func(q querier) error {
		var state core.SegmentState
		err := q.row(`SELECT id, windowed, state FROM segments WHERE user_id = $1 AND unwindowed = 1 ORDER BY id LIMIT 1`,
			user).Scan(&out.Segment, &out.Through, &state)
		if err != nil {
			return found(err)
		}
		out.Messages, err = list(q, scanMessage, `SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND id >= $3 AND `+windowed+`
			ORDER BY id LIMIT $4`, user, out.Segment, out.Through, limit)
		if len(out.Messages) == 1 && out.Messages[0].ID == out.Through {
			out.Messages = nil // it is in a window already
		}
		out.Closed = state == core.SegmentFinal && len(out.Messages) < limit
		return err
	})
	return out, err
}

// PutWindows stores windows of a day; see store.IndexStore.
func (s *Store) PutWindows(ctx context.Context, p store.PutWindows) error {
	return s.transact(ctx, "put windows", tx{user: p.User}, func(t *tx) {
		left := t.unread(p)
		for _, w := range p.Windows {
			id := t.nextID()
			t.exec(`INSERT INTO windows (user_id, id, segment_id, first_message, last_message, tokens) VALUES ($1, $2, $3, $4, $5, $6)`,
				t.user, id, p.Segment, w.First, w.Last, w.Tokens)
			t.embed(core.VectorWindow, id, p.Config, p.Now)
		}
		// A day that has ended since it was read must still be cut to its end.
		t.exec(`UPDATE segments SET windowed = CASE WHEN $3 > windowed THEN $3 ELSE windowed END,
			unwindowed = CASE WHEN state = 'final' AND $5 = 0 THEN 1 ELSE $4 END WHERE user_id = $1 AND id = $2`, t.user, p.Segment, p.Through, flag(left), flag(p.Closed))
	})
}

// unread reports whether a day has messages after those that were read. It fails with
// core.ErrChanged if the read ones have changed.
func (t *tx) unread(p store.PutWindows) (left bool) {
	if t.merging {
		t.fail(core.ErrChanged)
		return false
	}
	if len(p.Read) == 0 {
		return false
	}
	first, last := p.Read[0].ID, p.Read[len(p.Read)-1].ID
	now := listOf(t, fields(func(m *core.Message) []any { return []any{&m.ID, &m.Revision} }),
		`SELECT id, revision FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND id >= $3 AND `+
			windowed+`
		ORDER BY id LIMIT $4`, t.user, p.Segment, first, len(p.Read)+1)
	for i, m := range p.Read {
		if i >= len(now) || now[i].ID != m.ID || now[i].Revision != m.Revision {
			t.fail(core.ErrChanged)
			return false
		}
	}
	// More arrived meanwhile, or some of those read must be read again.
	return len(now) > len(p.Read) || p.Through > 0 && p.Through < last && len(p.Windows) > 0
}

// embed requests a vector.
func (t *tx) embed(kind core.VectorKind, id int64, config string, now time.Time) {
	t.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, updated_at) VALUES ($1, $2, $3, $4, 'pending', $5)`+
		pendingAgain, t.user, string(kind), id, config, ms(now))
}

// pendingAgain makes a new row of embeddings replace the earlier one.
const pendingAgain = `
	ON CONFLICT (user_id, kind, id) DO UPDATE SET config = excluded.config, state = 'pending', error = '', revision = embeddings.revision + 1, updated_at = excluded.updated_at`

// PendingEmbeddings returns texts that wait for a vector; see store.IndexStore.
func (s *Store) PendingEmbeddings(ctx context.Context, user core.UserID, config string,
	limit int) ([]store.Embeddable, error) {
	var out []store.Embeddable
	scan := fields(func(e *store.Embeddable) []any { return []any{&e.Kind, &e.ID, &e.Revision} })
	err := s.view(ctx, "pending embeddings", func(q querier) (err error) {
		out, err = list(q, scan,
			`SELECT kind, id, revision FROM embeddings WHERE user_id = $1 AND state = 'pending' ORDER BY kind, id LIMIT $2`,
			user, limit)
		for i := range out {
			if err == nil {
				err = readText(q, user, &out[i])
			}
		}
		return err
	})
	return out, err
}

// readText reads the text to embed.
func readText(q querier, user core.UserID, e *store.Embeddable) (err error) {
	if e.Kind == core.VectorItem {
		return found(q.row(`SELECT content FROM items WHERE user_id = $1 AND id = $2`, user, e.ID).Scan(&e.Text))
	}
	if e.Kind == core.VectorFile {
		var name, title, body string
		err := q.row(`SELECT name, title, substr(body, 1, 6000) FROM file_pages WHERE user_id = $1 AND id = $2`, user,
			e.ID).Scan(&name, &title, &body)
		e.Text = shownAs(name, title, body)
		return found(err)
	}
	e.Messages, err = list(q, scanMessage, `SELECT `+prefixed("m", messageColumns)+
		` FROM windows w JOIN messages m ON m.user_id = $1 AND m.segment_id = w.segment_id
		AND m.id BETWEEN w.first_message AND w.last_message WHERE w.user_id = $1 AND w.id = $2 AND m.segment_id > 0 AND m.kind = 'chat'
		AND m.redacted = 0 AND m.body <> '' AND m.role <> 'tool' ORDER BY m.id`, user, e.ID)
	return err
}

// PutVectors stores vectors; see store.IndexStore.
func (s *Store) PutVectors(ctx context.Context, user core.UserID, config string, vectors []store.EmbeddingResult,
	now time.Time) error {
	return s.transact(ctx, "put vectors", tx{user: user}, func(t *tx) {
		for _, v := range vectors {
			t.putVector(v, config, now)
		}
	})
}

func (t *tx) putVector(v store.EmbeddingResult, config string, now time.Time) {
	state := core.EmbeddingReady
	if v.Error != "" {
		state, config = core.EmbeddingError, cmp.Or(v.Tried, config)
	} else if len(v.Vector) != core.VectorSize {
		t.fail(fmt.Errorf("a vector has %d values, not %d", len(v.Vector), core.VectorSize))
		return
	}
	if t.count(`UPDATE embeddings SET state = $5, error = $6, config = $7, updated_at = $8 WHERE user_id = $1 AND kind = $2 AND id = $3 AND revision = $4 AND state = 'pending'`,
		t.user, string(v.Kind), v.ID, v.Revision, string(state), v.Error, config, ms(now)) == 0 {
		return
	}
	if v.Kind == core.VectorWindow {
		t.putPassages(v)
	}
	if v.Error != "" {
		t.execAll(t.s.dialect.Vector.Drop(v.Kind, t.user, v.ID)...)
	} else {
		t.execAll(t.s.dialect.Vector.Put(v.Kind, t.user, v.ID, v.Vector)...)
	}
}

// putPassages stores the passages of a window.
func (t *tx) putPassages(v store.EmbeddingResult) {
	var first core.MessageID
	t.getOr(core.ErrNotFound, &first, `SELECT first_message FROM windows WHERE user_id = $1 AND id = $2`, t.user, v.ID)
	t.exec(`UPDATE windows SET passages = $3 WHERE user_id = $1 AND id = $2`, t.user, v.ID, append([]byte{}, store.PackPassages(first, v.Passages)...))
}

// Reembed marks all texts of a user as pending; see store.IndexStore.
func (s *Store) Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error) {
	total := 0
	err := s.updateLong(ctx, "reembed", user, func(t *tx) {
		t.get(&total, `SELECT (SELECT COUNT(*) FROM windows WHERE user_id = $1) + (SELECT COUNT(*) FROM items WHERE user_id = $1) + (SELECT COUNT(*) FROM file_pages WHERE user_id = $1)`,
			user)
		if dry {
			return
		}
		for kind, table := range map[core.VectorKind]string{core.VectorWindow: "windows", core.VectorItem: "items",
			core.VectorFile: "file_pages"} {
			t.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, updated_at) SELECT user_id, $2, id, $3, 'pending', $4 FROM `+
				table+` WHERE user_id = $1`+pendingAgain, user, string(kind), config, ms(now))
		}
	})
	return total, err
}

// EmbeddingCounts counts a user's embeddings; see store.IndexStore.
func (s *Store) EmbeddingCounts(ctx context.Context, user core.UserID, config string) (map[string]int, error) {
	type state struct {
		name string
		n    int
	}
	out := map[string]int{}
	all, err := list(s.one(ctx), fields(func(c *state) []any { return []any{&c.name, &c.n} }),
		`SELECT CASE WHEN state = 'ready' AND config <> $2 THEN 'stale' ELSE state END AS what, COUNT(*) FROM embeddings WHERE user_id = $1 GROUP BY what`, user, config)
	for _, c := range all {
		out[c.name] = c.n
	}
	return out, wrap("count embeddings", err)
}

// ownEmbeddings is the condition of the index users_own.
const ownEmbeddings = `u.settings LIKE '%"embeddings":{%'`

// forAll prefixes the fingerprint in rows that FailEmbeddings marked.
const forAll = "!"

// FailEmbeddings marks pending texts as failed; see store.IndexStore.
func (s *Store) FailEmbeddings(ctx context.Context, user core.UserID, tried, reason string, now time.Time) error {
	return s.updateLong(ctx, "fail embeddings", user, func(t *tx) {
		t.exec(`UPDATE embeddings SET state = 'error', error = $2, config = $3, updated_at = $4 WHERE user_id = $1 AND state = 'pending'`, user, reason, forAll+tried, ms(now))
	})
}

// RetryEmbeddings makes failed texts pending again; see store.IndexStore.
func (s *Store) RetryEmbeddings(ctx context.Context, user core.UserID, tried string, now time.Time) error {
	var some bool
	err := s.one(ctx).row(
		`SELECT EXISTS (SELECT 1 FROM embeddings WHERE user_id = $1 AND state = 'error' AND config <> $2)`, user, tried).Scan(&some)
	if err != nil || !some {
		return wrap("look for errors of embeddings", err)
	}
	return s.updateLong(ctx, "retry embeddings", user, func(t *tx) {
		t.exec(`UPDATE embeddings SET state = 'pending', error = '', updated_at = $3 WHERE user_id = $1 AND state = 'error' AND config <> $2`, user, tried, ms(now))
	})
}

// EmbeddingFaults lists why texts have no vectors; see store.IndexStore.
func (s *Store) EmbeddingFaults(ctx context.Context, user core.UserID) ([]store.EmbeddingFault, error) {
	where, args := `user_id = $1`, []any{user}
	if user == 0 {
		where, args = `user_id > 0`, nil
	}
	out, err := list(s.one(ctx), fields(func(f *store.EmbeddingFault) []any { return []any{&f.Reason, &f.Count} }),
		`SELECT error, COUNT(*) FROM embeddings WHERE `+where+
			` AND state = 'error' GROUP BY error ORDER BY COUNT(*) DESC, error LIMIT 5`, args...)
	return out, wrap("read errors of embeddings", err)
}

// EmbeddingDue lists users with messages outside windows or pending texts, but no job for them; see store.IndexStore. A
// job that waits after a failure keeps its time, unless the fingerprint has changed.
func (s *Store) EmbeddingDue(ctx context.Context, after core.UserID, own bool, tried string,
	limit int) ([]core.UserID, error) {
	whose, failed := ``, ``
	args := []any{after, limit, core.EmbedKey}
	if own {
		whose = ` AND ` + ownEmbeddings
	}
	if tried != "" {
		failed = ` OR EXISTS (SELECT 1 FROM embeddings e WHERE e.user_id = u.id AND e.state = 'error' AND e.config <> $4 AND e.config <> $5)`
		args = append(args, tried, forAll+tried)
	}
	return list(s.one(ctx), column[core.UserID], `SELECT u.id FROM users u WHERE u.id > $1 AND u.id > 0`+whose+
		` AND u.merging = 0 AND ((EXISTS (SELECT 1 FROM segments g WHERE g.user_id = u.id AND g.unwindowed = 1)
		OR EXISTS (SELECT 1 FROM embeddings e WHERE e.user_id = u.id AND e.state = 'pending'))
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.user_id = u.id AND j.key = $3 AND j.state IN ('ready', 'running'))`+
		failed+`) ORDER BY u.id LIMIT $2`, args...)
}

// Nearest returns the nearest vectors; see store.RecallStore.
func (s *Store) Nearest(ctx context.Context, n store.NearestQuery) ([]store.Neighbour, error) {
	st := s.dialect.Vector.Nearest(n)
	out, err := list(s.one(ctx), fields(func(n *store.Neighbour) []any { return []any{&n.ID, &n.Distance} }), st.Query,
		st.Args...)
	return out, wrap("nearest vectors", err)
}

// Windows returns windows by their ids.
func (s *Store) Windows(ctx context.Context, user core.UserID, ids []core.WindowID) ([]store.TextWindow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{user}
	for _, id := range ids {
		args = append(args, id)
	}
	out, err := list(s.one(ctx), scanWindow,
		`SELECT user_id, id, segment_id, first_message, last_message, tokens, passages FROM windows
		WHERE user_id = $1 AND id IN (`+placeholders(2, len(ids))+`) ORDER BY id`, args...)
	return out, wrap("read windows", err)
}

func scanWindow(r scanner) (w store.TextWindow, err error) {
	var packed []byte
	if err = r.Scan(&w.User, &w.ID, &w.Segment, &w.First, &w.Last, &w.Tokens, &packed); err == nil {
		w.Passages, err = store.UnpackPassages(w.First, packed)
	}
	return w, err
}

// reembedMessage makes the windows of a message pending again.
func (t *tx) reembedMessage(m core.Message) {
	if m.Segment == 0 {
		return
	}
	ids := listOf(t, column[int64],
		`SELECT id FROM windows WHERE user_id = $1 AND segment_id = $2 AND first_message <= $3 AND last_message >= $3`,
		t.user, m.Segment, m.ID)
	for _, id := range ids {
		t.execAll(append([]Statement{
			{Query: `UPDATE embeddings SET state = 'pending', error = '', revision = revision + 1 WHERE user_id = $1 AND kind = 'window' AND id = $2`,
				Args: []any{t.user, id}},
			{Query: `UPDATE windows SET passages = $3 WHERE user_id = $1 AND id = $2`, Args: []any{t.user, id, []byte{}}},
		}, t.s.dialect.Vector.Drop(core.VectorWindow, t.user, id)...)...)
	}
}
