// Package sqlite is the embedded store: one file, no server, CGO-free.
//
// It runs in WAL mode with synchronous=FULL: a commit that returned survives a
// power cut. There is one writing connection and several readers. Several
// processes may have the file open; they find each other's jobs by polling.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/everthread/everthread/core"
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
	if err := private(path); err != nil {
		return nil, fmt.Errorf("keep the database to ourselves: %w", err)
	}
	write, err := open(path, "immediate", 1)
	if err != nil {
		return nil, err
	}
	read, err := open(path, "deferred", readers)
	if err != nil {
		return nil, err
	}
	return &Store{Store: sqlstore.New(write, read, sqlstore.Dialect{Name: "sqlite", OneWriter: true, Terms: terms{},
		Vector: vectors{}, Scrub: scrub()}), db: write, path: path}, nil
}

// private makes sure that a database is there, and that nobody else can read it,
// whatever the folder and the umask let. The files beside it get their mode from it,
// if they are made by then. One that is there is not opened: closing it would end the
// locks that this process has on it.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err == nil {
			err = os.Chmod(name, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) &&
			!errors.Is(err, fs.ErrNotExist) { // it is not ours: who owns it says who reads it
			return err
		}
	}
	return nil
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
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-4000)", "secure_delete(ON)",
			"temp_store(MEMORY)", autocheckpoint},
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

// Migrate brings the schema up to date. Where several processes begin on one file,
// a step that another has made meanwhile is no error.
func (s *Store) Migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	made := int64(-1)
	for {
		err := sqlstore.Migrate(ctx, p)
		if err == nil {
			return nil
		}
		now, versionErr := p.GetDBVersion(ctx)
		if versionErr != nil || now <= made {
			return err
		}
		made = now
	}
}

// Schema reads the schema's version.
func (s *Store) Schema(ctx context.Context) (core.Schema, error) {
	p, err := s.provider()
	if err != nil {
		return core.Schema{}, err
	}
	return sqlstore.SchemaOf(ctx, p)
}

func (s *Store) provider() (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, s.db, migrations.SQLite(), goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
}
