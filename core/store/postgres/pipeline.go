package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/everthread/everthread/core/store/sqlstore"
)

// pipeline runs statements in one round trip on a connection, in order, until one fails.
func pipeline(ctx context.Context, conn *sql.Conn, statements []sqlstore.Statement) error {
	return conn.Raw(func(driver any) error {
		var b pgx.Batch
		for _, s := range statements {
			b.Queue(s.Query, s.Args...)
		}
		results := driver.(*stdlib.Conn).Conn().SendBatch(ctx, &b)
		var failed error
		for _, s := range statements {
			if failed = read(results, s); failed != nil {
				break
			}
		}
		if unexpected(failed) {
			b.QueuedQueries = nil // or the driver would prepare them all again, although they are fine
		}
		if err := results.Close(); failed == nil {
			return err
		}
		return failed
	})
}

// copyRows stores rows with COPY.
func copyRows(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error {
	return conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		return err
	})
}

// read reads the result of one statement.
func read(results pgx.BatchResults, s sqlstore.Statement) error {
	if s.Scan == nil && s.All == nil {
		_, err := results.Exec()
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	if s.All != nil {
		for rows.Next() {
			if err := s.All(row{rows}); err != nil {
				return err
			}
		}
		return rows.Err()
	}
	if rows.Next() {
		if err := s.Scan(row{rows}); err != nil {
			return err
		}
		rows.Close()
		return rows.Err()
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return s.Scan(none{})
}

// none is the row of an empty result.
type none struct{}

// Scan returns sql.ErrNoRows.
func (none) Scan(...any) error { return sql.ErrNoRows }

// row is a row of a pipelined result. It scans as database/sql does, so that
// flags, which are 0 and 1, can be read as bool.
type row struct{ pgx.Rows }

// Scan copies the columns into dest.
func (r row) Scan(dest ...any) error {
	values, err := r.Values()
	if err != nil {
		return err
	}
	return sqlstore.Assign(dest, values)
}

// verifier verifies expected rows, unless the database is distributed.
type verifier struct{ spread *atomic.Bool }

// verify returns a statement that divides by zero unless s would read its expected row. Columns
// expected as nil are not compared. It takes the locks of s.
func (v verifier) verify(s sqlstore.Statement) sqlstore.Statement {
	if v.spread.Load() {
		return sqlstore.Statement{}
	}
	columns, args := make([]string, len(s.Expected)), slices.Clone(s.Args)
	var same []string
	for i, v := range s.Expected {
		columns[i] = "c" + strconv.Itoa(i+1)
		if v != nil {
			args = append(args, v)
			same = append(same, columns[i]+" = $"+strconv.Itoa(len(args)))
		}
	}
	return sqlstore.Statement{Query: `WITH seen (` + strings.Join(columns, ", ") + `) AS (` + s.Query +
		`) SELECT 1 / COUNT(*) FROM seen WHERE ` + strings.Join(same, " AND "), Args: args}
}

// unexpected reports whether a statement of verify failed.
func unexpected(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "22012"
}
