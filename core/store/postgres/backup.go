package postgres

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/everthread/everthread/core"
)

// versions is the table of the schema's version.
const versions = "goose_db_version"

// Unload passes every table of the schema to sink, consistent as of one moment, including those
// of libraries, such as the keys of encrypted rooms. It blocks no writers.
func (s *Store) Unload(ctx context.Context, sink core.TableSink) error {
	c, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	var schema int64
	if err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+versions).Scan(&schema); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	tables, err := tablesOf(ctx, tx)
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	if err := sink.Begin(schema, tables); err != nil {
		return err
	}
	for n, t := range tables {
		err := sink.Table(n, func(w io.Writer) (int64, error) {
			done, err := c.PgConn().CopyTo(ctx, w, `COPY (SELECT `+columnsOf(t)+` FROM `+quoted(t.Name)+
				`) TO STDOUT (FORMAT binary)`)
			return done.RowsAffected(), err
		})
		if err != nil {
			return fmt.Errorf("read the table %s: %w", t.Name, err)
		}
	}
	return nil
}

// alone returns a connection outside the pool without timeouts, for long work.
func (s *Store) alone(ctx context.Context) (*pgx.Conn, error) {
	cfg := s.direct.Copy()
	cfg.RuntimeParams["statement_timeout"] = "0"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("the database does not answer: %w", err)
	}
	return c, nil
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func columnsOf(t core.Table) string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, quoted(c.Name))
	}
	return strings.Join(names, ", ")
}

// every selects the tables of the schema, without those of extensions, and without partitions of other tables.
const every = `SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
	AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`

// but excludes the tables with the state of the schema itself.
const but = ` AND c.relname NOT IN ('` + versions + `', '` + restoring + `')`

func list(ctx context.Context, tx pgx.Tx, query string) ([]string, error) {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// tablesOf describes the tables of the schema.
func tablesOf(ctx context.Context, tx pgx.Tx) ([]core.Table, error) {
	names, err := list(ctx, tx, every+but+` ORDER BY c.relname`)
	var out []core.Table
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		t := core.Table{Name: name}
		err = describe(ctx, tx, &t)
		out = append(out, t)
	}
	return out, err
}

// describe reads the columns of a table.
func describe(ctx context.Context, tx pgx.Tx, t *core.Table) error {
	const of = `(quote_ident(current_schema()) || '.' || quote_ident($1))::regclass`
	rows, err := tx.Query(ctx, `SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
		WHERE a.attrelid = `+of+` AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`, t.Name)
	if err != nil {
		return err
	}
	t.Columns, err = pgx.CollectRows(rows, pgx.RowToStructByPos[core.Column])
	return err
}
