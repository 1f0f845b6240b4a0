// Package openai is a client for chat models with the OpenAI API: OpenAI itself,
// Ollama, llama.cpp, vLLM, OpenRouter and many others.
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
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options name a model and its server.
type Options struct {
	BaseURL string // up to and with /v1; empty: DefaultBaseURL
	APIKey  string // empty: none is sent
	Model   string
	Effort  string        // how much a model thinks, in the provider's words; empty: it decides
	Timeout time.Duration // longest silence of the server; 0: no limit
	Way     *egress.Gate  // nil: the policy alone
}

// model is the llm.Client.
type model struct {
	endpoint string
	invalid  error // of BaseURL
	options  Options
	client   *http.Client
	own      bool // the server is OpenAI's
}

// New returns the model. An invalid address is an error of Stream, of kind ModelConfig. The temperature is left to the
// server.
//
// The bound of a completion is sent as max_completion_tokens to OpenAI, whose newer models refuse max_tokens, and as
// max_tokens to every other server, since many know nothing else.
func New(o Options) core.Model { return llm.New(newClient(o)) }

func newClient(o Options) *model {
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

// source names the model and its server.
func (m *model) source() string { return m.options.Model + " " + m.endpoint }

// Ask sends one request.
func (m *model) Ask(ctx context.Context, req core.ModelRequest, bare bool) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		resp, err := m.post(ctx, req, bare)
		if err != nil {
			yield(core.Delta{}, err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			yield(core.Delta{}, llm.Refusal(resp, m.options.APIKey).Error())
			return
		}
		a := &assembly{ctx: ctx, secret: m.options.APIKey, model: m.options.Model, source: m.source(), yield: yield}
		a.run(resp.Body)
	}
}

func (m *model) post(ctx context.Context, req core.ModelRequest, bare bool) (*http.Response, error) {
	if m.invalid != nil {
		return nil, &core.ModelError{Kind: core.ModelConfig, Err: m.invalid}
	}
	var body bytes.Buffer
	if err := m.encode(&body, req, bare); err != nil {
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
