package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
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

// reads runs statements with All in one consistent read, in one round trip where that is possible.
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

// broken is the row of a query that failed.
type broken struct{ err error }

// Scan returns the query's error.
func (b broken) Scan(...any) error { return b.err }

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

// found turns the driver's "no rows" into core.ErrNotFound.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return core.ErrNotFound
	}
	return err
}

// optional returns nil for the driver's "no rows".
func optional(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// ms returns a time as it is stored: UTC milliseconds, 0 for the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// at returns the time of stored milliseconds.
func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// asTime returns a destination of Scan for a stored time.
func asTime(t *time.Time) sql.Scanner { return timeColumn{t} }

type timeColumn struct{ t *time.Time }

// Scan stores the time of milliseconds.
func (c timeColumn) Scan(value any) error {
	var stored sql.NullInt64
	err := stored.Scan(value)
	*c.t = at(stored.Int64)
	return err
}

// asJSON returns a destination of Scan for stored JSON, which is decoded into v.
func asJSON(v any) sql.Scanner { return jsonColumn{v} }

type jsonColumn struct{ v any }

// Scan decodes a JSON text.
func (c jsonColumn) Scan(value any) error {
	var stored sql.NullString
	if err := stored.Scan(value); err != nil {
		return err
	}
	return unjson(stored.String, c.v)
}

// text returns v as JSON. It panics if v cannot be marshalled, as every stored type can.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlstore: %T does not marshal: %v", v, err))
	}
	return string(b)
}

// until yields the values of a list as long as *err is nil. The body of the loop sets it.
func until[T any](err *error, values []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range values {
			if *err != nil || !yield(v) {
				return
			}
		}
	}
}

// fields returns a function that scans a row into the fields that dest lists.
func fields[T any](dest func(v *T) []any) func(scanner) (T, error) {
	return func(r scanner) (v T, err error) {
		err = r.Scan(dest(&v)...)
		return v, err
	}
}

// addTo appends the rows of a query to out.
func addTo[T any](out *[]T, q reader, scan func(scanner) (T, error), query string, args ...any) error {
	got, err := list(q, scan, query, args...)
	*out = append(*out, got...)
	return err
}
