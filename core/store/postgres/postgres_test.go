package postgres_test

import (
	"database/sql"
	"testing"

	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	server(t) // or skip everything at once
	storetest.Test(t, database)
}

func TestWake_betweenProcesses(t *testing.T) {
	t.Parallel()
	storetest.TestWakeBetween(t, database)
}

// database returns a function that opens stores on a migrated, empty schema in the database of
// TEST_POSTGRES_DSN.
func database(t testing.TB) func() storetest.Store { return databaseOf(t, &migrated, server(t)) }

func databaseOf(t testing.TB, from *spaces, dsn string) func() storetest.Store {
	s := from.take(t, dsn)
	url := s.through(t, dsn)
	return func() storetest.Store { return beside{opened(t, url), s.db} }
}

// beside is a store whose tables are inspected through another pool.
type beside struct {
	*postgres.Store
	db *sql.DB
}

func (b beside) DB() *sql.DB { return b.db }

// opened returns a migrated store that is closed with the test.
func opened(t testing.TB, url string) *postgres.Store {
	conns := 4
	if _, ok := t.(*testing.B); ok {
		conns = 0 // the number in use
	}
	return openedWith(t, postgres.Options{URL: url, Conns: conns})
}

func openedWith(t testing.TB, o postgres.Options) *postgres.Store {
	s, err := postgres.Open(t.Context(), o)
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
