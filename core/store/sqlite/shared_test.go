package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/storetest"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestCommit_sharedByWaitingCallers checks that callers who wait for the single writer share commits, and that an
// error or a cancelled context of one does not affect the others.
func TestCommit_sharedByWaitingCallers(t *testing.T) {
	t.Parallel()
	s := database(t)()
	u, err := s.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	const all = 300
	var wg sync.WaitGroup
	stored := make([]bool, all)
	for n := range all {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch n % 3 {
			case 1:
				if err := s.Redeliver(ctx, u.ID, core.DeliveryID(n), time.Now()); !errors.Is(err, core.ErrNotFound) {
					t.Errorf("redeliver: %v", err)
				}
			case 2:
				context.AfterFunc(t.Context(), cancel)
				time.AfterFunc(time.Duration(n)*20*time.Microsecond, cancel)
				fallthrough
			default:
				err := s.Enqueue(ctx, store.NewJob{User: u.ID, Queue: "q", Key: fmt.Sprint(n), Ref: int64(n)})
				stored[n] = err == nil
				if err != nil && (n%3 == 0 || !errors.Is(err, context.Canceled)) {
					t.Errorf("enqueue %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	refs, _, err := s.Due(t.Context(), []string{"q"}, time.Now(), all, store.Share{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]bool{}
	for _, r := range refs {
		found[r.Ref] = true
	}
	for n, want := range stored {
		if found[int64(n)] != want {
			t.Errorf("job %d: stored %v, but the call returned %v", n, found[int64(n)], want)
		}
	}
	before := s.Commits()
	release := holdWriter(t, s, u.ID)
	for n := range all {
		wg.Go(func() {
			if err := s.Enqueue(t.Context(), store.NewJob{User: u.ID, Queue: "later", Key: fmt.Sprint("later ", n)}); err != nil {
				t.Errorf("enqueue: %v", err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // nothing reports that they wait for the writer
	release()
	wg.Wait()
	if n := s.Commits() - before; n >= all {
		t.Errorf("got %d commits for %d jobs, want them shared", n, all)
	}
	storetest.Check(t, s.DB())
}

// holdWriter keeps a transaction open until release is called, so that others wait for the writer,
// however many processors there are.
func holdWriter(t *testing.T, s storetest.Store, user core.UserID) (release func()) {
	t.Helper()
	held, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.AddAgentKey(t.Context(), store.AgentKey{User: user}, func(int64) (string, error) {
			close(held)
			<-goOn
			return "sealed", nil
		})
		ended <- err
	}()
	<-held
	return func() {
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestCommit_failureIsToldToAll checks that a failed COMMIT is reported to every caller, and that nothing is
// stored.
func TestCommit_failureIsToldToAll(t *testing.T) {
	t.Parallel()
	s := database(t)()
	u, err := s.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`CREATE TABLE parent (id integer PRIMARY KEY)`,
		`CREATE TABLE child (id integer REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)`,
		`CREATE TRIGGER breaks AFTER INSERT ON jobs WHEN new.key = 'bad' BEGIN INSERT INTO child VALUES (1); END`,
		`PRAGMA foreign_keys = ON`,
	} {
		if _, err := s.DB().Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	failed := make([]error, 50)
	for n := range failed {
		key := fmt.Sprint(n)
		if n%10 == 0 {
			key = "bad"
		}
		wg.Go(func() {
			failed[n] = s.Enqueue(t.Context(), store.NewJob{User: u.ID, Queue: "q", Key: key, Ref: int64(n + 1)})
		})
	}
	wg.Wait()
	refs, _, err := s.Due(t.Context(), []string{"q"}, time.Now(), 100, store.Share{})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[int64]bool{}
	for _, r := range refs {
		stored[r.Ref] = true
	}
	for n, err := range failed {
		if stored[int64(n+1)] != (err == nil) {
			t.Errorf("job %d: stored %v, but the call returned %v", n, stored[int64(n+1)], err)
		}
		if n%10 == 0 && err == nil {
			t.Errorf("job %d: got no error", n)
		}
	}
	if err := s.Enqueue(t.Context(), store.NewJob{User: u.ID, Queue: "q", Key: "after", Ref: 99}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestWrite_waitsForAnotherProcess checks that a writer waits for another process's transaction, and that a caller who
// gives up has written nothing.
func TestWrite_waitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	stores := database(t)
	s, other := stores(), stores()
	u, err := s.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		first <- s.Enqueue(t.Context(), store.NewJob{User: u.ID, Queue: "q", Key: "a", Ref: 1})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if err := s.Enqueue(ctx, store.NewJob{User: u.ID, Queue: "q", Key: "b", Ref: 2}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v, want an error after waiting", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Errorf("the waiting writer: %v", err)
	}
	refs, _, err := other.Due(t.Context(), []string{"q"}, time.Now(), 10, store.Share{})
	if err != nil || len(refs) != 1 || refs[0].Ref != 1 {
		t.Errorf("got %v, %v, want the first job only", refs, err)
	}
}

// TestRead_cancelledKeepsTheConnection checks that a read that is cancelled half-way leaves its connection usable.
func TestRead_cancelledKeepsTheConnection(t *testing.T) {
	t.Parallel()
	s := database(t)()
	u, err := s.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(n)*5*time.Microsecond, cancel)
			if _, err := s.Days(ctx, u.ID, "", 10); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, err := s.Backlog(ctx, u.ID, 0); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for range 20 {
		if _, err := s.Backlog(t.Context(), u.ID, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	storetest.TestMigrate(t, func() storetest.Migrator {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "data"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestMigrate_severalProcesses(t *testing.T) {
	t.Parallel()
	for range fulltest.Size(1, 5) {
		dir := t.TempDir()
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				s, err := sqlite.Open(dir)
				if err != nil {
					return err
				}
				return errors.Join(s.Migrate(t.Context()), s.Close())
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
