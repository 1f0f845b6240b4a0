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

// How long a name is held without a renewal; another process takes it over within
// leaseFor + Renew of a death (15 s).
const (
	leaseFor = 10 * time.Second
	Renew    = 3 * time.Second
)

// LeaseStore is where named leases are kept.
type LeaseStore interface {
	Acquire(ctx context.Context, name, worker string, now, until time.Time) (fence int64, held bool, err error)
	Release(ctx context.Context, name, worker string) error
}

// Leases hold names, such as the accounts of channels that are polled: of all processes
// one at a time has a name. All fields are required; it is safe for concurrent use.
type Leases struct {
	Store  LeaseStore
	Worker string // this process
	Now    func() time.Time
	Log    *zap.Logger

	mu     sync.Mutex
	fences map[string]int64 // of the leases that this process has had
}

// While runs f while this process holds the lease of name. It returns when f ended or
// the lease is somebody else's; at once if it is already.
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

// Fence is this process's hold of a name, for writes that only its holder may make.
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

// renew keeps a lease until ctx ends. It gives up, so that the work under the lease
// stops, before somebody else can take it.
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
