package sqlite_test

import (
	"testing"

	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, database)
}

// database makes a database file that goes with the test.
func database(t testing.TB) func() storetest.Store {
	dir := t.TempDir()
	return func() storetest.Store {
		s, err := sqlite.Open(dir)
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
}
