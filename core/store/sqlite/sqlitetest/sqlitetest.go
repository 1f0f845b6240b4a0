// Package sqlitetest opens embedded stores for tests.
package sqlitetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/everthread/everthread/core/store/sqlite"
)

// Open opens the database below dir until the test ends; it creates an empty, migrated one first if
// there is none. Only benchmarks get durability, because they measure it.
func Open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, ok := t.(*testing.B); !ok {
		if _, err := s.DB().ExecContext(t.Context(), `PRAGMA synchronous = OFF`); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func open(ctx context.Context, dir string) (*sqlite.Store, error) {
	path := filepath.Join(dir, "everthread.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		file, err := empty()
		if err == nil {
			err = os.WriteFile(path, file, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	s, err := sqlite.Open(dir)
	if err != nil {
		return nil, err
	}
	return s, s.Migrate(ctx)
}

// empty returns the file of an empty, migrated database. It is made once, because that takes longer
// than most tests.
var empty = sync.OnceValues(func() ([]byte, error) {
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
