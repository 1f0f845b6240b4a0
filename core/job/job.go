// Package job runs work that outlives its process. A job is claimed under a lease, which is
// renewed while the work runs; a failed job is given back for a retry. A feature provides a
// queue and a function. If a process dies, its jobs wait until their leases expire.
package job

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Store stores jobs.
type Store interface {
	Claim(ctx context.Context, ref store.JobRef, c store.Claim) (*store.Job, error)
	Extend(ctx context.Context, user core.UserID, l core.Lease, until time.Time) error
	Finish(ctx context.Context, user core.UserID, l core.Lease, cause string) error
	RetryJob(ctx context.Context, user core.UserID, l core.Lease, at time.Time, cause string) error
}

// Worker runs jobs for a process, safe for concurrent use. All fields but Busy are required.
type Worker struct {
	Store Store
	Name  string        // of this process, in leases
	Lease time.Duration // of a job; renewed at a third
	Busy  func() bool   // reports whether replies are being written, to which jobs yield
	Now   func() time.Time
	Rand  func() float64 // in [0, 1), for the jitter
	Log   *zap.Logger
}

// Func runs a claimed job. It returns nil after it has ended the job, with Finish or in the transaction of its result.
// Its context ends, with core.ErrFenced as the cause, when the lease is lost.
//
// An error gives the job back: a *Later for its time; immediately if the process stops or the
// work's input changed (core.ErrChanged), neither of which is a failure; else after a growing
// pause. After core.ErrFenced another process has the job.
type Func func(ctx context.Context, j *store.Job) error

// Later is the error of a job that runs again at a given time. Without a cause it was
// postponed, which is not a failure.
type Later struct {
	At  time.Time
	Err error
}

// Error returns the cause.
func (l *Later) Error() string {
	if l.Err == nil {
		return "postponed until " + l.At.Format(time.RFC3339)
	}
	return l.Err.Error()
}

// Unwrap returns the cause.
func (l *Later) Unwrap() error { return l.Err }

// Take claims a due job and runs it.
func (w *Worker) Take(ctx context.Context, ref store.JobRef, do Func) {
	j, err := w.Store.Claim(ctx, ref, w.Claim())
	if err == nil && j != nil {
		err = w.run(ctx, j, do)
	}
	w.log(ctx, ref.Queue, ref.User, ref.Ref, err)
}

// Run runs a job that this process claimed when it was enqueued.
func (w *Worker) Run(ctx context.Context, j *store.Job, do Func) {
	w.log(ctx, j.Queue, j.User, j.Ref, w.run(ctx, j, do))
}

func (w *Worker) run(ctx context.Context, j *store.Job, do Func) error {
	held, release := w.Hold(ctx, j.User, j.Lease)
	err := do(held, j)
	if errors.Is(context.Cause(held), core.ErrFenced) {
		err = core.ErrFenced
	}
	release()
	return w.giveBack(ctx, j, err)
}

func (w *Worker) log(ctx context.Context, queue string, user core.UserID, ref int64, err error) {
	if err != nil && ctx.Err() == nil {
		w.Log.Warn("job failed", zap.String("queue", queue), zap.Int64("user", int64(user)), zap.Int64("ref", ref),
			zap.Error(err))
	}
}

// giveBack gives back a job that returned err, and returns the error if it is a failure.
func (w *Worker) giveBack(ctx context.Context, j *store.Job, err error) error {
	at, cause := w.Now(), err
	var later *Later
	switch {
	case err == nil, errors.Is(err, core.ErrFenced):
		return nil
	case errors.As(err, &later):
		at, cause = later.At, later.Err
	case ctx.Err() != nil, errors.Is(err, core.ErrChanged):
		cause = nil
	default:
		at = at.Add(w.backoff(j.Failures, err))
	}
	text := ""
	if cause != nil {
		text = cause.Error()
	}
	return errors.Join(cause, w.Store.RetryJob(context.WithoutCancel(ctx), j.User, j.Lease, at, text))
}

// Slots bound the number of concurrent replies: the writer of one sends a value, and receives one when it is done.
type Slots chan struct{}

// Busy reports whether more than half of the slots are taken; background work then yields.
func (s Slots) Busy() bool { return len(s) > cap(s)/2 }

// Finish ends a job that is done.
func (w *Worker) Finish(ctx context.Context, j *store.Job) error {
	return w.Store.Finish(context.WithoutCancel(ctx), j.User, j.Lease, "")
}

// Claim returns a claim of this process from now on.
func (w *Worker) Claim() store.Claim {
	now := w.Now()
	return store.Claim{Worker: w.Name, Now: now, Until: now.Add(w.Lease)}
}

// Hold renews a lease until release is called. If the lease is lost, the returned context
// ends with core.ErrFenced as its cause.
func (w *Worker) Hold(ctx context.Context, user core.UserID, l core.Lease) (held context.Context, release func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for Wait(held, w.Lease/3); held.Err() == nil; Wait(held, w.Lease/3) {
			err := w.Store.Extend(held, user, l, w.Now().Add(w.Lease))
			if errors.Is(err, core.ErrFenced) {
				cancel(err)
			} else if err != nil && held.Err() == nil {
				w.Log.Warn("lease not renewed", zap.Int64("user", int64(user)), zap.Int64("job", int64(l.Job)), zap.Error(err))
			}
		}
	}()
	return held, func() { cancel(nil); <-done }
}

// longestYield bounds one Yield.
const longestYield = 5 * time.Second

// Yield waits while replies are being written, for at most longestYield. Background work
// yields before each of its steps.
func (w *Worker) Yield(ctx context.Context) {
	const step = 100 * time.Millisecond
	for waited := time.Duration(0); w.Busy != nil && w.Busy() && waited < longestYield &&
		ctx.Err() == nil; waited += step {
		Wait(ctx, step)
	}
}

// backoff returns how long a job waits after a failure: 5 s, doubled for each earlier failure
// up to 15 minutes, less up to a fifth; at least as long as the provider requests.
func (w *Worker) backoff(failures int, cause error) time.Duration {
	const first, longest = 5 * time.Second, 15 * time.Minute
	d := min(first<<min(failures, 10), longest)
	if m, ok := errors.AsType[*core.ModelError](cause); ok {
		if m.Kind == core.ModelAuth || m.Kind == core.ModelConfig {
			d = longest // the operator must act first
		}
		d = max(d, m.After*5/4)
	}
	return w.Jitter(d)
}

// Jitter returns d, less up to a fifth.
func (w *Worker) Jitter(d time.Duration) time.Duration {
	return d - time.Duration(w.Rand()*float64(d)/5)
}

// Wait waits for d, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// dueBatch is the number of due objects that one list requests.
const dueBatch = 100

// EachDue calls do once for everything that is due. List returns at most limit due objects,
// the oldest first, without those that are done. One that fails is left to the next call and
// does not block the others. EachDue returns the error of list, or of an ended context.
func EachDue[T any, K comparable](ctx context.Context, list func(limit int) ([]T, error), key func(T) K,
	do func(T) error) error {
	tried, failed := map[K]bool{}, 0
	for {
		due, err := list(dueBatch + failed)
		if err != nil {
			return err
		}
		before := len(tried)
		for _, t := range due {
			k := key(t)
			if tried[k] {
				continue
			}
			tried[k] = true
			err := do(t)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed++
			}
		}
		if len(tried) == before || len(due) < dueBatch {
			return nil
		}
	}
}
