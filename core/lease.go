package core

import (
	"context"
	"time"
)

// LeaseStore gives each polled account one owner among the processes.
type LeaseStore interface {
	// Acquire takes or renews the lease of name until `until`. fence grows with
	// each change of hands. held is false while somebody else has it.
	Acquire(ctx context.Context, name, worker string, now, until time.Time) (fence int64, held bool, err error)
	// Release gives a lease back.
	Release(ctx context.Context, name, worker string) error
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
