package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// batcher commits transactions that wait for the one writer together: those that arrive
// during a commit share the next one. Each has its own result: a savepoint undoes a failed
// one without affecting the others.
//
// The first one leads until its own transaction is committed, and then hands over to one
// that waits, so none works for others longer than that.
type batcher struct {
	mu      sync.Mutex
	waiting []*entry
	leading bool
}

// entry is a transaction that waits for its turn.
type entry struct {
	t        *tx
	f        func(t *tx)
	err      error
	panicked any
	done     chan struct{} // closed when it has ended
	lead     chan struct{} // receives one value when it becomes the leader
}

// maxBatch bounds how many transactions share a commit, and so how long one waits.
const maxBatch = 64

// do runs f in a transaction, alone or with others. If t.ctx ends before its turn comes,
// nothing is written.
func (b *batcher) do(t *tx, f func(t *tx)) error {
	e := &entry{t: t, f: f, done: make(chan struct{}), lead: make(chan struct{}, 1)}
	if b.join(e) {
		b.run(e)
	}
	for {
		select {
		case <-e.done:
			if e.panicked != nil {
				panic(e.panicked)
			}
			return e.err
		case <-e.lead:
			b.run(e)
		case <-t.ctx.Done():
			if b.leave(e) {
				return t.ctx.Err()
			}
			b.wait(e)
		}
	}
}

// wait waits for an entry that is being run, or that leads.
func (b *batcher) wait(e *entry) {
	select {
	case <-e.done:
	case <-e.lead:
		b.run(e)
	}
}

// join queues an entry, and reports whether it leads.
func (b *batcher) join(e *entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, e)
	lead := !b.leading
	b.leading = true
	return lead
}

// leave withdraws an entry that has not been started and does not lead.
func (b *batcher) leave(e *entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := slices.Index(b.waiting, e)
	if n < 0 || len(e.lead) > 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, n, n+1)
	return true
}

// run commits batches until the leader's own is among them.
func (b *batcher) run(e *entry) {
	for ended := false; !ended; {
		batch := b.next()
		commitBatch(e.t.s.write, batch)
		ended = slices.Contains(batch, e)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leading = len(b.waiting) > 0; b.leading {
		b.waiting[0].lead <- struct{}{}
	}
}

// next takes a batch.
func (b *batcher) next() []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), maxBatch)
	batch := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return batch
}

// commitBatch runs a batch in one transaction and reports the result to each entry.
func commitBatch(db *sql.DB, batch []*entry) {
	err := runBatch(db, batch)
	for _, e := range batch {
		if e.err == nil {
			e.err = err
		}
		close(e.done)
	}
}

// runBatch returns the error that undid the whole batch.
func runBatch(db *sql.DB, batch []*entry) error {
	ctx := context.WithoutCancel(batch[0].t.ctx)
	shared, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	good := 0
	for _, e := range batch {
		e.t.db = shared
		if err := e.attempt(ctx, len(batch) > 1); err != nil {
			_ = shared.Rollback()
			return err
		}
		if e.err == nil {
			good++
		}
	}
	if good == 0 {
		return shared.Rollback()
	}
	batch[0].t.s.commits.Add(1)
	return shared.Commit()
}

// attempt runs one transaction of a batch; if it is shared, under a savepoint. It returns
// an error if the whole batch cannot continue.
func (e *entry) attempt(ctx context.Context, shared bool) error {
	if e.err = e.t.ctx.Err(); e.err != nil {
		return nil
	}
	if !shared {
		e.work()
		return nil
	}
	if _, err := e.t.db.ExecContext(ctx, `SAVEPOINT one`); err != nil {
		return err
	}
	if e.work(); e.err != nil {
		if _, err := e.t.db.ExecContext(ctx, `ROLLBACK TO one`); err != nil {
			return fmt.Errorf("undo one of several: %w", errors.Join(err, e.err))
		}
	}
	_, err := e.t.db.ExecContext(ctx, `RELEASE one`)
	return err
}

// work runs the transaction itself. A panic is passed on to its owner, not to the leader.
func (e *entry) work() {
	defer func() {
		if e.panicked = recover(); e.panicked != nil {
			e.err = fmt.Errorf("panic: %v", e.panicked)
		}
	}()
	e.err = e.t.work(e.f)
}
