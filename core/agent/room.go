package agent

import (
	"github.com/everthread/everthread/core"
)

// How many tokens a result and the words beside a call keep when a request does not fit
// the window.
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

// measure counts the prompt, unless that is known or there is no window.
func (r *run) measure() {
	if r.Window == 0 || r.PromptTokens > 0 {
		return
	}
	for _, m := range r.prompt {
		r.PromptTokens += r.sizeOf(m)
	}
}

// measureTools counts what the tools that are offered take, unless that is known.
func (r *run) measureTools() {
	switch {
	case r.Window == 0:
	case len(r.Client) == 0 && r.Tools != nil && r.Tools.tokens > 0:
		r.schemas = r.Tools.tokens
	default:
		r.schemas = specsTokens(r.specs, r.Tokenizer)
	}
}

// weigh counts a message of this turn again that was shortened.
func (r *run) weigh(i int) {
	if r.Window > 0 {
		r.sizes[i-r.base] = r.sizeOf(r.prompt[i])
	}
}

// sizeOf is how many tokens a message takes of a request.
func (r *run) sizeOf(m core.ModelMessage) int {
	n := messageTokens + r.Tokenizer.Count(m.Content) + len(m.Images)*ImageTokens
	for _, call := range m.ToolCalls {
		n += WishTokens + r.Tokenizer.Count(call.Name) + r.Tokenizer.Count(call.Arguments)
	}
	return n
}

// WishTokens is what the form around a call takes, its id and the marks in its arguments
// included.
const WishTokens = 40

// ImageTokens is what a picture takes of a window: as much as the usual models make of a
// large one.
const ImageTokens = 1100

// over is by how much a request would pass the window.
func (r *run) over(schemas int) int {
	n := r.PromptTokens + r.MaxOutputTokens + schemas - r.Window
	for _, size := range r.sizes {
		n += size
	}
	return n
}

// fit makes a request with tools, all that are offered or none, fit the window: the results
// of tools are shortened, oldest first, then words and arguments of earlier calls, of all
// steps but the newest, then of this one. It reports whether the request fits. What is
// stored of calls stays whole.
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

// trimWords shortens what the model said itself in this turn, as it is shown to it.
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
