package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// batcher commits transactions that wait for the one writer together: who comes
// while a commit is under way shares the next one. Each keeps its own outcome: a
// savepoint undoes one that failed without touching the others.
type batcher struct {
	mu      sync.Mutex
	waiting []*entry
	leading bool
}

// entry is a transaction that waits for its turn.
type entry struct {
	t    *tx
	f    func(t *tx) error
	err  error
	done chan struct{}
}

// maxBatch bounds how many transactions share a commit, and so how long one waits.
const maxBatch = 64

// do runs f in a transaction, alone or with others.
func (b *batcher) do(db *sql.DB, t *tx, f func(t *tx) error) error {
	e := &entry{t: t, f: f, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, e)
	if b.leading {
		b.mu.Unlock()
		<-e.done
		return e.err
	}
	b.leading = true
	b.mu.Unlock()
	for batch := b.next(); batch != nil; batch = b.next() {
		commitBatch(db, batch)
		select {
		case <-e.done:
			b.hand(db)
			return e.err
		default:
		}
	}
	return e.err
}

// hand lets another goroutine lead if somebody waits: nobody works for others
// longer than one commit.
func (b *batcher) hand(db *sql.DB) {
	b.mu.Lock()
	if len(b.waiting) == 0 {
		b.leading = false
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	go func() {
		for batch := b.next(); batch != nil; batch = b.next() {
			commitBatch(db, batch)
		}
	}()
}

// next takes a batch; nil, and nobody leads any more, if nothing waits.
func (b *batcher) next() []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), maxBatch)
	if n == 0 {
		b.leading = false
		return nil
	}
	batch := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return batch
}

// commitBatch runs a batch in one transaction and tells each how it ended.
func commitBatch(db *sql.DB, batch []*entry) {
	err := runBatch(db, batch)
	for _, e := range batch {
		e.err = errors.Join(e.err, err)
		close(e.done)
	}
}

func runBatch(db *sql.DB, batch []*entry) error {
	ctx := context.WithoutCancel(batch[0].t.ctx)
	shared, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	good := 0
	for _, e := range batch {
		e.t.Tx = shared
		if e.err = e.attempt(ctx, len(batch) > 1); e.err == nil {
			good++
		}
	}
	if good == 0 {
		return ignoreDone(shared.Rollback())
	}
	return shared.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// attempt runs one transaction of a batch; with others, under a savepoint.
func (e *entry) attempt(ctx context.Context, shared bool) error {
	if err := e.t.ctx.Err(); err != nil {
		return err
	}
	if !shared {
		return e.t.work(e.f)
	}
	if _, err := e.t.ExecContext(ctx, `SAVEPOINT one`); err != nil {
		return err
	}
	err := e.t.work(e.f)
	if err != nil {
		_, undo := e.t.ExecContext(ctx, `ROLLBACK TO one`)
		err = errors.Join(err, undo)
	}
	_, release := e.t.ExecContext(ctx, `RELEASE one`)
	return errors.Join(err, release)
}
