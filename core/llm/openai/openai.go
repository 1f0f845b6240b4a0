// Package openai is a client for chat models with the OpenAI API: OpenAI itself,
// Ollama, llama.cpp, vLLM, OpenRouter and many others.
package openai

import (
	"cmp"
	"context"
	"errors"
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
		if m.invalid != nil {
			yield(core.Delta{}, &core.ModelError{Kind: core.ModelConfig, Err: m.invalid})
			return
		}
		header := http.Header{}
		if m.options.APIKey != "" {
			header.Set("Authorization", "Bearer "+m.options.APIKey)
		}
		llm.Exchange{Client: m.client, Endpoint: m.endpoint, Header: header, Secret: m.options.APIKey,
			Body:   m.request(req, bare),
			Answer: &assembly{secret: m.options.APIKey, model: m.options.Model, source: m.source()}}.Run(ctx, yield)
	}
}
