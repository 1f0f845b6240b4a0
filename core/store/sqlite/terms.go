package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"

	_ "modernc.org/sqlite/vec" // vec0, the tables of vectors
)

// seqBits is the number of bits of a document's id in a rowid; the bits above are its user's id.
const seqBits = 28

func rowid(user core.UserID, id int64) int64 { return int64(user)<<seqBits | id }

// terms keeps the full-text index in FTS5.
type terms struct{}

// Put indexes a document.
func (terms) Put(kind core.DocKind, user core.UserID, id int64, list []string) sqlstore.Statement {
	return sqlstore.Statement{Query: `INSERT OR REPLACE INTO ` + string(kind) + `_terms (rowid, terms) VALUES ($1, $2)`,
		Args: []any{rowid(user, id), strings.Join(led(user, list), " ")}}
}

// PutAll indexes documents with one statement each, as prepared statements cost no round trip.
func (t terms) PutAll(kind core.DocKind, user core.UserID, docs []sqlstore.TermDoc) []sqlstore.Statement {
	out := make([]sqlstore.Statement, len(docs))
	for i, d := range docs {
		out[i] = t.Put(kind, user, d.ID, d.Terms)
	}
	return out
}

// led prefixes each term with the user's id, so that a user's postings of a term are separate from
// those of others in the index.
func led(user core.UserID, list []string) []string {
	out := make([]string, len(list))
	for i, term := range list {
		out[i] = strconv.FormatInt(int64(user), 36) + ":" + term
	}
	return out
}

// Drop removes a document.
func (terms) Drop(kind core.DocKind, user core.UserID, id int64) sqlstore.Statement {
	return sqlstore.Statement{Query: `DELETE FROM ` + string(kind) + `_terms WHERE rowid = $1`,
		Args: []any{rowid(user, id)}}
}

// DropUser removes all documents of a user.
func (terms) DropUser(kind core.DocKind, user core.UserID) sqlstore.Statement {
	return sqlstore.Statement{Query: `DELETE FROM ` + string(kind) + `_terms WHERE rowid BETWEEN $1 AND $2`,
		Args: []any{rowid(user, 0), rowid(user+1, 0) - 1}}
}

// Count counts the documents of a user.
func (terms) Count(kind core.DocKind, user core.UserID) sqlstore.Statement {
	return sqlstore.Statement{Query: `SELECT COUNT(*) AS remains FROM ` + string(kind) +
		`_terms WHERE rowid BETWEEN $1 AND $2`, Args: []any{rowid(user, 0), rowid(user+1, 0) - 1}}
}

// Match finds the documents of all expressions in one statement.
func (terms) Match(q sqlstore.TermQuery) sqlstore.Statement {
	table := string(q.Kind) + "_terms"
	exprs := make([]string, len(q.Exprs))
	for i, e := range q.Exprs {
		exprs[i] = expression(q.User, e)
	}
	list, err := json.Marshal(exprs)
	if err != nil {
		panic(fmt.Sprintf("sqlite: terms do not marshal: %v", err))
	}
	return sqlstore.Statement{Query: `SELECT e.key, coalesce((SELECT group_concat(id) FROM (SELECT rowid & 268435455 AS id FROM ` + table + ` WHERE ` + table + ` MATCH e.value
		AND rowid BETWEEN $2 AND $3 ORDER BY rowid DESC LIMIT $4)), '') FROM json_each($1) e`,
		Args: []any{string(list), rowid(q.User, q.From), rowid(q.User, q.To), q.Limit}}
}

// expression writes an AND of ORs for FTS5.
func expression(user core.UserID, all [][]string) string {
	var parts []string
	for _, anyOf := range all {
		parts = append(parts, `("`+strings.Join(led(user, anyOf), `" OR "`)+`")`)
	}
	return strings.Join(parts, " AND ")
}

// vectors keeps vectors in vec0 tables.
type vectors struct{}

// Put stores a vector.
func (v vectors) Put(kind core.VectorKind, user core.UserID, id int64, values []float32) []sqlstore.Statement {
	return append(v.Drop(kind, user, id), sqlstore.Statement{Query: `INSERT INTO ` + string(kind) +
		`_vectors (id, user_id, embedding) VALUES ($1, $2, $3)`,
		Args: []any{rowid(user, id), int64(user), blob(values)}})
}

// Drop removes a vector.
func (vectors) Drop(kind core.VectorKind, user core.UserID, id int64) []sqlstore.Statement {
	return []sqlstore.Statement{{Query: `DELETE FROM ` + string(kind) + `_vectors WHERE id = $1`,
		Args: []any{rowid(user, id)}}}
}

// Copy copies vectors to another user.
func (vectors) Copy(kind core.VectorKind, from, into core.UserID, shift int64) []sqlstore.Statement {
	return []sqlstore.Statement{{Query: `INSERT INTO ` + string(kind) + `_vectors (id, user_id, embedding)
		SELECT $2 << 28 | (e.id + $4), $2, v.embedding FROM embeddings e CROSS JOIN ` + string(kind) +
		`_vectors v ON v.id = ($1 << 28 | e.id)
		WHERE e.user_id = $1 AND e.kind = $3 AND EXISTS (SELECT 1 FROM embeddings n WHERE n.user_id = $2 AND n.kind = $3 AND n.id = e.id + $4)`,
		Args: []any{int64(from), int64(into), string(kind), shift}}}
}

// Nearest finds the nearest ready vectors of one configuration. It reads some more than requested,
// to make up for those of other configurations.
func (vectors) Nearest(q store.NearestQuery) sqlstore.Statement {
	return sqlstore.Statement{Query: `SELECT e.id, v.distance FROM (SELECT id & 268435455 AS ref, distance FROM ` +
		string(q.Kind) + `_vectors
		WHERE embedding MATCH $1 AND k = $2 AND user_id = $3) v JOIN embeddings e ON e.user_id = $3 AND e.kind = $4 AND e.id = v.ref
		WHERE e.state = 'ready' AND e.config = $5 ORDER BY v.distance LIMIT $6`,
		Args: []any{blob(q.Vector), min(2*q.K+20, 4096), int64(q.User), string(q.Kind), q.Config, q.K}}
}

// blob returns a vector in the format of vec0.
func blob(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
