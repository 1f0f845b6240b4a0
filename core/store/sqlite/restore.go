package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/everthread/everthread/core/store/sqlstore"
)

// Library creates the tables of a library besides ours.
type Library func(ctx context.Context, db *sql.DB, dialect string) error

// Preparer returns a function that brings a restored database below a folder up to date, and settles its work in
// progress. Afterwards the database consists of one file. A database with an object that neither our schema nor the
// library creates in this form is refused, as a schema can contain code that runs by itself.
func Preparer(library Library) func(ctx context.Context, dir string) error {
	return func(ctx context.Context, dir string) error {
		if err := checkSchema(ctx, dir, library); err != nil {
			return err
		}
		return prepare(ctx, dir)
	}
}

func prepare(ctx context.Context, dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	if err = s.Migrate(ctx); err == nil {
		err = sqlstore.Settle(s.has, func(query string) error {
			_, err := s.db.ExecContext(ctx, query)
			return err
		})
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	return errors.Join(err, s.Close())
}

func (s *Store) has(table string) bool {
	var n int
	return s.db.QueryRow(`SELECT COUNT(*) FROM sqlite_schema WHERE name = $1`, table).Scan(&n) == nil && n > 0
}

// object is an entry of a schema.
type object struct{ kind, name, table, text string }

// checkSchema compares the schema of the database below dir with a new one of its version, without running any of it.
func checkSchema(ctx context.Context, dir string, library Library) error {
	found, version, err := untrusted(ctx, filepath.Join(dir, "everthread.db"))
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	ours, theirs, err := reference(ctx, dir, version, library)
	if err != nil {
		return err
	}
	for _, o := range found {
		known, ok := ours[object{kind: o.kind, name: o.name, table: o.table}]
		switch {
		case ok && (known == o.text || o.kind == "table" && statistics(o)):
		case ok:
			return fmt.Errorf(
				"the %s %q is not made as everthread makes it, so the backup is not restored: it was changed by somebody", o.kind,
				o.name)
		case statistics(o), theirs[o.table] && o.plain():
		default:
			return fmt.Errorf(
				"there is a %s %q in it that everthread does not make, so the backup is not restored; if it is yours, remove it where the backup was made, and make another one", o.kind, o.name)
		}
	}
	return nil
}

// statistics reports whether an object is a table of the engine's statistics.
func statistics(o object) bool {
	return o.kind == "table" && (o.name == "sqlite_stat1" && o.text == "CREATE TABLE sqlite_stat1(tbl,idx,stat)" ||
		o.name == "sqlite_stat4" && o.text == "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)")
}

// plain reports whether an object of a library's table contains no code.
func (o object) plain() bool {
	return o.kind == "index" || o.kind == "table" && !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(o.text)),
		"CREATE VIRTUAL")
}

// untrusted reads the schema of an untrusted file, and its version.
func untrusted(ctx context.Context, path string) (found []object, version int64, err error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?mode=ro&immutable=1&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cell_size_check(1)")
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = db.Close() }()
	if found, err = objects(ctx, db); err != nil {
		return nil, 0, err
	}
	for _, o := range found {
		if o.name == "goose_db_version" && o.kind != "table" {
			return nil, 0, errors.New("it does not say its version")
		}
	}
	err = db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&version)
	return found, version, err
}

func objects(ctx context.Context, db *sql.DB) (out []object, err error) {
	rows, err := db.QueryContext(ctx, `SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_schema ORDER BY name`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.table, &o.text); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// reference creates a schema of a version below dir and returns its contents: our objects with
// their text, and the names of the library's tables.
func reference(ctx context.Context, dir string, version int64,
	library Library) (ours map[object]string, theirs map[string]bool, err error) {
	place, err := os.MkdirTemp(dir, "schema-")
	if err != nil {
		return nil, nil, fmt.Errorf("compare the schema: %w", err)
	}
	defer func() { _ = os.RemoveAll(place) }()
	s, err := Open(place)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.Close() }()
	p, err := s.provider()
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.UpTo(ctx, version); err != nil {
		return nil, nil, fmt.Errorf("make a schema to compare with: %w", err)
	}
	made, err := objects(ctx, s.db)
	if err != nil {
		return nil, nil, fmt.Errorf("compare the schema: %w", err)
	}
	ours = map[object]string{}
	for _, o := range made {
		ours[object{kind: o.kind, name: o.name, table: o.table}] = o.text
	}
	theirs = map[string]bool{}
	if library == nil {
		return ours, theirs, nil
	}
	db, dialect, err := s.Beside()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = db.Close() }()
	if err := library(ctx, db, dialect); err != nil {
		return nil, nil, fmt.Errorf("make the tables of libraries: %w", err)
	}
	made, err = objects(ctx, db)
	for _, o := range made {
		if _, ok := ours[object{kind: "table", name: o.table, table: o.table}]; !ok {
			theirs[o.table] = true
		}
	}
	return ours, theirs, err
}
