package storetest

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/everthread/everthread/core"
)

// Migrator is a store before migration.
type Migrator interface {
	Migrate(ctx context.Context) error
	DB() *sql.DB
}

// TestMigrate checks that migrating twice is harmless, and that a schema newer than the program is
// refused. open returns a store on an empty database.
func TestMigrate(t *testing.T, open func() Migrator) {
	s := open()
	for range 2 {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.DB().Exec(
		`INSERT INTO users (id, name, role, created_at) VALUES (77, 'kept', 'member', 0)`); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB().Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, $1)`,
		true); err != nil {
		t.Fatal(err)
	}
	before := Dump(t, s.DB())
	if err := s.Migrate(t.Context()); !errors.Is(err, core.ErrNewerSchema) {
		t.Errorf("got %v, want ErrNewerSchema", err)
	}
	if Dump(t, s.DB()) != before {
		t.Error("a newer schema was touched")
	}
}

// TestMigrateTogether checks that stores can migrate one database concurrently.
func TestMigrateTogether(t *testing.T, stores ...Migrator) {
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			if err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
