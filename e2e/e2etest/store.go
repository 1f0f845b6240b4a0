//go:build e2e

package e2etest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const secretKey = "EVERTHREAD_SECRET_KEY=a-key-for-tests-of-enough-length-000"

// empty has an empty store of each kind with the newest schema, made at the first use. A test gets
// a copy, which takes a fraction of the time of migrating a store of its own.
var empty struct {
	dir      string // of this package's run
	database string // on PostgreSQL
}

// emptySQLite returns the file of the store on SQLite.
var emptySQLite = sync.OnceValues(func() (string, error) {
	return filepath.Join(empty.dir, "everthread.db"), migrate("")
})

// emptyPostgres returns the name of the database of the store on PostgreSQL.
var emptyPostgres = sync.OnceValues(func() (string, error) {
	name := newName()
	if err := execute(testServer(), "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	empty.database = name
	if err := execute(inDatabase(name), extensions); err != nil {
		return "", err
	}
	return name, migrate(inDatabase(name))
})

func migrate(database string) error {
	up := exec.Command(Program, "migrate", "up")
	up.Env = []string{secretKey, "HOME=" + empty.dir, "EVERTHREAD_DATA_DIR=" + empty.dir,
		"EVERTHREAD_DATABASE_URL=" + database}
	if out, err := up.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate up: %w: %s", err, out)
	}
	return nil
}

func endEmpty() {
	if empty.database != "" {
		_ = execute(testServer(), "DROP DATABASE "+empty.database+" WITH (FORCE)")
	}
}

// copyStore gives a town that has no store on SQLite yet an empty one.
func (w *Town) copyStore() {
	w.T.Helper()
	at := filepath.Join(w.Dir, "everthread.db")
	if _, err := os.Stat(at); w.Database != "" || w.Program != Program || err == nil {
		return
	}
	file, err := emptySQLite()
	Must(w.T, err)
	b, err := os.ReadFile(file)
	Must(w.T, err)
	Must(w.T, os.WriteFile(at, b, 0o600))
}

// NewStore creates an empty store on PostgreSQL and returns its URL.
func NewStore(t *testing.T) string {
	t.Helper()
	needsPostgres(t)
	template, err := emptyPostgres()
	Must(t, err)
	return newDatabase(t, " TEMPLATE "+template+" STRATEGY file_copy")
}

// NewDatabase creates a PostgreSQL database without a schema and returns its URL.
func NewDatabase(t *testing.T) string {
	t.Helper()
	needsPostgres(t)
	database := newDatabase(t, "")
	Must(t, execute(database, extensions))
	return database
}

// NewSchema creates an empty schema in the test server's database and returns its URL.
func NewSchema(t *testing.T) string {
	t.Helper()
	needsPostgres(t)
	name := newName()
	Must(t, execute(testServer(), "CREATE SCHEMA "+name))
	t.Cleanup(func() {
		err := execute(testServer(), "DROP SCHEMA "+name+" CASCADE")
		for range 5 {
			if e := (*pgconn.PgError)(nil); !errors.As(err, &e) || e.Code != "40P01" { // a deadlock
				break
			}
			time.Sleep(time.Second) // the server ends the sessions of killed processes
			err = execute(testServer(), "DROP SCHEMA "+name+" CASCADE")
		}
		Must(t, err)
	})
	u, err := url.Parse(testServer())
	Must(t, err)
	q := u.Query()
	q.Set("search_path", name+",public")
	u.RawQuery = q.Encode()
	return u.String()
}

const extensions = "CREATE EXTENSION vector; CREATE EXTENSION btree_gin"

func newDatabase(t *testing.T, options string) string {
	t.Helper()
	name := newName()
	Must(t, execute(testServer(), "CREATE DATABASE "+name+options))
	t.Cleanup(func() { Must(t, execute(testServer(), "DROP DATABASE "+name+" WITH (FORCE)")) })
	return inDatabase(name)
}

func newName() string { return "e2e_" + strings.ToLower(rand.Text()) }

// testServer is the URL of a database of the test server.
func testServer() string { return os.Getenv("TEST_POSTGRES_DSN") }

// inDatabase returns the URL of another database of the test server.
func inDatabase(name string) string {
	u, err := url.Parse(testServer())
	if err != nil {
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}

func needsPostgres(t *testing.T) {
	t.Helper()
	if testServer() == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
}

// execute runs statements in a database.
func execute(database, statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statements)
	return errors.Join(err, c.Close(ctx))
}
