package trust

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// Model returns a model whose calls the ledger counts. The calling turn, job or door charges
// the user.
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

// Embedder returns an embedder whose calls the ledger counts, and charges to a user; 0: to
// nobody. Nil stays nil.
func (l *Ledger) Embedder(e core.Embedder, user core.UserID) core.Embedder {
	if e == nil {
		return nil
	}
	return &countedEmbedder{l, e, user}
}

type countedEmbedder struct {
	ledger *Ledger
	core.Embedder
	user core.UserID
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
		n = 0
	}
	give(core.Usage{Prompt: n})
	return out, err
}

// Fingerprint returns that of the embedder.
func (e *countedEmbedder) Fingerprint() string { return core.FingerprintOf(e.Embedder, "") }

// Speaker speaks a text.
type Speaker interface {
	Speak(ctx context.Context, s core.Speech) ([]byte, error)
}

// Speaker returns a speaker whose calls the ledger counts, and charges to the user of the
// answer. Nil stays nil.
func (l *Ledger) Speaker(s Speaker) Speaker {
	if s == nil {
		return nil
	}
	return &countedSpeaker{l, s}
}

type countedSpeaker struct {
	ledger *Ledger
	Speaker
}

// Speak reserves the tokens of the text and of its sound before it calls the speaker. Speech
// has about 15 characters a second.
func (s *countedSpeaker) Speak(ctx context.Context, x core.Speech) ([]byte, error) {
	n := s.ledger.Tokens.Count(x.Text)
	give, err := s.ledger.takeFor(ctx, x.User, n+utf8.RuneCountInString(x.Text))
	if err != nil {
		return nil, err
	}
	data, err := s.Speaker.Speak(ctx, x)
	if err != nil {
		give(core.Usage{})
		return nil, err
	}
	give(core.Usage{Prompt: n, Completion: len(data)/bytesPerToken + 1})
	return data, nil
}

// Transcriber transcribes recordings.
type Transcriber interface {
	Transcribe(ctx context.Context, r core.Recording) (string, error)
}

// Transcriber returns a transcriber whose calls the ledger counts, and charges to the user
// of the recording. Nil stays nil.
func (l *Ledger) Transcriber(t Transcriber) Transcriber {
	if t == nil {
		return nil
	}
	return &countedTranscriber{l, t}
}

type countedTranscriber struct {
	ledger *Ledger
	Transcriber
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
		give(core.Usage{})
		return said, err
	}
	give(core.Usage{Prompt: n, Completion: t.ledger.Tokens.Count(said)})
	return said, nil
}
