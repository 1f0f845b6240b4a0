// Package sqlite is the embedded store: one file, no server, no cgo.
//
// It runs in WAL mode with synchronous=FULL: a completed commit survives a power cut. There is one writing connection
// and several readers. Several processes may have the file open; each looks every second whether another has written.
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
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"
	"github.com/everthread/everthread/migrations"
)

// readers is the number of reading connections.
const readers = 4

// Open opens the database file below dir without migrating it, and creates it if need be.
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
	return &Store{Store: sqlstore.New(write, read, sqlstore.Dialect{Name: "sqlite", OneWriter: true, OneOf: `IN (%s)`,
		Terms: terms{}, Vector: vectors{}, Scrub: scrub()}), db: write, path: path}, nil
}

// private creates the database file if need be, and ensures that nobody else can read it, whatever
// the folder and the umask allow. Later files of SQLite inherit its mode. An existing file is not
// opened, as closing it would end this process's locks on it.
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
			!errors.Is(err, fs.ErrNotExist) { // another user's file: its owner decides who reads it
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

// Beside opens another pool of the same database, for a library with tables of its own, and
// returns the dialect's name. The caller closes the pool.
func (s *Store) Beside() (*sql.DB, string, error) {
	db, err := open(s.path, "immediate", readers)
	return db, "sqlite3", err
}

// Migrate brings the schema up to date. If several processes start on one file, a step that
// another process has made meanwhile is no error.
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
func (s *Store) Schema(ctx context.Context) (store.Schema, error) {
	p, err := s.provider()
	if err != nil {
		return store.Schema{}, err
	}
	return sqlstore.SchemaOf(ctx, p)
}

func (s *Store) provider() (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, s.db, migrations.SQLite(), goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
}

// The write-ahead log is copied into the database, concurrently with commits, after
// checkpointAfter commits; tendEvery is how often that is checked, and whether somebody has written.
const (
	checkpointAfter = 20
	tendEvery       = time.Second
)

// autocheckpoint makes a commit copy the log itself when it has this many pages: for commits
// without a gap, and for commands.
const autocheckpoint = "wal_autocheckpoint(4000)"

// Tend copies the log into the database until ctx ends, so that commits need not, and yields
// core.TopicWritten to Wakes after writes of any process: each changes the file of the log.
func (s *Store) Tend(ctx context.Context) error {
	db, err := open(s.path, "deferred", 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing depends on it
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for done, seen := int64(0), (mark{}); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if now := written(s.path); now != seen {
			seen = now
			s.Tell(core.TopicWritten)
		}
		n := s.Commits()
		if n-done < checkpointAfter {
			continue
		}
		if _, err := db.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err == nil {
			done = n // otherwise a commit does it, and reports the error
		}
	}
}

// mark identifies a state of the log.
type mark struct{ at, size int64 }

// written returns the mark of the log of the database at path.
func written(path string) mark {
	info, err := os.Stat(path + "-wal")
	if err != nil { // the last process to close the database removes it
		return mark{}
	}
	return mark{info.ModTime().UnixNano(), info.Size()}
}
