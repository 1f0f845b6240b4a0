package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/everthread/everthread/core/store/sqlstore"
)

// pipeline runs statements in one round trip on a connection, in order, until
// one fails.
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

// none is a row that is not there.
type none struct{}

// Scan tells so.
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
	if len(values) != len(dest) {
		return fmt.Errorf("scan: %d columns into %d values", len(values), len(dest))
	}
	for i, v := range values {
		if err := assign(dest[i], v); err != nil {
			return fmt.Errorf("scan column %d: %w", i+1, err)
		}
	}
	return nil
}

var errType = errors.New("a value does not fit")

// assign stores a value of a column: NULL, a number, text, bytes or bool.
func assign(dest, value any) error {
	if s, ok := dest.(sql.Scanner); ok {
		return s.Scan(value)
	}
	to := reflect.ValueOf(dest).Elem()
	switch v := value.(type) {
	case nil:
		to.SetZero()
	case int64:
		return assignInt(to, v)
	case int32:
		return assignInt(to, int64(v))
	case string:
		if to.Kind() != reflect.String {
			return fmt.Errorf("%w: text into %s", errType, to.Type())
		}
		to.SetString(v)
	case bool:
		if to.Kind() != reflect.Bool {
			return fmt.Errorf("%w: bool into %s", errType, to.Type())
		}
		to.SetBool(v)
	case []byte:
		to.SetBytes(v)
	default:
		return fmt.Errorf("%w: %T into %s", errType, value, to.Type())
	}
	return nil
}

func assignInt(to reflect.Value, v int64) error {
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		to.SetInt(v)
	case reflect.Bool:
		to.SetBool(v != 0)
	default:
		return fmt.Errorf("%w: a number into %s", errType, to.Type())
	}
	return nil
}
