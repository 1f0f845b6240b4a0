package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
)

// batcher commits transactions that wait for a lane together: those that arrive while all lanes
// commit share the next one. Each has its own result.
//
// The first transaction of a batch leads: it commits the others with its own, and then hands its
// lane to one that waits, so none works for others longer than that.
type batcher struct {
	lanes  int                  // how many batches are committed at the same time
	apart  bool                 // transactions of one user are neither in one batch nor committed at the same time
	commit func(batch []*entry) // commits a batch, and sets the results

	mu      sync.Mutex
	waiting []*entry
	leaders int
	busy    map[core.UserID]bool // users of transactions that are being committed, if apart
}

// entry is a transaction that waits for its turn.
type entry struct {
	t        *tx
	f        func(t *tx)
	err      error
	alone    bool // it has to be committed by itself instead
	panicked any
	done     chan struct{} // closed when it has ended
	lead     chan struct{} // closed when it leads
}

// maxBatch bounds how many transactions share a commit, and so how long one waits.
const maxBatch = 64

// do runs f in a transaction, alone or with others, and reports whether it has: otherwise it has to
// be committed by itself. If t.ctx ends before its turn comes, nothing is written.
func (b *batcher) do(t *tx, f func(t *tx)) (bool, error) {
	e, ctx := &entry{t: t, f: f, done: make(chan struct{}), lead: make(chan struct{})}, t.ctx
	if b.join(e) {
		b.run(e)
		return e.result()
	}
	select {
	case <-e.done:
	case <-e.lead:
		b.run(e)
	case <-ctx.Done():
		if b.leave(e) {
			return true, ctx.Err()
		}
		select {
		case <-e.done:
		case <-e.lead:
			b.run(e)
		}
	}
	return e.result()
}

func (e *entry) result() (bool, error) {
	if e.panicked != nil {
		panic(e.panicked)
	}
	return !e.alone, e.err
}

// join makes an entry lead, if a lane is free, or queues it. It reports whether it leads.
func (b *batcher) join(e *entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leaders == b.lanes || b.busy[e.t.user] {
		b.waiting = append(b.waiting, e)
		return false
	}
	b.start(e)
	b.leaders++
	return true
}

// start notes that an entry is being committed.
func (b *batcher) start(e *entry) {
	if b.apart {
		b.busy[e.t.user] = true
	}
}

// leave withdraws an entry that has not been started, and reports whether it could.
func (b *batcher) leave(e *entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := slices.Index(b.waiting, e)
	if n < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, n, n+1)
	return true
}

// run commits an entry, with others that wait, and hands over its lane; where there are several,
// after slowBatch at the latest, as a transaction may wait for a lock.
func (b *batcher) run(e *entry) {
	handOver := sync.OnceFunc(b.handOver)
	if b.apart {
		defer time.AfterFunc(slowBatch, handOver).Stop()
	}
	batch := b.take(e)
	b.commit(batch)
	b.end(batch)
	handOver()
}

const slowBatch = 100 * time.Millisecond

// end reports to the entries of a batch that they have their results.
func (b *batcher) end(batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		delete(b.busy, e.t.user)
		close(e.done)
	}
	b.lead() // what waited for a user of the batch, if its lane is handed over already
}

// handOver passes a lane to an entry that waits.
func (b *batcher) handOver() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leaders--
	b.lead()
}

// lead makes the next entry lead, if there is one and a lane is free.
func (b *batcher) lead() {
	if b.leaders == b.lanes {
		return
	}
	if next := b.pick(); next != nil {
		b.leaders++
		close(next.lead)
	}
}

// take returns the batch that an entry leads.
func (b *batcher) take(e *entry) []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := []*entry{e}
	for len(batch) < maxBatch {
		next := b.pick()
		if next == nil {
			break
		}
		batch = append(batch, next)
	}
	return batch
}

// pick starts the first waiting entry that can be, or returns nil.
func (b *batcher) pick() *entry {
	n := slices.IndexFunc(b.waiting, func(e *entry) bool { return !b.busy[e.t.user] })
	if n < 0 {
		return nil
	}
	e := b.waiting[n]
	b.waiting = slices.Delete(b.waiting, n, n+1)
	b.start(e)
	return e
}

// commitShared commits a batch with the one writer. A savepoint undoes a failed transaction without
// affecting the others.
func (s *Store) commitShared(batch []*entry) {
	err := runBatch(s.write, batch)
	for _, e := range batch {
		if e.err == nil {
			e.err = err
		}
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

// work runs the transaction itself.
func (e *entry) work() {
	e.guard(func() {
		_ = e.t.work(e.f)
		e.t.send()
		e.err = e.t.err
	})
}

// guard runs f, and keeps a panic for the owner of the entry, so that it does not reach the leader.
func (e *entry) guard(f func()) {
	defer func() {
		if e.panicked = recover(); e.panicked != nil {
			e.err = fmt.Errorf("panic: %v", e.panicked)
		}
	}()
	f()
}
