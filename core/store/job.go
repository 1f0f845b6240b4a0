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
	Due(ctx context.Context, queues []string, now time.Time, limit int, share Share) ([]JobRef, time.Time, error)
	// Claim claims a due job; nil if another worker has it.
	Claim(ctx context.Context, ref JobRef, c Claim) (*Job, error)
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
	DeadJobs(ctx context.Context, limit int) ([]Job, error)
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
	// States returns all values of an account, by key.
	States(ctx context.Context, account string) (map[string]string, error)
	// State returns a value, "" if there is none.
	State(ctx context.Context, account, key string) (string, error)
	// SetState stores all values; "" removes one. If the lease of f was lost, it stores none and returns core.ErrFenced.
	SetState(ctx context.Context, account string, values map[string]string, f Fence) error
}

// MemberStore keeps the live processes.
type MemberStore interface {
	// Join creates or renews a membership and returns the sorted names of the processes that are not leaving. It ends
	// the job leases of expired members and returns their number.
	Join(ctx context.Context, m Membership) (live []string, freed int, err error)
	// Leave ends a membership and the leases of the process's jobs.
	Leave(ctx context.Context, worker string) error
	// Tell passes a topic to the Wakes of this process.
	Tell(topic string)
}

// JobState is the state of a job. Done jobs are deleted.
type JobState string

// States of jobs. At most one job per key, the head, is ready or running; the others wait in order of arrival.
const (
	JobWaiting JobState = "waiting"
	JobReady   JobState = "ready" // may run at RunAt
	JobRunning JobState = "running"
	JobDead    JobState = "dead" // a dead letter; it no longer blocks its key
)

// Job is a unit of deferred work.
type Job struct {
	ID      core.JobID
	User    core.UserID
	Queue   string
	Key     string // first in first out per key, one running per key
	Ref     int64  // id of its subject: a turn, delivery, segment or message
	Payload json.RawMessage
	State   JobState
	RunAt   time.Time
	Lease   core.Lease
	Worker  string
	Error   string
	// Failures counts failed attempts; a postponement is not a failure.
	Failures int
	Since    time.Time // when it was enqueued
}

// JobRef identifies a due job.
type JobRef struct {
	User  core.UserID
	ID    core.JobID
	Queue string
	Key   string
	Ref   int64
}

// Share is the part of all users whose work a process does first: part N of Of equal parts. The zero value is all
// users. Any process may do the work of other users once it has been due for Grace.
type Share struct {
	N, Of int // with N below 0 the share is empty
	Grace time.Duration
}

// Mine reports whether a user is in the share.
func (s Share) Mine(user core.UserID) bool {
	return s.N >= 0 && (s.Of < 2 || int(int64(user)%int64(s.Of)) == s.N)
}

// NoShare returns the share of a process that claims no work.
func NoShare() Share { return Share{N: -1, Of: 1, Grace: 100 * 365 * 24 * time.Hour} }

// Connections describes the connections to a database server that processes share.
type Connections struct {
	Limit     int  // the server's limit, without connections reserved for administrators
	Processes int  // live processes of the gateway
	Pooled    bool // connections go through a pooler
}

// Membership registers a process as alive.
type Membership struct {
	Worker string
	// Leaving: the process finishes its work and claims no more.
	Leaving    bool
	Now, Until time.Time
}
