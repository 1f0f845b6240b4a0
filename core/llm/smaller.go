package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Texts that stand in a request for what a model's server refused.
const (
	// Unseen replaces pictures.
	Unseen = "[The model's server did not take the picture, so you cannot see it. Say so.]"
	// nothing is a message of the person that a template demands.
	nothing = "[…]"
	// withoutTools ends the messages of the person where tools are left out.
	withoutTools = "[No tools can be used here. Answer with what you have, and say what is missing.]"
	// left stands for what a message is shortened by.
	left = "\n[…]\n"
)

// order is the order in which a request is reduced, from the least that is lost to the most.
var order = [...]core.Reduction{core.ReducedParameters, core.ReducedRoles, core.ReducedImages, core.ReducedTools,
	core.ReducedLength}

// reductions says what a request is sent without.
type reductions struct {
	kinds [len(order)]bool // of order
	most  int              // bytes of the messages, with ReducedLength
}

func (r *reductions) has(k core.Reduction) bool { return r.kinds[slices.Index(order[:], k)] }

func (r *reductions) add(k core.Reduction) { r.kinds[slices.Index(order[:], k)] = true }

// apply returns a request without what is left out, and the reductions that make a difference to it. Roles come last,
// since what joins messages hides which of them are instructions.
func (r *reductions) apply(req core.ModelRequest) (core.ModelRequest, []core.Reduction) {
	changed := [len(order)]bool{r.has(core.ReducedParameters)}
	step := func(k core.Reduction, reduce func() bool) {
		changed[slices.Index(order[:], k)] = r.has(k) && reduce()
	}
	step(core.ReducedLength, func() (yes bool) {
		req.Messages, yes = shorten(req.Messages, r.most)
		return yes
	})
	step(core.ReducedImages, func() (yes bool) {
		req.Messages, yes = Blind(req.Messages, Unseen)
		return yes
	})
	step(core.ReducedTools, func() (yes bool) {
		req, yes = toolless(req)
		return yes
	})
	step(core.ReducedRoles, func() (yes bool) {
		req.Messages, yes = alternate(req.Messages)
		return yes
	})
	var made []core.Reduction
	for i, k := range order {
		if changed[i] {
			made = append(made, k)
		}
	}
	if slices.ContainsFunc(made, func(k core.Reduction) bool { return k != core.ReducedParameters }) {
		req.CachePrefix = 0
	}
	return req, made
}

// Blind replaces the pictures of messages with why, and reports whether there were any. ms is not changed.
func Blind(ms []core.ModelMessage, why string) ([]core.ModelMessage, bool) {
	if !slices.ContainsFunc(ms, func(m core.ModelMessage) bool { return len(m.Images) > 0 }) {
		return ms, false
	}
	ms = slices.Clone(ms)
	for i := range ms {
		if len(ms[i].Images) > 0 {
			ms[i].Images, ms[i].Content = nil, strings.TrimPrefix(ms[i].Content+"\n"+why, "\n")
		}
	}
	return ms, true
}

// Used tells a tool call in words, for servers that take none.
func Used(call core.ToolCall) string {
	return fmt.Sprintf("[used the tool %s with %s]", call.Name, call.Arguments)
}

// Returned tells a tool's result in words.
func Returned(content string) string { return "[result of a tool:\n" + content + "\n]" }

// told replaces the tool calls and results of messages with words.
func told(ms []core.ModelMessage) []core.ModelMessage {
	out := make([]core.ModelMessage, 0, len(ms))
	for _, m := range ms {
		for _, call := range m.ToolCalls {
			m.Content = strings.TrimPrefix(m.Content+"\n"+Used(call), "\n")
		}
		if m.ToolCalls = nil; m.Role == core.RoleTool {
			m.Role, m.Content, m.ToolCallID = core.RoleUser, Returned(m.Content), ""
		}
		out = append(out, m)
	}
	return out
}

func called(m core.ModelMessage) bool { return m.Role == core.RoleTool || len(m.ToolCalls) > 0 }

// toolless removes the tools of a request, and reports whether it had any.
func toolless(req core.ModelRequest) (core.ModelRequest, bool) {
	if len(req.Tools) == 0 && !slices.ContainsFunc(req.Messages, called) {
		return req, false
	}
	if len(req.Tools) > 0 {
		req.Messages = append(slices.Clone(req.Messages), core.ModelMessage{Role: core.RoleUser, Content: withoutTools})
	}
	req.Tools, req.Choice, req.Messages = nil, "", joined(told(req.Messages))
	return req, true
}

// joined joins neighbours of one role, except tool calls and their results.
func joined(ms []core.ModelMessage) []core.ModelMessage {
	var out []core.ModelMessage
	for _, m := range ms {
		last := len(out) - 1
		if last < 0 || out[last].Role != m.Role || called(m) || called(out[last]) {
			out = append(out, m)
			continue
		}
		out[last].Content = strings.Trim(out[last].Content+"\n\n"+m.Content, "\n")
		out[last].Images = slices.Concat(out[last].Images, m.Images)
	}
	return out
}

// alternate gives messages the shape that strict chat templates demand: the person and the assistant take turns, the
// person begins, and no message is the system's: its text begins the person's first. A tool's result counts as the
// person's; where the turns do not fit, calls and results are told in words. It reports whether that changes anything.
func alternate(ms []core.ModelMessage) ([]core.ModelMessage, bool) {
	changed := false
	out := slices.Clone(ms)
	for i := range out {
		if out[i].Role == core.RoleSystem {
			out[i].Role, changed = core.RoleUser, true
		}
	}
	if !takesTurns(out) {
		out, changed = joined(out), true
	}
	if !takesTurns(out) {
		out = joined(told(out))
	}
	if len(out) > 0 && out[0].Role == core.RoleAssistant {
		out, changed = slices.Insert(out, 0, core.ModelMessage{Role: core.RoleUser, Content: nothing}), true
	}
	return out, changed
}

// takesTurns reports whether the roles of messages alternate.
func takesTurns(ms []core.ModelMessage) bool {
	for i := 1; i < len(ms); i++ {
		if (ms[i].Role == core.RoleAssistant) == (ms[i-1].Role == core.RoleAssistant) {
			return false
		}
	}
	return true
}

// sizeOf returns the bytes of messages.
func sizeOf(ms []core.ModelMessage) (n int) {
	for _, m := range ms {
		n += sizeOfOne(m)
	}
	return n
}

func sizeOfOne(m core.ModelMessage) int {
	n := len(m.Content)
	for _, c := range m.ToolCalls {
		n += len(c.Arguments) + len(c.Extra)
	}
	return n
}

// shorten returns messages of at most most bytes, or hardly more, and reports whether it changed any: the middle of long
// messages is cut, the older half left out, and then more is cut. The first instructions and the last message stay.
func shorten(ms []core.ModelMessage, most int) ([]core.ModelMessage, bool) {
	if sizeOf(ms) <= most {
		return ms, false
	}
	out := cutAll(slices.Clone(ms), most/4)
	for sizeOf(out) > most {
		from := 0
		for from < len(out) && out[from].Role == core.RoleSystem {
			from++
		}
		to := from + 1
		for to < len(out) && out[to].Role == core.RoleTool {
			to++
		}
		if to >= len(out) {
			break
		}
		out = slices.Delete(out, from, to)
	}
	for limit := most / 8; sizeOf(out) > most && limit > len(left); limit /= 2 {
		out = cutAll(out, limit)
	}
	return out, true
}

// cutAll cuts the middle of messages longer than most bytes.
func cutAll(ms []core.ModelMessage, most int) []core.ModelMessage {
	keep := max(most-len(left), 0)
	for i := range ms {
		s := ms[i].Content
		if len(s) <= most {
			continue
		}
		ms[i].Content = s[:text.RuneStart(s, keep*2/3)] + left + s[text.RuneStart(s, len(s)-keep/3):]
	}
	return ms
}
