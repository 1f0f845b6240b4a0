package sqlstore

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

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
