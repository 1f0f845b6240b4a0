// Package demo is the built-in chat model, for trying everything out without a
// key. It understands nothing, and says so: it quotes what its prompt and
// conversation_search show. The same request always has the same answer.
package demo

import (
	"context"
	"iter"
	"strings"

	"github.com/everthread/everthread/core"
)

// model is a core.Model.
type model struct{ tokens core.Tokenizer }

// New returns the model. It estimates usage with tokens.
func New(tokens core.Tokenizer) core.Model { return &model{tokens: tokens} }

// Stream answers word by word.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		r := reply(req)
		for word := range strings.SplitAfterSeq(r.Content, " ") {
			if err := ctx.Err(); err != nil {
				yield(core.Delta{}, err)
				return
			}
			if word != "" && !yield(core.Delta{Text: word}, nil) {
				return
			}
		}
		usage := &core.Usage{Completion: m.tokens.Count(r.Content)}
		for _, message := range req.Messages {
			usage.Prompt += m.tokens.Count(message.Content)
		}
		last := core.Delta{Finish: core.FinishStop, Usage: usage, Model: "demo", ToolCalls: r.ToolCalls}
		for _, call := range r.ToolCalls {
			usage.Completion += m.tokens.Count(call.Arguments)
			last.Finish = core.FinishTools
		}
		yield(last, nil)
	}
}

// The beginnings of the system messages that request the summary of a day, and
// shorter forms of old messages.
const (
	summaryRequest = "You write the summary of one day of a conversation"
	shortenRequest = "You shorten what was said long ago in a conversation"
)

// reply returns an answer or a tool call.
func reply(req core.ModelRequest) core.ModelMessage {
	first := ""
	if len(req.Messages) > 0 {
		first = req.Messages[0].Content
	}
	switch {
	case strings.HasPrefix(first, summaryRequest):
		return core.ModelMessage{Content: summarize(req.Messages)}
	case strings.HasPrefix(first, shortenRequest):
		return core.ModelMessage{Content: compress(req.Messages)}
	}
	return answer(look(req))
}
