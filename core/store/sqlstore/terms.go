package sqlstore

import (
	"slices"

	"github.com/everthread/everthread/core"
)

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
func (t *tx) index(kind core.DocKind, id int64, body string) error {
	if t.s.analyze == nil {
		return nil
	}
	return t.execAll(t.s.dialect.Terms.Put(kind, t.user, id, t.s.analyzed(body)))
}

// unindex removes a document from the index.
func (t *tx) unindex(kind core.DocKind, id int64) error {
	return t.execAll(t.s.dialect.Terms.Drop(kind, t.user, id))
}

// reindex updates an edited message in the index, if it is indexed.
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
