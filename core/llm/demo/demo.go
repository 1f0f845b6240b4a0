// Package demo is the chat model that is built in, for trying everything out
// without a key. It understands nothing, and says so: it quotes what
// it can see in its prompt, so that one can watch the conversation's memory at
// work. The same request always has the same answer.
package demo

import (
	"context"
	"iter"
	"strings"

	"github.com/everthread/everthread/core"
)

// Name is what the model calls itself in Delta.Model.
const Name = "demo"

// model is a core.Model.
type model struct{ tokens core.Tokenizer }

// New returns the model. It estimates usage with tokens.
func New(tokens core.Tokenizer) core.Model { return &model{tokens: tokens} }

// Stream answers word by word.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		r := reply(req)
		for word := range strings.SplitAfterSeq(r.text, " ") {
			if err := ctx.Err(); err != nil {
				yield(core.Delta{}, err)
				return
			}
			if word != "" && !yield(core.Delta{Text: word}, nil) {
				return
			}
		}
		yield(m.last(req, r), nil)
	}
}

func (m *model) last(req core.ModelRequest, r said) core.Delta {
	usage := core.Usage{Completion: m.tokens.Count(r.text)}
	for _, message := range req.Messages {
		usage.Prompt += m.tokens.Count(message.Content)
	}
	d := core.Delta{Finish: core.FinishStop, Usage: &usage, Model: Name}
	if r.call != nil {
		usage.Completion += m.tokens.Count(r.call.Arguments)
		d.Finish, d.ToolCalls = core.FinishTools, []core.ToolCall{*r.call}
	}
	return d
}

// said is an answer, or the wish to search first.
type said struct {
	text string
	call *core.ToolCall
}

// How the system messages begin of requests for a day's summary, and for old messages in
// fewer words.
const (
	summaryRequest = "You write the summary of one day of a conversation"
	shortenRequest = "You shorten what was said long ago in a conversation"
)

func reply(req core.ModelRequest) said {
	switch {
	case begins(req, summaryRequest):
		return said{text: summarize(req.Messages)}
	case begins(req, shortenRequest):
		return said{text: compress(req.Messages)}
	}
	return look(req).reply()
}

func begins(req core.ModelRequest, with string) bool {
	return len(req.Messages) > 0 && strings.HasPrefix(req.Messages[0].Content, with)
}
