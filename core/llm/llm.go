// Package llm holds the shared parts of clients of model servers: an HTTP client
// that detects a stalled server, and the reading of failures.
package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// ErrStalled is the error of a request whose server sent nothing for too long.
var ErrStalled = errors.New("the server sent nothing for too long")

// NewClient returns a client that sends through base, ends a request with ErrStalled
// when no byte arrived for stall (0: never), and follows no redirect, since a
// redirected POST loses its body. The caller closes bodies.
func NewClient(base *http.Client, stall time.Duration) *http.Client {
	client := *base
	client.Transport = &watched{next: client.Transport, stall: stall}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// watched is a RoundTripper that cancels requests that stall.
type watched struct {
	next  http.RoundTripper
	stall time.Duration
}

// RoundTrip sends a request and watches its answer.
func (w *watched) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	body := &watchedBody{ctx: ctx, cancel: cancel, stall: w.stall}
	body.timer = time.AfterFunc(never(w.stall), func() { cancel(ErrStalled) })
	resp, err := w.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = body.cause(err)
		body.stop()
		return nil, err
	}
	body.ReadCloser = resp.Body
	resp.Body = body
	return resp, nil
}

// watchedBody restarts the timer with each read.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context // of the request that the body belongs to
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
	ended  bool
}

// Read reads and restarts the timer.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended = true
		return n, b.cause(err)
	}
	b.timer.Reset(never(b.stall))
	return n, nil
}

// Close reads the short rest of a complete answer and closes the body: only a
// connection that was read to the end is reused.
func (b *watchedBody) Close() error {
	const grace, most = 20 * time.Millisecond, 16 << 10
	if !b.ended && b.ctx.Err() == nil {
		b.timer.Reset(grace)
		_, _ = io.CopyN(io.Discard, b.ReadCloser, most)
	}
	b.stop()
	return b.ReadCloser.Close()
}

func (b *watchedBody) stop() {
	b.timer.Stop()
	b.cancel(nil)
}

// cause returns ErrStalled for an error that it caused.
func (b *watchedBody) cause(err error) error {
	if !errors.Is(err, io.EOF) && errors.Is(context.Cause(b.ctx), ErrStalled) {
		return ErrStalled
	}
	return err
}

func never(d time.Duration) time.Duration {
	if d <= 0 {
		return 1<<63 - 1
	}
	return d
}

// NewAudio returns a client of a server with OpenAI's audio API. base is the root of the
// API, with /v1; empty: OpenAI's.
func NewAudio(base, key string, way *egress.Gate) *openai.Client {
	c := openai.DefaultConfig(key)
	if base != "" {
		c.BaseURL = strings.TrimRight(base, "/")
	}
	c.HTTPClient = way.Client(c.BaseURL)
	return openai.NewClientWithConfig(c)
}

// AudioError returns an error of such a server that says what to do, and its kind; empty: it
// may pass. op is the operation, section the one of the configuration, and refused what the
// server refused, if it does not take the call.
func AudioError(err error, op, section, refused string) (core.ModelErrorKind, error) {
	var api *openai.APIError
	var request *openai.RequestError
	status, said := 0, ""
	switch {
	case errors.As(err, &api):
		status, said = api.HTTPStatusCode, api.Message
	case errors.As(err, &request):
		status, said = request.HTTPStatusCode, fmt.Sprintf("the server answered %d", request.HTTPStatusCode)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return core.ModelAuth, fmt.Errorf("%s: the key was refused, check %s.api_key: %s", op, section, said)
	case http.StatusNotFound:
		return core.ModelConfig, fmt.Errorf(
			"%s: the server does not know the model or the address, check %s.model and %[2]s.base_url: %[3]s", op, section, said)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return core.ModelRejected, fmt.Errorf("%s: the server refused %s: %s", op, refused, said)
	}
	return "", fmt.Errorf("%s: %w", op, err)
}
