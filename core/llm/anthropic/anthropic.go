// Package anthropic is a client for Claude models with Anthropic's own API, which
// supports cache marks, unlike its OpenAI-compatible one.
package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// Bounds of a completion, since the API requires one; bareTokens is known to every model.
const (
	defaultTokens = 8192
	bareTokens    = 4096
)

// Options name a model and its server.
type Options struct {
	BaseURL string // without /v1; empty: DefaultBaseURL
	APIKey  string
	Model   string
	Effort  string        // how much the model thinks: low, medium, high …; empty: it does not
	Timeout time.Duration // longest silence of the server; 0: no limit
	HTTP    *http.Client  // nil: that of Way
	Way     *egress.Gate  // nil: the policy alone
}

// model is the llm.Client.
type model struct {
	options  Options
	endpoint string
	client   *http.Client
}

// New returns the model.
func New(o Options) core.Model {
	base := cmp.Or(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1"), DefaultBaseURL)
	client := llm.NewClient(cmp.Or(o.HTTP, o.Way.Client(base)), o.Timeout)
	return llm.New(&model{options: o, endpoint: base + "/v1/messages", client: client})
}

// Ask sends one request.
func (m *model) Ask(ctx context.Context, req core.ModelRequest, bare bool) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		header := http.Header{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {m.options.APIKey}}
		llm.Exchange{Client: m.client, Endpoint: m.endpoint, Header: header, Secret: m.options.APIKey,
			Body: m.request(req, bare),
			Answer: &assembly{secret: m.options.APIKey, model: m.options.Model, source: m.source(),
				blocks: map[int]*block{}}}.Run(ctx, yield)
	}
}

// source names where thoughts are understood. Their signatures hold for all models of a server.
func (m *model) source() string { return m.endpoint }
