package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Scrub removes remnants of deleted rows from indexes and files.
func (s *Store) Scrub(ctx context.Context) error {
	for _, query := range s.dialect.Scrub {
		if _, err := s.write.ExecContext(ctx, query); err != nil {
			return wrap("scrub", err)
		}
	}
	return nil
}

// Traces lists the places that still contain a text; see store.Janitor.
func (s *Store) Traces(ctx context.Context, user core.UserID, text string) ([]store.Trace, error) {
	var out []store.Trace
	for _, table := range Tables() {
		for _, column := range table.Words {
			found, err := s.tracesIn(ctx, user, table, column, strings.ToLower(text))
			if err != nil {
				return nil, wrap("look for traces", err)
			}
			out = append(out, found...)
		}
	}
	indexed, err := s.tracesIndexed(ctx, user, text)
	return append(out, indexed...), wrap("look for traces", err)
}

func (s *Store) tracesIn(ctx context.Context, user core.UserID, table Table, column,
	text string) (out []store.Trace, err error) {
	q := querier{s: s, ctx: ctx, db: s.read} // without a timeout, as it reads everything
	rows, err := q.rows(fmt.Sprintf(`SELECT %s, %s FROM %s WHERE %s = $1`, cmp.Or(table.Row, "0"), column, table.Name,
		cmp.Or(table.Owner, "id")), user)
	err = each(rows, err, func(r scanner) error {
		var id int64
		var body []byte
		err := r.Scan(&id, &body)
		if strings.Contains(strings.ToLower(string(body)), text) {
			out = append(out, store.Trace{Where: table.Name + "." + column, ID: id})
		}
		return err
	})
	return out, err
}

// DocKinds returns all kinds of documents in the full-text index.
func DocKinds() []core.DocKind {
	return []core.DocKind{core.DocMessage, core.DocSummary, core.DocItem, core.DocFile}
}

// tracesIndexed lists the documents in the index with all words of a text.
func (s *Store) tracesIndexed(ctx context.Context, user core.UserID, text string) ([]store.Trace, error) {
	if s.analyze == nil {
		return nil, nil
	}
	var all [][]string
	for term := range s.analyze.Index(text) {
		all = append(all, []string{term})
	}
	if len(all) == 0 {
		return nil, nil
	}
	var out []store.Trace
	for _, kind := range DocKinds() {
		q := TermQuery{User: user, Kind: kind, Exprs: [][][]string{all}, To: 1<<seqBits - 1, Limit: tailMost}
		lists := make([][]int64, 1)
		if err := s.reads(ctx, "trace", s.idLists(q, lists)); err != nil {
			return nil, err
		}
		for _, id := range lists[0] {
			out = append(out, store.Trace{Where: "index of " + string(kind), ID: id})
		}
	}
	return out, nil
}

// Remains lists the tables and indexes that hold rows of a user, with their number. It
// returns nothing after an account deletion.
func (s *Store) Remains(ctx context.Context, user core.UserID) ([]string, error) {
	var out []string
	q := querier{s: s, ctx: ctx, db: s.read} // without a timeout, as it may read a lot
	count := func(what, query string, args ...any) error {
		var n int
		err := q.row(query, args...).Scan(&n)
		if n > 0 {
			out = append(out, fmt.Sprintf("%s: %d", what, n))
		}
		return wrap("look for remains", err)
	}
	var err error
	for table := range until(&err, Tables()) {
		if table.Owner != "" {
			err = count(table.Name, `SELECT COUNT(*) AS remains FROM `+table.Name+` WHERE `+table.Owner+` = $1`, user)
		}
	}
	for kind := range until(&err, DocKinds()) {
		st := s.dialect.Terms.Count(kind, user)
		err = count("index of "+string(kind), st.Query, st.Args...)
	}
	return out, err
}
