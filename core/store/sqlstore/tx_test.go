package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/everthread/everthread/core"
)

// openNumbers opens a store with one table of numbers, and returns a function that lists them.
func openNumbers(t *testing.T, d Dialect) (*Store, func() []int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "numbers.db"))
	if err == nil {
		_, err = db.ExecContext(t.Context(), `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, db, d)
	t.Cleanup(func() { _ = s.Close() })
	return s, func() []int {
		t.Helper()
		all, err := list(s.one(t.Context()), column[int], `SELECT n FROM numbers ORDER BY n`)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
}

const addNumber = `INSERT INTO numbers (n) VALUES ($1)`

// failInTheMiddle stores 10, fails, and goes on as if nothing had happened.
func failInTheMiddle(t *testing.T) func(*tx) {
	return func(x *tx) {
		x.exec(addNumber, 10)
		x.execEach([]string{addNumber, addNumber}, 11) // the second one fails
		other := x.forUser(7)
		other.exec(addNumber, 12)
		x.execOr(core.ErrNotFound, addNumber, 13)
		n, m := 5, 6
		x.getOr(core.ErrNotFound, &n, `SELECT 14`)
		if x.find(columns{&n, &m}, `SELECT 15, 15`) || x.count(addNumber, 16) != 0 || n != 5 || m != 6 {
			t.Errorf("it reads %d and %d after it has failed", n, m)
		}
		if got := listOf(other, column[int], `SELECT 17`); got != nil {
			t.Errorf("it lists %v after it has failed", got)
		}
		x.ask(Statement{Query: `SELECT 18`, Scan: func(Row) error { return core.ErrChanged }})
		x.fail(core.ErrRefused)
	}
}

// checkFirst fails the test unless err is the error of the statement that failed.
func checkFirst(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("got %v, want the first error", err)
	}
}

func TestCommit_failedStatement(t *testing.T) {
	t.Parallel()
	s, stored := openNumbers(t, Dialect{OneWriter: true})
	var ran []any
	s.Trace(func(_ string, args []any) { ran = append(ran, args...) })
	add := func(n int) func(*tx) { return func(x *tx) { x.exec(addNumber, n) } }
	var batch []*entry
	for _, f := range []func(*tx){add(1), failInTheMiddle(t), add(2)} {
		x := &tx{transaction: &transaction{s: s, ctx: t.Context()}, unlocked: true}
		batch = append(batch, &entry{t: x, f: f, done: make(chan struct{})})
	}
	s.commitShared(batch)
	checkFirst(t, batch[1].err)
	if batch[0].err != nil || batch[2].err != nil {
		t.Errorf("the others of the batch failed: %v, %v", batch[0].err, batch[2].err)
	}
	// 12 is queued before 11 fails, as nothing has asked for a result.
	if want := []any{1, 10, 11, 11, 12, 2}; !slices.Equal(ran, want) {
		t.Errorf("it ran %v, want %v", ran, want)
	}
	if got := stored(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("%v are stored", got)
	}
}

// oneByOne runs statements one after another, until one fails.
func oneByOne(ctx context.Context, conn *sql.Conn, statements []Statement) error {
	for _, s := range statements {
		if s.Scan != nil {
			if err := s.Scan(conn.QueryRowContext(ctx, s.Query, s.Args...)); err != nil {
				return err
			}
		} else if _, err := conn.ExecContext(ctx, s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

func TestPipeline_failed(t *testing.T) {
	t.Parallel()
	s, stored := openNumbers(t, Dialect{Pipeline: oneByOne})
	err := s.transact(t.Context(), "add", tx{unlocked: true}, func(x *tx) {
		failInTheMiddle(t)(x)
		x.wake = []string{"failed"}
	})
	checkFirst(t, err)
	err = s.transact(t.Context(), "add", tx{unlocked: true}, func(x *tx) { x.exec(addNumber+`, ($1)`, 3) })
	checkFirst(t, err) // the queued statement fails with the commit
	err = s.transact(t.Context(), "add", tx{unlocked: true}, func(x *tx) { x.fail(core.ErrRefused) })
	if !errors.Is(err, core.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if err = s.transact(t.Context(), "add", tx{unlocked: true}, func(x *tx) { x.exec(addNumber, 4) }); err != nil {
		t.Error(err)
	}
	if got := stored(); !slices.Equal(got, []int{4}) {
		t.Errorf("%v are stored", got)
	}
}
