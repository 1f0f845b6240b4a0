package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/everthread/everthread/core"
)

// Where round trips cost something, a transaction does not read rows first if an earlier transaction of this process
// left an expectation of them. It assumes the expected rows, and sends with its writes statements that fail unless the
// rows are as expected. On such a failure, and without an expectation, it reads the rows as usual. So a wrong
// expectation costs one more round trip, but never goes unnoticed.

// expectation holds the rows that the commit of a turn, or the end of a delivery's first part,
// will read unless something else happens to the user in between.
type expectation struct {
	of   int64 // the turn, or the delivery
	user []any // the columns of lock; nil for a column that is not verified
	row  []any // the columns of the statement that is read with it
}

// expectations keeps the last expectation of each user.
type expectations struct {
	mu    sync.Mutex
	users map[core.UserID]expectation
}

// maxExpected bounds the users with an expectation.
const maxExpected = 4096

// keep replaces the expectation of a user.
func (e *expectations) keep(user core.UserID, x expectation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users == nil {
		e.users = map[core.UserID]expectation{}
	}
	if _, there := e.users[user]; !there && len(e.users) >= maxExpected {
		clear(e.users)
	}
	e.users[user] = x
}

// take removes and returns the expectation for a turn or delivery of a user; the zero value if there is none.
func (e *expectations) take(user core.UserID, of int64) expectation {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.users[user]
	if x.of != of {
		return expectation{}
	}
	delete(e.users, user)
	return x
}

// expect returns the expectation that this transaction leaves for the next one of a turn.
func (t *tx) expect(of int64, row ...any) expectation {
	return expectation{of: of, row: row, user: []any{t.lastMessage, t.lastID, t.news, t.name, t.role, t.settings,
		t.standing, int64(t.moving)}}
}

// expectPart is expect for the end of a delivery's first part. That needs no counters unless
// something goes wrong, so they are not verified: the next message is often stored before it.
func (t *tx) expectPart(delivery core.DeliveryID, row ...any) expectation {
	x := t.expect(int64(delivery), row...)
	x.user[0], x.user[1], x.user[2] = nil, nil, nil
	return x
}

// errUncounted is the error of a transaction that needs a counter which it did not verify.
var errUncounted = errors.New("the counters were not read")

// keepExpected keeps the expectation x of a committed transaction, if the engine verifies any.
func (s *Store) keepExpected(in *expectations, user core.UserID, x expectation, err error) {
	if err == nil && x.of != 0 && s.dialect.Verify != nil {
		in.keep(user, x)
	}
}

// transactExpected is transact for a transaction of a user who may be frozen, with an
// expectation of the user's row and of first.
func (s *Store) transactExpected(ctx context.Context, op string, user core.UserID, x expectation, together bool,
	f func(t *tx), first Statement) error {
	first.Expected = x.row
	return s.transact(ctx, op, tx{user: user, first: []Statement{first}, expected: x.user, whileFrozen: true,
		knowsLeases: true, together: together}, f)
}

// assume scans the expected rows of all statements, and queues their verification; false if one has no expectation.
func (t *tx) assume(statements []Statement) bool {
	var checks []Statement
	for _, s := range statements {
		if s.Expected == nil {
			return false
		}
		check := t.s.dialect.Verify(s)
		if check.Query == "" {
			return false
		}
		check.Args = t.s.prepared(check.Query, check.Args)
		checks = append(checks, check)
	}
	t.queue = append(t.queue, checks...)
	for _, s := range statements {
		t.fail(s.Scan(expectedRow(s.Expected)))
	}
	return true
}

// expectedRow is a row that has not been read yet.
type expectedRow []any

// Scan copies the columns into dest.
func (r expectedRow) Scan(dest ...any) error { return Assign(dest, r) }

var errType = errors.New("a value does not fit")

// Assign stores the values of a row's columns as database/sql does, so that flags, stored as
// 0 and 1, can be read as bool.
func Assign(dest, values []any) error {
	if len(values) != len(dest) {
		return fmt.Errorf("scan: %d columns into %d values", len(values), len(dest))
	}
	for i, v := range values {
		if err := assign(dest[i], v); err != nil {
			return fmt.Errorf("scan column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign stores a value of a column: NULL, a number, text, bytes or bool.
func assign(dest, value any) error {
	if s, ok := dest.(sql.Scanner); ok {
		return s.Scan(value)
	}
	to := reflect.ValueOf(dest).Elem()
	switch v := value.(type) {
	case nil:
		to.SetZero()
	case int64:
		return assignInt(to, v)
	case int32:
		return assignInt(to, int64(v))
	case string:
		if to.Kind() != reflect.String {
			return fmt.Errorf("%w: text into %s", errType, to.Type())
		}
		to.SetString(v)
	case bool:
		if to.Kind() != reflect.Bool {
			return fmt.Errorf("%w: bool into %s", errType, to.Type())
		}
		to.SetBool(v)
	case []byte:
		to.SetBytes(v)
	default:
		return fmt.Errorf("%w: %T into %s", errType, value, to.Type())
	}
	return nil
}

func assignInt(to reflect.Value, v int64) error {
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		to.SetInt(v)
	case reflect.Bool:
		to.SetBool(v != 0)
	default:
		return fmt.Errorf("%w: a number into %s", errType, to.Type())
	}
	return nil
}
