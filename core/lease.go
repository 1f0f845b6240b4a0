package core

import (
	"context"
	"time"
)

// LeaseStore keeps what processes share: which of them owns a polled account, and rate
// limits.
type LeaseStore interface {
	// Acquire takes or renews the lease of name until `until`. fence grows with
	// each change of hands. held is false while somebody else has it.
	Acquire(ctx context.Context, name, worker string, now, until time.Time) (fence int64, held bool, err error)
	// Release gives a lease back.
	Release(ctx context.Context, name, worker string) error
	// Take reserves the next slot of a limiter that lets one event pass each
	// `every`, with `burst` at once, and returns how long to wait for it.
	Take(ctx context.Context, key string, every time.Duration, burst int, now time.Time) (time.Duration, error)
	// Push makes everybody wait on key until `until`.
	Push(ctx context.Context, key string, until time.Time) error
}

// Fence is a process's hold of a lease. The zero value is none.
type Fence struct {
	Lease  string
	Worker string
	N      int64
}

// StateStore keeps what channels must know after a restart, by the channel's
// account and a key of its own.
type StateStore interface {
	// State returns a value, "" if there is none.
	State(ctx context.Context, account, key string) (string, error)
	// SetState stores values, "" removes one; all of them or, if the lease of f was
	// lost (ErrFenced), none.
	SetState(ctx context.Context, account string, values map[string]string, f Fence) error
}
