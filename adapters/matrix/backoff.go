package matrix

import (
	"context"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	longest    = 30 * time.Second
)

// backoff is the growing pause between attempts. The zero value is ready.
type backoff struct{ next time.Duration }

// wait waits as long as err asks for, else a pause that doubles each time, and
// returns early when ctx ends.
func (b *backoff) wait(ctx context.Context, err error) {
	b.next = min(max(2*b.next, firstPause), longest)
	d := b.next
	if e := refused(err); e != nil && e.RetryAfter > 0 {
		d = e.RetryAfter
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
