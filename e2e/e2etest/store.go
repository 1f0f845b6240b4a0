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
)

const secretKey = "EVERTHREAD_SECRET_KEY=a-key-for-tests-of-enough-length-000"

// templates are empty stores with the newest schema, one of each kind, made at the first use. A
// test gets a copy, which takes a fraction of the time of migrating a store of its own.
type templates struct {
	dir      string // of this package's run
	once     [2]sync.Once
	err      [2]error
	database string // on PostgreSQL
}

var empty templates

// sqlite returns the file of the store on SQLite.
func (e *templates) sqlite() (string, error) {
	e.once[0].Do(func() { e.err[0] = e.migrate("") })
	return filepath.Join(e.dir, "everthread.db"), e.err[0]
}

// postgres returns the name of the database of the store on PostgreSQL.
func (e *templates) postgres() (string, error) {
	e.once[1].Do(func() {
		name := newName()
		if e.err[1] = execute(testServer(), "CREATE DATABASE "+name); e.err[1] != nil {
			return
		}
		e.database = name
		if e.err[1] = execute(inDatabase(name), extensions); e.err[1] == nil {
			e.err[1] = e.migrate(inDatabase(name))
		}
	})
	return e.database, e.err[1]
}

func (e *templates) migrate(database string) error {
	up := exec.Command(Program, "migrate", "up")
	up.Env = []string{"HOME=" + e.dir, "EVERTHREAD_DATA_DIR=" + e.dir, secretKey, "EVERTHREAD_DATABASE_URL=" + database}
	if out, err := up.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate up: %w: %s", err, out)
	}
	return nil
}

func (e *templates) end() {
	if e.database != "" {
		_ = execute(testServer(), "DROP DATABASE "+e.database+" WITH (FORCE)")
	}
}

// copyStore gives a town that has no store on SQLite yet an empty one.
func (w *Town) copyStore() {
	w.T.Helper()
	at := filepath.Join(w.Dir, "everthread.db")
	if _, err := os.Stat(at); w.Database != "" || w.Program != Program || err == nil {
		return
	}
	file, err := empty.sqlite()
	Must(w.T, err)
	b, err := os.ReadFile(file)
	Must(w.T, err)
	Must(w.T, os.WriteFile(at, b, 0o600))
}

// NewStore creates an empty store on PostgreSQL and returns its URL.
func NewStore(t *testing.T) string {
	t.Helper()
	needsPostgres(t)
	template, err := empty.postgres()
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
