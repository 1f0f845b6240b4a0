package trust

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
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

// Affords reports whether the turn may make a call and still end with an answer after it.
func (r *Reservation) Affords(ctx context.Context, req core.ModelRequest) (bool, error) {
	n := count(r.Tokens, req) + answer(req, r.Output)
	return r.Has(ctx, n+n+r.Output+r.Results)
}

// Take reserves n tokens for a call of a helper. Give replaces them with the tokens that it used. The tokens of the
// turn's answer stay reserved. The error is an OverCap, or the store's.
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
	first := func(_ context.Context, n int) (func(int), error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = n
		return r.take(n), nil
	}
	more := func(ctx context.Context, n int) (func(int), error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if ok, err := r.has(ctx, n); !ok || err != nil {
			return nil, cmp.Or(err, error(&OverCap{Until: r.Until, One: true}))
		}
		return r.take(n), nil
	}
	return &bounded{m, first, more, r.Tokens, r.Output}
}

// reserving reserves n tokens for a call. Give replaces them by the tokens that it used.
type reserving = func(ctx context.Context, n int) (give func(took int), err error)

// Bounded returns a model that reserves the tokens of a request and of an answer before each call, and gives unused ones
// back. output bounds an answer whose request has no bound. A longer answer reserves more, as much again each time;
// where that is refused it is cut, and ends with core.FinishLength.
func Bounded(m core.Model, reserve reserving, tokens core.Tokenizer, output int) core.Model {
	return &bounded{m, reserve, reserve, tokens, output}
}

type bounded struct {
	core.Model
	reserve, more reserving
	tokens        core.Tokenizer
	output        int
}

// Stream reserves tokens before it calls the model.
func (m *bounded) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		c := &counted{bounded: m, prompt: count(m.tokens, req), step: max(answer(req, m.output), 1)}
		give, err := m.reserve(ctx, c.prompt+c.step)
		if err != nil {
			yield(core.Delta{}, busy(err))
			return
		}
		c.left, c.gives = c.step, []func(int){give}
		defer c.settle()
		for d, err := range m.Model.Stream(ctx, req) {
			if err == nil && !c.has(ctx, d) && d.Finish == "" {
				rest := d.Text[:text.RuneStart(d.Text, len(d.Text)*c.left/max(m.tokens.Count(d.Text), 1))]
				c.text, c.left = c.text+c.left, 0
				yield(core.Delta{Text: rest, Restart: d.Restart, Model: d.Model, Asked: d.Asked, Finish: core.FinishLength,
					Usage: &core.Usage{Prompt: c.prompt, Completion: c.text}}, nil)
				return
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// counted is one answer of a bounded model.
type counted struct {
	*bounded
	prompt, text int // tokens
	took         int // as the server reports; 0: it does not
	step, left   int // tokens of a reservation, and those of all that text has not taken
	gives        []func(int)
}

// has counts a part of the answer, and reports whether its tokens are reserved.
func (c *counted) has(ctx context.Context, d core.Delta) bool {
	if d.Usage != nil {
		c.took = d.Usage.Prompt + d.Usage.Completion
	}
	n := c.tokens.Count(d.Text)
	for n > c.left {
		give, err := c.more(ctx, c.step)
		if err != nil {
			return false
		}
		c.left, c.gives = c.left+c.step, append(c.gives, give)
	}
	c.left, c.text = c.left-n, c.text+n
	return true
}

// settle replaces the reservations by what was used.
func (c *counted) settle() {
	took := c.took
	if took == 0 && c.text > 0 {
		took = c.prompt + c.text
	}
	for _, give := range c.gives[1:] {
		part := min(took, c.step)
		give(part)
		took -= part
	}
	c.gives[0](took)
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

// Model returns a model whose calls the ledger counts. Who makes the calls charges the user.
func (l *Ledger) Model(m core.Model) core.Model {
	if l.PerDay <= 0 {
		return m
	}
	return Bounded(m, l.Take, l.Tokens, l.MaxOutput)
}

// busy returns an error of the ledger as a temporary error of a model.
func busy(err error) error {
	if _, ok := errors.AsType[*OverCap](err); ok {
		return &core.ModelError{Kind: core.ModelBusy, Err: err}
	}
	return &core.ModelError{Kind: core.ModelDown, Err: err}
}

// Embedder returns the embedder of a model whose calls the ledger counts, and charges to a user; 0: to nobody. Nil stays
// nil.
func (l *Ledger) Embedder(e core.Embedder, model string, user core.UserID) core.Embedder {
	if e == nil {
		return nil
	}
	return &countedEmbedder{l, e, model, user}
}

type countedEmbedder struct {
	ledger *Ledger
	core.Embedder
	model string
	user  core.UserID
}

// Embed reserves the tokens of the texts before it calls the embedder.
func (e *countedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	n := 0
	for _, t := range texts {
		n += e.ledger.Tokens.Count(t)
	}
	give, err := e.ledger.takeFor(ctx, e.user, n)
	if err != nil {
		return nil, busy(err)
	}
	out, err := e.Embedder.Embed(ctx, texts)
	if err != nil {
		give(nil)
		return out, err
	}
	give(core.SpentOn(core.ForEmbedding, e.model, core.Usage{Prompt: n}))
	return out, nil
}

// Fingerprint returns that of the embedder.
func (e *countedEmbedder) Fingerprint() string { return core.FingerprintOf(e.Embedder, "") }

// Speaker speaks a text.
type Speaker interface {
	Speak(ctx context.Context, s core.Speech) ([]byte, error)
}

// Speaker returns the speaker of a model whose calls the ledger counts, and charges to the user of the answer. Nil stays
// nil.
func (l *Ledger) Speaker(s Speaker, model string) Speaker {
	if s == nil {
		return nil
	}
	return &countedSpeaker{l, s, model}
}

type countedSpeaker struct {
	ledger *Ledger
	Speaker
	model string
}

// Speak reserves the tokens of the text and of its sound before it calls the speaker. Speech
// has about 15 characters a second.
func (s *countedSpeaker) Speak(ctx context.Context, x core.Speech) ([]byte, error) {
	n := s.ledger.Tokens.Count(x.Text)
	letters := utf8.RuneCountInString(x.Text)
	give, err := s.ledger.takeFor(ctx, x.User, n+letters)
	if err != nil {
		return nil, err
	}
	data, err := s.Speaker.Speak(ctx, x)
	if err != nil {
		give(nil)
		return nil, err
	}
	bill := core.SpentOn(core.ForSpoken, s.model, core.Usage{Prompt: n, Completion: len(data)/bytesPerToken + 1})
	bill[0].Amount = letters
	give(bill)
	return data, nil
}

// Transcriber transcribes recordings.
type Transcriber interface {
	Transcribe(ctx context.Context, r core.Recording) (string, error)
}

// Transcriber returns the transcriber of a model whose calls the ledger counts, and charges to the user of the recording.
// Nil stays nil.
func (l *Ledger) Transcriber(t Transcriber, model string) Transcriber {
	if t == nil {
		return nil
	}
	return &countedTranscriber{l, t, model}
}

type countedTranscriber struct {
	ledger *Ledger
	Transcriber
	model string
}

// bytesPerToken is the size of a recording that counts as a token: a second of speech in the
// formats of chat apps has about 2 KB, and some 10 tokens of sound.
const bytesPerToken = 200

// Transcribe reserves the tokens of the recording before it calls the transcriber.
func (t *countedTranscriber) Transcribe(ctx context.Context, r core.Recording) (string, error) {
	n := len(r.Data)/bytesPerToken + 1
	give, err := t.ledger.takeFor(ctx, r.User, n)
	if err != nil {
		return "", err
	}
	said, err := t.Transcriber.Transcribe(ctx, r)
	if err != nil {
		give(nil)
		return said, err
	}
	bill := core.SpentOn(core.ForHeard, t.model, core.Usage{Prompt: n, Completion: t.ledger.Tokens.Count(said)})
	bill[0].Amount = int(math.Ceil(r.Duration.Seconds()))
	give(bill)
	return said, nil
}
