package postgres_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	server(t) // or skip all of it at once
	storetest.Test(t, database)
}

func TestWakeBetween(t *testing.T) {
	t.Parallel()
	storetest.TestWakeBetween(t, database)
}

// server is the URL of the PostgreSQL to test with.
func server(t testing.TB) string {
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	return dsn
}

// database makes a schema that goes with the test, in the database of TEST_POSTGRES_DSN.
func database(t testing.TB) func() storetest.Store {
	url := schema(t, server(t))
	return func() storetest.Store { return opened(t, url) }
}

// opened is a migrated store that is closed with the test.
func opened(t testing.TB, url string) *postgres.Store {
	conns := 6
	if _, ok := t.(*testing.B); ok {
		conns = 0 // as many as in use
	}
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url, Conns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// schema makes an empty schema that goes with the test, and returns its URL.
func schema(t testing.TB, dsn string) string {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := "t_" + strings.ToLower(rand.Text())
	if _, err := c.Exec(ctx, `CREATE SCHEMA "`+name+`"`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.Exec(ctx, `DROP SCHEMA "`+name+`" CASCADE`)
		if err != nil {
			t.Error(err)
		}
		c.Close(ctx)
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name+",public")
	if _, ok := t.(*testing.T); ok {
		q.Set("synchronous_commit", "off") // tests need no durability, benchmarks measure it
	}
	u.RawQuery = q.Encode()
	return u.String()
}
