package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Tokens that a result, and the text beside a call, keep when a request exceeds the window.
const (
	leastResult = 24
	leastWords  = 24
)

// push appends a message to the prompt.
func (r *run) push(m core.ModelMessage, foreign bool) {
	r.prompt, r.foreign = append(r.prompt, m), append(r.foreign, foreign)
	r.sizes = append(r.sizes, r.sizeOf(m))
}

// measure counts the prompt and the descriptions of offered tools, unless their size is known.
func (r *run) measure() {
	if r.PromptTokens == 0 {
		for _, m := range r.prompt {
			r.PromptTokens += r.sizeOf(m)
		}
	}
	if r.schemas = r.Tools.tokens; r.schemas == 0 || len(r.Client) > 0 {
		r.schemas = specsTokens(r.specs, r.Tokenizer)
	}
}

// weigh counts a shortened message of this turn again.
func (r *run) weigh(i int) { r.sizes[i-r.base] = r.sizeOf(r.prompt[i]) }

// sizeOf returns the tokens of a message in a request.
func (r *run) sizeOf(m core.ModelMessage) int {
	n := messageTokens + r.Tokenizer.Count(m.Content) + len(m.Images)*ImageTokens
	for _, call := range m.ToolCalls {
		n += CallTokens + r.Tokenizer.Count(call.Name) + r.Tokenizer.Count(call.Arguments)
	}
	return n
}

// CallTokens is the overhead of a tool call: its id, and the syntax around and in it.
const CallTokens = 40

// ImageTokens is the size of a picture in a window: what usual models count for a large one.
const ImageTokens = 1100

// over returns by how much a request would exceed the window.
func (r *run) over(schemas int) int {
	n := r.PromptTokens + cmp.Or(r.Output, r.MaxOutputTokens) + schemas - r.Window
	for _, size := range r.sizes {
		n += size
	}
	return n
}

// fit shortens a request with tools, all that are offered or none, to the window, and
// reports whether it fits. It shortens tool results, oldest first, then the text and the
// arguments of the turn's calls, which are stored whole nevertheless.
func (r *run) fit(tools []core.ToolSpec) bool {
	schemas := r.schemas
	if len(tools) == 0 {
		schemas = 0
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
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for n, call := range m.ToolCalls {
		if r.Tokenizer.Count(call.Arguments) > leastWords {
			m.ToolCalls[n].Arguments = "{}"
		}
	}
	r.prompt[i] = m
	r.weigh(i)
}

// Truncate returns s if it has at most maxTokens, else its beginning and end around [… N tokens of tool output
// trimmed], at most maxTokens in all. If not even the mark fits, it returns nothing.
func Truncate(s string, maxTokens int, t core.Tokenizer) string {
	if len(s) <= maxTokens { // a token has at least one byte
		return s
	}
	total := t.Count(s)
	if total <= maxTokens {
		return s
	}
	// Begin with twice the length of the room at the mean length of a token, so that the
	// loop approaches the bound from above, in small steps.
	room := maxTokens - t.Count(trimmed(total)) - 2
	for keep := len(s) / total * room * 2; room > 0 && keep > 0; keep = keep * 7 / 8 {
		keep = min(keep, len(s)-1)
		first := s[:text.RuneStart(s, keep*2/3)]
		last := s[text.RuneStart(s, len(s)-keep/3):]
		kept := t.Count(first) + t.Count(last)
		if kept > room {
			continue
		}
		if short := first + trimmed(total-kept) + last; t.Count(short) <= maxTokens {
			return short
		}
	}
	if mark := trimmed(total); t.Count(mark) <= maxTokens {
		return mark
	}
	return ""
}

func trimmed(tokens int) string {
	return fmt.Sprintf("\n[… %d tokens of tool output trimmed]\n", tokens)
}

// shrink shortens results, oldest first, until all of the turn fit into ToolTokens. Each
// keeps a little, so that the model knows what it saw.
func (r *run) shrink() {
	over := -r.ToolTokens
	for _, res := range r.results {
		over += r.out.Messages[res.message].Tokens
	}
	for _, res := range r.results {
		if over <= 0 {
			return
		}
		over -= r.shorten(res, over)
	}
}

// shorten cuts up to over tokens from a result, and returns how many it cut.
func (r *run) shorten(res result, over int) int {
	const least = 64
	before := r.out.Messages[res.message].Tokens
	return before - r.shortenTo(res, max(before-over, min(least, r.ToolTokens/len(r.results))))
}

// shortenTo shortens a result to at most keep tokens, and returns how many it has.
func (r *run) shortenTo(res result, keep int) int {
	stored := &r.out.Messages[res.message]
	if keep >= stored.Tokens {
		return stored.Tokens
	}
	stored.Text = cmp.Or(Truncate(res.full, keep, r.Tokenizer), "[trimmed]")
	stored.Tokens = r.Tokenizer.Count(stored.Text)
	r.prompt[res.shown].Content = stored.Text
	r.weigh(res.shown)
	return stored.Tokens
}
