// Package job does work that outlives its process. A job is claimed under a lease,
// the lease is renewed while the work goes on, and a job that failed is given back to
// be tried again later. A feature brings a queue and a function; a process that died
// in between costs nothing but the time until its lease lapses.
package job

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// Store is where jobs are kept.
type Store interface {
	Claim(ctx context.Context, ref core.JobRef, c core.Claim) (*core.Job, error)
	Extend(ctx context.Context, user core.UserID, l core.Lease, until time.Time) error
	Finish(ctx context.Context, user core.UserID, l core.Lease, cause string) error
	RetryJob(ctx context.Context, user core.UserID, l core.Lease, at time.Time, cause string) error
}

// Worker does jobs in the name of a process. All fields but Busy are required. It is
// safe for concurrent use.
type Worker struct {
	Store Store
	Name  string        // of this process, in leases
	Lease time.Duration // of a job; renewed at a third
	Busy  func() bool   // reports whether replies are being written, which jobs yield to
	Now   func() time.Time
	Rand  func() float64 // in [0, 1), for the jitter
	Log   *zap.Logger
}

// Func does a claimed job. It returns nil once it has ended the job, with Finish or in
// the transaction of its result. Its context ends, with core.ErrFenced as the cause,
// when the lease is lost.
//
// Any other error gives the job back: a *Later when it says so; at once when the
// process stops or what the work rests on changed meanwhile (core.ErrChanged), neither
// of which is a failure; else after a growing pause. After core.ErrFenced the job is
// somebody else's.
type Func func(ctx context.Context, j *core.Job) error

// Later is the error of a job that is to run again at a time of its own. Without a
// cause it was put off, which is no failure.
type Later struct {
	At  time.Time
	Err error
}

// Error returns the cause.
func (l *Later) Error() string {
	if l.Err == nil {
		return "it was put off until " + l.At.Format(time.RFC3339)
	}
	return l.Err.Error()
}

// Unwrap returns the cause.
func (l *Later) Unwrap() error { return l.Err }

// Take claims a due job and does it.
func (w *Worker) Take(ctx context.Context, ref core.JobRef, do Func) {
	j, err := w.Store.Claim(ctx, ref, w.Claim())
	if err == nil && j != nil {
		held, release := w.Hold(ctx, j.User, j.Lease)
		err = do(held, j)
		if errors.Is(context.Cause(held), core.ErrFenced) {
			err = core.ErrFenced
		}
		release()
		err = w.giveBack(ctx, j, err)
	}
	if err != nil && ctx.Err() == nil {
		w.Log.Warn("job failed", zap.String("queue", ref.Queue), zap.Int64("user", int64(ref.User)),
			zap.Int64("ref", ref.Ref), zap.Error(err))
	}
}

// giveBack gives a job back that ended with err, and returns what of it is a failure.
func (w *Worker) giveBack(ctx context.Context, j *core.Job, err error) error {
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

// Slots bound how many replies are written at once: the writer of one puts a value in,
// and takes it out when it is done.
type Slots chan struct{}

// Busy reports whether more than half of them are taken; background work then holds back.
func (s Slots) Busy() bool { return len(s) > cap(s)/2 }

// Finish ends a job that is done.
func (w *Worker) Finish(ctx context.Context, j *core.Job) error {
	return w.Store.Finish(context.WithoutCancel(ctx), j.User, j.Lease, "")
}

// Claim is a claim of this process from now on.
func (w *Worker) Claim() core.Claim {
	now := w.Now()
	return core.Claim{Worker: w.Name, Now: now, Until: now.Add(w.Lease)}
}

// Hold renews a lease until release is called. If the lease is lost the context that
// it returns ends, with core.ErrFenced as its cause.
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

// longestYield is how long a job holds back for replies, each time.
const longestYield = 5 * time.Second

// Yield waits while replies are being written, but not for ever. Work that nobody waits
// for yields before each of its steps.
func (w *Worker) Yield(ctx context.Context) {
	const step = 100 * time.Millisecond
	for waited := time.Duration(0); w.Busy != nil && w.Busy() && waited < longestYield &&
		ctx.Err() == nil; waited += step {
		Wait(ctx, step)
	}
}

// backoff is how long a job waits after so many failures before this one: 5 s, doubled
// each time up to 15 minutes, less up to a fifth; and at least what a provider asks for.
func (w *Worker) backoff(failures int, cause error) time.Duration {
	const first, longest = 5 * time.Second, 15 * time.Minute
	d := min(first<<min(failures, 10), longest)
	var m *core.ModelError
	if errors.As(cause, &m) {
		if m.Kind == core.ModelAuth || m.Kind == core.ModelConfig {
			d = longest // somebody has to change something
		}
		d = max(d, m.After*5/4)
	}
	return w.Jitter(d)
}

// Jitter is d, less up to a fifth.
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
