package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// cleanings are how the rows of each table go: who names another before who is named.
func cleanings() (out []copying) {
	left := slices.DeleteFunc(Tables(), func(t Table) bool { return t.Key == "" || t.Shared })
	for len(left) > 0 {
		n := len(left) - 1
		for n > 0 &&
			slices.ContainsFunc(left, func(o Table) bool {
				return slices.Contains(slices.Collect(maps.Values(o.Refs)),
					left[n].Name)
			}) {
			n--
		}
		c := copying{table: left[n].Name, key: left[n].Key, page: cleanPage}
		c.rows = func(p pair, m *move, g keyRange) error { return p.cleanPage(m, c, g) }
		out = append(out, c)
		left = slices.Delete(left, n, n+1)
	}
	return out
}

// cleanPage is how many rows of a table go in one step.
const cleanPage = 500

// cleanRows removes the next page of what was copied.
func (s *Store) cleanRows(ctx context.Context, m move) error {
	if m.Kind == core.MoveSplit {
		return s.cleanSplit(ctx, m)
	}
	return s.paged(ctx, m, cleanings(), renumbering{}, func(p pair, m *move) error {
		m.next(phaseLet)
		return p.forgetUser(m)
	})
}

// cleanPage removes a page of rows with what is found of them.
func (p pair) cleanPage(m *move, c copying, g keyRange) error {
	for kind, table := range map[core.DocKind]string{core.DocMessage: "messages", core.DocSummary: "summaries",
		core.DocItem: "items", core.DocFile: "file_pages"} {
		if table != c.table {
			continue
		}
		st := p.s.dialect.Terms.DropRange(kind, m.From, 0, int64Of(g.through[0]))
		if err := p.exec(st.Query, st.Args...); err != nil {
			return err
		}
	}
	for kind, table := range map[core.VectorKind]string{core.VectorWindow: "windows", core.VectorItem: "items",
		core.VectorFile: "file_pages"} {
		if table != c.table {
			continue
		}
		if err := p.cleanVectors(m.From, kind, g); err != nil {
			return err
		}
	}
	columns := strings.Count(c.key, ",") + 1
	return p.exec(`DELETE FROM `+c.table+` WHERE user_id = $1 AND (`+c.key+`) <= (`+placeholders(2, columns)+`)`,
		append([]any{m.From}, g.through...)...)
}

// cleanVectors removes the vectors of a page.
func (p pair) cleanVectors(user core.UserID, kind core.VectorKind, g keyRange) error {
	rows, err := p.rows(`SELECT id FROM embeddings WHERE user_id = $1 AND kind = $2 AND id <= $3`, user,
		string(kind), g.through[0])
	ids, err := collect(rows, err, func(r scanner) (id int64, err error) { return id, r.Scan(&id) })
	for _, id := range ids {
		if err == nil {
			err = p.all(p.s.dialect.Vector.Drop(kind, user, id))
		}
	}
	if err != nil {
		return err
	}
	return p.exec(`DELETE FROM embeddings WHERE user_id = $1 AND kind = $2 AND id <= $3`, user, string(kind), g.through[0])
}

// forgetUser removes the source user, of whom nothing is left.
func (p pair) forgetUser(m *move) error {
	if err := p.exec(`DELETE FROM move_positions WHERE user_id = $1`, m.Into); err != nil {
		return err
	}
	for _, t := range Tables() {
		if t.Owner == "" {
			continue
		}
		if err := p.exec(t.deleteAll(), m.From); err != nil {
			return err
		}
	}
	return p.exec(`DELETE FROM users WHERE id = $1`, m.From)
}
