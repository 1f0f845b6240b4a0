package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

const pageColumns = `p.user_id, p.id, p.thread_id, p.segment_id, p.first, p.last, p.messages, p.original, p.tier, p.stale, p.sizes`

// pageSizes is the part of a page that is stored as JSON, besides its texts.
type pageSizes struct {
	First core.MessageID                    `json:"first"`
	Last  core.MessageID                    `json:"last"`
	Forms [store.MaxTier + 1]store.PageForm `json:"forms"`
}

// pageWith scans pageColumns and more columns of a row.
func pageWith(r scanner, more ...any) (p store.Page, err error) {
	var stored string
	err = r.Scan(append([]any{&p.User, &p.ID, &p.Thread, &p.Segment, &p.Start, &p.End, &p.Messages, &p.Original, &p.Tier,
		&p.Stale, &stored}, more...)...)
	if err != nil {
		return p, err
	}
	var sizes pageSizes
	err = unjson(stored, &sizes)
	p.First, p.Last, p.Forms = sizes.First, sizes.Last, sizes.Forms
	return p, err
}

// Pages lists a thread's pages and the sizes of their forms; see store.PageStore.
func (s *Store) Pages(ctx context.Context, user core.UserID, thread core.ThreadID) (out store.PageList, err error) {
	err = s.view(ctx, "read pages", func(q querier) error {
		var w store.Window
		if err := s.readThread(q, &core.Turn{User: user, Thread: thread}, &w); err != nil {
			return err
		}
		out = store.PageList{Edits: w.Edits, Head: headTokens(w.Epoch)}
		return addTo(&out.Pages, q, func(r scanner) (store.Page, error) { return pageWith(r) },
			`SELECT `+pageColumns+` FROM pages p WHERE p.user_id = $1 AND p.thread_id = $2 ORDER BY p.last`, user, thread)
	})
	return out, err
}

// headTokens returns the tokens of an epoch's head, without its pages.
func headTokens(e *store.Epoch) (n int) {
	if e == nil {
		return 0
	}
	for _, h := range e.Head {
		if len(h.Pages) == 0 {
			n += h.Tokens
		}
	}
	return n
}

// pagesOf reads forms of pages with their texts, without those that no longer exist.
func pagesOf(q querier, user core.UserID, refs []store.PageRef) ([]store.Page, error) {
	const chunk = 100
	var all []store.Page
	for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
		var ids []any
		for _, r := range refs {
			if r.Tier == tier {
				ids = append(ids, int64(r.Page))
			}
		}
		for some := range slices.Chunk(ids, chunk) {
			for len(some) < chunk { // one statement for all, prepared once
				some = append(some[:len(some):len(some)], some[0])
			}
			if err := addTo(&all, q, scanForm, `SELECT `+pageColumns+
				`, f.body, f.tier FROM page_forms f JOIN pages p ON p.user_id = $1 AND p.id = f.page_id
				WHERE f.user_id = $1 AND f.tier = $2 AND f.page_id IN (`+placeholders(3, chunk)+`)`, append([]any{user, tier}, some...)...); err != nil {
				return nil, err
			}
		}
	}
	found := make(map[store.PageRef]store.Page, len(refs))
	for _, p := range all {
		found[store.PageRef{Page: p.ID, Tier: p.Tier}] = p
	}
	out := make([]store.Page, 0, len(refs))
	for _, r := range refs {
		if p, ok := found[r]; ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// scanForm scans a page with one form and its text; Tier is the tier of that form.
func scanForm(r scanner) (store.Page, error) {
	var body string
	var tier store.Tier
	p, err := pageWith(r, &body, &tier)
	p.Tier = tier
	form := p.Forms[tier]
	form.Text = body
	p.Forms = [store.MaxTier + 1]store.PageForm{}
	p.Forms[tier] = form
	return p, err
}

// PageTexts returns forms of pages with their texts; see store.PageStore.
func (s *Store) PageTexts(ctx context.Context, user core.UserID, refs []store.PageRef) (out []store.Page, err error) {
	err = s.view(ctx, "read pages", func(q querier) error {
		out, err = pagesOf(q, user, refs)
		return err
	})
	return out, err
}

// newestPages reads the newest pages of a thread in their current forms, until they hold tokens
// tokens, and returns the position after the last page.
func newestPages(q querier, turn *core.Turn, tokens int, w *store.Window) (after int64, err error) {
	before, held := int64(1)<<62, 0
	for held < tokens {
		got, err := list(q, scanForm, `SELECT `+pageColumns+`, COALESCE(f.body, ''), p.tier
			FROM pages p LEFT JOIN page_forms f ON f.user_id = $1 AND f.page_id = p.id AND f.tier = p.tier
			WHERE p.user_id = $1 AND p.thread_id = $2 AND p.last < $3 ORDER BY p.last DESC LIMIT $4`, turn.User, turn.Thread, before, page)
		if err != nil {
			return 0, err
		}
		for _, p := range got {
			after = max(after, p.End+1)
			if held < tokens {
				w.Pages, before = append(w.Pages, p), p.Start
				held += p.Forms[p.Tier].Tokens
			}
		}
		if len(got) < page {
			break
		}
	}
	slices.Reverse(w.Pages)
	if len(w.Pages) == 0 {
		return after, nil
	}
	return after, q.row(`SELECT COUNT(*) FROM (SELECT 1 FROM pages WHERE user_id = $1 AND thread_id = $2 AND last < $3 LIMIT 1000) AS counted`,
		turn.User, turn.Thread, before).Scan(&w.PagesBefore)
}

// RawFrom returns the position of the first unshortened message; see store.PageStore.
func (s *Store) RawFrom(ctx context.Context, user core.UserID, thread core.ThreadID,
	raw store.RawQuery) (from int64, err error) {
	scan := fields(func(m *core.Message) []any { return []any{&m.Position, &m.Role, &m.Tokens} })
	err = s.view(ctx, "find the newest messages", func(q querier) error {
		for before := int64(1) << 62; ; {
			got, err := list(q, scan,
				`SELECT position, role, tokens FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > 0 AND position < $3
				ORDER BY position DESC LIMIT $4`, user, thread, before, page)
			if err != nil {
				return err
			}
			for _, m := range got {
				if raw.Tokens <= 0 && raw.Users <= 0 && raw.Answers <= 0 || raw.Most <= 0 {
					from = before
					return nil
				}
				raw.Tokens, raw.Most, before = raw.Tokens-weight(m), raw.Most-weight(m), m.Position
				switch m.Role {
				case core.RoleUser:
					raw.Users--
				case core.RoleAssistant:
					raw.Answers--
				}
			}
			if len(got) < page {
				return nil
			}
		}
	})
	return from, err
}

// Weight returns the prompt tokens of messages; see store.PageStore.
func (s *Store) Weight(ctx context.Context, user core.UserID, thread core.ThreadID, from int64) (n int, err error) {
	err = s.one(ctx).row(
		`SELECT COALESCE(SUM(CASE WHEN role = 'tool' AND tokens > 200 THEN 200 ELSE tokens END + 4), 0) FROM messages
		WHERE user_id = $1 AND thread_id = $2 AND position >= $3 AND position > 0`, user, thread, from).Scan(&n)
	return n, wrap("weigh messages", err)
}

// Between reads a stretch of a thread; see store.PageStore.
func (s *Store) Between(ctx context.Context, user core.UserID, thread core.ThreadID, from, to int64,
	limit int) ([]core.Message, error) {
	out, err := list(s.one(ctx), scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND thread_id = $2 AND position >= $3 AND position < $4 AND position > 0
		AND kind = 'chat' AND redacted = 0 AND role IN ('user', 'assistant') ORDER BY position LIMIT $5`, user, thread, from, to, limit)
	return out, wrap("read messages", err)
}

// Printed finds earlier pieces of messages with the same bands; see store.PageStore.
func (s *Store) Printed(ctx context.Context, user core.UserID, bands []int64, before core.MessageID,
	limit int) ([]store.Printed, error) {
	var out []store.Printed
	scan := fields(func(p *store.Printed) []any { return []any{&p.Band, &p.Message, &p.Piece} })
	err := s.view(ctx, "find repetition", func(q querier) error {
		for some := range slices.Chunk(bands, printedBands) {
			args := []any{user, before, limit}
			for i := range printedBands { // one statement for all, prepared once
				args = append(args, some[min(i, len(some)-1)])
			}
			got, err := list(q, scan, printedQuery(), args...)
			if err != nil {
				return err
			}
			for _, p := range got {
				if !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
		}
		return nil
	})
	return out, err
}

// printedBands is how many bands one statement looks up.
const printedBands = 24

// printedQuery reads a few rows of each band, each from a range of the index.
func printedQuery() string {
	each := make([]string, printedBands)
	for i := range each {
		each[i] = fmt.Sprintf(`SELECT * FROM (SELECT band, message_id, piece FROM prints WHERE user_id = $1 AND band = $%d AND message_id < $2 ORDER BY message_id, piece LIMIT $3) AS given`, i+4)
	}
	return strings.Join(each, " UNION ALL ")
}

// PutPages stores the result of a compression run; see store.PageStore.
func (s *Store) PutPages(ctx context.Context, p store.PutPages) error {
	old := make([]store.PageID, len(p.Pages)) // kept, as the transaction may be retried
	for i := range p.Pages {
		old[i] = p.Pages[i].ID
	}
	return s.update(ctx, "put pages", p.User, func(t *tx) {
		t.holds(p.Lease)
		edits, err := threadEdits(t, t.user, p.Thread)
		if err != nil || edits != p.Edits || t.merging {
			t.fail(cmp.Or(err, core.ErrChanged))
			return
		}
		for i := range p.Pages {
			t.putPage(&p.Pages[i], old[i])
		}
		t.putPrints(p)
		if !p.Done {
			return
		}
		if p.Changed {
			t.exec(`UPDATE threads SET compressed = compressed + 1 WHERE user_id = $1 AND id = $2`, t.user, p.Thread)
		}
		t.release(p.Lease)
		t.end(p.Lease, "")
	})
}

// putPage stores a page under a new id and removes the old one, as earlier prompts refer to pages by id.
func (t *tx) putPage(p *store.Page, old store.PageID) {
	if old != 0 {
		t.execEach([]string{dropForms, `DELETE FROM pages WHERE user_id = $1 AND id = $2`}, t.user, old)
	}
	p.ID = store.PageID(t.nextID())
	sizes := pageSizes{p.First, p.Last, p.Forms}
	for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
		t.exec(`INSERT INTO page_forms (user_id, page_id, tier, body) VALUES ($1, $2, $3, $4)`, t.user, p.ID, tier, p.Forms[tier].Text)
	}
	t.exec(`INSERT INTO pages (user_id, id, thread_id, segment_id, first, last, messages, original, tier, stale, sizes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10)`,
		t.user, p.ID, p.Thread, p.Segment, p.Start, p.End, p.Messages, p.Original, p.Tier, text(sizes))
}

const dropForms = `DELETE FROM page_forms WHERE user_id = $1 AND page_id = $2`

// putPrints stores the fingerprints and the changed tiers of a run.
func (t *tx) putPrints(p store.PutPages) {
	for _, r := range p.Prints {
		t.exec(`INSERT INTO prints (user_id, band, message_id, piece) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			t.user, r.Band, r.Message, r.Piece)
	}
	for _, id := range slices.Sorted(maps.Keys(p.Repeats)) {
		for _, of := range p.Repeats[id] {
			t.exec(`INSERT INTO repeats (user_id, original_id, message_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
				t.user, of, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Tiers)) {
		t.exec(`UPDATE pages SET tier = $3 WHERE user_id = $1 AND id = $2`, t.user, id, p.Tiers[id])
	}
}

// stalePages makes the pages stale that show an edited or redacted message, or messages that
// refer to it, and enqueues their compression.
func (t *tx) stalePages(m core.Message) {
	places := listOf(t, fields(func(m *core.Message) []any { return []any{&m.Thread, &m.Position} }),
		`SELECT m.thread_id, m.position FROM repeats r JOIN messages m ON m.user_id = $1 AND m.id = r.message_id
		WHERE r.user_id = $1 AND r.original_id = $2`, t.user, m.ID)
	var pages []store.PageID
	for _, p := range append(places, m) {
		pages = append(pages, listOf(t, column[store.PageID],
			`SELECT id FROM pages WHERE user_id = $1 AND thread_id = $2 AND last >= $3 AND first <= $3 ORDER BY last LIMIT 1`,
			t.user, p.Thread, p.Position)...)
	}
	for _, id := range pages {
		t.execEach([]string{`UPDATE pages SET stale = 1, sizes = '{}' WHERE user_id = $1 AND id = $2`, dropForms}, t.user, id)
	}
	if len(pages) == 0 {
		return
	}
	t.execEach([]string{
		`DELETE FROM prints WHERE user_id = $1 AND message_id = $2`,
		`DELETE FROM repeats WHERE user_id = $1 AND message_id = $2`,
		`DELETE FROM repeats WHERE user_id = $1 AND original_id = $2`,
	}, t.user, m.ID)
	t.enqueue(store.NewJob{Queue: core.QueueCompress, Key: core.CompressKey, Ref: int64(m.Thread), Unique: true})
}

// dropPages removes all pages of a thread from a position on, after messages were inserted or
// removed before them. They are made again when they are needed.
func (t *tx) dropPages(thread core.ThreadID, from int64) {
	t.execEach([]string{
		`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2 AND EXISTS (SELECT 1 FROM pages WHERE user_id = $1 AND thread_id = $2 AND last >= $3)`,
		`DELETE FROM page_forms WHERE user_id = $1 AND page_id IN (SELECT id FROM pages WHERE user_id = $1 AND thread_id = $2 AND last >= $3)`,
		`DELETE FROM pages WHERE user_id = $1 AND thread_id = $2 AND last >= $3`,
	}, t.user, thread, from)
}
