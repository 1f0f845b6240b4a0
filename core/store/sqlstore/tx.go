package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// tx is one writing transaction of one user, whose row it has locked.
type tx struct {
	db                  database
	conn                *sql.Conn // that holds the transaction, where statements are pipelined
	queue               []Statement
	s                   *Store
	ctx                 context.Context
	user                core.UserID
	first               []Statement // read with the lock
	foreseen            []any       // the columns of lock, if they are foreseen
	lastMessage, lastID int64
	actor               core.Actor // who acts, where the context does not say it
	news                int64      // counts changes of what heads of prompts show
	name, role          string     // of the user
	settings            string
	standing            int64
	moving              int  // of the user: not at all, paused or frozen
	free                bool // nobody's row is locked
	undone              bool // it failed before it could be committed
	even                bool // it may write to a frozen user
	dirty               bool // the counters moved
	unindexed, added    bool // the user has messages that are not indexed; got more of them here
	knowsLeases         bool // that rows keep: it makes jobs of them when it needs to
	leases              []lease
	alone               string     // the key of a held job that none waits behind
	keptJob             core.JobID // of a held lease that its own row keeps
	wake                []string
	heads               map[string]string       // texts that it stores
	touched             *[]core.UserID          // whose rows this transaction writes, with those beside it
	scrubbed            map[core.SegmentID]bool // days whose prompts were redacted in this transaction
	quotes              []core.Message          // messages after quotesFrom that quote another
	quotesFrom          core.MessageID
	sources             map[core.LoopID][]core.MessageID // of all loops
	shown               []core.Message                   // results of our own tools
	notes               map[core.MessageID]core.News     // that tell something
}

// database is what statements are run on: a transaction, or the connection that
// holds one.
type database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// update runs f in one transaction that holds user's row. What is read first is
// read right after the lock, where that saves round trips with it.
func (s *Store) update(ctx context.Context, op string, user core.UserID, f func(t *tx) error,
	first ...Statement) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.unbounded(ctx, op, user, f, first...)
}

// updateFrozen is update for what is finished even while a move has frozen the user.
func (s *Store) updateFrozen(ctx context.Context, op string, user core.UserID, f func(t *tx) error,
	first ...Statement) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.written(op, &tx{s: s, ctx: ctx, user: user, first: first, even: true}, f)
}

// updateFree runs f in a transaction that holds no user's row: what it writes is decided by
// the rows themselves, and nothing waits for strangers.
func (s *Store) updateFree(ctx context.Context, op string, f func(t *tx) error) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.written(op, &tx{s: s, ctx: ctx, free: true}, f)
}

// bounded returns ctx with the dialect's timeout.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.dialect.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.dialect.Timeout)
}

// unbounded is update for what may take long.
func (s *Store) unbounded(ctx context.Context, op string, user core.UserID, f func(t *tx) error,
	first ...Statement) error {
	return s.written(op, &tx{s: s, ctx: ctx, user: user, first: first}, f)
}

// updateLeased is update, or updateFrozen, for a transaction that knows the leases that
// rows keep.
func (s *Store) updateLeased(ctx context.Context, op string, user core.UserID, frozen bool, f func(t *tx) error,
	first ...Statement) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.written(op, &tx{s: s, ctx: ctx, user: user, first: first, even: frozen, knowsLeases: true}, f)
}

// updateForeseen is updateLeased of a user who may be frozen, for a transaction whose reads
// may be foreseen.
func (s *Store) updateForeseen(ctx context.Context, op string, user core.UserID, seen foresight, f func(t *tx) error,
	first Statement) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	first.Foreseen = seen.row
	return s.written(op, &tx{s: s, ctx: ctx, user: user, first: []Statement{first}, foreseen: seen.user, even: true,
		knowsLeases: true}, f)
}

func (s *Store) written(op string, t *tx, f func(t *tx) error) error {
	again := *t
	t.touched = new([]core.UserID)
	err := t.run(f)
	if err != nil && t.foreseen != nil && (t.undone || s.dialect.Disproved(err)) { // what it went by was not proved
		t, again.foreseen, again.touched = &again, nil, new([]core.UserID)
		err = t.run(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	s.heads.add(t.heads)
	s.bus.publish(t.wake...)
	s.changes.publish(*t.touched...)
	return nil
}

// run runs f in a transaction: one of its own, or, where there is one writer,
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
			rollback(t.ctx, t.conn) // what did not commit, a panic's too
		}
		_ = t.conn.Close()
	}()
	if err = t.work(f); err != nil {
		t.undone = true
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

// work locks the user's row, reads what is read first, runs f and writes the counters.
func (t *tx) work(f func(t *tx) error) error {
	if err := t.enter(t.first...); err != nil {
		return err
	}
	if t.moving == frozen && !t.even {
		return core.ErrMoving
	}
	if err := f(t); err != nil {
		return err
	}
	return t.flush()
}

// lock locks the user's row and reads its counters. Whether the user is unindexed is not
// foreseen, as the index changes it at any time: it is then written in any case.
func (t *tx) lock() Statement {
	columns := `last_message, last_id, news, name, role, settings, standing, moving`
	into := []any{&t.lastMessage, &t.lastID, &t.news, &t.name, &t.role, &t.settings, &t.standing, &t.moving}
	if t.foreseen == nil {
		columns, into = columns+`, unindexed`, append(into, &t.unindexed)
	}
	return Statement{Foreseen: t.foreseen, Query: `SELECT ` + columns + ` FROM users WHERE id = $1` + t.s.dialect.Lock,
		Args: []any{t.user}, Scan: func(r Row) error {
			if t.user != 0 {
				*t.touched = append(*t.touched, t.user)
			}
			return found(r.Scan(into...))
		}}
}

// ask runs statements whose rows are looked at, in one round trip if need be.
func (t *tx) ask(statements ...Statement) error {
	if t.s.dialect.Pipeline != nil {
		if t.foreseen != nil {
			if ok, err := t.guess(statements); ok || err != nil {
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
			rows, err := t.rows(s.Query, s.Args...)
			if _, err = collect(rows, err, func(r scanner) (struct{}, error) { return struct{}{}, s.All(r) }); err != nil {
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

// flushAll is flush for a transaction beside another one.
func (t *tx) flushAll() error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.send()
}

// flush writes the counters and tells other processes what to look at.
func (t *tx) flush() error {
	if t.dirty {
		if t.foreseen != nil && t.foreseen[0] == nil {
			return errUncounted
		}
		mark := ``
		if t.added && !t.unindexed && t.user > 0 { // what is in an index is written only where it changes
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

// change counts a change of what heads of prompts show, and returns its number.
func (t *tx) change() int64 {
	t.dirty = true
	t.news++
	return t.news
}

// exec runs a statement whose outcome nobody looks at; where that saves a round
// trip it is sent with the next one.
func (t *tx) exec(query string, args ...any) error {
	if t.s.dialect.Pipeline != nil {
		t.queue = append(t.queue, Statement{Query: query, Args: t.s.prepared(query, args)})
		return nil
	}
	_, err := t.count(query, args...)
	return err
}

// count runs a statement and returns how many rows it touched.
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
