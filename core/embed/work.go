package embed

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

const (
	pageOfMessages = 500    // read at once for windows
	mostMessages   = 64_000 // that may be read for one window
	batchTexts     = 32     // embedded at once
	mostChanges    = 5      // how often in a row a day may change while it is cut
)

// errStuck means that work which was done is asked for again.
var errStuck = errors.New("the store asks for the same again")

// place tells whether cutting gets ahead.
type place struct {
	segment core.SegmentID
	first   core.MessageID
	read    int
	closed  bool
}

// windows cuts what is in no window yet, day by day.
func (r *round) windows(ctx context.Context) error {
	limit, changes := pageOfMessages, 0
	var before place
	for {
		r.yield(ctx)
		segment, messages, closed, err := r.Store.Unwindowed(ctx, r.user, limit)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		windows, through := r.Cut(messages, closed)
		if len(windows) == 0 && len(messages) >= limit && limit < mostMessages {
			limit *= 4 // many short messages: one window takes more than a page
			continue
		}
		at := place{segment: segment, read: len(messages), closed: closed}
		if len(messages) > 0 {
			at.first = messages[0].ID
		}
		if at == before && changes == 0 {
			return errStuck
		}
		err = r.Store.PutWindows(ctx, core.PutWindows{User: r.user, Segment: segment, Windows: windows, Through: through,
			Read: messages, Closed: closed, Config: r.config, Now: r.Now()})
		switch {
		case errors.Is(err, core.ErrChanged) && changes < mostChanges:
			changes++
			continue
		case err != nil:
			return fmt.Errorf("store windows: %w", err)
		}
		r.Count("everthread_windows_total", float64(len(windows)))
		before, limit, changes = at, pageOfMessages, 0
	}
}

// round is the work of one job.
type round struct {
	*Worker
	user     core.UserID
	embedder core.Embedder
	config   string
	sound    bool // the provider embedded something in this job
}

// vectors embeds what waits, batch by batch.
func (r *round) vectors(ctx context.Context) error {
	var before core.Embeddable
	for {
		r.yield(ctx)
		waiting, err := r.Store.PendingEmbeddings(ctx, r.user, r.config, batchTexts)
		if err != nil {
			return fmt.Errorf("read what waits: %w", err)
		}
		if len(waiting) == 0 {
			return nil
		}
		if now := waiting[0]; now.Kind == before.Kind && now.ID == before.ID && now.Revision == before.Revision {
			return errStuck
		}
		if err := r.batch(ctx, waiting); err != nil {
			return err
		}
		before = waiting[0]
	}
}

// batch embeds things and stores their vectors. Those without any text are
// marked as such.
func (r *round) batch(ctx context.Context, waiting []core.Embeddable) error {
	var texts []string
	var wanted, empty []core.EmbeddingResult
	for _, e := range waiting {
		text := e.Text
		if e.Kind == core.VectorWindow {
			text = r.Text(e.Messages)
		}
		result := core.EmbeddingResult{Kind: e.Kind, ID: e.ID, Revision: e.Revision}
		if text == "" {
			result.Error = "there is no text"
			empty = append(empty, result)
			continue
		}
		texts, wanted = append(texts, text), append(wanted, result)
	}
	if err := r.put(ctx, empty); err != nil {
		return err
	}
	return r.embed(ctx, wanted, texts)
}

// embed embeds texts and stores what came of them. If they are refused they are
// tried apart, so that the one at fault is found.
func (r *round) embed(ctx context.Context, wanted []core.EmbeddingResult, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	vectors, err := r.embedder.Embed(ctx, texts)
	switch {
	case refused(err) && len(texts) > 1:
		half := len(texts) / 2
		if err := r.embed(ctx, wanted[:half], texts[:half]); err != nil {
			return err
		}
		return r.embed(ctx, wanted[half:], texts[half:])
	case refused(err):
		return r.condemn(ctx, wanted[0], err)
	case err != nil:
		return err
	case len(vectors) != len(texts):
		return &core.ModelError{Kind: core.ModelConfig, Err: fmt.Errorf("the provider gave %d vectors for %d texts", len(vectors), len(texts))}
	}
	r.sound = true
	for i, v := range vectors {
		if wanted[i].Vector, err = padded(v); err != nil {
			return err
		}
	}
	return r.put(ctx, wanted)
}

// refused tells whether the provider will never embed just these texts.
func refused(err error) bool {
	var m *core.ModelError
	return errors.As(err, &m) && (m.Kind == core.ModelRejected || m.Kind == core.ModelTooLong)
}

// condemn marks a text that is refused, unless the provider refuses a plain
// sentence as well: then that is the error, and the text goes on waiting.
func (r *round) condemn(ctx context.Context, e core.EmbeddingResult, cause error) error {
	if !r.sound {
		if _, err := r.embedder.Embed(ctx, []string{"The cat sleeps on the sofa."}); err != nil {
			return fmt.Errorf("embed a plain sentence: %w", err)
		}
		r.sound = true
	}
	var m *core.ModelError
	errors.As(cause, &m)
	e.Error = m.Err.Error()
	r.Log.Warn("text not embedded", zap.Int64("user", int64(r.user)), zap.String("kind", string(e.Kind)), zap.Int64("id", e.ID), zap.Error(cause))
	return r.put(ctx, []core.EmbeddingResult{e})
}

func (r *round) put(ctx context.Context, results []core.EmbeddingResult) error {
	if len(results) == 0 {
		return nil
	}
	if err := r.Store.PutVectors(ctx, r.user, r.config, results, r.Now()); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	for _, e := range results {
		state := core.EmbeddingReady
		if e.Error != "" {
			state = core.EmbeddingError
		}
		r.Count("everthread_embeddings_total", 1, string(state))
	}
	return nil
}

// padded returns v with zeros up to the length of stored vectors.
func padded(v []float32) ([]float32, error) {
	if len(v) == 0 || len(v) > core.VectorSize {
		return nil, &core.ModelError{Kind: core.ModelConfig, Err: fmt.Errorf("a vector of %d dimensions cannot be stored; at most %d can", len(v), core.VectorSize)}
	}
	out := make([]float32, core.VectorSize)
	copy(out, v)
	return out, nil
}
