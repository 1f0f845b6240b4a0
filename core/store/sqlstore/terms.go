package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
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

// Match returns where terms occur; see core.RecallStore.
func (s *Store) Match(ctx context.Context, q core.MatchQuery) ([]core.Posting, error) {
	if s.analyze == nil || len(q.Terms) == 0 {
		return nil, nil
	}
	if q.To == 0 {
		q.To = 1<<seqBits - 1
	}
	var out []core.Posting
	err := s.view(ctx, "match", func(r querier) (err error) {
		out, err = s.match(r, q)
		return err
	})
	return out, err
}

func (s *Store) match(r querier, q core.MatchQuery) ([]core.Posting, error) {
	tail, err := s.tail(r, q)
	if err != nil {
		return nil, err
	}
	tq := TermQuery{User: q.User, Kind: q.Kind, From: q.From, To: q.To, Limit: q.Limit + 1}
	for _, term := range q.Terms {
		tq.Exprs = append(tq.Exprs, [][]string{{term}})
	}
	lists, err := s.idLists(r, tq)
	if err != nil {
		return nil, err
	}
	all := make([]core.Posting, len(q.Terms))
	for i, term := range q.Terms {
		all[i] = core.Posting{Term: term, IDs: append(lists[i], tail[term]...)}
	}
	if err := s.bound(r, q, tq, all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p core.Posting) bool { return len(p.IDs) == 0 })
	return all, s.addOften(r, tq, all, tail)
}

// bound cuts postings to q.Limit documents in all, those of rare terms first.
func (s *Store) bound(r querier, q core.MatchQuery, tq TermQuery, all []core.Posting) error {
	order := make([]*core.Posting, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	slices.SortStableFunc(order, func(a, b *core.Posting) int { return cmp.Compare(len(a.IDs), len(b.IDs)) })
	var rare []string
	left := q.Limit
	for _, p := range order {
		if len(p.IDs) <= left {
			left -= len(p.IDs)
			if len(p.IDs) > 0 {
				rare = append(rare, p.Term)
			}
			continue
		}
		p.Cut = true
		newest := p.IDs[len(p.IDs)-max(left, 0):]
		left = 0
		if len(rare) > 0 {
			tq.Exprs, tq.Limit = [][][]string{{{p.Term}, rare}}, q.Limit
			both, err := s.idLists(r, tq)
			if err != nil {
				return err
			}
			newest = union(newest, both[0])
		}
		p.IDs = newest
	}
	return nil
}

// union merges two ascending lists.
func union(a, b []int64) []int64 {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// addOften fills in where terms occur more than once: one query tells whether
// any does.
func (s *Store) addOften(r querier, tq TermQuery, all []core.Posting, tail map[string][]int64) error {
	if len(all) == 0 {
		return nil
	}
	tq.Exprs = nil
	for _, p := range all {
		tq.Exprs = append(tq.Exprs, [][]string{{p.Term + often}})
	}
	lists, err := s.idLists(r, tq)
	for i := range all {
		if err == nil {
			all[i].Often = append(lists[i], tail[all[i].Term+often]...)
		}
	}
	return err
}

// idLists returns the ids of each expression, ascending.
func (s *Store) idLists(r querier, q TermQuery) ([][]int64, error) {
	var out [][]int64
	for _, st := range s.dialect.Terms.Match(q) {
		rows, err := r.rows(st.Query, st.Args...)
		lists, err := collect(rows, err, scanIDs)
		if err != nil {
			return nil, err
		}
		out = append(out, lists...)
	}
	return out, nil
}

// scanIDs reads a list of ids, newest first, and returns it ascending.
func scanIDs(r scanner) ([]int64, error) {
	var list *string
	if err := r.Scan(&list); err != nil || list == nil {
		return nil, err
	}
	ids := make([]int64, 0, strings.Count(*list, ",")+1)
	for part := range strings.SplitSeq(*list, ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	return ids, nil
}

// tailMost bounds the messages that a search analyzes because they are not
// indexed yet: more only wait while very much is brought in at once.
const tailMost = 2000

// tail returns where the terms of a query occur in messages that are not indexed yet.
func (s *Store) tail(r querier, q core.MatchQuery) (map[string][]int64, error) {
	if q.Kind != core.DocMessage {
		return nil, nil
	}
	rows, err := r.rows(`SELECT id, body FROM messages WHERE user_id = $1 AND id > (SELECT indexed FROM users WHERE id = $1) AND id BETWEEN $2 AND $3 AND `+indexed+`
		ORDER BY id LIMIT $4`, q.User, q.From, q.To, tailMost)
	docs, err := collect(rows, err, scanDoc)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, term := range q.Terms {
		wanted[term] = true
	}
	out := map[string][]int64{}
	for _, d := range docs {
		for term, n := range s.analyze.Index(d.body) {
			if wanted[term] {
				out[term] = append(out[term], d.id)
			}
			if n > 1 && wanted[term] {
				out[term+often] = append(out[term+often], d.id)
			}
		}
	}
	return out, nil
}

// seqBits is how many bits of a rowid a document's own number takes.
const seqBits = 28
