package postgres

import (
	"context"
	"database/sql"
	"errors"

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
		if err := results.Close(); failed == nil {
			failed = err
		}
		if e, ok := errors.AsType[*pgconn.PgError](failed); ok && e.Code == "0A000" { // a migration changed its columns
			return errors.Join(failed, driver.(*stdlib.Conn).Conn().Close(ctx))
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
