package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// queue is a store of one job.
type queue struct {
	job      store.Job
	taken    bool // by another process
	lost     error
	mu       sync.Mutex // guards lost and extended
	extended int
	finished bool
	backAt   time.Time // when a retry is due
	cause    string
}

func (q *queue) Claim(_ context.Context, _ store.JobRef, c store.Claim) (*store.Job, error) {
	if q.taken {
		return nil, nil
	}
	j := q.job
	j.Lease = core.Lease{Job: j.ID, Until: c.Until}
	return &j, nil
}

func (q *queue) Extend(context.Context, core.UserID, core.Lease, time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.extended++
	return q.lost
}

// times returns how often the lease was extended, and makes further extensions fail with err.
func (q *queue) times(err error) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = err
	return q.extended
}

func (q *queue) Finish(context.Context, core.UserID, core.Lease, string) error {
	q.finished = true
	return nil
}

func (q *queue) RetryJob(ctx context.Context, _ core.UserID, _ core.Lease, at time.Time, cause string) error {
	q.backAt, q.cause = at, cause
	return ctx.Err()
}

func worker(q *queue) (*Worker, *observer.ObservedLogs) {
	logs, seen := observer.New(zap.DebugLevel)
	return &Worker{Store: q, Name: "w", Lease: 30 * time.Second, Now: time.Now, Rand: func() float64 { return 0 },
		Log: zap.New(logs)}, seen
}

func model(kind core.ModelErrorKind, after time.Duration) error {
	return &core.ModelError{Kind: kind, After: after, Err: errors.New("the provider says " + string(kind))}
}

func TestTake_outcomes(t *testing.T) {
	t.Parallel()
	never := time.Duration(-1)
	for name, c := range map[string]struct {
		failures int
		err      error
		back     time.Duration // from now; never: no retry
		cause    string
		logged   int
	}{
		"done":              {0, nil, never, "", 0},
		"of another worker": {0, fmt.Errorf("put: %w", core.ErrFenced), never, "", 0},
		"changed meanwhile": {0, fmt.Errorf("put: %w", core.ErrChanged), 0, "", 0},
		"postponed":         {0, &Later{At: time.Unix(0, 0)}, 0, "", 0},
		"later, with a cause": {0, fmt.Errorf("w: %w", &Later{At: time.Unix(0, 0), Err: errors.New("quota")}), 0,
			"quota", 1},
		"a first failure":     {0, errors.New("disk full"), 5 * time.Second, "disk full", 1},
		"a third failure":     {2, errors.New("disk full"), 20 * time.Second, "disk full", 1},
		"a hundredth failure": {99, errors.New("disk full"), 15 * time.Minute, "disk full", 1},
		"a busy provider's time": {0, model(core.ModelBusy, time.Hour), 75 * time.Minute,
			"model busy: the provider says busy", 1},
		"a wrong key": {0, fmt.Errorf("probe: %w", model(core.ModelAuth, 0)), 15 * time.Minute,
			"probe: model auth: the provider says auth", 1},
		"a busy provider's second": {1, model(core.ModelBusy, time.Second), 10 * time.Second,
			"model busy: the provider says busy", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := &queue{job: store.Job{ID: 1, User: 2, Failures: c.failures}}
				w, logs := worker(q)
				begin := time.Now()
				var later *Later
				if errors.As(c.err, &later) {
					later.At = begin.Add(0)
				}
				w.Take(t.Context(), store.JobRef{User: 2, ID: 1}, func(context.Context, *store.Job) error { return c.err })
				if c.back == never != q.backAt.IsZero() || c.back != never && !q.backAt.Equal(begin.Add(c.back)) ||
					q.cause != c.cause || logs.Len() != c.logged {
					t.Errorf("retry after %s because of %q, log %v", q.backAt.Sub(begin), q.cause, logs.All())
				}
			})
		})
	}
}

func TestBackoff_jitterIsAFifth(t *testing.T) {
	t.Parallel()
	w, _ := worker(&queue{})
	w.Rand = func() float64 { return 0.999999 }
	if got := w.backoff(0, errors.New("disk full")); got < 4*time.Second || got > 4*time.Second+time.Millisecond {
		t.Errorf("backoff %s", got)
	}
	if got := w.backoff(0, model(core.ModelBusy, time.Hour)); got < time.Hour {
		t.Errorf("backoff %s, less than the provider asked for", got)
	}
}

func TestTake_leavesJobsOfOthers(t *testing.T) {
	t.Parallel()
	q := &queue{taken: true}
	w, logs := worker(q)
	w.Take(t.Context(), store.JobRef{}, func(context.Context, *store.Job) error { t.Error("it was run"); return nil })
	if logs.Len() != 0 || !q.backAt.IsZero() {
		t.Errorf("log %v", logs.All())
	}
}

func TestTake_renewsUntilLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{job: store.Job{ID: 1, User: 2}}
		w, logs := worker(q)
		w.Take(t.Context(), store.JobRef{}, func(ctx context.Context, j *store.Job) error {
			time.Sleep(35 * time.Second) // fake time: synctest
			if n := q.times(errors.New("the store is away")); n != 3 || ctx.Err() != nil {
				t.Errorf("extended %d times, %v", n, ctx.Err())
			}
			time.Sleep(10 * time.Second) // fake time: synctest
			if ctx.Err() != nil || logs.Len() != 1 {
				t.Errorf("%v, log %v", ctx.Err(), logs.All())
			}
			q.times(fmt.Errorf("extend: %w", core.ErrFenced))
			<-ctx.Done()
			return ctx.Err()
		})
		if !q.backAt.IsZero() || q.finished || logs.Len() != 1 {
			t.Errorf("retry at %s, log %v", q.backAt, logs.All())
		}
	})
}

func TestTake_stoppedGivesTheJobBack(t *testing.T) {
	t.Parallel()
	q := &queue{job: store.Job{ID: 1, User: 2}}
	w, logs := worker(q)
	ctx, cancel := context.WithCancel(t.Context())
	w.Take(ctx, store.JobRef{}, func(ctx context.Context, _ *store.Job) error { cancel(); return ctx.Err() })
	if q.backAt.IsZero() || q.cause != "" || logs.Len() != 0 {
		t.Errorf("retry at %s because of %q, log %v", q.backAt, q.cause, logs.All())
	}
	w.Take(ctx, store.JobRef{}, func(ctx context.Context, j *store.Job) error { return w.Finish(ctx, j) })
	if !q.finished {
		t.Error("the finished job is not stored")
	}
}

func TestYield_repliesGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := worker(&queue{})
		begin := time.Now()
		w.Busy = func() bool { return time.Since(begin) < 3*time.Second }
		if w.Yield(t.Context()); time.Since(begin) != 3*time.Second {
			t.Errorf("yielded for %s", time.Since(begin))
		}
		begin = time.Now()
		w.Busy = func() bool { return true }
		if w.Yield(t.Context()); time.Since(begin) != longestYield {
			t.Errorf("yielded for %s", time.Since(begin))
		}
	})
}

// calm is a list of due jobs that counts how often it is asked.
type calm struct {
	mu    sync.Mutex
	asked int
	refs  []store.JobRef
}

func (c *calm) Due(context.Context, []string, time.Time, int, store.Share) ([]store.JobRef, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	refs := c.refs
	c.refs = nil
	return refs, time.Time{}, nil
}

// add makes jobs due, and returns how often the list was asked so far.
func (c *calm) add(refs ...store.JobRef) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refs = append(c.refs, refs...)
	return c.asked
}

func TestRunner_pollsSeldomWhenIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		jobs, taken := &calm{}, make(chan core.JobID, 1)
		r := &Runner{Jobs: jobs, Queues: []string{"q"}, Workers: 1, Poll: time.Second, Now: time.Now, Log: zap.NewNop(),
			Take: func(_ context.Context, ref store.JobRef) { taken <- ref.ID }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(time.Minute + time.Millisecond) // of the synthetic clock
		if asked := jobs.add(store.JobRef{User: 1, ID: 2, Queue: "q"}); asked > 10 {
			t.Errorf("polled %d times in a minute", asked)
		}
		r.Wake(core.TopicWritten)
		if synctest.Wait(); len(taken) != 1 {
			t.Error("it does not poll after something was written")
		}
		before := jobs.add()
		time.Sleep(time.Second + time.Millisecond) // of the synthetic clock
		if asked := jobs.add(); asked != before+1 {
			t.Errorf("polled %d times in the second after a job", asked-before)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if r.idle = 9; r.interval(3) != 3*time.Second {
			t.Errorf("one of three processes polls every %s", r.interval(3))
		}
	})
}

func TestRunner_beginsWhileAWorkerIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end, done := make(chan struct{}), make(chan core.JobID, 2)
		r := &Runner{Jobs: &calm{}, Queues: []string{"q"}, Workers: 1, Poll: time.Second, Now: time.Now, Log: zap.NewNop(),
			Do: func(_ context.Context, j *store.Job) { <-end; done <- j.ID }}
		if r.Free() {
			t.Error("free before Run")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		if synctest.Wait(); !r.Free() {
			t.Error("not free although nothing runs")
		}
		r.Begin(&store.Job{ID: 1})
		if synctest.Wait(); r.Free() {
			t.Error("free although the only worker runs a job")
		}
		r.Begin(&store.Job{ID: 2}) // it was claimed before the first one began
		cancel()
		synctest.Wait()
		r.Begin(&store.Job{ID: 3})
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := <-done + <-done; got != 3 || len(done) > 0 || r.Free() {
			t.Errorf("ran jobs whose ids have the sum %d, then %d, free %t", got, len(done), r.Free())
		}
	})
}
