package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// tx is a writing transaction of one user, whose row it locks. Transactions of several users may
// share a database transaction, which remembers the first error of all of them: see transaction.
type tx struct {
	*transaction

	// Set by the caller of transact.
	user     core.UserID
	first    []Statement // read together with the lock, in the same round trip where that saves one
	unlocked bool        // it locks no user's row
	together bool        // it may be committed with those of other users; f may then run twice
	long     bool        // the dialect's timeout does not apply

	// Columns of the user's row.
	lastMessage, lastID int64
	news                int64 // counts changes of what heads of prompts show
	name, role          string
	settings            string
	standing            int64
	merging             bool // a merge waits for what is under way
	unindexed           bool // the user has messages that are not indexed

	dirty      bool                    // the counters changed
	answers    bool                    // it commits a reply: what ended since the model saw it needs no end
	added      bool                    // it added messages
	actor      core.Actor              // who acts, where the context does not say it
	alone      string                  // the key of a held job without successors
	scrubbed   map[core.SegmentID]bool // days whose prompts it has redacted
	gone       quotable                // what it removed
	retracts   time.Time               // since when the apps are to show no deleted message; zero: they may
	quotes     []core.Message          // messages after quotesFrom that quote another
	quotesFrom core.MessageID
	sources    map[core.LoopID][]core.MessageID // of all loops
	results    []core.Message                   // of our own tools
	notes      map[core.MessageID]core.News     // those with content
}

// update runs f in one transaction that locks user's row.
func (s *Store) update(ctx context.Context, op string, user core.UserID, f func(t *tx)) error {
	return s.transact(ctx, op, tx{user: user}, f)
}

// updateLong is update without the dialect's timeout.
func (s *Store) updateLong(ctx context.Context, op string, user core.UserID, f func(t *tx)) error {
	return s.transact(ctx, op, tx{user: user, long: true}, f)
}

// bounded returns ctx with the dialect's timeout.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.dialect.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.dialect.Timeout)
}

// transact runs f in a transaction like t, and returns the first error that t remembers.
func (s *Store) transact(ctx context.Context, op string, t tx, f func(t *tx)) error {
	if !t.long {
		var cancel context.CancelFunc
		ctx, cancel = s.bounded(ctx)
		defer cancel()
	}
	t.transaction = &transaction{s: s, ctx: ctx}
	if err := t.run(f); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	s.bus.publish(t.wake...)
	s.changes.publish(t.written...)
	return nil
}

// run runs f in a database transaction: one of its own, or one shared with others that wait.
func (t *tx) run(f func(t *tx)) error {
	if t.s.dialect.OneWriter || t.together && t.s.dialect.Together != nil && t.s.dialect.Together() {
		if done, err := t.s.batch.do(t, f); done {
			return err
		}
	}
	return t.runAlone(f)
}

// runAlone runs f in a database transaction of its own.
func (t *tx) runAlone(f func(t *tx)) (err error) {
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
		return err
	}
	t.s.commits.Add(1)
	t.queue = append(t.queue, Statement{Query: `COMMIT`})
	t.send()
	open = t.err != nil
	return t.err
}

// rollback ends the transaction of a connection, or the connection, and reports whether nothing was
// stored: after the failure of a commit that is known only from the server.
func rollback(ctx context.Context, conn *sql.Conn) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, err := conn.ExecContext(ctx, `ROLLBACK`)
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err == nil
}

const rollbackTimeout = 2 * time.Second

// enter locks the user's row, and reads first with it.
func (t *tx) enter(first ...Statement) {
	if !t.unlocked {
		t.ask(append([]Statement{t.lock()}, first...)...)
	}
}

// work locks the user's row, runs f, writes the counters and notifies other processes.
func (t *tx) work(f func(t *tx)) error {
	t.enter(t.first...)
	if t.err != nil {
		return t.err
	}
	f(t)
	t.flush()
	t.notify()
	return t.err
}

// notify queues the notifications of other processes.
func (t *transaction) notify() {
	if t.s.dialect.Notify == "" {
		return
	}
	for _, topic := range t.wake {
		t.queue = append(t.queue, Statement{Query: t.s.dialect.Notify, Args: []any{topic}})
	}
}

// lock locks the user's row and reads its columns.
func (t *tx) lock() Statement {
	return Statement{Query: `SELECT ` + lockColumns + ` FROM users WHERE id = $1` + t.s.dialect.Lock, Args: []any{t.user},
		Scan: func(r Row) error {
			if t.user != 0 {
				t.written = append(t.written, t.user)
			}
			return found(r.Scan(t.lockInto()...))
		}}
}

const lockColumns = `last_message, last_id, news, name, role, settings, standing, merging, unindexed`

// lockInto returns the destinations of lockColumns.
func (t *tx) lockInto() []any {
	return []any{&t.lastMessage, &t.lastID, &t.news, &t.name, &t.role, &t.settings, &t.standing, &t.merging, &t.unindexed}
}

// forUser returns a tx in the same database transaction for another user, whose row is not locked yet.
func (t *tx) forUser(user core.UserID) *tx { return &tx{transaction: t.transaction, user: user} }

// asUser runs f in the same database transaction for another user, whose row it locks.
func (t *tx) asUser(user core.UserID, f func(other *tx)) {
	other := t.forUser(user)
	other.ask(other.lock())
	f(other)
	other.flush()
}

// ask runs statements with results, in one round trip where that is possible.
func (t *tx) ask(statements ...Statement) {
	if t.s.dialect.Pipeline != nil {
		t.queueAll(statements)
		t.send()
		return
	}
	for _, s := range statements {
		if s.All != nil {
			t.fail(readAll(t, s))
		} else {
			t.fail(s.Scan(t.row(s.Query, s.Args...)))
		}
	}
}

// queueAll queues statements with results.
func (t *transaction) queueAll(statements []Statement) {
	for _, s := range statements {
		s.Args = t.s.prepared(s.Query, s.Args)
		t.queue = append(t.queue, s)
	}
}

// flush writes the counters.
func (t *tx) flush() {
	if !t.dirty {
		return
	}
	mark := ``
	if t.added && !t.unindexed && t.user > 0 { // an indexed column is written only when it changes
		mark = `, unindexed = 1`
	}
	t.exec(`UPDATE users SET last_message = $2, last_id = $3, news = $4`+mark+` WHERE id = $1`, t.user, t.lastMessage,
		t.lastID, t.news)
	t.dirty = false
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
