package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/everthread/everthread/core"
)

// Dialect is what differs between the engines.
type Dialect struct {
	Name string
	// Lock is appended to a SELECT to lock its rows; empty where a writing
	// transaction has the database to itself.
	Lock string
	// OneWriter: there is one writing connection, so transactions that wait for it
	// are committed together.
	OneWriter bool
	// Timeout bounds every transaction and read; 0: none is needed. A database that
	// went away without a word is an error after it.
	Timeout time.Duration
	// Read are the options of a consistent read.
	Read sql.TxOptions
	// Pipeline runs statements in one round trip on a connection; nil: a round
	// trip costs nothing here.
	Pipeline func(ctx context.Context, conn *sql.Conn, statements []Statement) error
	// Prove returns a statement that fails unless another reads the row that it foresees,
	// and takes its locks; without a query where that cannot be. Disproved reports whether an
	// error is that failure. nil: nothing is foreseen.
	Prove     func(s Statement) Statement
	Disproved func(err error) bool
	// Copy stores many rows of a table at once, on a connection that holds a
	// transaction; nil: statements do.
	Copy func(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error
	// Snapshot begins a consistent read, where statements are pipelined.
	Snapshot string
	// Notify is the statement that tells other processes of a topic ($1); empty:
	// there are none.
	Notify string
	// Listen yields topics of other processes until ctx ends; nil: there are none.
	Listen func(ctx context.Context, yield func(topic string)) error
	Terms  Terms
	Vector Vectors
	// Scrub are the statements that remove what deleted rows left behind.
	Scrub []string
}

// Terms is how an engine keeps the full-text index.
type Terms interface {
	// Put indexes a document, in place of what was indexed of it.
	Put(kind core.DocKind, user core.UserID, id int64, terms []string) Statement
	// PutAll indexes many documents that were never indexed.
	PutAll(kind core.DocKind, user core.UserID, docs []TermDoc) []Statement
	// Drop takes a document out.
	Drop(kind core.DocKind, user core.UserID, id int64) Statement
	// DropRange takes the documents of a user from one id through another out.
	DropRange(kind core.DocKind, user core.UserID, from, through int64) Statement
	// DropUser takes all documents of a user out.
	DropUser(kind core.DocKind, user core.UserID) Statement
	// Count tells how many documents of a user there are.
	Count(kind core.DocKind, user core.UserID) Statement
	// Match finds documents. Its statement returns for every expression its number
	// in q.Exprs and the ids, newest first, as text with commas between.
	Match(q TermQuery) Statement
}

// TermDoc is a document by its terms.
type TermDoc struct {
	ID    int64
	Terms []string
}

// TermQuery asks for documents. Each expression is an AND of ORs of terms.
type TermQuery struct {
	User     core.UserID
	Kind     core.DocKind
	Exprs    [][][]string
	From, To int64 // inclusive
	Limit    int   // of each expression: the newest
}

// Vectors is how an engine keeps vectors. A row of embeddings exists for each.
type Vectors interface {
	// Put stores a vector in place of another.
	Put(kind core.VectorKind, user core.UserID, id int64, v []float32) []Statement
	Drop(kind core.VectorKind, user core.UserID, id int64) []Statement
	// Copy gives the vectors of a user, of ids after one through another, to another
	// user under ids that are greater by shift, as far as rows of embeddings are there.
	Copy(kind core.VectorKind, from, into core.UserID, after, through, shift int64) []Statement
	// Nearest returns id and cosine distance of vectors that are ready, nearest first.
	Nearest(q core.NearestQuery) Statement
}

// Statement is a statement with its arguments.
type Statement struct {
	Query string
	Args  []any
	// Scan reads the first row, or is told that there is none (sql.ErrNoRows); nil:
	// nobody looks at what it returns. All reads every row instead.
	Scan func(row Row) error
	All  func(row Row) error
	// Foreseen are the columns that Scan is expected to read: bigint as int64, text as
	// string, boolean as bool; nil: they are not known.
	Foreseen []any
}

// Row is a row of a result.
type Row interface{ Scan(dest ...any) error }
