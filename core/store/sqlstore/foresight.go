package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/everthread/everthread/core"
)

// Where a round trip costs something, a transaction that this process prepared for does
// not read first: it goes by the rows that it foresees, and sends with its writes statements
// that fail unless these rows are what it took them for. Then, or if it foresees nothing, it
// reads as everywhere. So a foresight may be wrong, and costs a round trip more; it is never
// gone by unseen.

// foresight is what a commit, or the end of a delivery's first part, will read unless
// something else happens to the user meanwhile.
type foresight struct {
	of   int64 // the turn, or the delivery
	user []any // the columns of lock; nil: one that it does not go by
	row  []any // the columns of what is read with it
}

// foresights keeps one of each user, of a turn or of a delivery to come.
type foresights struct {
	mu    sync.Mutex
	users map[core.UserID]foresight
}

// keep replaces what was foreseen of a user.
func (f *foresights) keep(user core.UserID, seen foresight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == nil {
		f.users = map[core.UserID]foresight{}
	}
	if _, there := f.users[user]; !there && len(f.users) >= maxSeen {
		clear(f.users)
	}
	f.users[user] = seen
}

// take returns what is foreseen of a turn or delivery of a user, once.
func (f *foresights) take(user core.UserID, of int64) foresight {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.users[user]
	if seen.of != of {
		return foresight{}
	}
	delete(f.users, user)
	return seen
}

// foresee notes what the next transaction of a turn will read, as this one is about to leave it.
func (t *tx) foresee(of int64, row ...any) foresight {
	return foresight{of: of, row: row, user: []any{t.lastMessage, t.lastID, t.news, t.name, t.role, t.settings, t.standing,
		int64(t.moving)}}
}

// foreseePart is foresee for the end of a delivery's first part, which makes nothing that
// gets a number unless something went wrong: the next message, which is often stored first,
// does not disprove it.
func (t *tx) foreseePart(delivery core.DeliveryID, row ...any) foresight {
	f := t.foresee(int64(delivery), row...)
	f.user[0], f.user[1], f.user[2] = nil, nil, nil
	return f
}

// errUncounted is of a transaction that needs a number, and foresaw that it would not.
var errUncounted = errors.New("the counters were not read")

// foresaw keeps what a transaction foresaw among others of its kind, if it was committed and
// somebody goes by it.
func (s *Store) foresaw(in *foresights, user core.UserID, ahead foresight, err error) {
	if err == nil && ahead.of != 0 && s.dialect.Prove != nil {
		in.keep(user, ahead)
	}
}

// guess takes over the rows that are foreseen of all statements, and queues what proves
// them; false: one is not foreseen.
func (t *tx) guess(statements []Statement) (bool, error) {
	for _, s := range statements {
		if s.Foreseen == nil {
			return false, nil
		}
	}
	var proofs []Statement
	for _, s := range statements {
		proof := t.s.dialect.Prove(s)
		if proof.Query == "" {
			return false, nil
		}
		proof.Args = t.s.prepared(proof.Query, proof.Args)
		proofs = append(proofs, proof)
	}
	t.queue = append(t.queue, proofs...)
	for _, s := range statements {
		if err := s.Scan(foreseen(s.Foreseen)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// foreseen is a row that nobody has read yet.
type foreseen []any

// Scan copies the columns into dest.
func (f foreseen) Scan(dest ...any) error { return Assign(dest, f) }

var errType = errors.New("a value does not fit")

// Assign stores the values of a row's columns as database/sql does, so that flags, which
// are 0 and 1, can be read as bool.
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
