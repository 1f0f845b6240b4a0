package trust

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// Model is a model whose calls the ledger counts. Users are charged by the turn,
// job or door that calls it.
func (l *Ledger) Model(m core.Model) core.Model {
	if l.PerDay <= 0 {
		return m
	}
	return Bounded(m, l.Take, l.Tokens, l.MaxOutput)
}

// busy is an error of the ledger as models fail: it passes by itself.
func busy(err error) error {
	var over *OverCap
	if errors.As(err, &over) {
		return &core.ModelError{Kind: core.ModelBusy, Err: err}
	}
	return &core.ModelError{Kind: core.ModelDown, Err: err}
}

// Embedder is an embedder whose calls the ledger counts, and charges to a user; 0:
// to nobody. nil stays nil.
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

// Embed reserves what the texts take, and then asks.
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

// Fingerprint is that of what it counts.
func (e *countedEmbedder) Fingerprint() string { return core.FingerprintOf(e.Embedder, "") }

// Speaker speaks a text.
type Speaker interface {
	Speak(ctx context.Context, s core.Speech) ([]byte, error)
}

// Speaker is a speaker whose calls the ledger counts, and charges to whose answer it is.
// nil stays nil.
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

// Speak reserves what the text takes, and its sound: speech has about 15 characters a
// second. Then it asks.
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

// Transcriber writes down what was said.
type Transcriber interface {
	Transcribe(ctx context.Context, r core.Recording) (string, error)
}

// Transcriber is a transcriber whose calls the ledger counts, and charges to whose
// recording it is. nil stays nil.
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

// bytesPerToken is how much of a recording counts as a token: a second of speech in
// the formats of chat apps is about 2 KB, and some 10 tokens of sound.
const bytesPerToken = 200

// Transcribe reserves what the recording takes, and then asks.
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
