package core

import (
	"context"
	"time"
)

// LeaseStore keeps the state that processes share: leases, such as that of a polled
// account, and rate limits.
type LeaseStore interface {
	// Acquire takes or renews the lease of name until `until`. fence grows whenever
	// the holder changes. held is false while another worker has the lease.
	Acquire(ctx context.Context, name, worker string, now, until time.Time) (fence int64, held bool, err error)
	// Release ends a lease.
	Release(ctx context.Context, name, worker string) error
	// Take reserves the next slot of a limiter that allows one event per `every`,
	// with bursts of `burst`, and returns how long to wait for the slot.
	Take(ctx context.Context, key string, every time.Duration, burst int, now time.Time) (time.Duration, error)
	// Push blocks the limiter of key until `until`.
	Push(ctx context.Context, key string, until time.Time) error
}

// Fence identifies one worker's hold on a lease. The zero value is none.
type Fence struct {
	Lease  string
	Worker string
	N      int64
}

// StateStore keeps the durable state of channels, by the channel's account and a key
// of its own.
type StateStore interface {
	// State returns a value, "" if there is none.
	State(ctx context.Context, account, key string) (string, error)
	// SetState stores all values; "" removes one. If the lease of f was lost, it
	// stores none and returns ErrFenced.
	SetState(ctx context.Context, account string, values map[string]string, f Fence) error
}
