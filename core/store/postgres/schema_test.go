package postgres_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// server returns the URL of the PostgreSQL server to test with.
func server(t testing.TB) string {
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	return dsn
}

// schema creates an empty schema that is dropped with the test, and returns its URL.
func schema(t testing.TB, dsn string) string {
	s, err := newSpace(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.drop(); err != nil {
			t.Error(err)
		}
	})
	return s.through(t, dsn)
}

// space is a schema in the database to test with.
type space struct {
	conn    *pgx.Conn
	db      *sql.DB // for inspection by tests: it is reused, so that repeated queries are already planned
	name    string
	objects string // those of a freshly migrated schema
	empty   string // statements that empty it
}

func newSpace(dsn string) (*space, error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	s := &space{conn: c, name: "t_" + strings.ToLower(rand.Text())}
	beside := c.Config().Copy()
	beside.RuntimeParams["search_path"], beside.RuntimeParams["synchronous_commit"] = s.name+",public", "off"
	s.db = stdlib.OpenDB(*beside)
	_, err = c.Exec(ctx, `CREATE SCHEMA `+s.name+`; SET search_path = `+s.name+`, public; SET synchronous_commit = off`)
	return s, err
}

func (s *space) drop() error {
	defer s.conn.Close(context.Background())
	defer s.db.Close()
	_, err := s.conn.Exec(context.Background(), `DROP SCHEMA `+s.name+` CASCADE`)
	return err
}

// through returns the URL of the schema.
func (s *space) through(t testing.TB, dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", s.name+",public")
	if _, ok := t.(*testing.T); ok {
		q.Set("synchronous_commit", "off") // tests need no durability; benchmarks measure it
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// spaces holds migrated, empty schemas that no test uses: creating one takes longer than most
// tests, and emptying one does not.
type spaces struct {
	mu     sync.Mutex
	spread bool // distributed over the nodes of Citus
	idle   []*space
}

var migrated, spread = spaces{}, spaces{spread: true}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range append(migrated.idle, spread.idle...) {
		if err := s.drop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// take returns a migrated, empty schema that is given back after the test.
func (p *spaces) take(t testing.TB, dsn string) *space {
	p.mu.Lock()
	var s *space
	if n := len(p.idle); n > 0 {
		s, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if s == nil {
		var err error
		if s, err = newSpace(dsn); err == nil {
			o := opened(t, s.through(t, dsn)) // migrates it
			if p.spread {
				err = o.Distribute(t.Context())
			}
		}
		if err == nil {
			err = s.remember()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := p.back(s); err != nil {
			t.Error(err)
		}
	})
	return s
}

// back empties a schema for the next test. It drops one in which a test has created tables or
// triggers, or filled large tables.
func (p *spaces) back(s *space) error {
	objects, large, err := s.look()
	if err != nil || large || objects != s.objects {
		return s.drop()
	}
	if _, err := s.conn.Exec(context.Background(), s.empty); err != nil {
		return fmt.Errorf("empty %s: %w", s.name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
	return nil
}

// look lists a schema's objects, and reports whether they take more than 32 MiB.
func (s *space) look() (objects string, large bool, err error) {
	err = s.conn.QueryRow(context.Background(),
		`WITH c AS (SELECT oid FROM pg_class WHERE relnamespace = $1::text::regnamespace)
		SELECT (SELECT string_agg(o.oid::text, ' ' ORDER BY o.oid) FROM (
			SELECT oid FROM c UNION ALL
			SELECT oid FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM c) UNION ALL
			SELECT oid FROM pg_proc WHERE pronamespace = $1::text::regnamespace) o),
		(SELECT SUM(pg_relation_size(oid)) > 32 << 20 FROM c)`, s.name).Scan(&objects, &large)
	return objects, large, err
}

// remember records the objects of a freshly migrated schema, and the statements that empty it.
func (s *space) remember() (err error) {
	if s.objects, _, err = s.look(); err != nil {
		return err
	}
	ctx := context.Background()
	rows, err := s.conn.Query(ctx,
		`SELECT relname::text FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r' AND relname <> 'goose_db_version'`, s.name)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		s.empty += fmt.Sprintf("DELETE FROM %s;\n", table)
		var first *string // the rows that the migrations store
		if err := s.conn.QueryRow(ctx, `SELECT json_agg(t)::text FROM `+table+` t`).Scan(&first); err != nil {
			return err
		}
		if first != nil {
			s.empty += fmt.Sprintf("INSERT INTO %[1]s SELECT * FROM json_populate_recordset(NULL::%[1]s, '%[2]s');\n", table,
				strings.ReplaceAll(*first, "'", "''"))
		}
	}
	return nil
}
