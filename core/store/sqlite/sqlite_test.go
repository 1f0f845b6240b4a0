package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, database)
}

// database returns a function that opens stores on a database that is removed with the test.
func database(t testing.TB) func() storetest.Store {
	dir := t.TempDir()
	return func() storetest.Store { return sqlitetest.Open(t, dir) }
}

// TestStore_noticesOtherProcesses checks that a process notices what another one writes to the file.
func TestStore_noticesOtherProcesses(t *testing.T) {
	t.Parallel()
	stores := database(t)
	s, other := stores(), stores()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	wakes := s.Wakes(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.(*sqlite.Store).Tend(ctx) }()
	if topic := <-wakes; topic != core.TopicWritten { // it cannot know what was written before
		t.Errorf("got %q", topic)
	}
	if _, err := other.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember}); err != nil {
		t.Fatal(err)
	}
	if topic := <-wakes; topic != core.TopicWritten {
		t.Errorf("got %q after another process has written", topic)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTend checks that commits reach the database file itself while the store is open.
func TestTend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Tend(ctx) }()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "everthread.db"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	for n := range 30 {
		if _, err := s.AddUser(t.Context(), core.User{Name: fmt.Sprintf("%01000d", n), Role: core.RoleMember}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); size() == before; time.Sleep(20 * time.Millisecond) { // a file has no event
		if time.Now().After(deadline) {
			t.Fatal("the database does not grow")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
