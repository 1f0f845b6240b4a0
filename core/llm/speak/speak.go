// Package speak makes recordings of texts with a server that has OpenAI's speech API.
package speak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// Options configure a Speaker. Model, Voice and the bounds are required.
type Options struct {
	BaseURL  string // root of the API, with /v1; empty: OpenAI's
	APIKey   string
	Model    string
	Voice    string
	Timeout  time.Duration // of one call
	MaxBytes int64         // of a recording
	Way      *egress.Gate  // nil: the policy alone
}

// Speaker is a speech service. It is safe for concurrent use.
type Speaker struct {
	server  llm.Audio
	options Options
}

// New returns a speaker. It does not use the network.
func New(o Options) *Speaker {
	return &Speaker{server: llm.Audio{Base: o.BaseURL, Key: o.APIKey, Section: "speech", Way: o.Way}, options: o}
}

// Speak returns a recording of a text. It requests OGG/Opus, but returns any format that
// the server sends. A *core.Permanent error means that the service will never speak this text.
func (s *Speaker) Speak(ctx context.Context, x core.Speech) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	body, err := json.Marshal(map[string]string{"model": s.options.Model, "input": x.Text, "voice": s.options.Voice,
		"response_format": "opus"})
	if err != nil {
		return nil, fmt.Errorf("speak: %w", err)
	}
	out, err := s.server.Post(ctx, "speak", "/audio/speech", "application/json", bytes.NewReader(body),
		"the text, check speech.model and speech.voice")
	if err != nil {
		return nil, s.explain(err)
	}
	defer out.Close()
	data, err := io.ReadAll(io.LimitReader(out, s.options.MaxBytes+1))
	if err != nil {
		return nil, s.explain(err)
	}
	if int64(len(data)) > s.options.MaxBytes {
		return nil, &core.Permanent{Err: fmt.Errorf("speak: the recording is larger than %d bytes (speech.max_bytes)",
			s.options.MaxBytes)}
	}
	return data, nil
}

// explain returns an error that says what to do.
func (s *Speaker) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("speak: the server did not answer within %s (speech.timeout)", s.options.Timeout)
	}
	if refused, ok := errors.AsType[*llm.AudioError](err); ok && refused.Kind != "" {
		return &core.Permanent{Err: err}
	}
	return err
}
