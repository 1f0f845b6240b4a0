// Package openai is a client for chat models with the OpenAI API: OpenAI itself,
// Ollama, llama.cpp, vLLM, OpenRouter and many others.
//
// It uses the types of go-openai where they fit, but not its client, which hides the
// headers of a refusal (Retry-After), cannot distinguish [DONE] from a broken
// connection, gives up at 300 keep-alive comments, and encodes each message twice.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust/egress"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options name a model and its server.
type Options struct {
	BaseURL string // up to and with /v1; empty: DefaultBaseURL
	APIKey  string // empty: none is sent
	Model   string
	Timeout time.Duration // longest silence of the server; 0: no limit
	Way     *egress.Gate  // nil: the policy alone
}

// model is a core.Model.
type model struct {
	endpoint string
	invalid  error // of BaseURL
	options  Options
	client   *http.Client
	own      bool         // the server is OpenAI's
	lacks    atomic.Int32 // the parameters that the server turned out not to know
}

// New returns the model. An invalid address is an error of Stream, of kind
// ModelConfig. The temperature is left to the server.
//
// The bound of a completion is sent as max_completion_tokens to OpenAI, whose newer models refuse max_tokens, and as
// max_tokens to every other server, since many know nothing else. If a server refuses this or another optional
// parameter by name, the request is repeated without it, and later requests omit it.
func New(o Options) core.Model {
	base := cmp.Or(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/chat/completions"), DefaultBaseURL)
	m := &model{endpoint: base + "/chat/completions", options: o,
		client: llm.NewClient(o.Way.Client(base), o.Timeout)}
	address, err := url.Parse(base)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		m.invalid = errors.New("llm.base_url is not an address; it looks like http://127.0.0.1:11434/v1")
		return m
	}
	host := address.Hostname()
	m.own = host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
	return m
}

// Stream asks the model.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		resp, err := m.send(ctx, req)
		if err != nil {
			yield(core.Delta{}, err)
			return
		}
		defer resp.Body.Close()
		a := &assembly{ctx: ctx, secret: m.options.APIKey, model: m.options.Model, yield: yield}
		a.run(resp.Body)
	}
}

// send returns an answer with a good status. Each optional parameter is dropped at most once, so the loop ends.
func (m *model) send(ctx context.Context, req core.ModelRequest) (*http.Response, error) {
	if m.invalid != nil {
		return nil, &core.ModelError{Kind: core.ModelConfig, Err: m.invalid}
	}
	for {
		lacks := m.lacks.Load()
		resp, err := m.post(ctx, req, parameter(lacks))
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 == 2 {
			return resp, nil
		}
		failure := llm.Refusal(resp, m.options.APIKey)
		_ = resp.Body.Close() // the failure was read
		unknown := refusedParameter(failure, parameter(lacks))
		if unknown == 0 {
			return nil, failure.Error()
		}
		m.lacks.Or(int32(unknown))
	}
}

func (m *model) post(ctx context.Context, req core.ModelRequest, lacks parameter) (*http.Response, error) {
	var body bytes.Buffer
	if err := m.encode(&body, req, lacks); err != nil {
		return nil, &core.ModelError{Kind: core.ModelRejected, Err: fmt.Errorf("encode request: %w", err)}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.endpoint, &body)
	if err != nil {
		return nil, &core.ModelError{Kind: core.ModelConfig, Err: fmt.Errorf("build request: %w", err)}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream, application/json")
	if m.options.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+m.options.APIKey)
	}
	resp, err := m.client.Do(r)
	if err != nil {
		return nil, llm.Broken(ctx, err)
	}
	return resp, nil
}

var unknownParameter = text.Pattern(
	`(?i)unsupported|not supported|unrecognized|unknown|unexpected|extra|not permitted|not allowed|deprecated`)

// refusedParameter returns the optional parameter that a refusal names as
// unknown, 0 if it names none. lacks are those already known.
func refusedParameter(f llm.Failure, lacks parameter) parameter {
	text := f.Code + " " + f.Message
	refused := f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity
	if !refused || !unknownParameter().MatchString(text) {
		return 0
	}
	var found parameter
	switch {
	case strings.Contains(text, "stream_options"):
		found = parameterUsage
	case strings.Contains(text, "max_tokens"), strings.Contains(text, "max_completion_tokens"):
		found = parameterLimit
		if lacks&parameterLimit != 0 {
			found = parameterLimits
		}
	case strings.Contains(text, "safety_identifier"), strings.Contains(text, "prompt_cache_key"),
		strings.HasSuffix(f.Code, " user"), strings.Contains(text, `"user"`):
		found = parameterUser
	}
	return found &^ lacks
}
