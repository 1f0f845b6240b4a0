// Package embed gives windows of the conversation and memory items their
// vectors, in the background (SPEC 8.1 and 9).
//
// Policy. One job a user does all that waits: it cuts the messages that are in
// no window yet into windows, then embeds what has no vector, in batches. It
// yields while replies are written. When the provider is down the job goes back
// and waits, longer each time, and never gives up: what is not embedded is
// found by its words. What somebody has to mend, such as a refused key or vectors
// that are too long, is shown as an error of all that waits, and tried again as
// rarely, or at once by an embedder of another fingerprint. A window is stored with the vectors of its passages, or not
// at all. A text that the provider refuses by itself is marked with
// the reason, and the others go on; but if the provider refuses a plain
// sentence too, the fault is not the text's. Tokens are not charged.
package embed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// Store is what is embedded and where vectors go.
type Store interface {
	Unwindowed(ctx context.Context, user core.UserID, limit int) (core.SegmentID, []core.Message, bool, error)
	PutWindows(ctx context.Context, p core.PutWindows) error
	PendingEmbeddings(ctx context.Context, user core.UserID, config string, limit int) ([]core.Embeddable, error)
	PutVectors(ctx context.Context, user core.UserID, config string, vectors []core.EmbeddingResult, now time.Time) error
	FailEmbeddings(ctx context.Context, user core.UserID, tried, reason string, now time.Time) error
	RetryEmbeddings(ctx context.Context, user core.UserID, tried string, now time.Time) error
	Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error)
}

// Jobs is what the work of the queue needs.
type Jobs interface {
	Claim(ctx context.Context, ref core.JobRef, c core.Claim) (*core.Job, error)
	Extend(ctx context.Context, user core.UserID, l core.Lease, until time.Time) error
	Finish(ctx context.Context, user core.UserID, l core.Lease, cause string) error
	RetryJob(ctx context.Context, user core.UserID, l core.Lease, at time.Time, cause string) error
	Enqueue(ctx context.Context, jobs ...core.NewJob) error
}

// Worker does the jobs of core.QueueEmbed. All fields but Busy are required. It
// is safe for concurrent use.
type Worker struct {
	Store     Store
	Jobs      Jobs
	Embedders core.EmbedderOf
	// Cut makes windows of a day's messages, and tells through which message they
	// are in windows; 0: through none of them.
	Cut func(messages []core.Message, closed bool) ([]core.TextWindow, core.MessageID)
	// Text is what of a window's messages is embedded; empty: nothing is.
	Text func(messages []core.Message) string
	// Passages are the stretches of a window's messages that get vectors, too.
	Passages func(messages []core.Message) []core.Passage
	Busy     func() bool // replies are being written
	Count    func(name string, n float64, labels ...string)
	Log      *zap.Logger
	Now      func() time.Time
	Rand     func() float64 // in [0, 1), for the jitter
	Lease    time.Duration
	Name     string // of this worker
}

// Take claims a due job and does it.
func (w *Worker) Take(ctx context.Context, ref core.JobRef) {
	w.yield(ctx)
	now := w.Now()
	j, err := w.Jobs.Claim(ctx, ref, core.Claim{Worker: w.Name, Now: now, Until: now.Add(w.Lease)})
	if err == nil && j != nil {
		err = w.do(ctx, j)
	}
	if err != nil && ctx.Err() == nil {
		w.Log.Warn("embeddings not made", zap.Int64("user", int64(ref.User)), zap.Error(err))
	}
}

// longestYield is how long embeddings hold back for replies, each time.
const longestYield = 10 * time.Second

func (w *Worker) yield(ctx context.Context) {
	const step = 100 * time.Millisecond
	for waited := time.Duration(0); w.Busy != nil && w.Busy() && waited < longestYield && ctx.Err() == nil; waited += step {
		wait(ctx, step)
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// do does a claimed job and ends it, or gives it back.
func (w *Worker) do(ctx context.Context, j *core.Job) error {
	held, release := w.hold(ctx, j)
	err := w.work(held, j.User)
	if errors.Is(context.Cause(held), core.ErrFenced) {
		err = core.ErrFenced
	}
	release()
	ended := context.WithoutCancel(ctx)
	switch {
	case err == nil:
		return w.Jobs.Finish(ended, j.User, j.Lease, "")
	case errors.Is(err, core.ErrFenced):
		return nil // somebody else has it
	case ctx.Err() != nil:
		return w.Jobs.RetryJob(ended, j.User, j.Lease, w.Now(), "")
	case errors.Is(err, core.ErrChanged):
		return w.Jobs.RetryJob(ended, j.User, j.Lease, w.Now().Add(time.Second), "")
	}
	w.Count("everthread_embedding_failures_total", 1)
	return errors.Join(err, w.Jobs.RetryJob(ended, j.User, j.Lease, w.Now().Add(w.backoff(j.Lease.Attempt, err)), err.Error()))
}

// work embeds what waits of a user. Without an embedder nothing does.
func (w *Worker) work(ctx context.Context, user core.UserID) error {
	e, config, err := w.Embedders(ctx, user)
	if err != nil || e == nil {
		return wrap("find the embedder", err)
	}
	r := &round{Worker: w, user: user, embedder: e, config: config, tried: core.FingerprintOf(e, config)}
	if err := w.Store.RetryEmbeddings(ctx, user, r.tried, w.Now()); err != nil {
		return wrap("try again what failed", err)
	}
	if err := r.windows(ctx); err != nil {
		return err
	}
	return r.fail(ctx, r.vectors(ctx))
}

// fail marks what waits where nothing can be embedded until somebody changes
// something, so that it is seen why.
func (r *round) fail(ctx context.Context, err error) error {
	var m *core.ModelError
	if !errors.As(err, &m) || m.Kind != core.ModelAuth && m.Kind != core.ModelConfig {
		return err
	}
	return errors.Join(err, wrap("mark what cannot be embedded", r.Store.FailEmbeddings(ctx, r.user, r.tried, m.Err.Error(), r.Now())))
}

// hold renews the lease of a job until release is called. If the lease is lost
// the context that it returns ends, with core.ErrFenced as its cause.
func (w *Worker) hold(ctx context.Context, j *core.Job) (held context.Context, release func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait(held, w.Lease/3); held.Err() == nil; wait(held, w.Lease/3) {
			err := w.Jobs.Extend(held, j.User, j.Lease, w.Now().Add(w.Lease))
			if errors.Is(err, core.ErrFenced) {
				cancel(err)
			} else if err != nil && held.Err() == nil {
				w.Log.Warn("extend lease of embeddings", zap.Int64("user", int64(j.User)), zap.Error(err))
			}
		}
	}()
	return held, func() { cancel(nil); <-done }
}

// backoff is how long a job waits after its n-th attempt: 5 s, doubled each time
// up to 15 minutes, less up to a fifth; and at least what the provider asks for.
func (w *Worker) backoff(n int, cause error) time.Duration {
	const first, longest = 5 * time.Second, 15 * time.Minute
	d := min(first<<min(max(n-1, 0), 10), longest)
	var m *core.ModelError
	if errors.As(cause, &m) {
		if m.Kind == core.ModelAuth || m.Kind == core.ModelConfig {
			d = longest // somebody has to change something
		}
		d = max(d, m.After*5/4)
	}
	return d - time.Duration(w.Rand()*float64(d)/5)
}

// Rebuild marks everything of a user, archived items included, to be embedded
// anew and returns how much that is; unless it is confirmed it only counts.
func (w *Worker) Rebuild(ctx context.Context, user core.UserID, confirm bool) (int, error) {
	now := w.Now()
	e, config, err := w.Embedders(ctx, user)
	if err != nil || e == nil {
		return 0, wrap("find the embedder", err)
	}
	n, err := w.Store.Reembed(ctx, user, config, !confirm, now)
	if err != nil || !confirm {
		return n, wrap("rebuild embeddings", err)
	}
	job := core.NewJob{User: user, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: now, Unique: true}
	return n, wrap("rebuild embeddings", w.Jobs.Enqueue(ctx, job))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
