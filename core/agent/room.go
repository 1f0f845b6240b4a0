package agent

import (
	"github.com/everthread/everthread/core"
)

// Tokens that a result, and the text beside a call, keep when a request exceeds the window.
const (
	leastResult = 24
	leastWords  = 24
)

// push appends a message to the prompt.
func (r *run) push(m core.ModelMessage, foreign bool) {
	r.prompt, r.foreign = append(r.prompt, m), append(r.foreign, foreign)
	if r.Window > 0 {
		r.sizes = append(r.sizes, r.sizeOf(m))
	}
}

// measure counts the prompt, unless its size is known or there is no window.
func (r *run) measure() {
	if r.Window == 0 || r.PromptTokens > 0 {
		return
	}
	for _, m := range r.prompt {
		r.PromptTokens += r.sizeOf(m)
	}
}

// measureTools counts the descriptions of offered tools, unless their size is known.
func (r *run) measureTools() {
	switch {
	case r.Window == 0:
	case len(r.Client) == 0 && r.Tools != nil && r.Tools.tokens > 0:
		r.schemas = r.Tools.tokens
	default:
		r.schemas = specsTokens(r.specs, r.Tokenizer)
	}
}

// weigh counts a shortened message of this turn again.
func (r *run) weigh(i int) {
	if r.Window > 0 {
		r.sizes[i-r.base] = r.sizeOf(r.prompt[i])
	}
}

// sizeOf returns the tokens of a message in a request.
func (r *run) sizeOf(m core.ModelMessage) int {
	n := messageTokens + r.Tokenizer.Count(m.Content) + len(m.Images)*ImageTokens
	for _, call := range m.ToolCalls {
		n += CallTokens + r.Tokenizer.Count(call.Name) + r.Tokenizer.Count(call.Arguments)
	}
	return n
}

// CallTokens is the overhead of a tool call: its id, and the syntax around it and in its
// arguments.
const CallTokens = 40

// ImageTokens is the size of a picture in a window: what usual models count for a large one.
const ImageTokens = 1100

// over returns by how much a request would exceed the window.
func (r *run) over(schemas int) int {
	n := r.PromptTokens + r.MaxOutputTokens + schemas - r.Window
	for _, size := range r.sizes {
		n += size
	}
	return n
}

// fit shortens a request with tools, all that are offered or none, to the window, and
// reports whether it fits. It shortens tool results, oldest first, then the text and the
// arguments of the turn's calls, which are stored whole nevertheless.
func (r *run) fit(tools []core.ToolSpec) bool {
	if r.Window == 0 {
		return true
	}
	schemas := r.schemas
	if len(tools) == 0 {
		schemas = 0
	}
	if r.over(schemas) <= 0 {
		return true
	}
	last := len(r.results)
	for last > 0 && r.results[last-1].step == r.step-1 {
		last--
	}
	for _, some := range [][]result{r.results[:last], r.results[last:]} {
		for _, res := range some {
			if n := r.over(schemas); n > 0 {
				r.shortenTo(res, max(r.out.Messages[res.message].Tokens-n, leastResult))
			}
		}
	}
	for i := r.base; i < len(r.prompt); i++ {
		if r.over(schemas) > 0 {
			r.trimWords(i)
		}
	}
	return r.over(schemas) <= 0
}

// trimWords shortens a message of the model in this turn, in the prompt only.
func (r *run) trimWords(i int) {
	m := r.prompt[i]
	if m.Role != core.RoleAssistant {
		return
	}
	m.Content = Truncate(m.Content, leastWords, r.Tokenizer)
	calls := make([]core.ToolCall, len(m.ToolCalls))
	for n, call := range m.ToolCalls {
		if r.Tokenizer.Count(call.Arguments) > leastWords {
			call.Arguments = "{}"
		}
		calls[n] = call
	}
	if len(calls) > 0 {
		m.ToolCalls = calls
	}
	r.prompt[i] = m
	r.weigh(i)
}
