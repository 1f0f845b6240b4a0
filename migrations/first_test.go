package migrations_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/migrations"
)

var update = flag.Bool("update", false, "freeze the first schema as it is; only before the first release")

// frozen is the first schema of an engine, as it was released.
func frozen(engine string) string { return filepath.Join("testdata", "first", engine+".sql") }

// A released migration never changes: what a store has is what it says.
func TestTheFirstSchemaStaysAsItWasReleased(t *testing.T) {
	t.Parallel()
	for engine, files := range map[string]fs.FS{"sqlite": migrations.SQLite(), "postgres": migrations.Postgres()} {
		now, err := fs.ReadFile(files, "00001_first.sql")
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(frozen(engine), now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		then, err := os.ReadFile(frozen(engine))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, then) {
			t.Errorf(
				"%s/00001_first.sql was changed; add a migration instead (before the first release: go test ./migrations -update)",
				engine)
		}
	}
}

// rows are what a first release may have stored.
var rows = []string{
	`INSERT INTO users (id, name, role, last_message, created_at) VALUES (7, 'Ada', 'owner', 1, 0)`,
	`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES (7, 1, 'continuous', '', 0)`,
	`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at)
		VALUES (7, 1, 1, 1, 0, 1, 'web', 'user', 'chat', 'the first words', 3, '{}', 1, 1, 1, 0)`,
}

// migrated brings a database with the first schema and some rows up to date, and
// checks that these are there.
func migrated(t *testing.T, engine string, dialect goose.Dialect, db *sql.DB, migrate func(context.Context) error) {
	t.Helper()
	text, err := os.ReadFile(frozen(engine))
	if err != nil {
		t.Fatal(err)
	}
	first := fstest.MapFS{"00001_first.sql": {Data: text}}
	p, err := goose.NewProvider(dialect, db, first, goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if _, err := db.Exec(r); err != nil {
			t.Fatal(err)
		}
	}
	read := remember(t, db)
	before := read()
	if err := migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, read()); d != "" {
		t.Errorf("rows are not what they were (-before +after):\n%s", d)
	}
	var body string
	if err := db.QueryRow(`SELECT body FROM messages WHERE user_id = 7 AND id = 1`).Scan(&body); err != nil ||
		body != "the first words" {
		t.Errorf("the message is %q: %v", body, err)
	}
}

func TestTheFirstSchemaMigratesUpOnSQLite(t *testing.T) {
	t.Parallel()
	var schemas []string
	for _, old := range []bool{true, false} {
		s, err := sqlite.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if old {
			migrated(t, "sqlite", goose.DialectSQLite3, s.DB(), s.Migrate)
			found(t, s)
		} else if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var schema string
		err = s.DB().QueryRow(
			`SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema WHERE sql <> '' ORDER BY type, name)`).Scan(
			&schema)
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, schema)
	}
	if d := cmp.Diff(schemas[1], schemas[0]); d != "" {
		t.Errorf("an old store has another schema than a new one (-new +old):\n%s", d)
	}
}

func TestTheFirstSchemaMigratesUpOnPostgreSQL(t *testing.T) {
	t.Parallel()
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	var schemas []string
	for _, old := range []bool{true, false} {
		address := emptySchema(t, dsn)
		s, err := postgres.Open(t.Context(), postgres.Options{URL: address, Conns: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if old {
			db, err := sql.Open("pgx", address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			migrated(t, "postgres", goose.DialectPostgres, db, s.Migrate)
			found(t, s)
		} else if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var d description
		if err := s.Unload(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, d.text)
	}
	if d := cmp.Diff(schemas[1], schemas[0]); d != "" {
		t.Errorf("an old store has another schema than a new one (-new +old):\n%s", d)
	}
}

// description keeps how tables are described.
type description struct{ text string }

// Begin keeps it.
func (d *description) Begin(_ int64, tables []core.Table) error {
	b, err := json.MarshalIndent(tables, "", " ")
	d.text = string(b)
	return err
}

// Table reads nothing.
func (d *description) Table(_ int, copy func(w io.Writer) (int64, error)) error {
	_, err := copy(io.Discard)
	return err
}

// emptySchema makes a schema that goes with the test, and returns its URL.
func emptySchema(t *testing.T, dsn string) string {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := "first_" + strings.ToLower(rand.Text())
	if _, err := db.Exec(`CREATE SCHEMA ` + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec(`DROP SCHEMA ` + name + ` CASCADE`); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name+",public")
	u.RawQuery = q.Encode()
	return u.String()
}
