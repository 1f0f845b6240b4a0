package agent

import (
	"context"
	"sync"
	"time"

	"github.com/everthread/everthread/core/channel"
)

// limits are the rolling limits of one key, one for each kind of call. Some calls remain
// in reserve, as the service may count differently.
type limits struct {
	messages, statuses, updates, uploads, lookups *limit
}

func newLimits(p pace) limits {
	return limits{
		messages: &limit{most: 10}, statuses: &limit{most: 11}, updates: &limit{most: 14, apart: p.polls},
		uploads: &limit{most: 11}, lookups: &limit{most: 11},
	}
}

// rolling is the period in which calls are counted.
const rolling = time.Minute

// limit admits at most `most` calls in any rolling minute, at least `apart` apart.
type limit struct {
	most  int
	apart time.Duration
	mu    sync.Mutex
	calls []time.Time // of the last minute, in order
}

// take counts a call at now and returns 0, or returns how long the call must wait.
func (l *limit) take(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.calls) > 0 && !l.calls[0].Add(rolling).After(now) {
		l.calls = l.calls[1:]
	}
	if n := len(l.calls); n > 0 && l.calls[n-1].Add(l.apart).After(now) {
		return l.calls[n-1].Add(l.apart).Sub(now)
	}
	if len(l.calls) < l.most {
		l.calls = append(l.calls, now)
		return 0
	}
	return l.calls[0].Add(rolling).Sub(now)
}

// wait takes a call as soon as the limit admits it. It returns an error only if ctx ends.
func (l *limit) wait(ctx context.Context, now func() time.Time) error {
	for {
		d := l.take(now())
		if d <= 0 {
			return ctx.Err()
		}
		if err := channel.Pause(ctx, d); err != nil {
			return err
		}
	}
}
