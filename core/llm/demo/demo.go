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

// summaryRequest is how the system message of a request for a day's summary begins.
const summaryRequest = "You write the summary of one day of a conversation"

func reply(req core.ModelRequest) said {
	if len(req.Messages) > 0 && strings.HasPrefix(req.Messages[0].Content, summaryRequest) {
		return said{text: summarize(req.Messages)}
	}
	if len(req.Messages) > 0 && strings.HasPrefix(req.Messages[0].Content, shortenRequest) {
		return said{text: compress(req.Messages)}
	}
	v := look(req)
	switch {
	case v.result != "":
		return said{text: v.fromResult()}
	case v.asks() && v.earlier():
		return v.recall()
	case v.asks():
		return v.answer()
	case v.greets():
		return said{text: v.phrases.hello}
	}
	return said{text: v.repeat()}
}
