package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// cleanings lists the tables in the order in which they are emptied: a table that refers to
// others comes before these.
func cleanings() (out []copying) {
	left := slices.DeleteFunc(Tables(), func(t Table) bool { return t.Key == "" || t.Shared })
	for len(left) > 0 {
		n := len(left) - 1
		referenced := func(o Table) bool { return slices.Contains(slices.Collect(maps.Values(o.Refs)), left[n].Name) }
		for n > 0 && slices.ContainsFunc(left, referenced) {
			n--
		}
		c := copying{table: left[n].Name, key: left[n].Key, page: cleanPage}
		c.rows = func(p *pair, m *move, g keyRange) { p.cleanPage(m, c, g) }
		out = append(out, c)
		left = slices.Delete(left, n, n+1)
	}
	return out
}

// cleanPage is how many rows of a table one step removes.
const cleanPage = 500

// cleanRows removes the next page of copied rows.
func (s *Store) cleanRows(ctx context.Context, m move) error {
	if m.Kind == core.MoveSplit {
		return s.cleanSplit(ctx, m)
	}
	return s.paged(ctx, m, cleanings(), renumbering{}, func(p *pair, m *move) {
		m.next(phaseLet)
		p.forgetUser(m)
	})
}

// cleanPage removes a page of rows with their terms and vectors.
func (p *pair) cleanPage(m *move, c copying, g keyRange) {
	kind, indexed := map[string]core.DocKind{"messages": core.DocMessage, "summaries": core.DocSummary,
		"items": core.DocItem, "file_pages": core.DocFile}[c.table]
	if indexed {
		p.execAll(p.s.dialect.Terms.DropRange(kind, m.From, 0, int64Of(g.through[0])))
	}
	vectors, embedded := map[string]core.VectorKind{"windows": core.VectorWindow, "items": core.VectorItem,
		"file_pages": core.VectorFile}[c.table]
	if embedded {
		p.try(func() error { return p.dropVectors(vectors, m.From, ` AND id <= $3`, g.through[0]) })
		p.exec(`DELETE FROM embeddings WHERE user_id = $1 AND kind = $2 AND id <= $3`, m.From, string(vectors), g.through[0])
	}
	columns := strings.Count(c.key, ",") + 1
	p.exec(`DELETE FROM `+c.table+` WHERE user_id = $1 AND (`+c.key+`) <= (`+placeholders(2, columns)+`)`,
		append([]any{m.From}, g.through...)...)
}

// forgetUser removes the last rows of the source user.
func (p *pair) forgetUser(m *move) {
	p.exec(`DELETE FROM move_positions WHERE user_id = $1`, m.Into)
	p.try(func() error { return p.deleteRows(m.From) })
}
