// Package llm holds the shared parts of clients of model servers: an HTTP client
// that detects a stalled server, and the reading of failures.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// ErrStalled is the error of a request whose server sent nothing for too long.
var ErrStalled = errors.New("the server sent nothing for too long")

// NewClient returns a client that sends through base, ends a request with ErrStalled when no byte arrived for stall (0:
// never), and follows no redirect, since a redirected POST loses its body. The caller closes bodies.
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

// Server is a server of models that is asked what it offers.
type Server struct {
	Provider string                                 // openai or anthropic
	BaseURL  string                                 // up to and with /v1
	Key      string                                 // empty: none is sent
	Client   func(addresses ...string) *http.Client // reaches an address
}

// ErrAddress means that the address of a server is none.
var ErrAddress = errors.New("no web address")

// Models returns the ids of the models that the server lists; nil: it lists none in a way that is known. Its errors are
// ErrAddress, or a *core.ModelError of kind ModelDown or ModelAuth without the address, which may hold a secret.
func (s Server) Models(ctx context.Context) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err := s.get(ctx, strings.TrimRight(s.BaseURL, "/")+"/models", &list)
	if errors.Is(err, errUnread) {
		return nil, nil
	}
	var out []string
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return out, err
}

// windowTimeout bounds Window.
const windowTimeout = 5 * time.Second

// Window returns how many tokens a model that has just answered reads at a time; 0: the server does not say.
func (s Server) Window(ctx context.Context, model string) int {
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()
	base := strings.TrimRight(s.BaseURL, "/")
	root := strings.TrimSuffix(base, "/v1")
	for _, address := range []string{base + "/models", root + "/api/ps", root + "/props"} {
		var o offer
		if s.get(ctx, address, &o) != nil {
			continue
		}
		if n := o.window(model); n > 0 {
			return n
		}
	}
	return 0
}

// offer is what servers say of their models: the list of models (vLLM and OpenRouter give
// windows in it), Ollama's list of loaded models, and llama-server's properties.
type offer struct {
	Data []struct {
		ID      string `json:"id"`
		VLLM    int    `json:"max_model_len"`
		Context int    `json:"context_length"`
	} `json:"data"`
	Models []struct {
		Name    string `json:"name"`
		Context int    `json:"context_length"`
	} `json:"models"`
	Settings struct {
		Slot int `json:"n_ctx"`
	} `json:"default_generation_settings"`
}

// window returns the window of a model; 0: the offer does not say.
func (o offer) window(name string) int {
	for _, m := range o.Data {
		if m.ID == name {
			return max(m.VLLM, m.Context)
		}
	}
	for _, m := range o.Models {
		if m.Name == name || m.Name == name+":latest" {
			return m.Context
		}
	}
	return o.Settings.Slot
}

// errUnread means that an answer is not what was asked for.
var errUnread = errors.New("unknown answer")

// get reads what stands at an address.
func (s Server) get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return ErrAddress
	}
	switch {
	case s.Provider == "anthropic":
		req.Header.Set("x-api-key", s.Key)
		req.Header.Set("anthropic-version", "2023-06-01")
	case s.Key != "":
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	req.Close = true
	resp, err := s.Client(address).Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return &core.ModelError{Kind: core.ModelDown, Err: err}
	}
	defer resp.Body.Close()
	const most = 8 << 20
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return &core.ModelError{Kind: core.ModelAuth, Err: errors.New(resp.Status)}
	case resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(into) != nil:
		return errUnread
	}
	return nil
}
