package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// often marks a term that a document holds more than once: such a document is
// indexed under the term and under the marked one.
const often = "^2"

// indexed is the condition of messages that are found: conversation of the
// continuous thread, by the person and the assistant, and results of outside tools.
const indexed = `kind = 'chat' AND segment_id > 0 AND redacted = 0 AND body <> '' AND (role <> 'tool' OR extra LIKE '%"outside":true%')`

// analyzed are the terms of a text as they are indexed.
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

// index puts a document into the index.
func (t *tx) index(kind core.DocKind, id int64, body string) error {
	if t.s.analyze == nil {
		return nil
	}
	st := t.s.dialect.Terms.Put(kind, t.user, id, t.s.analyzed(body))
	return t.exec(st.Query, st.Args...)
}

// unindex takes a document out of the index.
func (t *tx) unindex(kind core.DocKind, id int64) error {
	st := t.s.dialect.Terms.Drop(kind, t.user, id)
	return t.exec(st.Query, st.Args...)
}

// reindex puts an edited message into the index, if it was there.
func (t *tx) reindex(m core.Message, body string) error {
	if m.Kind != core.KindChat || m.Segment == 0 {
		return nil
	}
	var through int64
	if err := t.row(`SELECT indexed FROM users WHERE id = $1`, t.user).Scan(&through); err != nil || int64(m.ID) > through {
		return err
	}
	return t.index(core.DocMessage, int64(m.ID), body)
}

// indexPage is how many messages are indexed in one transaction.
const indexPage = 300

// Index brings the index up to date; see core.IndexStore.
func (s *Store) Index(ctx context.Context, users int) (int, error) {
	if s.analyze == nil {
		return 0, nil
	}
	total := 0
	for _, query := range []string{
		`SELECT id FROM users WHERE indexed < last_message AND id > 0 ORDER BY id LIMIT $1`,
		`SELECT id FROM users WHERE index_version < $2 AND id > 0 LIMIT $1`,
		`SELECT id FROM users WHERE index_version > $2 AND id > 0 LIMIT $1`,
	} {
		args := []any{users}
		if strings.Contains(query, "$2") {
			args = append(args, s.analyze.Version())
		}
		rows, err := s.one(ctx).rows(query, args...)
		ids, err := collect(rows, err, func(r scanner) (id core.UserID, err error) { return id, r.Scan(&id) })
		if err != nil {
			return total, wrap("list what is not indexed", err)
		}
		for _, id := range ids {
			n, err := s.indexUser(ctx, id)
			if total += n; err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

// progress says how far a user's index is.
type progress struct {
	indexed, reindexed int64
	version            string
}

// indexUser indexes the next messages of a user: new ones first, then those that
// another version of the analyzer indexed.
func (s *Store) indexUser(ctx context.Context, user core.UserID) (n int, err error) {
	err = s.update(ctx, "index", user, func(t *tx) error {
		var p progress
		err := t.row(`SELECT indexed, reindexed, index_version FROM users WHERE id = $1`, user).Scan(&p.indexed, &p.reindexed, &p.version)
		if err != nil {
			return err
		}
		if p.indexed == 0 {
			p.version = s.analyze.Version()
		}
		if p.indexed < t.lastMessage {
			p.indexed, n, err = t.indexFrom(p.indexed, t.lastMessage)
		} else if p.version != s.analyze.Version() {
			n, err = t.indexAgain(&p)
		}
		if err != nil {
			return err
		}
		return t.exec(`UPDATE users SET indexed = $2, reindexed = $3, index_version = $4 WHERE id = $1`, user, p.indexed, p.reindexed, p.version)
	})
	return n, err
}

// indexFrom indexes a page of messages after one and returns the last id that is done.
func (t *tx) indexFrom(after, last int64) (through int64, n int, err error) {
	through = min(after+indexPage, last)
	rows, err := t.rows(`SELECT id, body FROM messages WHERE user_id = $1 AND id > $2 AND id <= $3 AND `+indexed+` ORDER BY id`, t.user, after, through)
	docs, err := collect(rows, err, scanDoc)
	for _, d := range docs {
		if err == nil {
			err = t.index(core.DocMessage, d.id, d.body)
		}
	}
	return through, len(docs) + 1, err
}

type doc struct {
	id   int64
	body string
}

func scanDoc(r scanner) (d doc, err error) { return d, r.Scan(&d.id, &d.body) }

// indexAgain replaces a page of what another version indexed; with the last one
// also summaries and items, of which there are few.
func (t *tx) indexAgain(p *progress) (n int, err error) {
	if p.reindexed < p.indexed {
		p.reindexed, n, err = t.indexFrom(p.reindexed, p.indexed)
		return n, err
	}
	for kind, query := range map[core.DocKind]string{
		core.DocSummary: `SELECT g.id, s.body FROM segments g JOIN summaries s ON s.user_id = g.user_id AND s.segment_id = g.id AND s.version = g.version WHERE g.user_id = $1 AND g.hidden = 0`,
		core.DocItem:    `SELECT id, content FROM items WHERE user_id = $1`,
	} {
		rows, err := t.rows(query, t.user)
		docs, err := collect(rows, err, scanDoc)
		for _, d := range docs {
			if err == nil {
				err = t.index(kind, d.id, d.body)
			}
		}
		if n += len(docs); err != nil {
			return n, err
		}
	}
	p.reindexed, p.version = 0, t.s.analyze.Version()
	return n, nil
}
