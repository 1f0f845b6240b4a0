package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

const (
	pageOfMessages = 500    // messages in a read for windows
	mostMessages   = 64_000 // messages in the largest read for one window
	batchTexts     = 32     // windows and items in a request
	batchPassages  = 256    // passages in a request, unless a single window has more
	mostChanges    = 5      // changes in a row of a day while it is cut
)

// windows cuts the messages that are in no window yet, day by day.
func (r *round) windows(ctx context.Context) error {
	limit, changes := pageOfMessages, 0
	for {
		r.Jobs.Yield(ctx)
		day, err := r.Store.Unwindowed(ctx, r.user, limit)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		windows, through := r.Windows.Cut(day.Messages, day.Through, day.Closed)
		if len(windows) == 0 && len(day.Messages) >= limit && limit < mostMessages {
			limit *= 4 // many short messages: one window takes more than a page
			continue
		}
		err = r.Store.PutWindows(ctx, store.PutWindows{User: r.user, Segment: day.Segment, Windows: windows, Through: through,
			Read: day.Messages, Closed: day.Closed, Config: r.config, Now: r.Now()})
		switch {
		case errors.Is(err, core.ErrChanged) && changes < mostChanges:
			changes++
			continue
		case err != nil:
			return fmt.Errorf("store windows: %w", err)
		}
		r.Meter.Count("everthread_windows_total", float64(len(windows)))
		limit, changes = pageOfMessages, 0
	}
}

// round is the work of one job.
type round struct {
	*Worker
	user     core.UserID
	embedder core.Embedder
	config   string
	tried    string // fingerprint of the embedder
	sound    bool   // the provider embedded something in this job
	length   int    // of the provider's vectors; 0: unknown
}

// vectors embeds pending texts, batch by batch.
func (r *round) vectors(ctx context.Context) error {
	for {
		r.Jobs.Yield(ctx)
		waiting, err := r.Store.PendingEmbeddings(ctx, r.user, r.config, batchTexts)
		if err != nil {
			return fmt.Errorf("read pending texts: %w", err)
		}
		if len(waiting) == 0 {
			return nil
		}
		if err := r.batch(ctx, waiting); err != nil {
			return err
		}
	}
}

// wanted is a text that needs a vector.
type wanted struct {
	store.EmbeddingResult
	text     string
	passages []store.Passage
}

// batch embeds texts and stores their vectors. Empty ones are marked as such.
func (r *round) batch(ctx context.Context, waiting []store.Embeddable) error {
	var list []wanted
	var empty []store.EmbeddingResult
	for _, e := range waiting {
		w := wanted{EmbeddingResult: store.EmbeddingResult{Kind: e.Kind, ID: e.ID, Revision: e.Revision}, text: e.Text}
		if e.Kind == core.VectorWindow {
			w.text, w.passages = r.Windows.Text(e.Messages), r.Windows.Passages(e.Messages)
		}
		if w.text == "" {
			w.Error, w.Tried = "there is no text", r.tried
			empty = append(empty, w.EmbeddingResult)
			continue
		}
		list = append(list, w)
	}
	if err := r.put(ctx, empty); err != nil {
		return err
	}
	return r.embed(ctx, list)
}

// embed embeds texts and stores the results. If the provider refuses them, each half is
// tried alone, until the text at fault is found.
func (r *round) embed(ctx context.Context, list []wanted) error {
	if len(list) == 0 {
		return nil
	}
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = w.text
	}
	vectors, err := r.ask(ctx, texts)
	switch {
	case refused(err) && len(list) > 1:
		half := len(list) / 2
		if err := r.embed(ctx, list[:half]); err != nil {
			return err
		}
		return r.embed(ctx, list[half:])
	case refused(err):
		return r.markRefused(ctx, list[0].EmbeddingResult, err)
	case err != nil:
		return err
	}
	r.sound = true
	for i, v := range vectors {
		if list[i].Vector, err = padded(v); err != nil {
			return err
		}
	}
	return r.store(ctx, list)
}

// ask embeds texts: it returns a vector for each, of the same length throughout a job.
func (r *round) ask(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := r.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, &core.ModelError{Kind: core.ModelConfig,
			Err: fmt.Errorf("the provider returned %d vectors for %d texts", len(vectors), len(texts))}
	}
	for _, v := range vectors {
		if r.length = cmp.Or(r.length, len(v)); len(v) == 0 || len(v) != r.length {
			return nil, &core.ModelError{Kind: core.ModelConfig,
				Err: errors.New("the provider returned vectors of different lengths, or empty ones")}
		}
	}
	return vectors, nil
}

// store embeds the passages of texts that have their vectors, as many as fit into a batch at a time, and stores both.
func (r *round) store(ctx context.Context, list []wanted) error {
	for len(list) > 0 {
		n, passages := 1, list[0].passages
		for ; n < len(list) && len(passages)+len(list[n].passages) <= batchPassages; n++ {
			passages = append(passages[:len(passages):len(passages)], list[n].passages...)
		}
		r.Jobs.Yield(ctx)
		vectors, err := r.passages(ctx, passages)
		if err != nil {
			return err
		}
		results := make([]store.EmbeddingResult, n)
		for i := range results {
			mine := len(list[i].passages)
			results[i] = list[i].EmbeddingResult
			results[i].Passages = slices.DeleteFunc(vectors[:mine:mine],
				func(p store.PassageVector) bool { return p.Values == nil })
			vectors = vectors[mine:]
		}
		if err := r.put(ctx, results); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// passages returns the vectors of passages. A refused one has no values: its message is found by its words only.
func (r *round) passages(ctx context.Context, list []store.Passage) ([]store.PassageVector, error) {
	if len(list) == 0 {
		return nil, nil
	}
	texts := make([]string, len(list))
	out := make([]store.PassageVector, len(list))
	for i, p := range list {
		texts[i] = p.Text
		out[i] = store.PassageVector{Message: p.Message, From: p.From, To: p.To}
	}
	vectors, err := r.ask(ctx, texts)
	switch {
	case refused(err) && len(list) > 1:
		half := len(list) / 2
		first, err := r.passages(ctx, list[:half])
		if err != nil {
			return nil, err
		}
		second, err := r.passages(ctx, list[half:])
		return append(first, second...), err
	case refused(err):
		return out, nil
	case err != nil:
		return nil, err
	}
	for i, v := range vectors {
		out[i].Values = store.Direction(v)
	}
	return out, nil
}

// refused reports whether the provider will never embed just these texts.
func refused(err error) bool {
	m, ok := errors.AsType[*core.ModelError](err)
	return ok && (m.Kind == core.ModelRejected || m.Kind == core.ModelTooLong)
}

// markRefused marks a refused text, unless the provider refuses a plain sentence too: then
// it returns that error, and the text stays pending.
func (r *round) markRefused(ctx context.Context, e store.EmbeddingResult, cause error) error {
	if !r.sound {
		if _, err := r.embedder.Embed(ctx, []string{"The cat sleeps on the sofa."}); err != nil {
			return fmt.Errorf("embed a plain sentence: %w", err)
		}
		r.sound = true
	}
	m, _ := errors.AsType[*core.ModelError](cause)
	e.Error, e.Tried = m.Err.Error(), r.tried
	r.Log.Warn("text not embedded", zap.Int64("user", int64(r.user)), zap.String("kind", string(e.Kind)),
		zap.Int64("id", e.ID), zap.Error(cause))
	return r.put(ctx, []store.EmbeddingResult{e})
}

func (r *round) put(ctx context.Context, results []store.EmbeddingResult) error {
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
		r.Meter.Count("everthread_embeddings_total", 1, string(state))
	}
	return nil
}

// padded returns v with zeros up to the length of stored vectors.
func padded(v []float32) ([]float32, error) {
	if len(v) == 0 || len(v) > core.VectorSize {
		return nil, &core.ModelError{Kind: core.ModelConfig,
			Err: fmt.Errorf("a vector of %d dimensions cannot be stored; at most %d can", len(v), core.VectorSize)}
	}
	return append(slices.Clone(v), make([]float32, core.VectorSize-len(v))...), nil
}
