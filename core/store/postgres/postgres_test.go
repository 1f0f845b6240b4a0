package postgres

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, open)
}

// open makes a schema of its own for a test, in the database of TEST_POSTGRES_DSN.
func open(t *testing.T) core.Store {
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	s, err := Open(t.Context(), Options{URL: schema(t, dsn), Conns: 6})
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
func schema(t *testing.T, dsn string) string {
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
	u.RawQuery = q.Encode()
	return u.String()
}
