package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Image passes the database file, consistent as of one moment, to read, and returns the row counts
// of its tables. It blocks no writers.
func (s *Store) Image(ctx context.Context, read func(schema, size int64, r io.Reader) error) (map[string]int64, error) {
	db, err := open(s.path, "deferred", 1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("read the database: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	var schema, pages, size int64
	err = tx.QueryRowContext(ctx,
		`SELECT (SELECT MAX(version_id) FROM goose_db_version), (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size)`).
		Scan(&schema, &pages, &size)
	if err != nil {
		return nil, fmt.Errorf("read the database: %w", err)
	}
	err = eachPage(ctx, tx, func(r io.Reader) error { return read(schema, pages*size, r) })
	if err != nil {
		return nil, err
	}
	return counts(ctx, tx)
}

// eachPage passes the pages of the database to read.
func eachPage(ctx context.Context, tx *sql.Tx, read func(r io.Reader) error) error {
	rows, err := tx.QueryContext(ctx, `SELECT data FROM sqlite_dbpage ORDER BY pgno`)
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	defer func() { _ = rows.Close() }()
	if err := read(&pageReader{rows: rows}); err != nil {
		return err
	}
	return rows.Err()
}

// pageReader reads the pages of a database one after another.
type pageReader struct {
	rows *sql.Rows
	page sql.RawBytes
}

// Read reads.
func (p *pageReader) Read(b []byte) (int, error) {
	if len(p.page) == 0 {
		if !p.rows.Next() {
			return 0, cmp.Or(p.rows.Err(), io.EOF)
		}
		if err := p.rows.Scan(&p.page); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.page)
	p.page = p.page[n:]
	return n, nil
}

// counts counts the rows of the plain tables.
func counts(ctx context.Context, tx *sql.Tx) (map[string]int64, error) {
	names, err := plainTables(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	out := map[string]int64{}
	for _, name := range names {
		var n int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM "`+strings.ReplaceAll(name, `"`, `""`)+
			`"`).Scan(&n); err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		out[name] = n
	}
	return out, nil
}

// plainTables lists the tables that are not part of an index.
func plainTables(ctx context.Context, tx *sql.Tx) (names []string, err error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Check checks the integrity of a database file that is not in use.
func Check(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=locking_mode(EXCLUSIVE)&_pragma=journal_mode(DELETE)&_pragma=cache_size(-32000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var said string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&said); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if said != "ok" {
		return fmt.Errorf("check the database: %s", said)
	}
	return nil
}

// Count checks a database file that is not in use, and returns the numbers of rows of its tables, as Image does.
func Count(ctx context.Context, path string) (map[string]int64, error) {
	if err := Check(ctx, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("read the database: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return counts(ctx, tx)
}

// InUse reports whether any process has the database below dir open.
func InUse(ctx context.Context, dir string) bool {
	path := filepath.Join(dir, "everthread.db")
	if _, err := os.Stat(path); err != nil {
		return false
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }()
	// Only a sole user of the database can leave WAL mode.
	var mode string
	db.SetMaxOpenConns(1)
	if err = db.QueryRowContext(ctx, `PRAGMA journal_mode = DELETE`).Scan(&mode); err == nil {
		_ = db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode) // as it was
	}
	var busy *sqlite.Error
	return errors.As(err, &busy) && (busy.Code()&0xff == lib.SQLITE_BUSY || busy.Code()&0xff == lib.SQLITE_LOCKED)
}
