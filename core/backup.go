package core

import "io"

// Table describes the stored part of a table. A backup never supplies its definition.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"` // stored columns only, without generated ones
}

// Column is a stored column of a table. Type is the engine's own name of its type.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// TableSink receives the tables of a store, consistent as of one moment. Begin is called
// first, then Table once for each table in the same order; copy writes its rows.
type TableSink interface {
	Begin(schema int64, tables []Table) error
	Table(n int, copy func(w io.Writer) (rows int64, err error)) error
}

// TableSource returns what a TableSink received, table after table by number. The caller
// reads each to its end. io.EOF follows the last one and confirms that the backup is
// complete and undamaged.
type TableSource interface {
	Next() (n int, rows io.Reader, err error)
}

// SealedKind is the kind of an encrypted value.
type SealedKind string

// Kinds of encrypted values.
const (
	SealedAgent    SealedKind = "agent"    // the key of a personal agent
	SealedState    SealedKind = "state"    // a value of a channel's account
	SealedSettings SealedKind = "settings" // the key of a user's own embeddings
)

// Sealed is an encrypted value and its place in the store.
type Sealed struct {
	Kind         SealedKind
	Agent        int64  // for SealedAgent: the key's id
	Account, Key string // for SealedState
	Text         string
}
