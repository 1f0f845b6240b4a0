// Package sqlstore is the SQL of the store, once for both engines, over
// database/sql. store/sqlite and store/postgres open a database, migrate it and
// say in a Dialect what differs.
//
// The rules that make it one SQL: $1 placeholders, times as UTC milliseconds,
// positions as microseconds, JSON as text, flags as 0 and 1, ON CONFLICT, no
// now(), no arrays. Every writing transaction takes its user's row first, so
// that one user's rows commit in order and users never wait for each other.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/everthread/everthread/core"
)

// Store implements core.Store.
type Store struct {
	write   *sql.DB
	read    *sql.DB
	dialect Dialect
	bus     bus[string]
	changes bus[core.UserID]
	batch   batcher
	recent  recent
	replies foresights // of turns
	parts   foresights // of deliveries
	seen    seen
	known   directories
	rota    rota
	lapsed  atomic.Int64 // when it was looked for leases beyond their time, in milliseconds
	oldest  atomic.Int64 // version of the oldest live process; 0: none has been asked for
	heads   heads
	shrunk  atomic.Int64 // how often pages of moves are halved: after each step that fails
	analyze core.Analyzer
	commits atomic.Int64
	trips   atomic.Int64
	trace   func(query string, args []any)
}

var _ core.Store = (*Store)(nil)

// New returns a store over a writing and a reading pool, which may be the same.
func New(write, read *sql.DB, d Dialect) *Store {
	return &Store{write: write, read: read, dialect: d}
}

// Analyze makes the store keep a full-text index with a. Without one nothing is
// found. It is called before the first use of the store.
func (s *Store) Analyze(a core.Analyzer) { s.analyze = a }

// DB returns the writing pool, for tests that look at the tables.
func (s *Store) DB() *sql.DB { return s.write }

// Commits returns how many writing transactions have been committed.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Trips returns how often a writing transaction has waited for the database.
func (s *Store) Trips() int64 { return s.trips.Load() }

// Trace passes every statement to f before it is run, for tests. It is called
// before the first use of the store.
func (s *Store) Trace(f func(query string, args []any)) { s.trace = f }

// prepared is what every statement passes on its way to the database.
func (s *Store) prepared(query string, args []any) []any {
	if s.trace != nil {
		s.trace(query, args)
	}
	return clean(args)
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.one(ctx).row(`SELECT 1`).Scan(&one)
}

// Close ends all work with the database.
func (s *Store) Close() error {
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(err, s.read.Close())
	}
	return err
}
