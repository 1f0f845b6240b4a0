package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// addItem adds a memory item, unless an active one states the same.
func (t *tx) addItem(e effect.AddItem) {
	t.refuseGroup()
	i := e.Item
	if i.ID == 0 {
		i.ID = core.ItemID(t.nextID())
	}
	if i.Theme == "" {
		i.Theme = core.DefaultTheme
	}
	if i.CreatedAt.IsZero() {
		i.CreatedAt = e.At
	}
	if t.count(`INSERT INTO items (user_id, id, theme, type, content, tags, digest, source_thread, source_message, status, created_at, updated_at, tainted, history, noted)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'active', $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING`, t.user, i.ID, i.Theme,
		string(i.Type), i.Content, text(i.Tags), e.Digest, i.SourceThread, i.SourceMessage, ms(i.CreatedAt), ms(e.At),
		flag(i.Tainted), text(wordings(i.History)), flag(i.Noted)) > 0 {
		t.countTheme(i.Theme, e.Theme, 1, e.At)
		t.findItem(i.ID, i.Content, e.Embed, e.At)
	}
}

// wordings returns the newest wordings, for storage.
func wordings(all []core.Wording) []core.Wording {
	return append([]core.Wording{}, all[max(0, len(all)-core.MaxWordings):]...)
}

// findItem indexes an item, and requests a vector of config unless that is empty.
func (t *tx) findItem(id core.ItemID, content, config string, at time.Time) {
	t.index(core.DocItem, int64(id), content)
	if config != "" {
		t.embed(core.VectorItem, int64(id), config, at)
		t.enqueue(store.NewJob{User: t.user, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: at, Unique: true})
	}
}

// countTheme adds n to a theme's active items, and creates the theme if need be.
func (t *tx) countTheme(slug string, made core.Theme, n int, at time.Time) {
	t.exec(`INSERT INTO themes (user_id, slug, name, description, active, created_at, updated_at, changed, tainted) VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)
		ON CONFLICT (user_id, slug) DO UPDATE SET active = themes.active + excluded.active, updated_at = excluded.updated_at, changed = excluded.changed`,
		t.user, slug, cmp.Or(made.Name, slug), made.Description, n, ms(at), t.change(), flag(made.Tainted))
}

func (t *tx) archiveItem(e effect.ArchiveItem) {
	i := t.item(e.Item)
	if i.Status == core.ItemArchived {
		return
	}
	t.exec(`UPDATE items SET status = 'archived', updated_at = $3, tainted = tainted | $4 WHERE user_id = $1 AND id = $2`,
		t.user, e.Item, ms(e.At), ended(e.Tainted))
	t.countTheme(i.Theme, core.Theme{}, -1, e.At)
}

func (t *tx) restoreItem(e effect.RestoreItem) {
	if !t.reactivate(e.Item, e.At) {
		t.fail(core.ErrExists)
	}
}

// reactivate makes an archived item active again; false if another states the same.
func (t *tx) reactivate(id core.ItemID, at time.Time) bool {
	i := t.item(id)
	if i.Status == core.ItemActive {
		return true
	}
	if t.count(`UPDATE items SET status = 'active', updated_at = $3, tainted = tainted & 1 WHERE user_id = $1 AND id = $2 AND NOT EXISTS
		(SELECT 1 FROM items o WHERE o.user_id = $1 AND o.digest = items.digest AND o.status = 'active')`, t.user, id, ms(at)) == 0 {
		return false
	}
	t.countTheme(i.Theme, core.Theme{}, 1, at)
	return true
}

// editItem gives an item a new wording, and removes the terms and the vector of the old one.
func (t *tx) editItem(e effect.EditItem) {
	i := t.item(e.Item)
	if i.Content == e.Content {
		return
	}
	history := wordings(append(i.History, core.Wording{Content: i.Content, Until: e.At}))
	t.execOr(core.ErrExists,
		`UPDATE items SET content = $3, digest = $4, history = $5, updated_at = $6 WHERE user_id = $1 AND id = $2 AND NOT EXISTS
		(SELECT 1 FROM items o WHERE o.user_id = $1 AND o.digest = $4 AND o.status = 'active' AND o.id <> items.id)`, t.user, e.Item, e.Content, e.Digest, text(history), ms(e.At))
	t.lose(core.DocItem, core.VectorItem, int64(e.Item))
	t.exec(`DELETE FROM embeddings WHERE user_id = $1 AND kind = 'item' AND id = $2 AND $3 = ''`, t.user, e.Item, e.Embed)
	t.findItem(e.Item, e.Content, e.Embed, e.At)
}

// redactItems deletes the items made from a message.
func (t *tx) redactItems(m core.Message) {
	for _, i := range listOf(t, scanItem, selectItems+
		` WHERE i.user_id = $1 AND i.source_message = $2 AND i.source_message > 0`, t.user, m.ID) {
		t.deleteItem(i, m.SentAt)
	}
}

func (t *tx) deleteItem(i core.Item, at time.Time) {
	t.removed(i.Content)
	for _, w := range i.History {
		t.removed(w.Content)
	}
	t.dropItem(i, at)
	t.redactShown(func(body string) bool { return mentions(body, "id", int64(i.ID)) }, "memory_")
}

// dropItem removes an item with its terms and its vector.
func (t *tx) dropItem(i core.Item, at time.Time) {
	if i.Status == core.ItemActive {
		t.countTheme(i.Theme, core.Theme{}, -1, at)
	}
	t.lose(core.DocItem, core.VectorItem, int64(i.ID))
	t.execEach([]string{`DELETE FROM embeddings WHERE user_id = $1 AND kind = 'item' AND id = $2`,
		`DELETE FROM items WHERE user_id = $1 AND id = $2`}, t.user, i.ID)
}

// selectItems reads items with the state of their vectors.
const selectItems = `SELECT i.user_id, i.id, i.theme, i.type, i.content, i.tags, i.source_thread, i.source_message, i.status, i.created_at, i.updated_at, i.tainted, i.history, i.noted,
	COALESCE((SELECT e.state FROM embeddings e WHERE e.user_id = $1 AND e.kind = 'item' AND e.id = i.id), '') FROM items i`

func scanItem(r scanner) (core.Item, error) {
	var i core.Item
	var history string
	var tainted int64
	err := r.Scan(&i.User, &i.ID, &i.Theme, &i.Type, &i.Content, asJSON(&i.Tags), &i.SourceThread, &i.SourceMessage,
		&i.Status, asTime(&i.CreatedAt), asTime(&i.UpdatedAt), &tainted, &history, &i.Noted, &i.Embedding)
	i.Tainted = tainted&madeTainted != 0
	if err == nil && history != "[]" {
		err = unjson(history, &i.History)
	}
	return i, found(err)
}

// item returns an item of the user.
func (t *tx) item(id core.ItemID) core.Item {
	i, err := itemByID(t, t.user, id)
	t.fail(err)
	return i
}

func itemByID(q reader, user core.UserID, id core.ItemID) (core.Item, error) {
	return scanItem(q.row(selectItems+` WHERE i.user_id = $1 AND i.id = $2`, user, id))
}

// Themes lists themes, those with most active items first.
func (s *Store) Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error) {
	return themesWhere(s.one(ctx), `ORDER BY active DESC, slug LIMIT $2`, user, limit)
}

// themesWhere lists a user's themes; args are the arguments of where, from $2 on.
func themesWhere(q reader, where string, user core.UserID, args ...any) ([]core.Theme, error) {
	scan := fields(func(h *core.Theme) []any {
		return []any{&h.User, &h.Slug, &h.Name, &h.Description, &h.Active, asTime(&h.CreatedAt), asTime(&h.UpdatedAt),
			&h.Tainted}
	})
	return list(q, scan,
		`SELECT user_id, slug, name, description, active, created_at, updated_at, tainted FROM themes WHERE user_id = $1 `+
			where, append([]any{user}, args...)...)
}

// Item returns an item, or ErrNotFound.
func (s *Store) Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error) {
	return itemByID(s.one(ctx), user, id)
}

// SameItem returns the active item of a digest, or ErrNotFound.
func (s *Store) SameItem(ctx context.Context, user core.UserID, digest string) (core.Item, error) {
	return scanItem(s.one(ctx).row(selectItems+` WHERE i.user_id = $1 AND i.digest = $2 AND i.status = 'active'`, user,
		digest))
}

// Items lists items, newest first; see store.MemoryStore.
func (s *Store) Items(ctx context.Context, q store.ItemQuery) ([]core.Item, error) {
	where, args := itemFilter(q)
	if len(q.IDs) == 0 {
		return list(s.one(ctx), scanItem, selectItems+where+fmt.Sprintf(
			` ORDER BY i.created_at DESC, i.id DESC LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2), append(args, q.Limit, q.Skip)...)
	}
	var out []core.Item
	err := s.view(ctx, "read items", func(r querier) (err error) {
		for id := range until(&err, q.IDs) {
			err = addTo(&out, r, scanItem, selectItems+where+fmt.Sprintf(` AND i.id = $%d`, len(args)+1),
				append(slices.Clone(args), id)...)
		}
		return err
	})
	slices.SortFunc(out, func(a, b core.Item) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), q.Limit)], err
}

// itemFilter returns the conditions of a query and their arguments.
func itemFilter(q store.ItemQuery) (where string, args []any) {
	args = []any{q.User}
	where = ` WHERE i.user_id = $1`
	add := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		where += " AND " + condition
	}
	if q.Theme != "" {
		add(`i.theme = ?`, q.Theme)
	}
	if q.Status != "" {
		add(`i.status = ?`, string(q.Status))
	}
	if !q.Since.IsZero() {
		add(`i.created_at >= ?`, ms(q.Since))
	}
	if len(q.Types) > 0 {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(q.Types)), ", ")
		var types []any
		for _, x := range q.Types {
			types = append(types, string(x))
		}
		add(`i.type IN (`+marks+`)`, types...)
	}
	return where, args
}

// NewID reserves an id for an object that an effect will create.
func (s *Store) NewID(ctx context.Context, user core.UserID) (int64, error) {
	var id int64
	err := s.update(ctx, "reserve an id", user, func(t *tx) { id = t.nextID() })
	return id, err
}

// openLoop opens a loop with the date of the newest message that it rests on.
func (t *tx) openLoop(e effect.OpenLoop) {
	id := e.Loop.ID
	if id == 0 {
		id = core.LoopID(t.nextID())
	}
	opened := t.newestOf(e.Loop.Sources, e.At)
	t.exec(`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at, changed, tainted, due_at) VALUES ($1, $2, $3, 'open', $4, $5, $5, $6, $7, $8) ON CONFLICT (user_id, id) DO NOTHING`,
		t.user, id, e.Loop.Text, text(e.Loop.Sources), ms(opened), t.change(), flag(e.Loop.Tainted), ms(e.Loop.Due))
}

// newestOf returns the time of the newest of the messages; now if there is none.
func (t *tx) newestOf(ids []core.MessageID, now time.Time) time.Time {
	newest := int64(0)
	for _, r := range core.NewIDSet(ids...).Ranges() {
		sent := valueOf[int64](t, `SELECT COALESCE(MAX(sent_at), 0) FROM messages WHERE user_id = $1 AND id BETWEEN $2 AND $3`, t.user, r[0], r[1])
		newest = max(newest, sent)
	}
	if newest == 0 || newest > ms(now) {
		return now
	}
	return at(newest)
}

func (t *tx) mentionLoop(id core.LoopID, at time.Time) {
	t.exec(
		`UPDATE loops SET mentioned_at = $3 WHERE user_id = $1 AND id = $2 AND state = 'open' AND mentioned_at < $3`, t.user,
		id, ms(at))
}

// Bits of the columns tainted.
const (
	madeTainted  = 1 // derived from words that the person did not write
	endedTainted = 2 // ended by a tainted turn
)

// ended returns the tainted bit of something that ends.
func ended(tainted bool) int64 { return flag(tainted) * endedTainted }

// undoable finds changes by tainted turns: objects that still exist after their creation, and
// objects that are still ended.
const undoable = `SELECT kind, body, ended FROM (
	SELECT 'item' AS kind, content AS body, status <> 'active' AS ended, tainted FROM items WHERE user_id = $1 AND id = $2
	UNION ALL SELECT 'loop', body, state <> 'open', tainted FROM loops WHERE user_id = $1 AND id = $2
	UNION ALL SELECT 'reminder', body, state <> 'active', tainted FROM plans WHERE user_id = $1 AND id = $2 AND kind = 'reminder' AND (state = 'active' OR state = 'cancelled' AND (cron <> '' OR due_at > $3))) AS things
	WHERE NOT ended AND (tainted & 1) <> 0 OR ended AND (tainted & 2) <> 0`

func undoableOf(q reader, user core.UserID, id int64, now time.Time) (effect.Undoable, error) {
	x := effect.Undoable{ID: id}
	return x, found(q.row(undoable, user, id, ms(now)).Scan(&x.Kind, &x.Text, &x.Ended))
}

// Undoable returns the change that Undo would revert; see store.PlanStore.
func (s *Store) Undoable(ctx context.Context, user core.UserID, id int64, now time.Time) (effect.Undoable, error) {
	return undoableOf(s.one(ctx), user, id, now)
}

// undo reverts a change.
func (t *tx) undo(e effect.Undo) {
	x, err := undoableOf(t, t.user, e.X.ID, e.At)
	if err != nil || x.Kind != e.X.Kind || x.Ended != e.X.Ended {
		t.fail(core.ErrRefused)
	}
	switch {
	case x.Kind == effect.UndoItem && x.Ended:
		t.reactivate(core.ItemID(x.ID), e.At)
	case x.Kind == effect.UndoItem:
		t.archiveItem(effect.ArchiveItem{Item: core.ItemID(x.ID), At: e.At})
	case x.Kind == effect.UndoLoop && x.Ended:
		t.exec(`UPDATE loops SET state = 'open', mentioned_at = $3, changed = $4, tainted = tainted & 1 WHERE user_id = $1 AND id = $2`, t.user, x.ID, ms(e.At), t.change())
	case x.Kind == effect.UndoLoop:
		t.closeLoop(effect.CloseLoop{Loop: core.LoopID(x.ID), At: e.At})
	case x.Ended:
		t.exec(`UPDATE plans SET state = 'active', tainted = tainted & 1 WHERE user_id = $1 AND id = $2`, t.user, x.ID)
	default:
		t.cancelPlan(effect.CancelPlan{Plan: core.PlanID(x.ID), At: e.At})
	}
}
