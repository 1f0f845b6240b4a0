// Package anthropic is a client for Claude models with Anthropic's own API, which
// supports cache marks, unlike its OpenAI-compatible one.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// Options name a model and its server.
type Options struct {
	BaseURL   string // without /v1; empty: DefaultBaseURL
	APIKey    string
	Model     string
	MaxTokens int           // default bound of a completion, since the API requires one; 0: 4,096
	Timeout   time.Duration // longest silence of the server; 0: no limit
	HTTP      *http.Client  // nil: that of Way
	Way       *egress.Gate  // nil: the policy alone
}

// model is a core.Model.
type model struct {
	options Options
	client  sdk.Client
}

// New returns the model. It reads nothing from the environment and never retries.
func New(o Options) core.Model {
	base := cmp.Or(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1"), DefaultBaseURL)
	o.MaxTokens = cmp.Or(o.MaxTokens, 4096)
	return &model{options: o, client: sdk.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(base), option.WithAPIKey(o.APIKey),
		option.WithHTTPClient(llm.NewClient(cmp.Or(o.HTTP, o.Way.Client(base)), o.Timeout)), option.WithMaxRetries(0),
	)}
}

// Stream asks the model.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		stream := m.client.Messages.NewStreaming(ctx, m.params(req))
		defer func() { _ = stream.Close() }() // it was read to its end, or is no longer needed
		a := assembly{model: m.options.Model, open: map[int64]int{}}
		for stream.Next() {
			if text := a.event(stream.Current()); text != "" && !yield(core.Delta{Text: text}, nil) {
				return
			}
		}
		switch err := stream.Err(); {
		case a.stop != "":
			yield(a.last(), nil)
		case err != nil:
			yield(core.Delta{}, m.failure(ctx, err))
		default:
			yield(core.Delta{}, llm.CutOff())
		}
	}
}

func (m *model) failure(ctx context.Context, err error) error {
	var refused *sdk.Error
	if ctx.Err() != nil || !errors.As(err, &refused) {
		return llm.Broken(ctx, err)
	}
	f := llm.Failure{Secret: m.options.APIKey}
	if refused.StatusCode != http.StatusOK { // else it came in the middle of an answer
		f.Status, f.Header = refused.StatusCode, refused.Response.Header
	}
	var said struct {
		Error struct{ Type, Message string }
	}
	if json.Unmarshal([]byte(refused.RawJSON()), &said) == nil {
		f.Code, f.Message = said.Error.Type, said.Error.Message
	}
	return f.Error()
}

// assembly assembles an answer from its events.
type assembly struct {
	model string
	calls []core.ToolCall
	open  map[int64]int // content block → place in calls
	usage core.Usage
	stop  sdk.StopReason
}

// event adds one event and returns its text.
func (a *assembly) event(e sdk.MessageStreamEventUnion) string {
	switch e.Type {
	case "message_start":
		a.model = cmp.Or(e.Message.Model, a.model)
		a.usage.Cached = int(e.Message.Usage.CacheReadInputTokens)
		a.usage.Prompt = int(e.Message.Usage.InputTokens+e.Message.Usage.CacheCreationInputTokens) + a.usage.Cached
	case "content_block_start":
		return a.block(e)
	case "content_block_delta":
		if i, ok := a.open[e.Index]; ok {
			a.calls[i].Arguments += e.Delta.PartialJSON
		}
		return e.Delta.Text
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.usage.Completion = int(e.Usage.OutputTokens)
	}
	return ""
}

func (a *assembly) block(e sdk.MessageStreamEventUnion) string {
	if e.ContentBlock.Type != "tool_use" {
		return e.ContentBlock.Text
	}
	a.open[e.Index] = len(a.calls)
	a.calls = append(a.calls, core.ToolCall{ID: e.ContentBlock.ID, Name: e.ContentBlock.Name})
	return ""
}

func (a *assembly) last() core.Delta {
	d := core.Delta{ToolCalls: a.calls, Usage: &a.usage, Model: a.model, Finish: core.FinishStop}
	for i := range d.ToolCalls {
		if d.ToolCalls[i].Arguments == "" {
			d.ToolCalls[i].Arguments = "{}"
		}
	}
	switch a.stop {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		d.Finish = core.FinishLength
	case sdk.StopReasonRefusal:
		d.Finish = core.FinishRefused
	case sdk.StopReasonToolUse:
		d.Finish = core.FinishTools
	}
	return d
}
