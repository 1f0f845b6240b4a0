// Package sqlite is the embedded store: one file, no server, CGO-free.
//
// It runs in WAL mode with synchronous=FULL: a commit that returned survives a
// power cut. There is one writing connection and several readers. Several
// processes may have the file open; they find each other's jobs by polling.
package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/everthread/everthread/core/store/sqlstore"
	"github.com/everthread/everthread/migrations"
)

// readers is how many connections read at once.
const readers = 4

// Open opens the database file below dir, made if need be, without migrating it.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	path := filepath.Join(dir, "everthread.db")
	write, err := open(path, "immediate", 1)
	if err != nil {
		return nil, err
	}
	read, err := open(path, "deferred", readers)
	if err != nil {
		return nil, err
	}
	return &Store{Store: sqlstore.New(write, read, sqlstore.Dialect{Name: "sqlite", OneWriter: true, Terms: terms{}, Vector: vectors{}, Scrub: scrub()}), db: write, path: path}, nil
}

// Store is the embedded store.
type Store struct {
	*sqlstore.Store
	db   *sql.DB
	path string
}

func open(path, lock string, conns int) (*sql.DB, error) {
	q := url.Values{
		"_txlock": {lock},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-4000)", "secure_delete(ON)", "temp_store(MEMORY)"},
	}
	c, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db := sql.OpenDB(connector{c})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Beside opens the database once more, for a library that keeps tables of its own
// in it, and names the dialect. The caller closes it.
func (s *Store) Beside() (*sql.DB, string, error) {
	db, err := open(s.path, "immediate", readers)
	return db, "sqlite3", err
}

// Migrate brings the schema up to date.
func (s *Store) Migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	return sqlstore.Migrate(ctx, p)
}

// Schema reads the schema's version.
func (s *Store) Schema(ctx context.Context) (sqlstore.Schema, error) {
	p, err := s.provider()
	if err != nil {
		return sqlstore.Schema{}, err
	}
	return sqlstore.SchemaOf(ctx, p)
}

func (s *Store) provider() (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, s.db, migrations.SQLite(), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}
