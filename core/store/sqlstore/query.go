package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode/utf8"
)

// view runs f in one consistent read.
func (s *Store) view(ctx context.Context, op string, f func(q querier) error) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	tx, err := s.read.BeginTx(ctx, &s.dialect.Read)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(querier{s: s, ctx: ctx, db: tx}); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// snapshot runs reads in one consistent read and one round trip.
func (s *Store) snapshot(ctx context.Context, reads ...Statement) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	all := []Statement{{Query: s.dialect.Snapshot}}
	for _, r := range reads {
		r.Args = s.prepared(r.Query, r.Args)
		all = append(all, r)
	}
	if err = s.dialect.Pipeline(ctx, conn, append(all, Statement{Query: `COMMIT`})); err != nil {
		rollback(ctx, conn)
	}
	return err
}

// reads runs statements with All in one consistent read, in one round trip where
// that is possible.
func (s *Store) reads(ctx context.Context, op string, reads ...Statement) error {
	if s.dialect.Pipeline != nil {
		return wrap(op, s.snapshot(ctx, reads...))
	}
	return s.view(ctx, op, func(q querier) error {
		for _, r := range reads {
			if err := readAll(q, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// querier reads within one transaction, or one statement by itself.
type querier struct {
	s      *Store
	ctx    context.Context
	cancel context.CancelFunc // called when the rows have been read; nil: the caller bounds them
	db     database
}

func (q querier) row(query string, args ...any) scanner {
	row := q.db.QueryRowContext(q.ctx, query, q.s.prepared(query, args)...)
	if q.cancel == nil {
		return row
	}
	return single{row, q.cancel}
}

func (q querier) rows(query string, args ...any) (rows, error) {
	r, err := q.db.QueryContext(q.ctx, query, q.s.prepared(query, args)...) //nolint:rowserrcheck // each looks
	if q.cancel == nil {
		return r, err
	}
	if err != nil {
		q.cancel()
		return nil, err
	}
	return several{r, q.cancel}, nil
}

// rows is the result of a query.
type rows interface {
	scanner
	Next() bool
	Err() error
	Close() error
}

// single is a row with a time limit of its own.
type single struct {
	scanner
	cancel context.CancelFunc
}

// Scan scans the row and ends the limit.
func (s single) Scan(dest ...any) error {
	defer s.cancel()
	return s.scanner.Scan(dest...)
}

// several is a result with a time limit of its own.
type several struct {
	*sql.Rows
	cancel context.CancelFunc
}

// Close closes the result and ends the limit.
func (s several) Close() error {
	defer s.cancel()
	return s.Rows.Close()
}

// reader runs queries: a tx or a querier.
type reader interface {
	row(query string, args ...any) scanner
	rows(query string, args ...any) (rows, error)
}

// one returns a querier for a single statement, which is consistent by itself.
func (s *Store) one(ctx context.Context) querier {
	if s.dialect.Timeout == 0 {
		return querier{s: s, ctx: ctx, db: s.read}
	}
	ctx, cancel := context.WithTimeout(ctx, s.dialect.Timeout)
	return querier{s: s, ctx: ctx, cancel: cancel, db: s.read}
}

// list runs a query and scans each of its rows with scan.
func list[T any](q reader, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	rows, err := q.rows(query, args...)
	err = each(rows, err, func(r scanner) error {
		v, err := scan(r)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// column scans a row of one column.
func column[T any](r scanner) (v T, err error) { return v, r.Scan(&v) }

// each calls f for each row of a result, and closes it.
func each(rows rows, err error, f func(scanner) error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

type scanner interface{ Scan(dest ...any) error }

// readAll runs a statement with All.
func readAll(q reader, s Statement) error {
	rows, err := q.rows(s.Query, s.Args...)
	return each(rows, err, func(r scanner) error { return s.All(r) })
}

// clean replaces text that not every engine stores: NUL and invalid UTF-8.
func clean(args []any) []any {
	for i, a := range args {
		if s, ok := a.(string); ok && (strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s)) {
			args[i] = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return args
}
