package postgres_test

import (
	"testing"

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

// database finds a migrated, empty schema for a test, in the database of TEST_POSTGRES_DSN.
func database(t testing.TB) func() storetest.Store {
	url := migrated.take(t, server(t)).through(t, server(t))
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
