// Package embed computes the vectors of windows and memory items in the background.
//
// Policy. One job for each user does all pending work: it cuts new messages into windows, then embeds texts without
// vectors in batches. It yields while replies are written. When the provider is down the job is retried, with growing
// delays and without end: texts without vectors are found by their words. A fault that somebody must fix, such as a
// refused key or vectors that are too long, is shown as the error of all pending texts, and retried as rarely, or
// immediately by an embedder of another fingerprint. A window is stored with the vectors of its passages, or not at
// all. A text that the provider refuses is marked with the reason, and the others go on, unless the provider refuses a
// plain sentence too. Tokens are not charged.
package embed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// Store holds texts and their vectors.
type Store interface {
	Unwindowed(ctx context.Context, user core.UserID, limit int) (store.Unwindowed, error)
	PutWindows(ctx context.Context, p store.PutWindows) error
	PendingEmbeddings(ctx context.Context, user core.UserID, config string, limit int) ([]store.Embeddable, error)
	PutVectors(ctx context.Context, user core.UserID, config string, vectors []store.EmbeddingResult, now time.Time) error
	FailEmbeddings(ctx context.Context, user core.UserID, tried, reason string, now time.Time) error
	RetryEmbeddings(ctx context.Context, user core.UserID, tried string, now time.Time) error
	Enqueue(ctx context.Context, jobs ...store.NewJob) error
	Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error)
}

// Windows cuts a conversation into texts for embedding. Its methods are pure.
type Windows interface {
	// Cut makes windows of a day's messages, of which in is in one already, and returns the last message in one; 0: none
	// is. Every window holds a message that was in none.
	Cut(messages []core.Message, in core.MessageID, closed bool) (windows []store.TextWindow, through core.MessageID)
	// Text returns the text of a window to embed; empty: none.
	Text(messages []core.Message) string
	// Passages returns the stretches of a window's messages that get vectors too.
	Passages(messages []core.Message) []store.Passage
}

// Worker runs the jobs of core.QueueEmbed. All fields are required. It is safe for concurrent use.
type Worker struct {
	Store     Store
	Jobs      *job.Worker
	Embedders core.EmbedderOf
	Windows   Windows
	Meter     core.Counter
	Log       *zap.Logger
	Now       func() time.Time
}

// Take claims a due job and runs it.
func (w *Worker) Take(ctx context.Context, ref store.JobRef) {
	w.Jobs.Yield(ctx)
	w.Jobs.Take(ctx, ref, w.do)
}

// do embeds a user's pending texts, and ends the job.
func (w *Worker) do(ctx context.Context, j *store.Job) error {
	err := w.work(ctx, j.User)
	switch {
	case err == nil:
		return w.Jobs.Finish(ctx, j)
	case errors.Is(err, core.ErrChanged):
		return &job.Later{At: w.Now().Add(time.Second)} // the day may still be changing
	case ctx.Err() == nil:
		w.Meter.Count("everthread_embedding_failures_total", 1)
	}
	return err
}

// work embeds a user's pending texts. Without an embedder it does nothing.
func (w *Worker) work(ctx context.Context, user core.UserID) error {
	e, config, err := w.Embedders(ctx, user)
	if err != nil || e == nil {
		return wrap("find the embedder", err)
	}
	r := &round{Worker: w, user: user, embedder: e, config: config, tried: core.FingerprintOf(e, config)}
	if err := w.Store.RetryEmbeddings(ctx, user, r.tried, w.Now()); err != nil {
		return wrap("retry failed texts", err)
	}
	if err := r.windows(ctx); err != nil {
		return err
	}
	return r.fail(ctx, r.vectors(ctx))
}

// fail marks the pending texts with an error that only a person can fix, so that it is visible.
func (r *round) fail(ctx context.Context, err error) error {
	m, ok := errors.AsType[*core.ModelError](err)
	if !ok || m.Kind != core.ModelAuth && m.Kind != core.ModelConfig {
		return err
	}
	return errors.Join(err, wrap("mark failed texts", r.Store.FailEmbeddings(ctx, r.user, r.tried, m.Err.Error(),
		r.Now())))
}

// Rebuild marks all texts of a user, archived items included, to be embedded again, and
// returns their number. Unless confirmed, it only counts.
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
	again := store.NewJob{User: user, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: now, Unique: true}
	return n, wrap("rebuild embeddings", w.Store.Enqueue(ctx, again))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
