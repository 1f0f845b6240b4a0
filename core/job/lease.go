package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
)

// Duration and renewal of a named lease. Another process takes a name over within leaseFor +
// Renew of a death.
const (
	leaseFor = 10 * time.Second
	Renew    = 3 * time.Second
)

// LeaseStore stores named leases.
type LeaseStore interface {
	Acquire(ctx context.Context, name, worker string, now, until time.Time) (fence int64, held bool, err error)
	Release(ctx context.Context, name, worker string) error
}

// Leases hold names, such as the accounts of polled channels, each for one process at a
// time. All fields are required; it is safe for concurrent use.
type Leases struct {
	Store  LeaseStore
	Worker string // this process
	Now    func() time.Time
	Log    *zap.Logger

	mu     sync.Mutex
	fences map[string]int64 // of the leases that this process has had
}

// While runs f while this process holds the lease of name. It returns when f has ended or the
// lease is lost; immediately, without an error, if another process holds it.
func (l *Leases) While(ctx context.Context, name string, f func(context.Context) error) error {
	held, err := l.acquire(ctx, name)
	if err != nil || !held {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Renew)
		defer cancel()
		if err := l.Store.Release(ctx, name, l.Worker); err != nil {
			l.Log.Warn("lease not released", zap.String("name", name), zap.Error(err))
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { defer cancel(); return f(ctx) })
	group.Go(func() error { defer cancel(); return l.renew(ctx, name) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Fence returns this process's fence of a name, for writes that only the holder may make.
func (l *Leases) Fence(name string) core.Fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return core.Fence{Lease: name, Worker: l.Worker, N: l.fences[name]}
}

func (l *Leases) acquire(ctx context.Context, name string) (bool, error) {
	now := l.Now()
	fence, held, err := l.Store.Acquire(ctx, name, l.Worker, now, now.Add(leaseFor))
	if held {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.fences == nil {
			l.fences = map[string]int64{}
		}
		l.fences[name] = fence
	}
	return held, err
}

// renew renews a lease until ctx ends. If that fails it returns, so that the work under the
// lease stops, before another process can take it.
func (l *Leases) renew(ctx context.Context, name string) error {
	until := l.Now().Add(leaseFor)
	for {
		Wait(ctx, Renew)
		if ctx.Err() != nil {
			return nil
		}
		asked := l.Now()
		try, cancel := context.WithTimeout(ctx, Renew)
		held, err := l.acquire(try, name)
		cancel()
		switch {
		case err == nil && !held:
			return fmt.Errorf("the lease of %s was taken by another process", name)
		case err == nil:
			until = asked.Add(leaseFor)
		case l.Now().Add(2 * Renew).After(until):
			return fmt.Errorf("renew the lease of %s: %w", name, err)
		}
	}
}
