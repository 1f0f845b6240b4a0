package core

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Queues of jobs. Deliveries and fetches have a queue per channel, so that a
// process only takes what it can send: QueueDeliver + channel.
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

// JobState is the state of a job. Done jobs are gone.
type JobState string

// States of jobs. Of one key at most one is ready or running: the head; the
// others wait in the order in which they came.
const (
	JobWaiting JobState = "waiting"
	JobReady   JobState = "ready" // may run at RunAt
	JobRunning JobState = "running"
	JobDead    JobState = "dead" // gave up; out of its key's way
)

// Job is something to be done later.
type Job struct {
	ID      JobID
	User    UserID
	Queue   string
	Key     string // first in first out per key, one running per key
	Ref     int64  // what it is about: turn, delivery, segment, message
	Payload json.RawMessage
	State   JobState
	RunAt   time.Time
	Lease   Lease
	Worker  string
	Error   string
	// Failures counts the attempts that failed; being put off is none.
	Failures int
	// Since is when it was enqueued.
	Since time.Time
}

// NewJob is a job to be enqueued.
type NewJob struct {
	User    UserID
	Queue   string
	Key     string
	Ref     int64
	Payload json.RawMessage
	RunAt   time.Time
	// Unique leaves the job out if one of the same key and Ref is not yet running.
	Unique bool
}

// JobRef names a job that is due.
type JobRef struct {
	User  UserID
	ID    JobID
	Queue string
	Key   string
	Ref   int64
}

// TurnTopic is the wake-up topic for the flags of a running turn.
func TurnTopic(user UserID, turn TurnID) string {
	return fmt.Sprintf("flags:%d:%d", user, turn)
}

// SummaryKey is the key of all of a user's summary jobs: they run one after
// another. Their Ref is the segment.
const SummaryKey = "summaries"

// EmbedKey is the key of a user's embedding jobs, whose Ref is 0: one is enough
// for all that waits.
const EmbedKey = "embed"

// CompressKey is the key of a user's compression jobs, whose Ref is the thread.
const CompressKey = "compress"

// SpeakKey is the key of a user's answers that are to be spoken, one after another.
const SpeakKey = "speak"

// AddressKey is the key of the jobs that deliver to an address.
func AddressKey(a Address) string {
	return "to:" + a.Channel + ":" + url.QueryEscape(a.Account) + ":" + a.External
}

// ParseAddressKey reads an AddressKey.
func ParseAddressKey(key string) (Address, bool) {
	parts := strings.SplitN(key, ":", 4)
	if len(parts) != 4 || parts[0] != "to" {
		return Address{}, false
	}
	account, err := url.QueryUnescape(parts[2])
	return Address{Channel: parts[1], Account: account, External: parts[3]}, err == nil
}

// JobStore is the queue. Claims of turns and deliveries have methods of their own.
type JobStore interface {
	// Due returns heads that may run now (and running ones whose lease lapsed),
	// oldest first: those of a share, and others that have been due for its grace. It
	// also returns when the next one of the share will be due (zero: none is waiting).
	Due(ctx context.Context, queues []string, now time.Time, limit int, share Share) ([]JobRef, time.Time, error)
	// Claim takes a due job; nil if it was taken.
	Claim(ctx context.Context, ref JobRef, c Claim) (*Job, error)
	// Enqueue adds jobs.
	Enqueue(ctx context.Context, jobs ...NewJob) error
	// Extend moves the end of a lease. ErrFenced if it was lost.
	Extend(ctx context.Context, user UserID, l Lease, until time.Time) error
	// Finish ends a job: done if cause is empty, dead otherwise.
	Finish(ctx context.Context, user UserID, l Lease, cause string) error
	// Abandon ends the leases of a user's turns and deliveries that worker has claimed until
	// at: it does not work on any, and may not know of them.
	Abandon(ctx context.Context, user UserID, worker string, at time.Time) error
}

// JobAdmin looks after jobs.
type JobAdmin interface {
	// RetryJob gives a claimed job back, to run again at `at`, with what it had
	// reserved. Without a cause it was put off, which is no failure of its.
	RetryJob(ctx context.Context, user UserID, l Lease, at time.Time, cause string) error
	// DeadJobs lists jobs that gave up, newest first.
	DeadJobs(ctx context.Context, limit int) ([]Job, error)
	// Lapse ends every lease at once and returns how many there were: for a
	// store whose only server has just started. Processes that still work are fenced.
	Lapse(ctx context.Context) (int, error)
	// Revive makes a dead job ready again.
	Revive(ctx context.Context, user UserID, id JobID, now time.Time) error
	// QueueStats tells how many jobs each queue holds and since when the oldest waits.
	QueueStats(ctx context.Context) ([]QueueStat, error)
}
