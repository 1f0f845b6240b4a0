package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// indexPage is how many messages of a user one transaction indexes, and about how many of
// several users. Writers wait for that long.
const indexPage = 200

// rota takes users in turn, so that nobody waits forever behind very active users.
type rota struct {
	mu    sync.Mutex
	after core.UserID
}

// Index brings the index up to date; see store.IndexStore.
func (s *Store) Index(ctx context.Context, users int, share store.Share) (int, error) {
	if s.analyze == nil {
		return 0, nil
	}
	ids, err := s.unindexed(ctx, users, share)
	if err != nil {
		return 0, wrap("list what is not indexed", err)
	}
	total, err := s.indexAll(ctx, ids)
	for query := range until(&err, []string{
		`SELECT id FROM users WHERE index_version < $4 AND id > 0 AND merging = 0 AND id % $3 = $2 LIMIT $1`,
		`SELECT id FROM users WHERE index_version > $4 AND id > 0 AND merging = 0 AND id % $3 = $2 LIMIT $1`,
	}) {
		if ids, err = s.userIDs(ctx, query, users, share.N, max(share.Of, 1), s.analyze.Version()); err != nil {
			return total, wrap("list what is not indexed", err)
		}
		var n int
		n, err = s.indexAll(ctx, ids)
		total += n
	}
	return total, err
}

// unindexed lists users with new messages, in turn.
func (s *Store) unindexed(ctx context.Context, users int, share store.Share) ([]core.UserID, error) {
	s.rota.mu.Lock()
	defer s.rota.mu.Unlock()
	const query = `SELECT id FROM users WHERE unindexed = 1 AND id > 0 AND id > CAST($4 AS bigint) AND merging = 0 AND id % $3 = $2 ORDER BY id LIMIT $1`
	ids, err := s.userIDs(ctx, query, users, share.N, max(share.Of, 1), s.rota.after)
	if err == nil && len(ids) == 0 && s.rota.after > 0 {
		ids, err = s.userIDs(ctx, query, users, share.N, max(share.Of, 1), 0)
	}
	if s.rota.after = 0; len(ids) == users {
		s.rota.after = ids[len(ids)-1]
	}
	return ids, err
}

func (s *Store) userIDs(ctx context.Context, query string, args ...any) ([]core.UserID, error) {
	return list(s.one(ctx), column[core.UserID], query, args...)
}

// indexAll indexes a page of each user. With one writer, several users share a transaction.
func (s *Store) indexAll(ctx context.Context, users []core.UserID) (total int, err error) {
	var pages []indexing
	size := 0
	for i, user := range users {
		p, err := s.readIndexing(ctx, user)
		if err != nil {
			return total, err
		}
		pages = append(pages, p)
		if size += len(p.docs); size < indexPage && i < len(users)-1 && s.dialect.OneWriter {
			continue
		}
		n, err := s.index(ctx, pages)
		if total += n; err != nil {
			return total, err
		}
		pages, size = nil, 0
	}
	return total, nil
}

// indexing is the next page of a user to index: new messages first, then documents that another
// version of the analyzer indexed, and finally summaries and items, of which there are few.
type indexing struct {
	user core.UserID
	now  progress
	next progress // when docs are indexed
	docs []doc
}

// progress is the progress of a user's index, with the count of edits when it was read.
type progress struct {
	indexed, reindexed, filed int64
	version                   string
	last, edits               int64
}

// doc is a text and its terms.
type doc struct {
	kind  core.DocKind
	id    int64
	body  string
	terms []string
}

func scanDoc(r scanner) (d doc, err error) { return d, r.Scan(&d.id, &d.body) }

func (p *progress) read(user core.UserID) Statement {
	return Statement{
		Query: `SELECT u.indexed, u.reindexed, u.filed, u.index_version, u.last_message, coalesce(h.edits, 0) FROM users u LEFT JOIN threads h ON h.user_id = $1 AND h.mode = 'continuous' WHERE u.id = $1`,
		Args:  []any{user},
		All:   func(r Row) error { return r.Scan(&p.indexed, &p.reindexed, &p.filed, &p.version, &p.last, &p.edits) },
	}
}

// readIndexing reads and analyzes the next page of a user.
func (s *Store) readIndexing(ctx context.Context, user core.UserID) (indexing, error) {
	p := indexing{user: user}
	if err := s.reads(ctx, "index", p.now.read(user)); err != nil {
		return p, err
	}
	if p.next = p.now; p.now.indexed == 0 {
		p.next.version = s.analyze.Version()
	}
	var err error
	switch {
	case p.now.indexed < p.now.last:
		p.next.indexed, err = s.readDocs(ctx, &p, p.now.indexed, p.now.last)
	case p.next.version == s.analyze.Version():
	case p.now.reindexed < p.now.indexed:
		p.next.reindexed, err = s.readDocs(ctx, &p, p.now.reindexed, p.now.indexed)
	default:
		if p.next.filed, err = s.readFilePages(ctx, &p); p.next.filed == 0 {
			p.next.reindexed, p.next.version = 0, s.analyze.Version()
		}
	}
	return p, err
}

// readDocs reads a page of messages with ids above after, and returns the last id that it covers.
func (s *Store) readDocs(ctx context.Context, p *indexing, after, last int64) (through int64, err error) {
	through = min(after+indexPage, last)
	p.docs, err = list(s.one(ctx), scanDoc, `SELECT id, body FROM messages WHERE user_id = $1 AND id > $2 AND id <= $3 AND `+
		indexed+` ORDER BY id`, p.user, after, through)
	for i := range p.docs {
		p.docs[i].kind, p.docs[i].terms = core.DocMessage, s.analyzed(p.docs[i].body)
	}
	return through, wrap("read what is not indexed", err)
}

// index stores pages, and returns the number of documents, those that need no index included, plus one for each page
// that advanced a user's progress.
func (s *Store) index(ctx context.Context, pages []indexing) (total int, err error) {
	owner := pages[0].user
	if len(pages) > 1 {
		owner = 0 // with one writer, no row needs to be locked
	}
	err = s.transact(ctx, "index", tx{user: owner}, func(t *tx) {
		total = 0
		for _, p := range pages {
			own := *t
			own.user = p.user
			total += own.putIndexing(p)
		}
	})
	if errors.Is(err, core.ErrNotFound) {
		return total, nil // the user was deleted meanwhile
	}
	return total, err
}

// putIndexing stores a page, unless something was edited or another process indexed since it was
// read. It is then read again later.
func (t *tx) putIndexing(p indexing) (n int) {
	var now progress
	if !t.find(columns{&now.indexed, &now.reindexed, &now.filed, &now.version, &now.last, &now.edits},
		p.now.read(t.user).Query, t.user) {
		return 0
	}
	if now.last = p.now.last; now != p.now {
		return 1
	}
	if p.next == p.now {
		t.exec(`UPDATE users SET unindexed = 0 WHERE id = $1 AND unindexed = 1 AND indexed >= last_message`, t.user)
		return 0
	}
	if p.next.version != p.now.version && p.now.indexed > 0 {
		n = t.indexRest()
	}
	for _, d := range p.docs {
		t.execAll(t.s.dialect.Terms.Put(d.kind, t.user, d.id, d.terms))
	}
	t.exec(`UPDATE users SET indexed = $2, reindexed = $3, index_version = $4, filed = $5,
			unindexed = CASE WHEN last_message > $2 THEN 1 ELSE 0 END WHERE id = $1`, t.user, p.next.indexed, p.next.reindexed, p.next.version, p.next.filed)
	return n + max(len(p.docs), int(p.next.indexed-p.now.indexed), int(p.next.reindexed-p.now.reindexed)) + 1
}

// indexRest indexes all summaries and items of a user.
func (t *tx) indexRest() (n int) {
	for kind, query := range map[core.DocKind]string{
		core.DocSummary: `SELECT g.id, s.body FROM segments g JOIN summaries s ON s.user_id = $1 AND s.segment_id = g.id AND s.version = g.version WHERE g.user_id = $1 AND g.hidden = 0`,
		core.DocItem:    `SELECT id, content FROM items WHERE user_id = $1`,
	} {
		docs := listOf(t, scanDoc, query, t.user)
		for _, d := range docs {
			t.index(kind, d.id, d.body)
		}
		n += len(docs)
	}
	return n
}

// often marks a term that a document holds more than once: such a document is indexed under
// both the plain and the marked term.
const often = "^2"

// indexed is the condition of searchable messages: conversation of the continuous thread by the
// person and the assistant, and results of outside tools.
const indexed = `kind = 'chat' AND segment_id > 0 AND redacted = 0 AND body <> '' AND (role <> 'tool' OR extra LIKE '%"outside":true%')`

// analyzed returns the terms to index for a text.
func (s *Store) analyzed(body string) []string {
	counts := s.analyze.Index(body)
	terms := make([]string, 0, len(counts)+len(counts)/8)
	for term, n := range counts {
		terms = append(terms, term)
		if n > 1 {
			terms = append(terms, term+often)
		}
	}
	slices.Sort(terms)
	return terms
}

// index adds a document to the index.
func (t *tx) index(kind core.DocKind, id int64, body string) {
	if t.s.analyze == nil {
		return
	}
	t.execAll(t.s.dialect.Terms.Put(kind, t.user, id, t.s.analyzed(body)))
}

// unindex removes a document from the index.
func (t *tx) unindex(kind core.DocKind, id int64) {
	t.execAll(t.s.dialect.Terms.Drop(kind, t.user, id))
}

// reindex updates an edited message in the index, if it is indexed.
func (t *tx) reindex(m core.Message, body string) {
	if m.Kind != core.KindChat || m.Segment == 0 {
		return
	}
	through := valueOf[int64](t, `SELECT indexed FROM users WHERE id = $1`, t.user)
	if int64(m.ID) <= through {
		t.index(core.DocMessage, int64(m.ID), body)
	}
}
