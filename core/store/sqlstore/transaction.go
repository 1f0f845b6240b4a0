package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/everthread/everthread/core"
)

// transaction is a writing database transaction, with what the transactions of its users share.
//
// It remembers its first error, as a bufio.Writer does, and fails with it. After that it runs and
// reads nothing: statements do nothing, and reads leave their destinations as they are. So code
// does not look for errors between its statements. Only code that changes something outside of
// the database, or cannot go on with zero values, looks at err first.
type transaction struct {
	s     *Store
	ctx   context.Context
	db    database
	conn  *sql.Conn // holds the transaction, if statements are pipelined
	queue []Statement
	err   error // the first one

	aborted bool          // it failed before the commit
	written []core.UserID // users whose rows it writes
	wake    []string
}

// database runs statements: a transaction, or the connection that holds one.
type database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// fail makes the transaction fail with err, unless that is nil or it has failed already.
func (t *transaction) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// exec queues a statement whose result is ignored. It runs before the next one that has a result, or before the
// commit, which then reports its error. After an error exec does nothing.
func (t *transaction) exec(query string, args ...any) {
	if t.err == nil {
		t.queue = append(t.queue, Statement{Query: query, Args: t.s.prepared(query, args)})
	}
}

// execOr runs a statement, and fails with otherwise if it affects no row.
func (t *transaction) execOr(otherwise error, query string, args ...any) {
	if t.count(query, args...) == 0 {
		t.fail(otherwise)
	}
}

// execAll runs exec for statements.
func (t *transaction) execAll(statements ...Statement) {
	for _, s := range statements {
		t.exec(s.Query, s.Args...)
	}
}

// execEach runs exec for queries with the same arguments.
func (t *transaction) execEach(queries []string, args ...any) {
	for _, query := range queries {
		t.exec(query, args...)
	}
}

// send runs the queued statements.
func (t *transaction) send() {
	if t.err != nil || len(t.queue) == 0 {
		return
	}
	t.s.trips.Add(1)
	if t.conn != nil {
		t.fail(t.s.dialect.Pipeline(t.ctx, t.conn, t.queue))
	} else {
		t.fail(t.oneByOne())
	}
	t.queue = t.queue[:0]
}

// oneByOne runs the queued statements, none of which has a result, until one fails.
func (t *transaction) oneByOne() error {
	for _, s := range t.queue {
		if _, err := t.db.ExecContext(t.ctx, s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// count runs a statement and returns the number of affected rows.
func (t *transaction) count(query string, args ...any) int64 {
	if t.send(); t.err != nil {
		return 0
	}
	t.s.trips.Add(1)
	res, err := t.db.ExecContext(t.ctx, query, t.s.prepared(query, args)...)
	if err != nil {
		t.fail(err)
		return 0
	}
	n, err := res.RowsAffected()
	t.fail(err)
	return n
}

// columns are the destinations of a row's columns.
type columns []any

// get reads a row into dest: columns, or a variable for the only one. There must be a row.
func (t *transaction) get(dest any, query string, args ...any) {
	t.getOr(sql.ErrNoRows, dest, query, args...)
}

// getOr is get that fails with otherwise if there is no row.
func (t *transaction) getOr(otherwise error, dest any, query string, args ...any) {
	if !t.find(dest, query, args...) {
		t.fail(otherwise)
	}
}

// find is get for a row that need not exist, and reports whether it does.
func (t *transaction) find(dest any, query string, args ...any) bool {
	into, several := dest.(columns)
	if !several {
		into = columns{dest}
	}
	return t.row(query, args...).Scan(into...) == nil
}

// row returns the first row of a query. Errors are remembered, except that there is none.
func (t *transaction) row(query string, args ...any) scanner {
	if t.send(); t.err != nil {
		return broken{t.err}
	}
	t.s.trips.Add(1)
	return firstRow{t.db.QueryRowContext(t.ctx, query, t.s.prepared(query, args)...), t}
}

// rows returns the rows of a query. Errors are remembered.
func (t *transaction) rows(query string, args ...any) (rows, error) {
	if t.send(); t.err != nil {
		return nil, t.err
	}
	t.s.trips.Add(1)
	all, err := t.db.QueryContext(t.ctx, query, t.s.prepared(query, args)...) //nolint:rowserrcheck // each looks
	return allRows{all, t}, t.remember(err)
}

// remember makes the transaction fail with the error of a read, except that there is no row.
func (t *transaction) remember(err error) error {
	if !errors.Is(err, sql.ErrNoRows) {
		t.fail(err)
	}
	return err
}

// firstRow is a row whose error the transaction remembers.
type firstRow struct {
	scanner
	t *transaction
}

// Scan scans the row.
func (r firstRow) Scan(dest ...any) error { return r.t.remember(r.scanner.Scan(dest...)) }

// allRows is a result whose errors the transaction remembers.
type allRows struct {
	*sql.Rows
	t *transaction
}

// Scan scans the current row.
func (r allRows) Scan(dest ...any) error { return r.t.remember(r.Rows.Scan(dest...)) }

// Err returns the error that ended the rows.
func (r allRows) Err() error { return r.t.remember(r.Rows.Err()) }

// sticky is a reader that remembers its first error.
type sticky interface {
	reader
	fail(err error)
}

// listOf is list for a transaction.
func listOf[T any](t sticky, scan func(scanner) (T, error), query string, args ...any) []T {
	out, err := list(t, scan, query, args...)
	t.fail(err)
	return out
}

// valueOf reads the only column of a row. There must be a row.
func valueOf[T any](t sticky, query string, args ...any) T {
	return rowOf(t, column[T], query, args...)
}

// rowOf reads a row with scan. It fails with the error of scan if there is none.
func rowOf[T any](t sticky, scan func(scanner) (T, error), query string, args ...any) T {
	v, err := scan(t.row(query, args...))
	t.fail(err)
	return v
}
