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

// restoring is the table that marks a schema while a backup is restored into it.
const restoring = "everthread_restoring"

// Load creates the tables of a schema version in an empty schema and fills them, completely or
// not at all; see backup.Loader. Until then the schema is marked, and Migrate refuses it. A marked
// schema is emptied first. Only rows come from the backup.
func (s *Store) Load(ctx context.Context, schema int64, tables []core.Table,
	source core.TableSource) (left []string, err error) {
	c, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := s.claim(ctx, c); err != nil {
		return nil, err
	}
	p, shut, err := s.provider()
	if err != nil {
		return nil, err
	}
	defer shut()
	if _, err := p.UpTo(ctx, schema); err != nil {
		return nil, fmt.Errorf("make the schema: %w", err)
	}
	l := &loading{into: map[string]made{}}
	if err := l.look(ctx, c, true); err != nil {
		return nil, err
	}
	if s.beside != nil && slices.ContainsFunc(tables, func(t core.Table) bool { return l.into[t.Name].columns == nil }) {
		if err := s.makeBeside(ctx); err != nil {
			return nil, err
		}
		if err := l.look(ctx, c, false); err != nil {
			return nil, err
		}
	}
	if err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return l.fill(ctx, tx, tables, source) }); err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, `ANALYZE`); err != nil {
		return l.left, fmt.Errorf("gather statistics: %w", err)
	}
	return l.left, nil
}

// makeBeside makes libraries create their tables.
func (s *Store) makeBeside(ctx context.Context) error {
	db, dialect, err := s.Beside()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := s.beside(ctx, db, dialect); err != nil {
		return fmt.Errorf("make the tables of libraries: %w", err)
	}
	return nil
}

// marked reports whether a restore into the schema was not completed.
func marked(ctx context.Context, q interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) (yes bool, err error) {
	err = q.QueryRow(ctx, `SELECT to_regclass(quote_ident(current_schema()) || '.`+restoring+`') IS NOT NULL`).Scan(&yes)
	return yes, err
}

// claim marks the schema, which must be empty or marked by an earlier restore.
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

// lockRestore excludes other restores while the connection lives. It waits a while, as a server
// notices a dead connection late.
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

// notAvailable is the error code of a lock timeout.
const notAvailable = "55P03"

// empty removes the remains of an unfinished restore. Any other table is an error.
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
		return fmt.Errorf("the database has tables already (%s and others); name an empty database in database_url, or an empty schema with search_path: on a server nothing is moved aside, not even with --force", there[0])
	}
	for _, name := range there {
		if _, err := tx.Exec(ctx, `DROP TABLE `+quoted(name)+` CASCADE`); err != nil {
			return fmt.Errorf("clear away an unfinished restore: %w", err)
		}
	}
	if !unfinished {
		return nil
	}
	kinds, err := list(ctx, tx,
		`SELECT typname FROM pg_type WHERE typnamespace = current_schema()::regnamespace AND typtype = 'e'`)
	for _, name := range kinds {
		if err == nil {
			_, err = tx.Exec(ctx, `DROP TYPE `+quoted(name)+` CASCADE`)
		}
	}
	if err != nil {
		return fmt.Errorf("clear away an unfinished restore: %w", err)
	}
	return nil
}

// loading is the state of a restore.
type loading struct {
	into map[string]made // existing tables by name
	left []string        // tables that were left out, and why
}

// made is an existing table.
type made struct {
	columns []string
	ours    bool // of our schema
	written bool // its library has written rows when creating it, which stay
}

// look adds the tables that have been created since the last call.
func (l *loading) look(ctx context.Context, c *pgx.Conn, ours bool) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		there, err := tablesOf(ctx, tx)
		if err != nil {
			return fmt.Errorf("list the tables: %w", err)
		}
		for _, t := range there {
			if l.into[t.Name].columns != nil {
				continue
			}
			m := made{ours: ours}
			for _, c := range t.Columns {
				m.columns = append(m.columns, c.Name)
			}
			if !ours {
				if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+quoted(t.Name)+`)`).Scan(&m.written); err != nil {
					return fmt.Errorf("look into %s: %w", t.Name, err)
				}
			}
			l.into[t.Name] = m
		}
		return nil
	})
}

// fill fills the tables, and removes the mark.
func (l *loading) fill(ctx context.Context, tx pgx.Tx, tables []core.Table, source core.TableSource) error {
	if err := l.check(tables); err != nil {
		return err
	}
	if err := l.truncate(ctx, tx); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	if err := l.copyIn(ctx, tx, tables, source); err != nil {
		return err
	}
	has := func(name string) bool { return l.into[name].columns != nil }
	err := sqlstore.Settle(has, func(query string) error {
		_, err := tx.Exec(ctx, query)
		return err
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DROP TABLE `+restoring)
	return err
}

// check refuses a backup with columns that our schema does not have.
func (l *loading) check(tables []core.Table) error {
	for _, t := range tables {
		m := l.into[t.Name]
		for _, c := range t.Columns {
			if m.ours && !slices.Contains(m.columns, c.Name) {
				return fmt.Errorf("the backup has a column %q of %q, which the schema that it names does not have: it was changed by somebody, and is not restored", c.Name, t.Name)
			}
		}
	}
	return nil
}

// truncate removes the rows that migrations insert.
func (l *loading) truncate(ctx context.Context, tx pgx.Tx) error {
	var names []string
	for name, m := range l.into {
		if m.ours {
			names = append(names, quoted(name))
		}
	}
	_, err := tx.Exec(ctx, `TRUNCATE `+strings.Join(names, ", "))
	return err
}

// copyIn fills the existing tables. It skips a library's table that cannot be filled completely.
func (l *loading) copyIn(ctx context.Context, tx pgx.Tx, tables []core.Table, source core.TableSource) error {
	for {
		n, rows, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t := tables[n]
		m := l.into[t.Name]
		kept := &failed{Reader: rows}
		switch {
		case m.ours:
			err = fillTable(ctx, tx, t, kept)
		case m.columns == nil:
			l.left = append(l.left, fmt.Sprintf("%q: it is no table of everthread", t.Name))
		case m.written:
		case !sameColumns(t, m.columns):
			l.left = append(l.left, fmt.Sprintf("%q: the library that keeps it makes it otherwise now", t.Name))
		default:
			err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return fillTable(ctx, tx, t, kept) })
			if kept.err == nil && unfit(err) {
				l.left = append(l.left, fmt.Sprintf("%q: %v", t.Name, err))
				err = nil
			}
		}
		if kept.err != nil {
			return kept.err // the server only reports that the rows ended
		}
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, rows); err != nil {
			return err
		}
	}
}

// unfit reports whether an error concerns the rows, and not the server.
func unfit(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains([]string{"22", "23", "42"}, refused.Code[:2])
}

// sameColumns reports whether a table of a backup has exactly these columns.
func sameColumns(t core.Table, columns []string) bool {
	return len(t.Columns) == len(columns) && !slices.ContainsFunc(t.Columns,
		func(c core.Column) bool { return !slices.Contains(columns, c.Name) })
}

func fillTable(ctx context.Context, tx pgx.Tx, t core.Table, rows io.Reader) error {
	if len(t.Columns) == 0 {
		return fmt.Errorf("fill the table %s: the backup names no column of it", t.Name)
	}
	_, err := tx.Conn().PgConn().CopyFrom(ctx, rows, `COPY `+quoted(t.Name)+` (`+columnsOf(t)+
		`) FROM STDIN (FORMAT binary)`)
	if err != nil {
		return fmt.Errorf("fill the table %s: %w", t.Name, err)
	}
	return nil
}

// failed keeps the error of its Reader.
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
