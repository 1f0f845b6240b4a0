package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/sqlstore"
)

// lockWait bounds how long pg_dump waits for a table that a migration holds.
const lockWait = "60s"

// Dump writes the schema to w as pg_dump does, consistent as of one moment; see backup.Server. It includes the tables of
// libraries, such as the keys of encrypted rooms.
func (s *Store) Dump(ctx context.Context, w io.Writer) (schema int64, rows map[string]int64, err error) {
	if err := s.Tools(ctx); err != nil {
		return 0, nil, err
	}
	c, err := s.alone(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return 0, nil, fmt.Errorf("read the database: %w", err)
	}
	unfinished, err := marked(ctx, tx)
	if unfinished {
		return 0, nil, core.ErrUnfinished
	}
	var name, moment string
	if err == nil {
		err = tx.QueryRow(ctx, `SELECT current_schema(), pg_export_snapshot(), (SELECT COALESCE(MAX(version_id), 0) FROM `+
			versions+`)`).Scan(&name, &moment, &schema)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read the database: %w", err)
	}
	if rows, err = counts(ctx, tx); err != nil {
		return 0, nil, fmt.Errorf("count the rows: %w", err)
	}
	return schema, rows, run(ctx, s.connection(), nil, w, dumper, "--format=custom", "--compress=0", "--no-owner",
		"--no-privileges", "--no-password", "--lock-wait-timeout="+lockWait, "--schema="+quoted(name), "--snapshot="+moment,
		byEnvironment)
}

// counts counts the rows of the tables.
func counts(ctx context.Context, tx pgx.Tx) (map[string]int64, error) {
	names, err := tables(ctx, tx)
	out := map[string]int64{}
	for _, name := range names {
		var n int64
		if err == nil {
			err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM `+quoted(name)).Scan(&n)
		}
		out[name] = n
	}
	delete(out, versions)
	return out, err
}

// Check fails if pg_restore cannot read a dump; see backup.Server.
func (s *Store) Check(ctx context.Context, dump io.Reader) error {
	return run(ctx, nil, dump, io.Discard, restorer, "--file="+os.DevNull)
}

// Count counts the rows in a dump, by the text that pg_restore makes of all of it; see backup.Server.
func (s *Store) Count(ctx context.Context, dump io.Reader) (map[string]int64, error) {
	if err := s.Tools(ctx); err != nil {
		return nil, err
	}
	c := &copied{rows: map[string]int64{}}
	err := run(ctx, nil, dump, c, restorer, "--file=-")
	delete(c.rows, versions)
	return c.rows, err
}

// copied counts the rows in the text of a dump. The rows of a table follow a line that begins with COPY, one a line,
// until a line of \. ends them.
type copied struct {
	rows  map[string]int64
	line  []byte // so far, its beginning at most
	table string // whose rows come; empty: none
}

// lineMost is how much of a line is kept: enough for the longest name of a table.
const lineMost = 512

// Write counts.
func (c *copied) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, line[:min(len(line), lineMost-min(lineMost, len(c.line)))]...)
		if rest = after; whole {
			c.end()
			c.line = c.line[:0]
		}
	}
	return len(p), nil
}

var copies = regexp.MustCompile(`^COPY (?:[^". ]+|"(?:[^"]|"")+")\.([^". ]+|"(?:[^"]|"")+") `)

// end counts a line.
func (c *copied) end() {
	switch m := copies.FindSubmatch(c.line); {
	case c.table != "" && string(c.line) == `\.`:
		c.table = ""
	case c.table != "":
		c.rows[c.table]++
	case m != nil:
		c.table = strings.ReplaceAll(strings.Trim(string(m[1]), `"`), `""`, `"`)
		c.rows[c.table] = 0
	}
}

// versions is the table of the schema's version.
const versions = "goose_db_version"

// restoring is the table that marks a schema while a backup is restored into it.
const restoring = "everthread_restoring"

// marked reports whether a restore into the schema was not completed.
func marked(ctx context.Context, q interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) (yes bool, err error) {
	err = q.QueryRow(ctx, `SELECT to_regclass(quote_ident(current_schema()) || '.`+restoring+`') IS NOT NULL`).Scan(&yes)
	return yes, err
}

// Restore fills an empty schema from the dump in a file with pg_restore, completely or not at all; see backup.Server.
// Until place has returned, the schema is marked, and Migrate refuses it. A marked schema is emptied first.
func (s *Store) Restore(ctx context.Context, dump string, place func() error) error {
	if err := s.Tools(ctx); err != nil {
		return err
	}
	c, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	name, err := s.claim(ctx, c)
	if err != nil {
		return err
	}
	if err := run(ctx, s.connection(), nil, io.Discard, restorer, "--single-transaction", "--exit-on-error", "--clean",
		"--if-exists", "--no-owner", "--no-privileges", "--no-password", "--schema="+name, byEnvironment,
		dump); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		there, err := tables(ctx, tx)
		if err == nil && !slices.Contains(there, versions) {
			err = fmt.Errorf("the backup has no schema %q: it was made of another, which database_url must name with search_path", name)
		}
		if err != nil {
			return err
		}
		err = sqlstore.Settle(func(table string) bool { return slices.Contains(there, table) }, func(query string) error {
			_, err := tx.Exec(ctx, query)
			return err
		})
		if err == nil {
			err = place()
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DROP TABLE `+restoring)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `ANALYZE`); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	return nil
}

// claim marks the schema, which must be empty or marked by an earlier restore, and returns its name.
func (s *Store) claim(ctx context.Context, c *pgx.Conn) (name string, err error) {
	if err := s.lockRestore(ctx, c); err != nil {
		return "", err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := empty(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT current_schema()`).Scan(&name)
	})
	return name, err
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

// empty removes the tables of an unfinished restore, and marks the schema. Any other table is an error.
func empty(ctx context.Context, tx pgx.Tx) error {
	unfinished, err := marked(ctx, tx)
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	there, err := tables(ctx, tx)
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
	for _, query := range []string{`CREATE EXTENSION IF NOT EXISTS vector`, `CREATE TABLE IF NOT EXISTS ` + restoring + ` ()`} {
		if _, err := tx.Exec(ctx, query); err != nil {
			return fmt.Errorf("prepare the database: %w", err)
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

// tables returns the names of the schema's tables, without those of extensions, partitions of others, and the mark of a
// restore.
func tables(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
		AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> '`+restoring+`'
		AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY c.relname`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
