package postgres

import (
	"database/sql"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/everthread/everthread/core/store/sqlstore"
)

func TestAReleasedConnectionPlansWhatIsFrequent(t *testing.T) {
	t.Parallel()
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	w := &warm{spread: new(atomic.Bool), uses: map[string]int{}}
	cfg.MaxConns, cfg.AfterConnect, cfg.AfterRelease = 2, planOnce, w.released
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	other, err := db.Conn(t.Context()) // which nobody uses meanwhile
	if err != nil {
		t.Fatal(err)
	}
	use(t, db, w)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*sql.Conn{conn(t, db), conn(t, db)} {
		var plans int
		if err := c.QueryRowContext(t.Context(), `SELECT COALESCE(SUM(generic_plans), 0) FROM pg_prepared_statements
			WHERE statement LIKE 'SELECT $1::bigint%' AND name LIKE 'stmt\_%'`).Scan(&plans); err != nil {
			t.Fatal(err)
		}
		if plans != 1 {
			t.Errorf("%d statements are planned, want the frequent one", plans)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// use runs a frequent statement, a rare one and one without arguments.
func use(t *testing.T, db *sql.DB, w *warm) {
	c := conn(t, db)
	defer c.Close()
	for n := range hotFrom {
		statements := []sqlstore.Statement{{Query: `BEGIN`}, {Query: `SELECT $1::bigint + 1`, Args: []any{n}},
			{Query: `COMMIT`}}
		if n == 0 {
			statements = append(statements, sqlstore.Statement{Query: `SELECT $1::bigint + 2`, Args: []any{n}})
		}
		if err := w.pipeline(t.Context(), c, statements); err != nil {
			t.Fatal(err)
		}
	}
}

func conn(t *testing.T, db *sql.DB) *sql.Conn {
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
