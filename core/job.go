package core

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Queues of jobs. Deliveries and fetches have a queue per channel (QueueDeliver +
// channel), so that a process claims only what it can send.
const (
	QueueTurn      = "turn"
	QueueDeliver   = "deliver:"
	QueueFetch     = "fetch:"
	QueueSummarize = "summarize"
	QueueEmbed     = "embed"
	QueueCompress  = "compress"
	QueueDocument  = "document"
	QueueSpeak     = "speak"
	QueueRemove    = "remove" // the payload lists attachments below data_dir/media
)

// JobState is the state of a job. Done jobs are deleted.
type JobState string

// States of jobs. At most one job per key, the head, is ready or running; the others
// wait in order of arrival.
const (
	JobWaiting JobState = "waiting"
	JobReady   JobState = "ready" // may run at RunAt
	JobRunning JobState = "running"
	JobDead    JobState = "dead" // a dead letter; it no longer blocks its key
)

// Job is a unit of deferred work.
type Job struct {
	ID      JobID
	User    UserID
	Queue   string
	Key     string // first in first out per key, one running per key
	Ref     int64  // id of its subject: a turn, delivery, segment or message
	Payload json.RawMessage
	State   JobState
	RunAt   time.Time
	Lease   Lease
	Worker  string
	Error   string
	// Failures counts failed attempts; a postponement is not a failure.
	Failures int
	Since    time.Time // when it was enqueued
}

// NewJob is a job to enqueue.
type NewJob struct {
	User    UserID
	Queue   string
	Key     string
	Ref     int64
	Payload json.RawMessage
	RunAt   time.Time
	// Unique skips the job if another with the same key and Ref has not started yet.
	Unique bool
}

// JobRef identifies a due job.
type JobRef struct {
	User  UserID
	ID    JobID
	Queue string
	Key   string
	Ref   int64
}

// TurnTopic returns the wake-up topic for the flags of a running turn.
func TurnTopic(user UserID, turn TurnID) string {
	return fmt.Sprintf("flags:%d:%d", user, turn)
}

// SummaryKey is the key of a user's summary jobs, which run one after another. Their
// Ref is the segment.
const SummaryKey = "summaries"

// EmbedKey is the key of a user's embedding jobs. Their Ref is 0, as one job covers all
// pending texts.
const EmbedKey = "embed"

// CompressKey is the key of a user's compression jobs. Their Ref is the thread.
const CompressKey = "compress"

// SpeakKey is the key of the jobs that speak a user's answers, one after another.
const SpeakKey = "speak"

// AddressKey returns the key of the jobs that deliver to an address.
func AddressKey(a Address) string {
	return "to:" + a.Channel + ":" + url.QueryEscape(a.Account) + ":" + a.External
}

// ParseAddressKey parses an AddressKey.
func ParseAddressKey(key string) (Address, bool) {
	parts := strings.SplitN(key, ":", 4)
	if len(parts) != 4 || parts[0] != "to" {
		return Address{}, false
	}
	account, err := url.QueryUnescape(parts[2])
	return Address{Channel: parts[1], Account: account, External: parts[3]}, err == nil
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
	// Extend moves the end of a lease. ErrFenced if it was lost.
	Extend(ctx context.Context, user UserID, l Lease, until time.Time) error
	// Finish ends a job: done if cause is empty, dead otherwise.
	Finish(ctx context.Context, user UserID, l Lease, cause string) error
	// Abandon ends worker's leases on a user's turns and deliveries that it claimed up
	// to at. The worker is working on none of them, and may not know of them.
	Abandon(ctx context.Context, user UserID, worker string, at time.Time) error
}

// JobAdmin manages jobs.
type JobAdmin interface {
	// RetryJob returns a claimed job to the queue, to run again at `at`, together
	// with its reserved tokens. An empty cause means that it was postponed, which
	// does not count as a failure.
	RetryJob(ctx context.Context, user UserID, l Lease, at time.Time, cause string) error
	// DeadJobs lists dead jobs, newest first.
	DeadJobs(ctx context.Context, limit int) ([]Job, error)
	// Lapse ends all leases and returns their number. It is for a store whose only
	// server has just started: processes that are still working are fenced.
	Lapse(ctx context.Context) (int, error)
	// Revive makes a dead job ready again.
	Revive(ctx context.Context, user UserID, id JobID, now time.Time) error
	// QueueStats returns the depth of each queue, and when its oldest job was enqueued.
	QueueStats(ctx context.Context) ([]QueueStat, error)
}

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
