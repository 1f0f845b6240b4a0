package gateway

import (
	"context"
	"sync"
	"time"
)

// MemoryLimiter is a Limiter for one process. Each key is a leaky bucket kept as
// the time of its next free slot.
type MemoryLimiter struct {
	mu   sync.Mutex
	next map[string]time.Time
}

var _ Limiter = (*MemoryLimiter)(nil)

// NewMemoryLimiter returns an empty limiter.
func NewMemoryLimiter() *MemoryLimiter { return &MemoryLimiter{next: map[string]time.Time{}} }

// maxKeys is the number of buckets above which free ones are dropped.
const maxKeys = 10_000

// Take reserves the next slot of a key.
func (l *MemoryLimiter) Take(_ context.Context, key string, every time.Duration, burst int,
	now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.next) > maxKeys {
		for k, t := range l.next {
			if t.Before(now) {
				delete(l.next, k)
			}
		}
	}
	slot := now.Add(-every * time.Duration(burst-1))
	if t := l.next[key]; t.After(slot) {
		slot = t
	}
	l.next[key] = slot.Add(every)
	return max(0, slot.Sub(now)), nil
}

// Push blocks key until a time.
func (l *MemoryLimiter) Push(_ context.Context, key string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next[key].Before(until) {
		l.next[key] = until
	}
	return nil
}
