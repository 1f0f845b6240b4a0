package sqlstore

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

// Remains lists the tables that hold rows of a user, and how many: none of
// a deleted account.
func (s *Store) Remains(ctx context.Context, user core.UserID) ([]string, error) {
	var out []string
	q := querier{s: s, ctx: ctx, db: s.read} // it may read a lot, so no time bounds it
	for _, table := range Tables() {
		if table.Owner == "" {
			continue
		}
		var n int
		if err := q.row(`SELECT COUNT(*) AS remains FROM `+table.Name+` WHERE `+table.Owner+` = $1`,
			user).Scan(&n); err != nil {
			return nil, wrap("look for remains", err)
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%s: %d", table.Name, n))
		}
	}
	for _, kind := range []core.DocKind{core.DocMessage, core.DocSummary, core.DocItem, core.DocFile} {
		st := s.dialect.Terms.Count(kind, user)
		var n int
		if err := q.row(st.Query, st.Args...).Scan(&n); err != nil {
			return nil, wrap("look for remains", err)
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("index of %s: %d", kind, n))
		}
	}
	return out, nil
}
