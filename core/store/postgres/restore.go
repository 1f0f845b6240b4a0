package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/sqlstore"
)

// restoring is the table that stands in a schema while a backup is put into it.
const restoring = "everthread_restoring"

// Load makes the schema of a version in an empty one and fills it, whole or not
// at all. Until it is whole the schema is marked, and Migrate refuses it; one that
// is marked is emptied first.
func (s *Store) Load(ctx context.Context, schema int64, tables []core.Table, source core.TableSource) error {
	c, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := s.claim(ctx, c); err != nil {
		return err
	}
	p, err := s.provider()
	if err != nil {
		return err
	}
	if _, err := p.UpTo(ctx, schema); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	if err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return fill(ctx, tx, tables, source) }); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `ANALYZE`); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	return nil
}

// marked tells whether a restore into the schema was not finished.
func marked(ctx context.Context, q interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) (yes bool, err error) {
	err = q.QueryRow(ctx, `SELECT to_regclass(quote_ident(current_schema()) || '.`+restoring+`') IS NOT NULL`).Scan(&yes)
	return yes, err
}

// claim marks the schema, which must be empty, or marked by a restore that is over.
func (s *Store) claim(ctx context.Context, c *pgx.Conn) error {
	if err := s.lockRestore(ctx, c); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := empty(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+restoring+` ()`)
		return err
	})
}

// lockRestore has this restore be the only one, as long as the connection lives.
// A server takes a while to notice that one died.
func (s *Store) lockRestore(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, `SET lock_timeout = '20s'`); err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	_, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, lockID("restore into "+s.schema))
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == notAvailable {
		return errors.New("another restore into this database is under way")
	}
	if err == nil {
		_, err = c.Exec(ctx, `RESET lock_timeout`)
	}
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	return nil
}

// notAvailable is the code of a lock that was not to be had in time.
const notAvailable = "55P03"

// empty clears away what an unfinished restore left. What anything else left is
// an error.
func empty(ctx context.Context, tx pgx.Tx) error {
	unfinished, err := marked(ctx, tx)
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	there, err := list(ctx, tx, every+` AND c.relname <> '`+restoring+`'`)
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	if len(there) > 0 && !unfinished {
		return fmt.Errorf("the database has tables already (%s and others); name an empty database in database_url, or an empty schema with search_path: on a server nothing is moved aside, whoever forces it", there[0])
	}
	for _, name := range there {
		if _, err := tx.Exec(ctx, `DROP TABLE `+quoted(name)+` CASCADE`); err != nil {
			return fmt.Errorf("clear away an unfinished restore: %w", err)
		}
	}
	return nil
}

// fill makes the tables that are not of our schema, fills all, and takes the mark away.
func fill(ctx context.Context, tx pgx.Tx, tables []core.Table, source core.TableSource) error {
	known, err := list(ctx, tx, every+but)
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	if err := truncate(ctx, tx, known); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	var others []core.Table
	for _, t := range tables {
		if !slices.Contains(known, t.Name) {
			others = append(others, t)
		}
	}
	if err := create(ctx, tx, others); err != nil {
		return err
	}
	if err := copyIn(ctx, tx, tables, source); err != nil {
		return err
	}
	if err := complete(ctx, tx, others); err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(tables, func(t core.Table) bool { return t.Name == name })
	}
	err = sqlstore.Settle(has, func(query string) error {
		_, err := tx.Exec(ctx, query)
		return err
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DROP TABLE `+restoring)
	return err
}

// truncate removes the rows that a new schema comes with.
func truncate(ctx context.Context, tx pgx.Tx, tables []string) error {
	var names []string
	for _, t := range tables {
		names = append(names, quoted(t))
	}
	_, err := tx.Exec(ctx, `TRUNCATE `+strings.Join(names, ", "))
	return err
}

// create makes tables without their rules. A column of a type that only the old
// database had, as a list of words is, becomes one of text.
func create(ctx context.Context, tx pgx.Tx, tables []core.Table) error {
	for _, t := range tables {
		var columns []string
		for _, c := range t.Columns {
			var known bool
			if err := tx.QueryRow(ctx, `SELECT to_regtype($1) IS NOT NULL`, c.Type).Scan(&known); err != nil {
				return fmt.Errorf("look for the type %s: %w", c.Type, err)
			}
			if !known {
				c.Default = strings.TrimSuffix(c.Default, "::"+c.Type)
				c.Type = "text"
			}
			text := quoted(c.Name) + " " + c.Type
			if c.Default != "" {
				text += " DEFAULT " + c.Default
			}
			if c.Required {
				text += " NOT NULL"
			}
			columns = append(columns, text)
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE `+quoted(t.Name)+` (`+strings.Join(columns, ", ")+`)`); err != nil {
			return fmt.Errorf("make the table %s: %w", t.Name, err)
		}
	}
	return nil
}

// copyIn fills the tables.
func copyIn(ctx context.Context, tx pgx.Tx, tables []core.Table, source core.TableSource) error {
	for {
		n, rows, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t := tables[n]
		kept := &failed{Reader: rows}
		_, err = tx.Conn().PgConn().CopyFrom(ctx, kept, `COPY `+quoted(t.Name)+` (`+columnsOf(t)+`) FROM STDIN (FORMAT binary)`)
		if kept.err != nil {
			return kept.err // the server only knows that the rows ended
		}
		if err != nil {
			return fmt.Errorf("fill the table %s: %w", t.Name, err)
		}
	}
}

// failed keeps why reading failed.
type failed struct {
	io.Reader
	err error
}

// Read reads.
func (f *failed) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// complete gives tables their rules and indexes: first what stands for itself.
func complete(ctx context.Context, tx pgx.Tx, tables []core.Table) error {
	for _, refers := range []bool{false, true} {
		for _, t := range tables {
			for _, r := range t.Rules {
				if r.Refers != refers {
					continue
				}
				if _, err := tx.Exec(ctx, `ALTER TABLE `+quoted(t.Name)+` ADD CONSTRAINT `+quoted(r.Name)+` `+r.Definition); err != nil {
					return fmt.Errorf("make the rule %s of %s: %w", r.Name, t.Name, err)
				}
			}
		}
	}
	for _, t := range tables {
		for _, index := range t.Indexes {
			if _, err := tx.Exec(ctx, index); err != nil {
				return fmt.Errorf("make an index of %s: %w", t.Name, err)
			}
		}
	}
	return nil
}
