package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everthread/everthread/core"
)

// NewJob is a job to enqueue.
type NewJob struct {
	User    core.UserID
	Queue   string
	Key     string
	Ref     int64
	Payload json.RawMessage
	RunAt   time.Time
	// Unique skips the job if another with the same key and Ref has not started yet.
	Unique bool
}

// JobStore is the queue. Turns and deliveries are claimed by methods of their own.
type JobStore interface {
	// Due returns due heads, including running ones whose lease has lapsed, oldest
	// first: those of a share, and others that have been due for its Grace. It also
	// returns when the next head of the share will be due (zero: none is waiting).
	Due(ctx context.Context, queues []string, now time.Time, limit int, share core.Share) ([]core.JobRef, time.Time, error)
	// Claim claims a due job; nil if another worker has it.
	Claim(ctx context.Context, ref core.JobRef, c core.Claim) (*core.Job, error)
	// Enqueue adds jobs.
	Enqueue(ctx context.Context, jobs ...NewJob) error
	// Extend moves the end of a lease. core.ErrFenced if it was lost.
	Extend(ctx context.Context, user core.UserID, l core.Lease, until time.Time) error
	// Finish ends a job: done if cause is empty, dead otherwise.
	Finish(ctx context.Context, user core.UserID, l core.Lease, cause string) error
	// Abandon ends worker's leases on a user's turns and deliveries that it claimed up
	// to at. The worker is working on none of them, and may not know of them.
	Abandon(ctx context.Context, user core.UserID, worker string, at time.Time) error
}

// JobAdmin manages jobs.
type JobAdmin interface {
	// RetryJob returns a claimed job to the queue, to run again at `at`, together with its reserved tokens. An empty
	// cause means that it was postponed, which does not count as a failure.
	RetryJob(ctx context.Context, user core.UserID, l core.Lease, at time.Time, cause string) error
	// DeadJobs lists dead jobs, newest first.
	DeadJobs(ctx context.Context, limit int) ([]core.Job, error)
	// Lapse ends all leases and returns their number. It is for a store whose only
	// server has just started: processes that are still working are fenced.
	Lapse(ctx context.Context) (int, error)
	// Revive makes a dead job ready again.
	Revive(ctx context.Context, user core.UserID, id core.JobID, now time.Time) error
	// QueueStats returns the depth of each queue, and when its oldest job was enqueued.
	QueueStats(ctx context.Context) ([]QueueStat, error)
}

// LeaseStore keeps the state that processes share: leases, such as that of a polled account, and rate limits.
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

// StateStore keeps the durable state of channels, by the channel's account and a key of its own.
type StateStore interface {
	// State returns a value, "" if there is none.
	State(ctx context.Context, account, key string) (string, error)
	// SetState stores all values; "" removes one. If the lease of f was lost, it stores none and returns core.ErrFenced.
	SetState(ctx context.Context, account string, values map[string]string, f Fence) error
}

// MemberStore keeps the live processes.
type MemberStore interface {
	// Join creates or renews a membership and returns the sorted names of the processes that are not leaving. It ends
	// the job leases of expired members and returns their number.
	Join(ctx context.Context, m core.Membership) (live []string, freed int, err error)
	// Leave ends a membership and the leases of the process's jobs.
	Leave(ctx context.Context, worker string) error
	// Tell passes a topic to the Wakes of this process.
	Tell(topic string)
}
