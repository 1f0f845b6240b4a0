package trust

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
)

// Reservation holds the tokens of a user's day that are reserved for a running turn, and
// those that its calls have taken. The turn's row stores both, so any process that ends the
// turn can give the rest back. Its methods may be called concurrently.
type Reservation struct {
	// More reserves n more tokens for the turn; false: the day does not have them.
	More   func(ctx context.Context, n int) (bool, error)
	Until  time.Time // when the day ends
	Tokens core.Tokenizer
	// Output bounds one answer, Results all tool results of the turn.
	Output, Results int
	// Reserved are the tokens reserved when the attempt begins, Taken those used before.
	Reserved, Taken int

	mu   sync.Mutex
	last int // bound of the turn's own last call
}

// Has reports whether n more tokens are reserved, after reserving them if necessary.
func (r *Reservation) Has(ctx context.Context, n int) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has(ctx, n)
}

// has is Has. The caller holds mu.
func (r *Reservation) has(ctx context.Context, n int) (bool, error) {
	missing := r.Taken + n - r.Reserved
	if missing <= 0 {
		return true, nil
	}
	ok, err := r.More(ctx, missing)
	if ok && err == nil {
		r.Reserved += missing
	}
	return ok, err
}

// Affords reports whether the turn may make a call of its own and still end with an
// answer after it.
func (r *Reservation) Affords(ctx context.Context, req core.ModelRequest) (bool, error) {
	n := count(r.Tokens, req) + answer(req, r.Output)
	return r.Has(ctx, n+n+r.Output+r.Results)
}

// Take reserves n tokens for a call of a helper. Give replaces them with the tokens that it
// used. The tokens of the turn's answer stay reserved. The error is an OverCap, or the
// store's.
func (r *Reservation) Take(ctx context.Context, n int) (give func(took int), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ok, err := r.has(ctx, n+r.last+r.Output+r.Results)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &OverCap{Until: r.Until, One: true}
	}
	return r.take(n), nil
}

// take counts n tokens as taken. The caller holds mu.
func (r *Reservation) take(n int) (give func(took int)) {
	r.Taken += n
	var once sync.Once
	return func(took int) {
		once.Do(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.Taken += took - n
		})
	}
}

// Model returns the model of the turn itself. It counts the tokens of its calls; the claim
// of the turn, or Affords, has allowed them before.
func (r *Reservation) Model(m core.Model) core.Model {
	return Bounded(m, func(_ context.Context, n int) (func(int), error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = n
		return r.take(n), nil
	}, r.Tokens, r.Output)
}

// Bounded returns a model that reserves the largest possible number of tokens before each
// call, and gives unused ones back. output bounds an answer whose request has no bound.
func Bounded(m core.Model, reserve func(ctx context.Context, n int) (give func(took int), err error),
	tokens core.Tokenizer, output int) core.Model {
	return &bounded{m, reserve, tokens, output}
}

type bounded struct {
	core.Model
	reserve func(ctx context.Context, n int) (give func(took int), err error)
	tokens  core.Tokenizer
	output  int
}

// Stream reserves tokens before it calls the model.
func (m *bounded) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		prompt := count(m.tokens, req)
		give, err := m.reserve(ctx, prompt+answer(req, m.output))
		if err != nil {
			yield(core.Delta{}, busy(err))
			return
		}
		took, text := 0, 0
		defer func() {
			if took == 0 && text > 0 {
				took = prompt + text
			}
			give(took)
		}()
		for d, err := range m.Model.Stream(ctx, req) {
			if err == nil {
				text += m.tokens.Count(d.Text)
				if d.Usage != nil {
					took = d.Usage.Prompt + d.Usage.Completion
				}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// answer returns the bound of the answer to a request.
func answer(req core.ModelRequest, output int) int {
	if req.MaxTokens > 0 {
		return req.MaxTokens
	}
	return output
}

// count returns the tokens of a request.
func count(t core.Tokenizer, req core.ModelRequest) (n int) {
	for _, m := range req.Messages {
		n += t.Count(m.Content) + 4
		for _, c := range m.ToolCalls {
			n += t.Count(c.Arguments) + 8
		}
		n += len(m.Images) * imageTokens
	}
	for _, s := range req.Tools {
		n += t.Count(s.Description) + t.Count(string(s.Schema))
	}
	return n
}

// imageTokens estimates the tokens of a picture.
const imageTokens = 1000
