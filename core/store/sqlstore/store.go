// Package sqlstore implements the store over database/sql, with one SQL for both engines. store/sqlite and
// store/postgres open and migrate a database, and describe the differences in a Dialect.
//
// The SQL is portable because it uses $1 placeholders, times as UTC milliseconds, positions as microseconds, JSON as
// text, flags as 0 and 1, ON CONFLICT, no now() and no arrays. Every writing transaction first locks its user's row, so
// one user's transactions commit in order, and users never wait for each other.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Store implements store.Store.
type Store struct {
	write   *sql.DB
	read    *sql.DB
	dialect Dialect
	bus     bus[string]
	changes bus[core.UserID]
	batch   batcher
	known   directories
	rota    rota
	analyze core.Analyzer
	commits atomic.Int64
	trips   atomic.Int64
	trace   func(query string, args []any)
}

var _ store.Store = (*Store)(nil)

// New returns a store over a writing and a reading pool, which may be the same.
func New(write, read *sql.DB, d Dialect) *Store {
	s := &Store{write: write, read: read, dialect: d}
	s.batch = batcher{lanes: max(d.Lanes, 1), apart: !d.OneWriter, commit: s.commitTogether, busy: map[core.UserID]bool{}}
	if d.OneWriter {
		s.batch.commit = s.commitShared
	}
	return s
}

// Analyze makes the store keep a full-text index with a. Without an analyzer,
// searches find nothing. It must be called before the first use of the store.
func (s *Store) Analyze(a core.Analyzer) { s.analyze = a }

// DB returns the writing pool, for tests that read tables.
func (s *Store) DB() *sql.DB { return s.write }

// Commits returns how many writing transactions have been committed.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Trips returns the number of round trips of writing transactions.
func (s *Store) Trips() int64 { return s.trips.Load() }

// Trace passes every statement to f before it runs, for tests. It must be called before the first use of the store.
func (s *Store) Trace(f func(query string, args []any)) { s.trace = f }

// prepared returns the arguments of a statement in the form for the database, and traces them.
func (s *Store) prepared(query string, args []any) []any {
	args = clean(args)
	if s.trace != nil {
		s.trace(query, args)
	}
	return args
}

// Ping returns an error if the database does not answer.
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
