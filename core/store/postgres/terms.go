package postgres

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/pgvector/pgvector-go"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"
)

// terms keeps the full-text index in tsvectors without positions.
type terms struct {
	spread *atomic.Bool // the database is distributed: statements compare the user's column itself
}

// Put indexes a document.
func (terms) Put(kind core.DocKind, user core.UserID, id int64, list []string) sqlstore.Statement {
	return sqlstore.Statement{Query: `INSERT INTO ` + string(kind) +
		`_terms (user_id, id, terms) VALUES ($1, $2, ($3::text)::tsvector)
		ON CONFLICT (user_id, id) DO UPDATE SET terms = excluded.terms`, Args: []any{user, id, lexemes(user, list, " ")}}
}

// PutAll indexes documents with one statement, and makes the index process them together, so that
// it looks up a common term once.
func (terms) PutAll(kind core.DocKind, user core.UserID, docs []sqlstore.TermDoc) []sqlstore.Statement {
	ids, texts := make([]int64, len(docs)), make([]string, len(docs))
	for i, d := range docs {
		ids[i], texts[i] = d.ID, lexemes(user, d.Terms, " ")
	}
	return []sqlstore.Statement{
		{Query: `SET LOCAL gin_pending_list_limit = '64MB'`},
		{Query: `INSERT INTO ` + string(kind) +
			`_terms (user_id, id, terms) SELECT $1, d.id, d.terms::tsvector FROM unnest($2::bigint[], $3::text[]) d(id, terms)
			ON CONFLICT (user_id, id) DO UPDATE SET terms = excluded.terms`, Args: []any{user, ids, texts}},
		{Query: `SELECT gin_clean_pending_list('` + string(kind) + `_terms_gin')`},
	}
}

// Drop removes a document.
func (terms) Drop(kind core.DocKind, user core.UserID, id int64) sqlstore.Statement {
	return sqlstore.Statement{Query: `DELETE FROM ` + string(kind) + `_terms WHERE user_id = $1 AND id = $2`,
		Args: []any{user, id}}
}

// DropUser removes all documents of a user.
func (terms) DropUser(kind core.DocKind, user core.UserID) sqlstore.Statement {
	return sqlstore.Statement{Query: `DELETE FROM ` + string(kind) + `_terms WHERE user_id = $1`, Args: []any{user}}
}

// Count counts the documents of a user.
func (terms) Count(kind core.DocKind, user core.UserID) sqlstore.Statement {
	return sqlstore.Statement{Query: `SELECT COUNT(*) AS remains FROM ` + string(kind) + `_terms WHERE user_id = $1`,
		Args: []any{user}}
}

// Match finds the documents of all expressions in one statement. Its conditions rule out all
// indexes except that of the terms.
func (t terms) Match(q sqlstore.TermQuery) sqlstore.Statement {
	exprs := make([]string, len(q.Exprs))
	for i, e := range q.Exprs {
		exprs[i] = expression(q.User, e)
	}
	list, err := json.Marshal(exprs)
	if err != nil {
		panic(fmt.Sprintf("postgres: terms do not marshal: %v", err))
	}
	owned := `t.user_id + 0 = $1`
	if t.spread.Load() {
		owned = `t.user_id = $1`
	}
	return sqlstore.Statement{Query: `SELECT e.n - 1, array_to_string(ARRAY(SELECT t.id FROM ` + string(q.Kind) + `_terms t
			WHERE t.terms @@ (e.q)::tsquery AND ` + owned + ` AND t.id + 0 BETWEEN $3 AND $4 ORDER BY t.id + 0 DESC LIMIT $5), ',')
		FROM jsonb_array_elements_text(($2::text)::jsonb) WITH ORDINALITY e(q, n)`,
		Args: []any{q.User, string(list), q.From, q.To, q.Limit}}
}

// expression writes an AND of ORs as a tsquery.
func expression(user core.UserID, all [][]string) string {
	var parts []string
	for _, anyOf := range all {
		parts = append(parts, "("+lexemes(user, anyOf, " | ")+")")
	}
	return strings.Join(parts, " & ")
}

// lexemes writes terms, each prefixed with the user's id, so that a user's postings of a term are
// separate from those of others in the index.
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

// Copy copies vectors to another user.
func (vectors) Copy(kind core.VectorKind, from, into core.UserID, shift int64) []sqlstore.Statement {
	return []sqlstore.Statement{{Query: `INSERT INTO embeddings (user_id, kind, id, config, state, updated_at, vector)
		SELECT CAST($2 AS bigint), e.kind, e.id + $4, e.config, e.state, e.updated_at, e.vector FROM embeddings e
		WHERE e.user_id = $1 AND e.kind = $3 AND e.vector IS NOT NULL AND e.id IN
			(SELECT n.id - $4 FROM embeddings n WHERE n.user_id = $2 AND n.kind = $3 AND n.id > $4)
		ON CONFLICT (user_id, kind, id) DO UPDATE SET vector = excluded.vector`,
		Args: []any{from, into, string(kind), shift}}}
}

// rerank is the least number of vectors, nearest by their signs, that are compared in full; see docs/benchmarks.md.
const rerank = 500

// Nearest compares the signs of all of a user's vectors, and the nearest of these in full. pgvector's graph index
// covers all users together: it finds less, and slows down as other users' vectors grow.
func (vectors) Nearest(q store.NearestQuery) sqlstore.Statement {
	return sqlstore.Statement{Query: `SELECT near.id, (SELECT e.vector <=> q.v FROM embeddings e WHERE e.user_id = $2 AND e.kind = $3 AND e.id = near.id) AS distance
		FROM (SELECT v, binary_quantize(v)::bit(1024) AS bits FROM (SELECT ($1::text)::halfvec(1024) AS v OFFSET 0) given OFFSET 0) q CROSS JOIN LATERAL
			(SELECT b.id FROM embeddings b WHERE b.user_id = $2 AND b.kind = $3 AND b.config = $4 AND b.state = 'ready' ORDER BY b.bits <~> q.bits LIMIT $6) near
		ORDER BY distance LIMIT $5`,
		Args: []any{pgvector.NewVector(q.Vector).String(), q.User, string(q.Kind), q.Config, q.K, max(rerank, 4*q.K)}}
}
