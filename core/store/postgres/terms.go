package postgres

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgvector/pgvector-go"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/sqlstore"
)

// terms keeps the full-text index in tsvectors without positions.
type terms struct{}

// Put indexes a document.
func (terms) Put(kind core.DocKind, user core.UserID, id int64, list []string) sqlstore.Statement {
	return sqlstore.Statement{Query: `INSERT INTO ` + string(kind) + `_terms (user_id, id, terms) VALUES ($1, $2, ($3::text)::tsvector)
		ON CONFLICT (user_id, id) DO UPDATE SET terms = excluded.terms`, Args: []any{user, id, lexemes(user, list, " ")}}
}

// Drop takes a document out.
func (terms) Drop(kind core.DocKind, user core.UserID, id int64) sqlstore.Statement {
	return sqlstore.Statement{Query: `DELETE FROM ` + string(kind) + `_terms WHERE user_id = $1 AND id = $2`, Args: []any{user, id}}
}

// DropUser takes all documents of a user out.
func (terms) DropUser(kind core.DocKind, user core.UserID) sqlstore.Statement {
	return sqlstore.Statement{Query: `DELETE FROM ` + string(kind) + `_terms WHERE user_id = $1`, Args: []any{user}}
}

// Match asks for the documents of each expression, all in one statement. Its
// conditions leave no index but that of the terms.
func (terms) Match(q sqlstore.TermQuery) sqlstore.Statement {
	exprs := make([]string, len(q.Exprs))
	for i, e := range q.Exprs {
		exprs[i] = expression(q.User, e)
	}
	list, err := json.Marshal(exprs)
	if err != nil {
		panic(fmt.Sprintf("postgres: terms do not marshal: %v", err))
	}
	return sqlstore.Statement{Query: `SELECT e.n - 1, array_to_string(ARRAY(SELECT t.id FROM ` + string(q.Kind) + `_terms t
			WHERE t.terms @@ (e.q)::tsquery AND t.user_id + 0 = $1 AND t.id + 0 BETWEEN $3 AND $4 ORDER BY t.id + 0 DESC LIMIT $5), ',')
		FROM jsonb_array_elements_text(($2::text)::jsonb) WITH ORDINALITY e(q, n)`, Args: []any{q.User, string(list), q.From, q.To, q.Limit}}
}

// expression writes an AND of ORs as a tsquery.
func expression(user core.UserID, all [][]string) string {
	var parts []string
	for _, anyOf := range all {
		parts = append(parts, "("+lexemes(user, anyOf, " | ")+")")
	}
	return strings.Join(parts, " & ")
}

// lexemes writes terms, each led by its user's id: so that a user's postings of a
// term stand by themselves in the index, whatever others say.
func lexemes(user core.UserID, list []string, between string) string {
	escape := strings.NewReplacer(`'`, `''`, `\`, `\\`)
	lead := "'" + strconv.FormatInt(int64(user), 36) + ":"
	var b strings.Builder
	for i, term := range list {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(lead + escape.Replace(term) + "'")
	}
	return b.String()
}

// exactBelow is up to how many vectors of a user all of them are compared: above
// it the graph is faster. See docs/benchmarks.md.
const exactBelow = 5000

// vectors keeps vectors in the rows of embeddings.
type vectors struct{}

// Put stores a vector.
func (vectors) Put(kind core.VectorKind, user core.UserID, id int64, values []float32) []sqlstore.Statement {
	return []sqlstore.Statement{{Query: `UPDATE embeddings SET vector = ($4::text)::halfvec WHERE user_id = $1 AND kind = $2 AND id = $3`,
		Args: []any{user, string(kind), id, pgvector.NewVector(values).String()}}}
}

// Drop removes a vector.
func (vectors) Drop(kind core.VectorKind, user core.UserID, id int64) []sqlstore.Statement {
	return []sqlstore.Statement{{Query: `UPDATE embeddings SET vector = NULL WHERE user_id = $1 AND kind = $2 AND id = $3 AND vector IS NOT NULL`,
		Args: []any{user, string(kind), id}}}
}

// Nearest compares all vectors of a user who has few; for others it walks the
// graph of all users' until enough of theirs are found.
func (vectors) Nearest(q core.NearestQuery, all int) ([]string, sqlstore.Statement) {
	args := []any{pgvector.NewVector(q.Vector).String(), q.User, string(q.Kind), q.Config, q.K}
	const ours = ` FROM embeddings WHERE user_id = $2 AND kind = $3 AND state = 'ready' AND config = $4`
	if all <= exactBelow {
		return nil, sqlstore.Statement{Args: args, Query: `SELECT id, distance FROM (SELECT id, (vector <=> ($1::text)::halfvec) + 0 AS distance` + ours + `) v
			ORDER BY distance LIMIT $5`}
	}
	settings := []string{`SET LOCAL hnsw.iterative_scan = relaxed_order`, `SET LOCAL hnsw.ef_search = 200`, `SET LOCAL hnsw.max_scan_tuples = 200000`}
	return settings, sqlstore.Statement{Args: args, Query: `SELECT id, vector <=> ($1::text)::halfvec AS distance` + ours + `
		ORDER BY vector <=> ($1::text)::halfvec LIMIT $5`}
}
