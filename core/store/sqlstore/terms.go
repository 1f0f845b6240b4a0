package sqlstore

import (
	"slices"

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
	if err := t.row(`SELECT indexed FROM users WHERE id = $1`, t.user).Scan(&through); err != nil ||
		int64(m.ID) > through {
		return err
	}
	return t.index(core.DocMessage, int64(m.ID), body)
}
