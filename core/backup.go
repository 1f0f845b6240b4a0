package core

import "io"

// Table names a table of a store and what is stored of it. How it is made is never read
// from a backup.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"` // those that are stored; the engine computes others
}

// Column is a stored column of a table, with its type in the words of its engine.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// TableSink takes the tables of a store, as of one moment. Begin comes first; then
// each table comes once, in the same order, and copies its rows into a writer.
type TableSink interface {
	Begin(schema int64, tables []Table) error
	Table(n int, copy func(w io.Writer) (rows int64, err error)) error
}

// TableSource gives back what a TableSink took: tables one after another by their
// number, each to be read to its end, then io.EOF, after which it is settled that
// everything was whole.
type TableSource interface {
	Next() (n int, rows io.Reader, err error)
}

// SealedKind says what an encrypted value is.
type SealedKind string

// Kinds of encrypted values.
const (
	SealedAgent    SealedKind = "agent"    // the key of a personal agent
	SealedState    SealedKind = "state"    // a value of a channel's account
	SealedSettings SealedKind = "settings" // the key of a user's own embeddings
)

// Sealed is an encrypted value of the store, and where it stands.
type Sealed struct {
	Kind         SealedKind
	Agent        int64  // its id
	Account, Key string // of a state
	Text         string
}
