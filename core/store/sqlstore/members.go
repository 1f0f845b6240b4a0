package sqlstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Prefixes of the leases of live processes: those that claim work, and those that only finish theirs.
const (
	memberPrefix  = "process:"
	leavingPrefix = "leaving:"
)

// withPrefix returns the condition that a lease's name begins with a prefix, which ends with a
// colon, in a form that an index supports.
func withPrefix(prefix string) string {
	return `name > '` + prefix + `' AND name < '` + prefix[:len(prefix)-1] + `;'`
}

// Join creates or renews a membership; see store.MemberStore.
func (s *Store) Join(ctx context.Context, m store.Membership) (live []string, freed int, err error) {
	own, other := memberPrefix, leavingPrefix
	if m.Leaving {
		own, other = other, own
	}
	err = s.writeShared(ctx, "join", func(t *transaction) {
		t.exec(`INSERT INTO leases (name, worker, fence, until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET until = excluded.until`, own+m.Worker, m.Worker, 0, ms(m.Until))
		if m.Leaving {
			t.exec(`DELETE FROM leases WHERE name = $1`, other+m.Worker)
		}
		freed = t.expireMembers(m)
		live = listOf(t, column[string], `SELECT worker FROM leases WHERE `+withPrefix(memberPrefix)+` ORDER BY name`)
	})
	return live, freed, err
}

// expireMembers ends expired memberships and the leases of their jobs.
func (t *transaction) expireMembers(m store.Membership) (freed int) {
	for _, prefix := range []string{memberPrefix, leavingPrefix} {
		for _, worker := range listOf(t, column[string],
			`DELETE FROM leases WHERE `+withPrefix(prefix)+` AND until <= $1 RETURNING worker`, ms(m.Now)) {
			freed += t.endLeases(worker)
		}
	}
	return freed
}

// Leave ends a membership; see store.MemberStore.
func (s *Store) Leave(ctx context.Context, worker string) error {
	return s.writeShared(ctx, "leave", func(t *transaction) {
		t.exec(`DELETE FROM leases WHERE name IN ($1, $2)`, memberPrefix+worker, leavingPrefix+worker)
		t.endLeases(worker)
	})
}

// Tell passes a topic to the Wakes of this process; see store.MemberStore.
func (s *Store) Tell(topic string) { s.bus.publish(topic) }

// bus passes values within the process: wake-ups, and users whose rows changed. A slow
// subscriber misses some, and delays no other.
type bus[T any] struct {
	mu    sync.Mutex
	subs  map[chan T]struct{}
	heard atomic.Int64 // number of subscribers, so that publishing without any costs nothing
}

func (b *bus[T]) publish(values ...T) {
	if len(values) == 0 || b.heard.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.subs {
		for _, v := range values {
			select {
			case ch <- v:
			default: // a slow subscriber checks everything anyway
			}
		}
	}
}

// subscribe returns the values published until ctx ends.
func (b *bus[T]) subscribe(ctx context.Context, size int) <-chan T {
	ch := make(chan T, size)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[chan T]struct{}{}
	}
	b.subs[ch] = struct{}{}
	b.heard.Add(1)
	context.AfterFunc(ctx, func() { b.unsubscribe(ch) })
	return ch
}

func (b *bus[T]) unsubscribe(ch chan T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, ch)
	b.heard.Add(-1)
	close(ch)
}

// Wakes yields the topics that changed, here and in other processes.
func (s *Store) Wakes(ctx context.Context) <-chan string { return s.bus.subscribe(ctx, 256) }

// Changed yields users whose rows this process has written; see store.Changes.
func (s *Store) Changed(ctx context.Context) <-chan core.UserID {
	return s.changes.subscribe(ctx, 1024)
}

// maxTopic bounds a topic, in bytes; PostgreSQL passes on less than 8,000.
const maxTopic = 7000

// Publish passes a topic to the Wakes of every process; see store.Changes. It arrives twice in
// this process if that also listens to the database.
func (s *Store) Publish(ctx context.Context, topic string) error {
	if len(topic) > maxTopic {
		return errors.New("publish: the topic is too long")
	}
	s.bus.publish(topic)
	if s.dialect.Notify == "" {
		return nil
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	_, err := s.write.ExecContext(ctx, s.dialect.Notify, s.prepared(s.dialect.Notify, []any{topic})...)
	return wrap("publish", err)
}

// Listen relays the wake-ups of other processes until ctx ends, and retries while the database
// is unavailable. Without other processes it only waits.
func (s *Store) Listen(ctx context.Context) error {
	for ctx.Err() == nil && s.dialect.Listen != nil {
		_ = s.dialect.Listen(ctx, func(topic string) { s.bus.publish(topic) })
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	<-ctx.Done()
	return nil
}
