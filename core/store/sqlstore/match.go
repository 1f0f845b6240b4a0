package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// seqBits is the number of bits of a document's id.
const seqBits = 28

// Match returns the postings of terms; see store.RecallStore.
func (s *Store) Match(ctx context.Context, q store.MatchQuery) ([]store.Posting, error) {
	if s.analyze == nil || len(q.Terms) == 0 {
		return nil, nil
	}
	if q.To == 0 {
		q.To = 1<<seqBits - 1
	}
	m := &match{MatchQuery: q, s: s}
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	postings := slices.DeleteFunc(m.all, func(p store.Posting) bool { return p.Docs == 0 })
	return postings, m.bound(ctx, postings)
}

// match is one search for terms.
type match struct {
	store.MatchQuery
	s   *Store
	all []store.Posting // one per term
}

// termQuery returns a query for documents of the match.
func (m *match) termQuery(limit int, exprs [][][]string) TermQuery {
	return TermQuery{User: m.User, Kind: m.Kind, From: m.From, To: m.To, Limit: limit, Exprs: exprs}
}

// read fills in all postings in one read of the index and of messages that are not indexed yet.
func (m *match) read(ctx context.Context) error {
	exprs := make([][][]string, 0, 2*len(m.Terms))
	for _, term := range m.Terms {
		exprs = append(exprs, [][]string{{term}}, [][]string{{term + often}})
	}
	var docs []doc
	lists := make([][]int64, len(exprs))
	reads := []Statement{m.s.idLists(m.termQuery(m.Limit+1, exprs), lists)}
	if m.Kind == core.DocMessage {
		reads = append(reads, m.tail(&docs))
	}
	if err := m.s.reads(ctx, "match", reads...); err != nil {
		return err
	}
	for i, term := range m.Terms {
		m.all = append(m.all, store.Posting{Term: term, IDs: lists[2*i], Often: lists[2*i+1]})
	}
	m.add(docs)
	for i := range m.all {
		m.all[i].Docs = len(m.all[i].IDs)
	}
	return nil
}

// tailMost bounds the unindexed messages that a search analyzes. There are more only during a large import.
const tailMost = 2000

// tail returns the statement that reads messages that are not indexed yet.
func (m *match) tail(docs *[]doc) Statement {
	return Statement{
		Query: `SELECT id, body FROM messages WHERE user_id = $1 AND id > (SELECT CASE WHEN indexed < CAST($2 AS bigint) THEN CAST($2 AS bigint) - 1 ELSE indexed END FROM users WHERE id = $1)
			AND id <= $3 AND ` + indexed + ` ORDER BY id LIMIT $4`, Args: []any{m.User, m.From, m.To, tailMost},
		All: func(r Row) error {
			d, err := scanDoc(r)
			*docs = append(*docs, d)
			return err
		},
	}
}

// add adds unindexed documents to the postings.
func (m *match) add(docs []doc) {
	wanted := make(map[string]*store.Posting, len(m.all))
	for i := range m.all {
		wanted[m.all[i].Term] = &m.all[i]
	}
	for _, d := range docs {
		for term, n := range m.s.analyze.Index(d.body) {
			p := wanted[term]
			if p == nil {
				continue
			}
			p.IDs = append(p.IDs, d.id)
			if n > 1 {
				p.Often = append(p.Often, d.id)
			}
		}
	}
}

// bound cuts postings to the limit of documents in total, rare terms first. To cut ones it adds
// the documents that also hold a rare term.
func (m *match) bound(ctx context.Context, postings []store.Posting) error {
	order := make([]*store.Posting, len(postings))
	for i := range postings {
		order[i] = &postings[i]
	}
	slices.SortStableFunc(order, func(a, b *store.Posting) int { return cmp.Compare(a.Docs, b.Docs) })
	var rare []string
	var cut []*store.Posting
	left := m.Limit
	for _, p := range order {
		if p.Docs <= left {
			left -= p.Docs
			rare = append(rare, p.Term)
			continue
		}
		p.Cut, p.Docs = true, m.estimate(p.IDs)
		p.IDs = p.IDs[len(p.IDs)-left:]
		left = 0
		cut = append(cut, p)
	}
	if err := m.addRare(ctx, cut, rare); err != nil {
		return err
	}
	for _, p := range cut {
		p.Often = slices.DeleteFunc(p.Often, func(id int64) bool {
			_, ok := slices.BinarySearch(p.IDs, id)
			return !ok
		})
	}
	return nil
}

// estimate returns the number of documents with a term, extrapolated from the density of the
// newest if there are more than the limit.
func (m *match) estimate(newest []int64) int {
	if len(newest) <= m.Limit {
		return len(newest)
	}
	first, last := newest[0], newest[len(newest)-1]
	return max(len(newest), int(float64(len(newest))*float64(last-max(m.From, 1)+1)/float64(last-first+1)))
}

// addRare adds the documents that also hold a rare term to cut postings.
func (m *match) addRare(ctx context.Context, cut []*store.Posting, rare []string) error {
	if len(cut) == 0 || len(rare) == 0 {
		return nil
	}
	exprs := make([][][]string, len(cut))
	for i, p := range cut {
		exprs[i] = [][]string{{p.Term}, rare}
	}
	lists := make([][]int64, len(cut))
	if err := m.s.reads(ctx, "match", m.s.idLists(m.termQuery(m.Limit, exprs), lists)); err != nil {
		return err
	}
	for i, p := range cut {
		p.IDs = union(p.IDs, lists[i])
	}
	return nil
}

// union merges two ascending lists.
func union(a, b []int64) []int64 {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// idLists returns the statement that reads the ids of each expression into lists, ascending.
func (s *Store) idLists(q TermQuery, lists [][]int64) Statement {
	st := s.dialect.Terms.Match(q)
	st.All = func(r Row) error {
		var n int
		var list string
		if err := r.Scan(&n, &list); err != nil {
			return err
		}
		ids, err := parseIDs(list)
		lists[n] = ids
		return err
	}
	return st
}

// parseIDs parses a list of ids, newest first, and returns it ascending.
func parseIDs(list string) ([]int64, error) {
	if list == "" {
		return nil, nil
	}
	ids := make([]int64, 0, strings.Count(list, ",")+1)
	for part := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	return ids, nil
}
