// Package transcribe transcribes voice notes with a server that has OpenAI's transcription API.
package transcribe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"time"

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
	server  llm.Audio
	model   string
	timeout time.Duration
}

// New returns a transcriber. It does not use the network.
func New(o Options) *Transcriber {
	server := llm.Audio{Base: o.BaseURL, Key: o.APIKey, Section: "transcription", Way: o.Way}
	return &Transcriber{server: server, model: o.Model, timeout: o.Timeout}
}

// Transcribe returns the speech in a recording as text, "" if there is none: a remark about the recording and what
// models write for silence are no speech. A
// *core.Permanent error means that the service will never accept this recording.
func (t *Transcriber) Transcribe(ctx context.Context, r core.Recording) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	body, contentType := t.form(r)
	answer, err := t.server.Post(ctx, "transcribe", "/audio/transcriptions", contentType, body, "the recording")
	if refused, ok := errors.AsType[*llm.AudioError](err); ok && refused.Kind == core.ModelRejected {
		err = &core.Permanent{Err: err}
	}
	if err != nil {
		return "", err
	}
	defer answer.Close()
	var out transcription
	if err := json.NewDecoder(io.LimitReader(answer, mostAnswer)).Decode(&out); err != nil {
		return "", fmt.Errorf("transcribe: read the answer: %w", err)
	}
	return spoken(out), nil
}

// mostAnswer bounds an answer in bytes; more than a day of speech has.
const mostAnswer = 16 << 20

// form returns a request's fields and their content type.
func (t *Transcriber) form(r core.Recording) (io.Reader, string) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, _ := form.CreateFormFile("file", fileName(r)) // a buffer takes everything
	_, _ = file.Write(r.Data)
	_ = form.WriteField("model", t.model)
	_ = form.WriteField("response_format", "json")
	_ = form.Close()
	return &body, form.FormDataContentType()
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
