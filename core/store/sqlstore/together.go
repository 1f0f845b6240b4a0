package sqlstore

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

// Where a transaction costs round trips and a flush of the log, the short ones of a turn share one
// while more of them wait than there are lanes. Such a batch waits for nobody: it leaves out a user
// whose row another transaction has locked. Who is left out, and everybody after an error, is
// committed alone, unless the connection broke so that nobody knows whether the batch was stored.

// commitTogether commits a batch of transactions of different users in one.
func (s *Store) commitTogether(batch []*entry) {
	if len(batch) == 1 {
		e := batch[0]
		e.guard(func() { e.err = e.t.runAlone(e.f) })
		return
	}
	shared := &transaction{s: s, aborted: true}
	members := shared.runTogether(batch)
	err := shared.err
	for _, e := range batch {
		m := members[e.t.user]
		switch e.alone = m == nil || err != nil && shared.aborted; {
		case e.alone:
		case err != nil:
			e.err = err
		default:
			m.transaction, shared = shared, &transaction{s: s} // the first one publishes
			*e.t = *m
		}
	}
}

// runTogether runs a batch in a database transaction of its own, whose error and aborted it sets. It
// returns the members of the transaction.
func (t *transaction) runTogether(batch []*entry) (members map[core.UserID]*tx) {
	var cancel context.CancelFunc
	t.ctx, cancel = t.s.bounded(context.WithoutCancel(batch[0].t.ctx))
	defer cancel()
	conn, err := t.s.write.Conn(t.ctx)
	if err != nil {
		t.fail(err)
		return nil
	}
	t.db, t.conn = conn, conn
	defer func() {
		if p := recover(); p != nil {
			t.fail(fmt.Errorf("panic: %v", p)) // the owner panics again when it runs alone
		}
		if t.err != nil {
			t.aborted = rollback(t.ctx, conn) || t.aborted
		}
		_ = conn.Close()
	}()
	t.queue = append(t.queue, Statement{Query: `BEGIN`})
	members = t.lockFree(batch)
	for _, e := range batch {
		if m := members[e.t.user]; m != nil {
			m.queueAll(m.first)
		}
	}
	t.send()
	for _, e := range batch {
		if m := members[e.t.user]; m != nil && t.err == nil {
			e.f(m)
			m.flush()
		}
	}
	t.notify()
	if t.err != nil {
		return members
	}
	t.aborted = false
	t.queue = append(t.queue, Statement{Query: `COMMIT`})
	if t.send(); t.err == nil {
		t.s.commits.Add(1)
	}
	return members
}

// lockFree locks those rows of the batch's users that are free, and returns their transactions.
func (t *transaction) lockFree(batch []*entry) map[core.UserID]*tx {
	waiting, members := map[core.UserID]*tx{}, map[core.UserID]*tx{}
	users := make([]int64, len(batch))
	for n, e := range batch {
		m := *e.t
		m.transaction = t
		waiting[m.user], users[n] = &m, int64(m.user)
	}
	t.queueAll([]Statement{{Query: `SELECT ` + lockColumns + `, id FROM users WHERE id = ANY($1)
		FOR UPDATE SKIP LOCKED`, Args: []any{users}, All: func(r Row) error {
		var m tx
		err := r.Scan(append(m.lockInto(), &m.user)...)
		if w := waiting[m.user]; err == nil {
			w.lastMessage, w.lastID, w.news, w.name, w.role = m.lastMessage, m.lastID, m.news, m.name, m.role
			w.settings, w.standing, w.merging, w.unindexed = m.settings, m.standing, m.merging, m.unindexed
			members[m.user] = w
			t.written = append(t.written, m.user)
		}
		return err
	}}})
	t.send()
	return members
}
