// Package transcribe transcribes voice notes with a server that has OpenAI's transcription API.
package transcribe

import (
	"bytes"
	"cmp"
	"context"
	"mime"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// Options configure a Transcriber. Model and Timeout are required.
type Options struct {
	BaseURL string // root of the API, with /v1; empty: OpenAI's
	APIKey  string
	Model   string
	Timeout time.Duration // of one call
	Way     *egress.Gate  // nil: the policy alone
}

// Transcriber is a transcription service. It is safe for concurrent use.
type Transcriber struct {
	client  *openai.Client
	model   string
	timeout time.Duration
}

// New returns a transcriber. It does not use the network.
func New(o Options) *Transcriber {
	return &Transcriber{client: llm.NewAudio(o.BaseURL, o.APIKey, o.Way), model: o.Model, timeout: o.Timeout}
}

// Transcribe returns the speech in a recording as text, "" if there is none: a remark about the recording and what
// models write for silence are no speech. A
// *core.Permanent error means that the service will never accept this recording.
func (t *Transcriber) Transcribe(ctx context.Context, r core.Recording) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	out, err := t.client.CreateTranscription(ctx, openai.AudioRequest{Model: t.model, FilePath: fileName(r),
		Reader: bytes.NewReader(r.Data)})
	if err != nil {
		kind, err := llm.AudioError(err, "transcribe", "transcription", "the recording")
		if kind == core.ModelRejected {
			err = &core.Permanent{Err: err}
		}
		return "", err
	}
	return spoken(out), nil
}

// fileName returns a name with the ending of the recording's type: services rely on it.
func fileName(r core.Recording) string {
	if strings.Contains(r.Name, ".") {
		return r.Name
	}
	base, _, _ := mime.ParseMediaType(r.MIME)
	endings := map[string]string{"audio/ogg": ".ogg", "application/ogg": ".ogg", "audio/opus": ".ogg",
		"audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/aac": ".m4a", "audio/wav": ".wav", "audio/x-wav": ".wav",
		"audio/wave": ".wav", "audio/webm": ".webm", "audio/amr": ".amr", "video/mp4": ".mp4"}
	return "recording" + cmp.Or(endings[base], ".ogg")
}

// Check sends a second of silence, for `everthread doctor`.
func (t *Transcriber) Check(ctx context.Context) error {
	_, err := t.Transcribe(ctx, core.Recording{Name: "silence.wav", MIME: "audio/wav", Data: silence()})
	return err
}

// silence returns a second of silence as a WAV file: 8,000 samples of 8 bits.
func silence() []byte {
	const rate = 8000
	b := []byte(
		"RIFF\x64\x1f\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x40\x1f\x00\x00")
	return append(b, bytes.Repeat([]byte{0x80}, rate)...)
}
