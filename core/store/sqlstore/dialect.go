package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Dialect holds the differences between the engines.
type Dialect struct {
	Name string
	// Lock is appended to a SELECT to lock its rows; empty where writing transactions exclude each other.
	Lock string
	// OneWriter: there is one writing connection, so transactions that wait for it are committed together.
	OneWriter bool
	// Together reports whether transactions of several users can share one; nil: they never
	// can, unless there is one writer. Lanes is how many of those run at the same time.
	Together func() bool
	Lanes    int
	// Timeout bounds every transaction and read, so that a database that disappears
	// silently becomes an error; 0: none is needed.
	Timeout time.Duration
	// Read holds the options of a consistent read.
	Read sql.TxOptions
	// Pipeline runs statements in one round trip on a connection; nil: round trips cost nothing.
	Pipeline func(ctx context.Context, conn *sql.Conn, statements []Statement) error
	// Copy stores many rows of a table at once, on a connection that holds a transaction; nil: statements are used.
	Copy func(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error
	// OneOf is the condition that a column has one of the few values of a query (%s), each of which is looked up.
	OneOf string
	// Snapshot begins a consistent read, where statements are pipelined.
	Snapshot string
	// Notify is the statement that notifies other processes of a topic ($1); empty: there are none.
	Notify string
	// Listen yields topics of other processes until ctx ends; nil: there are none.
	Listen func(ctx context.Context, yield func(topic string)) error
	Terms  Terms
	Vector Vectors
	// Scrub holds the statements that remove remnants of deleted rows.
	Scrub []string
}

// Terms is an engine's full-text index.
type Terms interface {
	// Put indexes a document, and replaces its earlier terms.
	Put(kind core.DocKind, user core.UserID, id int64, terms []string) Statement
	// PutAll indexes many documents that were never indexed.
	PutAll(kind core.DocKind, user core.UserID, docs []TermDoc) []Statement
	// Drop removes a document.
	Drop(kind core.DocKind, user core.UserID, id int64) Statement
	// DropUser removes all documents of a user.
	DropUser(kind core.DocKind, user core.UserID) Statement
	// Count returns the number of documents of a user.
	Count(kind core.DocKind, user core.UserID) Statement
	// Match finds documents. Its statement returns, for every expression, its number in
	// q.Exprs and the ids, newest first, as comma-separated text.
	Match(q TermQuery) Statement
}

// TermDoc is a document and its terms.
type TermDoc struct {
	ID    int64
	Terms []string
}

// TermQuery selects documents. Each expression is an AND of ORs of terms.
type TermQuery struct {
	User     core.UserID
	Kind     core.DocKind
	Exprs    [][][]string
	From, To int64 // inclusive
	Limit    int   // per expression: the newest
}

// Vectors is an engine's store of vectors. Each vector has a row in embeddings.
type Vectors interface {
	// Put stores a vector, and replaces an earlier one.
	Put(kind core.VectorKind, user core.UserID, id int64, v []float32) []Statement
	Drop(kind core.VectorKind, user core.UserID, id int64) []Statement
	// Copy copies a user's vectors to another user under ids increased by shift, if these have rows in embeddings.
	Copy(kind core.VectorKind, from, into core.UserID, shift int64) []Statement
	// Nearest returns id and cosine distance of ready vectors, nearest first.
	Nearest(q store.NearestQuery) Statement
}

// Statement is a statement with its arguments.
type Statement struct {
	Query string
	Args  []any
	// Scan reads the first row, which returns sql.ErrNoRows if there is none. All reads
	// every row instead. Both nil: the result is ignored.
	Scan func(row Row) error
	All  func(row Row) error
}

// Row is a row of a result.
type Row interface{ Scan(dest ...any) error }
