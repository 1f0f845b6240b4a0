package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// tx is a writing transaction of one user, whose row it locks.
type tx struct {
	// Set by the caller of transact.
	user        core.UserID
	first       []Statement // read together with the lock, in the same round trip where that saves one
	expected    []any       // the expected columns of lock; nil: they are read
	whileFrozen bool        // it may write to a frozen user
	knowsLeases bool        // it handles leases kept in rows, and makes jobs of them when it needs to
	unlocked    bool        // it locks no user's row
	long        bool        // the dialect's timeout does not apply

	db    database
	conn  *sql.Conn // holds the transaction, where statements are pipelined
	queue []Statement
	s     *Store
	ctx   context.Context

	// Columns of the user's row.
	lastMessage, lastID int64
	news                int64 // counts changes of what heads of prompts show
	name, role          string
	settings            string
	standing            int64
	moving              int  // 0, paused or frozen
	unindexed           bool // the user has messages that are not indexed

	aborted    bool           // it failed before the commit
	dirty      bool           // the counters changed
	added      bool           // it added messages
	actor      core.Actor     // who acts, where the context does not say it
	written    *[]core.UserID // users whose rows this database transaction writes
	wake       []string
	leases     []lease
	alone      string                  // the key of a held job without successors
	keptJob    core.JobID              // of a held lease that its own row keeps, without a job
	heads      map[string]string       // head texts that it stores
	scrubbed   map[core.SegmentID]bool // days whose prompts it has redacted
	quotes     []core.Message          // messages after quotesFrom that quote another
	quotesFrom core.MessageID
	sources    map[core.LoopID][]core.MessageID // of all loops
	results    []core.Message                   // of our own tools
	notes      map[core.MessageID]core.News     // those with content
}

// database runs statements: a transaction, or the connection that holds one.
type database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// update runs f in one transaction that locks user's row and reads first with the lock.
func (s *Store) update(ctx context.Context, op string, user core.UserID, f func(t *tx) error,
	first ...Statement) error {
	return s.transact(ctx, op, tx{user: user, first: first}, f)
}

// updateFrozen is update for work that finishes even while a move has frozen the user.
func (s *Store) updateFrozen(ctx context.Context, op string, user core.UserID, f func(t *tx) error,
	first ...Statement) error {
	return s.transact(ctx, op, tx{user: user, first: first, whileFrozen: true}, f)
}

// updateLong is update without the dialect's timeout.
func (s *Store) updateLong(ctx context.Context, op string, user core.UserID, f func(t *tx) error,
	first ...Statement) error {
	return s.transact(ctx, op, tx{user: user, first: first, long: true}, f)
}

// bounded returns ctx with the dialect's timeout.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.dialect.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.dialect.Timeout)
}

// transact runs f in a transaction like t. If an expectation of t proves wrong, it runs f
// again in a transaction that reads the rows instead.
func (s *Store) transact(ctx context.Context, op string, t tx, f func(t *tx) error) error {
	if !t.long {
		var cancel context.CancelFunc
		ctx, cancel = s.bounded(ctx)
		defer cancel()
	}
	t.s, t.ctx, t.written = s, ctx, new([]core.UserID)
	last := &t
	again := t
	err := last.run(f)
	if err != nil && t.expected != nil && (t.aborted || s.dialect.Unexpected(err)) {
		again.expected, again.written = nil, new([]core.UserID)
		last = &again
		err = last.run(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	s.heads.add(last.heads)
	s.bus.publish(last.wake...)
	s.changes.publish(*last.written...)
	return nil
}

// run runs f in a database transaction: one of its own, or, where there is one writer, one
// shared with others that wait.
func (t *tx) run(f func(t *tx) error) (err error) {
	if t.s.dialect.OneWriter {
		return t.s.batch.do(t, f)
	}
	if t.conn, err = t.s.write.Conn(t.ctx); err != nil {
		return err
	}
	t.db = t.conn
	t.queue = append(t.queue, Statement{Query: `BEGIN`})
	open := true
	defer func() {
		if open {
			rollback(t.ctx, t.conn) // also after a panic
		}
		_ = t.conn.Close()
	}()
	if err = t.work(f); err != nil {
		t.aborted = true
		return err
	}
	t.s.commits.Add(1)
	t.queue = append(t.queue, Statement{Query: `COMMIT`})
	if err = t.send(); err == nil {
		open = false
	}
	return err
}

// rollback ends the transaction of a connection, or the connection.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

const rollbackTimeout = 2 * time.Second

// work locks the user's row, runs f and writes the counters.
func (t *tx) work(f func(t *tx) error) error {
	if err := t.enter(t.first...); err != nil {
		return err
	}
	if t.moving == frozen && !t.whileFrozen {
		return core.ErrMoving
	}
	if err := f(t); err != nil {
		return err
	}
	return t.flush()
}

// lock locks the user's row and reads its columns. unindexed is never expected, as the index
// changes it at any time: a transaction with expectations writes it in any case.
func (t *tx) lock() Statement {
	columns := `last_message, last_id, news, name, role, settings, standing, moving`
	into := []any{&t.lastMessage, &t.lastID, &t.news, &t.name, &t.role, &t.settings, &t.standing, &t.moving}
	if t.expected == nil {
		columns, into = columns+`, unindexed`, append(into, &t.unindexed)
	}
	return Statement{Expected: t.expected, Query: `SELECT ` + columns + ` FROM users WHERE id = $1` + t.s.dialect.Lock,
		Args: []any{t.user}, Scan: func(r Row) error {
			if t.user != 0 {
				*t.written = append(*t.written, t.user)
			}
			return found(r.Scan(into...))
		}}
}

// forUser returns a tx in the same database transaction for another user, whose row is
// not locked yet.
func (t *tx) forUser(user core.UserID) *tx {
	return &tx{user: user, db: t.db, conn: t.conn, s: t.s, ctx: t.ctx, written: t.written}
}

// asUser runs f in the same database transaction for another user, whose row it locks.
func (t *tx) asUser(user core.UserID, f func(other *tx) error) error {
	if err := t.send(); err != nil {
		return err
	}
	other := t.forUser(user)
	if err := other.ask(other.lock()); err != nil {
		return err
	}
	if err := f(other); err != nil {
		return err
	}
	return other.flushAll()
}

// lockOther locks the user of a tx that forUser returned. core.ErrMoving if the user is frozen.
func (t *tx) lockOther() error {
	err := t.enter()
	if err == nil && t.moving == frozen {
		return core.ErrMoving
	}
	return err
}

// ask runs statements with results, in one round trip where that is possible.
func (t *tx) ask(statements ...Statement) error {
	if t.s.dialect.Pipeline != nil {
		if t.expected != nil {
			if ok, err := t.assume(statements); ok || err != nil {
				return err
			}
		}
		for _, s := range statements {
			s.Args = t.s.prepared(s.Query, s.Args)
			t.queue = append(t.queue, s)
		}
		return t.send()
	}
	for _, s := range statements {
		if s.All != nil {
			if err := readAll(t, s); err != nil {
				return err
			}
			continue
		}
		if err := s.Scan(t.row(s.Query, s.Args...)); err != nil {
			return err
		}
	}
	return nil
}

// flushAll is flush for a tx that forUser returned.
func (t *tx) flushAll() error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.send()
}

// flush writes the counters and notifies other processes.
func (t *tx) flush() error {
	if t.dirty {
		if t.expected != nil && t.expected[0] == nil {
			return errUncounted
		}
		mark := ``
		if t.added && !t.unindexed && t.user > 0 { // an indexed column is written only when it changes
			mark = `, unindexed = 1`
		}
		if err := t.exec(`UPDATE users SET last_message = $2, last_id = $3, news = $4`+mark+` WHERE id = $1`, t.user,
			t.lastMessage, t.lastID, t.news); err != nil {
			return err
		}
	}
	if t.s.dialect.Notify != "" {
		for _, topic := range t.wake {
			t.queue = append(t.queue, Statement{Query: t.s.dialect.Notify, Args: []any{topic}})
		}
	}
	return nil
}

// send runs the queued statements.
func (t *tx) send() error {
	if len(t.queue) == 0 {
		return nil
	}
	t.s.trips.Add(1)
	err := t.s.dialect.Pipeline(t.ctx, t.conn, t.queue)
	t.queue = t.queue[:0]
	return err
}

func (t *tx) nextMessage() core.MessageID {
	t.dirty, t.added = true, true
	t.lastMessage++
	return core.MessageID(t.lastMessage)
}

func (t *tx) nextID() int64 {
	t.dirty = true
	t.lastID++
	return t.lastID
}

// change counts a change of what heads of prompts show, and returns the count.
func (t *tx) change() int64 {
	t.dirty = true
	t.news++
	return t.news
}

// exec runs a statement and ignores its result. Where that saves a round trip, the statement
// is sent with the next one.
func (t *tx) exec(query string, args ...any) error {
	if t.s.dialect.Pipeline != nil {
		t.queue = append(t.queue, Statement{Query: query, Args: t.s.prepared(query, args)})
		return nil
	}
	_, err := t.count(query, args...)
	return err
}

// execOr runs a statement, and fails with otherwise if it affects no row.
func (t *tx) execOr(otherwise error, query string, args ...any) error {
	n, err := t.count(query, args...)
	if err == nil && n == 0 {
		return otherwise
	}
	return err
}

// execAll runs exec for statements.
func (t *tx) execAll(statements ...Statement) error {
	for _, s := range statements {
		if err := t.exec(s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// execEach runs exec for queries with the same arguments.
func (t *tx) execEach(queries []string, args ...any) error {
	for _, query := range queries {
		if err := t.exec(query, args...); err != nil {
			return err
		}
	}
	return nil
}

// count runs a statement and returns the number of affected rows.
func (t *tx) count(query string, args ...any) (int64, error) {
	if err := t.send(); err != nil {
		return 0, err
	}
	t.s.trips.Add(1)
	res, err := t.db.ExecContext(t.ctx, query, t.s.prepared(query, args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *tx) row(query string, args ...any) scanner {
	if err := t.send(); err != nil {
		return broken{err}
	}
	t.s.trips.Add(1)
	return t.db.QueryRowContext(t.ctx, query, t.s.prepared(query, args)...)
}

func (t *tx) rows(query string, args ...any) (rows, error) {
	if err := t.send(); err != nil {
		return nil, err
	}
	t.s.trips.Add(1)
	return t.db.QueryContext(t.ctx, query, t.s.prepared(query, args)...) //nolint:rowserrcheck // collect looks
}
