package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
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
	file, err := migrated()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "everthread.db"), file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
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
		if _, ok := t.(*testing.T); ok { // tests need no durability, benchmarks measure it
			if _, err := s.DB().ExecContext(t.Context(), `PRAGMA synchronous = OFF`); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
}

// migrated returns the file of an empty, migrated database. Each test has a copy:
// migrating takes longer than most of them.
var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "everthread")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.Migrate(context.Background()), s.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "everthread.db"))
})
