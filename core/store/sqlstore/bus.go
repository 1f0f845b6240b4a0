package sqlstore

import (
	"context"
	"sync"
	"time"
)

// bus passes wake-ups within the process.
type bus struct {
	mu   sync.Mutex
	subs map[chan string]struct{}
}

func (b *bus) publish(topics ...string) {
	if len(topics) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.subs {
		for _, topic := range topics {
			select {
			case ch <- topic:
			default: // the reader is behind, and will look at everything anyway
			}
		}
	}
}

func (b *bus) subscribe(ch chan string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[chan string]struct{}{}
	}
	b.subs[ch] = struct{}{}
}

func (b *bus) unsubscribe(ch chan string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, ch)
	close(ch)
}

// Wakes yields the topics that changed, here and in other processes.
func (s *Store) Wakes(ctx context.Context) <-chan string {
	ch := make(chan string, 256)
	s.bus.subscribe(ch)
	context.AfterFunc(ctx, func() { s.bus.unsubscribe(ch) })
	return ch
}

// Listen passes the wake-ups of other processes on until ctx ends. Without other
// processes it only waits. While the database is away it tries again.
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
