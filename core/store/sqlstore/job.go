package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

// key returns the key of a job: its kind and the ids of its subject.
func key(kind string, ids ...int64) string {
	var b strings.Builder
	b.WriteString(kind)
	for _, id := range ids {
		fmt.Fprintf(&b, ":%d", id)
	}
	return b.String()
}

func threadKey(id core.ThreadID) string { return key("thread", int64(id)) }

// head is the ready or running job of a key.
type head struct {
	id    core.JobID
	state store.JobState
	ref   int64
}

func (t *tx) head(k string) (head, bool) {
	var h head
	busy := t.find(columns{&h.id, &h.state, &h.ref},
		`SELECT id, state, ref FROM jobs WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running')`, t.user, k)
	return h, busy
}

// present returns a statement that sets yes if a query returns a row, of one number.
func present(yes *bool, query string, args ...any) Statement {
	return Statement{Query: query, Args: args, Scan: func(r Row) error {
		var one int
		err := r.Scan(&one)
		*yes = err == nil
		return optional(err)
	}}
}

// enqueue adds a job behind those of its key.
func (t *tx) enqueue(j store.NewJob) { t.enqueueFor(j, nil) }

// enqueueFor is enqueue with a claim, if that is not nil, of a job that may run now. It returns such
// a job, of which it notifies nobody.
func (t *tx) enqueueFor(j store.NewJob, c *store.Claim) *store.Job {
	var ask []Statement
	earlier, busy := false, false
	if j.Unique {
		ask = append(ask, present(&earlier, `UPDATE jobs SET run_at = CASE WHEN run_at > $3 THEN $3 ELSE run_at END
			WHERE user_id = $1 AND key = $2 AND ref = $4 AND state IN ('ready', 'waiting') RETURNING 1`, t.user, j.Key, ms(j.RunAt), j.Ref))
	}
	t.ask(append(ask, present(&busy, `SELECT 1 FROM jobs WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running')`,
		t.user, j.Key))...)
	switch {
	case earlier:
		t.awaken(j.Queue)
	case busy:
		t.addJob(j, store.JobWaiting)
	case c == nil || t.waits(j.Queue):
		t.awaken(j.Queue)
		t.addJob(j, store.JobReady)
	default:
		return t.addClaimed(j, *c)
	}
	return nil
}

// addClaimed adds a claimed job.
func (t *tx) addClaimed(j store.NewJob, c store.Claim) *store.Job {
	j.User = t.user
	l := core.Lease{Job: core.JobID(t.nextID()), Key: j.Key, Attempt: 1, Until: c.Until}
	t.exec(insertJob, jobRow(j, l.Job, store.JobRunning, l, c.Worker)...)
	return &store.Job{ID: l.Job, User: t.user, Queue: j.Queue, Key: j.Key, Ref: j.Ref, Payload: j.Payload,
		State: store.JobRunning, RunAt: j.RunAt, Lease: l, Worker: c.Worker, Since: j.RunAt}
}

// addJob adds an unclaimed job.
func (t *tx) addJob(j store.NewJob, state store.JobState) {
	if state == store.JobWaiting {
		t.alone = ""
	}
	j.User = t.user
	t.exec(insertJob, jobRow(j, core.JobID(t.nextID()), state, core.Lease{}, "")...)
}

const insertJob = `INSERT INTO jobs (user_id, id, queue, key, ref, payload, state, run_at, attempt, lease_until, worker, since)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $8)`

// jobRow returns the arguments of insertJob.
func jobRow(j store.NewJob, id core.JobID, state store.JobState, l core.Lease, worker string) []any {
	return []any{j.User, id, j.Queue, j.Key, j.Ref, cmp.Or(string(j.Payload), "{}"), string(state), ms(j.RunAt), l.Attempt,
		ms(l.Until), worker}
}

// take claims a due head, or one whose lease has lapsed; false if it is not available.
func (t *tx) take(ref store.JobRef, c store.Claim) (core.Lease, bool) {
	l := core.Lease{Job: ref.ID, Key: ref.Key, Until: c.Until}
	if t.waits(ref.Queue) {
		t.postponeJob(ref.ID, c.Now)
		return l, false
	}
	return l, t.find(&l.Attempt, `UPDATE jobs SET state = 'running', attempt = attempt + 1, lease_until = $3, worker = $4
		WHERE user_id = $1 AND id = $2 AND (state = 'ready' AND run_at <= $5 OR state = 'running' AND lease_until <= $5)
		RETURNING attempt`, t.user, ref.ID, ms(c.Until), c.Worker, ms(c.Now))
}

// holding is the state of a lease: whether it is still held, and whether a job waits behind it.
type holding struct {
	held, waits bool
}

// readHolding returns the statement that reads a holding.
func readHolding(user core.UserID, l core.Lease, h *holding) Statement {
	return Statement{Query: `SELECT EXISTS (SELECT 1 FROM jobs w WHERE w.user_id = $1 AND w.key = j.key AND w.state = 'waiting') FROM jobs j
		WHERE j.user_id = $1 AND j.id = $2 AND j.state = 'running' AND j.attempt = $3`, Args: []any{user, l.Job, l.Attempt},
		Scan: func(r Row) error {
			err := r.Scan(&h.waits)
			h.held = err == nil
			return optional(err)
		}}
}

// holds fails with core.ErrFenced unless the lease is still held. It also learns whether a job waits behind it.
func (t *tx) holds(l core.Lease) {
	var h holding
	t.ask(readHolding(t.user, l, &h))
	t.holdsAs(l, h)
}

// holdsAs is holds with a holding that was read with the lock.
func (t *tx) holdsAs(l core.Lease, h holding) {
	if !h.held {
		t.fail(core.ErrFenced)
		return
	}
	if !h.waits {
		t.alone = l.Key
	}
}

// end ends a held job, done or dead, and lets the next of its key run.
func (t *tx) end(l core.Lease, cause string) {
	t.dropJob(l, cause)
	t.promote(l.Key)
}

// dropJob deletes a held job, or marks it dead.
func (t *tx) dropJob(l core.Lease, cause string) {
	if cause != "" {
		t.exec(`UPDATE jobs SET state = 'dead', error = $3 WHERE user_id = $1 AND id = $2`, t.user, l.Job, cause)
		return
	}
	t.exec(`DELETE FROM jobs WHERE user_id = $1 AND id = $2`, t.user, l.Job)
}

// promote makes the first waiting job of a key its head.
func (t *tx) promote(k string) {
	if t.alone == k {
		return
	}
	var queue string
	if t.find(&queue, `UPDATE jobs SET state = 'ready' WHERE user_id = $1 AND id =
		(SELECT id FROM jobs WHERE user_id = $1 AND key = $2 AND state = 'waiting' ORDER BY id LIMIT 1) RETURNING queue`,
		t.user, k) {
		t.awaken(queue)
	}
}

// again returns a held job to the queue, to run at `at`.
func (t *tx) again(l core.Lease, at time.Time, cause string) {
	queue := valueOf[string](t, `UPDATE jobs SET state = 'ready', run_at = $3, error = $4 WHERE user_id = $1 AND id = $2 RETURNING queue`,
		t.user, l.Job, ms(at), cause)
	t.awaken(queue)
}

// Due returns heads that may run now; see store.JobStore.
func (s *Store) Due(ctx context.Context, queues []string, now time.Time, limit int,
	share store.Share) ([]store.JobRef, time.Time, error) {
	var refs []store.JobRef
	var next int64
	var reads []Statement
	for _, queue := range queues {
		reads = append(reads, dueOf(queue, "running", "lease_until", now, limit, share, &refs),
			dueOf(queue, "ready", "run_at", now, limit, share, &refs), nextOf(queue, now, share, &next))
	}
	err := s.reads(ctx, "due jobs", reads...)
	return refs[:min(limit, len(refs))], at(next), err
}

// inShare returns the condition that a row's user is in the share of the parameters n and of,
// or that the row has been due since the time in since.
func inShare(n, of, due, since string) string {
	return `(user_id % ` + of + ` = ` + n + ` OR ` + due + ` <= ` + since + `)`
}

// dueOf appends the jobs of a queue and a state in a share whose time in column has come.
func dueOf(queue, state, column string, now time.Time, limit int, share store.Share, refs *[]store.JobRef) Statement {
	return Statement{Query: `SELECT user_id, id, queue, key, ref FROM jobs WHERE queue = CAST($1 AS text) AND state = '` + state +
		`' AND ` + column + ` <= $2 AND ` + inShare("$4", "$5", column, "$6") + ` ORDER BY ` + column + ` LIMIT $3`,
		Args: []any{queue, ms(now), limit, share.N, max(share.Of, 1), ms(now.Add(-share.Grace))}, All: func(r Row) error {
			var ref store.JobRef
			err := r.Scan(&ref.User, &ref.ID, &ref.Queue, &ref.Key, &ref.Ref)
			*refs = append(*refs, ref)
			return err
		}}
}

// nextOf lowers next (0: none) to the time when the next job of a queue in a share is due after now.
func nextOf(queue string, now time.Time, share store.Share, next *int64) Statement {
	const after = ` > $2 AND user_id % $4 = $3`
	return Statement{Query: `SELECT (SELECT MIN(run_at) FROM jobs WHERE queue = CAST($1 AS text) AND state = 'ready' AND run_at` + after + `),
		(SELECT MIN(lease_until) FROM jobs WHERE queue = CAST($1 AS text) AND state = 'running' AND lease_until` + after + `)`,
		Args: []any{queue, ms(now), share.N, max(share.Of, 1)}, All: func(r Row) error {
			var run, lapse sql.NullInt64
			err := r.Scan(&run, &lapse)
			for _, t := range []sql.NullInt64{run, lapse} {
				if t.Valid && (*next == 0 || t.Int64 < *next) {
					*next = t.Int64
				}
			}
			return err
		}}
}

// Claim claims a due job; nil if it is not available.
func (s *Store) Claim(ctx context.Context, ref store.JobRef, c store.Claim) (*store.Job, error) {
	var out *store.Job
	err := s.transact(ctx, "claim job", tx{user: ref.User}, func(t *tx) {
		out = nil
		l, ok := t.take(ref, c)
		if !ok {
			return
		}
		j := rowOf(t, scanJob, `SELECT `+jobColumns+` FROM jobs WHERE user_id = $1 AND id = $2`, t.user, ref.ID)
		j.Lease = l
		out = &j
	})
	return out, err
}

const jobColumns = `id, user_id, queue, key, ref, payload, state, run_at, attempt, lease_until, worker, error, failures, since`

func scanJob(row scanner) (store.Job, error) {
	var j store.Job
	var payload string
	err := row.Scan(&j.ID, &j.User, &j.Queue, &j.Key, &j.Ref, &payload, &j.State, asTime(&j.RunAt), &j.Lease.Attempt,
		asTime(&j.Lease.Until), &j.Worker, &j.Error, &j.Failures, asTime(&j.Since))
	j.Payload = json.RawMessage(payload)
	j.Lease.Job, j.Lease.Key = j.ID, j.Key
	return j, found(err)
}

// Enqueue adds jobs, each in a transaction of its user.
func (s *Store) Enqueue(ctx context.Context, jobs ...store.NewJob) error {
	for _, j := range jobs {
		if err := s.update(ctx, "enqueue", j.User, func(t *tx) { t.enqueue(j) }); err != nil {
			return err
		}
	}
	return nil
}

// Extend moves the end of a lease.
func (s *Store) Extend(ctx context.Context, user core.UserID, l core.Lease, until time.Time) error {
	return s.update(ctx, "extend lease", user, func(t *tx) {
		t.holds(l)
		t.exec(`UPDATE jobs SET lease_until = $3 WHERE user_id = $1 AND id = $2`, t.user, l.Job, ms(until))
	})
}

// Finish ends a job: done if cause is empty, dead otherwise.
func (s *Store) Finish(ctx context.Context, user core.UserID, l core.Lease, cause string) error {
	return s.update(ctx, "finish job", user, func(t *tx) {
		t.holds(l)
		t.end(l, cause)
	})
}

// Abandon ends leases that their holder may not know of; see store.JobStore.
func (s *Store) Abandon(ctx context.Context, user core.UserID, worker string, at time.Time) error {
	return s.update(ctx, "abandon claims", user, func(t *tx) {
		queues := listOf(t, column[string],
			`UPDATE jobs SET lease_until = 0 WHERE user_id = $1 AND worker = $2 AND run_at <= $3
			AND state IN ('ready', 'running') AND state = 'running' AND (queue = '`+core.QueueTurn+`' OR queue LIKE '`+core.QueueDeliver+`%')
			RETURNING queue`, t.user, worker, ms(at))
		for _, queue := range queues {
			t.awaken(queue)
		}
	})
}

// RetryJob returns a claimed job to the queue.
func (s *Store) RetryJob(ctx context.Context, user core.UserID, l core.Lease, at time.Time, cause string) error {
	return s.update(ctx, "retry job", user, func(t *tx) {
		t.holds(l)
		t.release(l)
		t.retry(l, at, cause)
	})
}

// retry returns a job to the queue, and counts a failure if there is a cause.
func (t *tx) retry(l core.Lease, at time.Time, cause string) {
	t.exec(`UPDATE jobs SET failures = failures + $3 WHERE user_id = $1 AND id = $2`, t.user, l.Job, flag(cause != ""))
	t.again(l, at, cause)
}

// DeadJobs lists dead jobs, newest first.
func (s *Store) DeadJobs(ctx context.Context, limit int) ([]store.Job, error) {
	return list(s.one(ctx), scanJob,
		`SELECT `+jobColumns+` FROM jobs WHERE state = 'dead' ORDER BY run_at DESC LIMIT $1`,
		limit)
}

// Lapse ends all leases.
func (s *Store) Lapse(ctx context.Context) (int, error) {
	var n int
	err := s.writeShared(ctx, "lapse leases", func(t *transaction) { n = t.endLeases("") })
	return n, err
}

// endLeases ends the leases of a worker (empty: of all) and returns their number.
func (t *transaction) endLeases(worker string) int {
	mine, args := ``, []any(nil)
	if worker != "" {
		mine, args = ` AND worker = $1`, []any{worker}
	}
	return int(t.count(`UPDATE jobs SET lease_until = 0 WHERE state = 'running'`+mine, args...))
}

// Revive enqueues a dead job again, as the last one of its key.
func (s *Store) Revive(ctx context.Context, user core.UserID, id core.JobID, now time.Time) error {
	return s.update(ctx, "revive job", user, func(t *tx) {
		j := rowOf(t, scanJob, `SELECT `+jobColumns+` FROM jobs WHERE user_id = $1 AND id = $2 AND state = 'dead'`, t.user, id)
		t.exec(`DELETE FROM jobs WHERE user_id = $1 AND id = $2`, t.user, id)
		t.did(audit.Retry, "job", int64(id))
		t.enqueue(store.NewJob{User: user, Queue: j.Queue, Key: j.Key, Ref: j.Ref, Payload: j.Payload, RunAt: now})
	})
}

// QueueStats returns the depth of each queue.
func (s *Store) QueueStats(ctx context.Context) ([]store.QueueStat, error) {
	scan := fields(func(q *store.QueueStat) []any { return []any{&q.Queue, &q.State, &q.Depth, asTime(&q.Oldest)} })
	return list(s.one(ctx), scan,
		`SELECT queue, state, COUNT(*), MIN(since) FROM jobs GROUP BY queue, state ORDER BY queue, state`)
}

// awaken notifies the workers of a queue of new work for this user.
func (t *tx) awaken(queue string) { t.wake = append(t.wake, core.WakeTopic(queue, t.user)) }
