package channel

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Watch returns a context, and sets left to whether a request with it may have been sent. Each
// attempt of the transport resets left; it retries only if nothing was sent.
func Watch(ctx context.Context, left *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { left.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { left.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				left.Store(false)
			}
		},
	})
}

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Backoff is the growing pause between attempts. The zero value is ready.
type Backoff struct{ next time.Duration }

// Wait waits for asked, which the service requested; if that is 0, for a pause that doubles
// each time. It returns early when ctx ends.
func (b *Backoff) Wait(ctx context.Context, asked time.Duration) {
	b.next = min(max(2*b.next, firstPause), lastPause)
	if asked <= 0 {
		asked = b.next
	}
	_ = Pause(ctx, asked)
}

// Pause waits for d. If ctx ends before, it returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
