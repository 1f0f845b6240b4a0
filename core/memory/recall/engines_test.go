package recall

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/internal/fulltest"
)

func onSQLite(t testing.TB) sqlStore {
	return sqlitetest.Open(t, t.TempDir())
}

// onPostgres opens a new schema in the database of TEST_POSTGRES_DSN.
func onPostgres(t testing.TB) sqlStore {
	dsn := postgresDSN()
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := "r_" + strings.ToLower(rand.Text())
	if _, err := c.Exec(ctx, `CREATE SCHEMA "`+name+`"`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Exec(ctx, `DROP SCHEMA "`+name+`" CASCADE`); err != nil {
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
	s, err := postgres.Open(ctx, postgres.Options{URL: u.String(), Conns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// engines returns the stores for tests of ranking; nil is the store in memory. Since all find the
// same, plain tests use that one only.
func engines() map[string]func(testing.TB) sqlStore {
	all := map[string]func(testing.TB) sqlStore{"memory": nil, "sqlite": onSQLite, "postgres": onPostgres}
	return fulltest.Size(map[string]func(testing.TB) sqlStore{"memory": nil}, all)
}

// TestSearch_sameOnEveryEngine checks that hits, their order and their scores do not depend on the store.
func TestSearch_sameOnEveryEngine(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) sqlStore{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := household(t)
			w.summarize("2026-05-08", "## Summary\nThe boiler showed ERR-42 and was topped up.")
			w.message(4).Covered = true
			redacted := w.say("2026-06-03", core.RoleUser, "")
			w.message(redacted).Redacted = true
			w.embed()
			s := w.into(open(t))
			for _, embed := range []core.Embedder{nil, embedder{}} {
				sameEverywhere(t, w, s, embed)
			}
		})
	}
}

func sameEverywhere(t *testing.T, w *world, s *Searcher, embed core.Embedder) {
	for _, query := range []string{
		"cats", "err-42 boiler", "reservation hotel lyon", "寿司", "東", "🚗 car", "what did I say about the boiler", "on 8 May",
		"yesterday", "the", "xylophone", `"a" AND (boiler* NEAR`, "'; DROP TABLE messages; -- cat",
		strings.Repeat("the boiler topped ", 500), "automobile", "don't % _ ' \\ \" ^2", "low^2",
	} {
		for _, day := range []string{"", "2026-05-08"} {
			q := search.Query{User: me, Query: query, Day: day, Now: saturday, Limit: 20}
			fake := w.searcher()
			fake.Embedders, s.Embedders = only(embed), only(embed)
			want, err := fake.Search(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Search(context.Background(), q)
			if err != nil {
				t.Fatalf("%q: %v", query, err)
			}
			if diff := cmp.Diff(told(want), told(got)); diff != "" {
				t.Errorf("%.40q on %q: %s", query, day, diff)
			}
		}
	}
}

// told formats a result, with scores to three digits.
func told(r search.Result) string {
	out := r.Mode + " " + r.Note
	for _, h := range r.Hits {
		out += fmt.Sprintf("\n%s %s #%d %.3f %v %v %s", h.Kind, h.Label, h.Message.ID, h.Score, h.FTS, h.Near, h.Snippet)
	}
	return out
}
