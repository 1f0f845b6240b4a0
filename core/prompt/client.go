package prompt

import (
	"slices"

	"github.com/everthread/everthread/core"
)

// request is what the client that asked wants besides, or nil: its last message
// tells.
func request(ms []core.Message, inputs []core.MessageID) *core.Request {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Request != nil && slices.Contains(inputs, ms[i].ID) {
			return ms[i].Request
		}
	}
	return nil
}

// clientTokens are those of a request's instructions and of its tools.
func clientTokens(r *core.Request, t core.Tokenizer) (instructions, tools int) {
	if r == nil {
		return 0, 0
	}
	return t.Count(r.Instructions), ToolTokens(r.Tools, t)
}

// ToolTokens is what the descriptions of a client's tools take.
func ToolTokens(tools []core.ToolSpec, t core.Tokenizer) (n int) {
	for _, s := range tools {
		n += t.Count(s.Name) + t.Count(s.Description) + t.Count(string(s.Schema)) + 8
	}
	return n
}

// forClient adds what the client wants to a prompt. Its instructions follow the
// head, and are gone from the next turn's prompt.
func (b *builder) forClient(p Prompt) Prompt {
	if b.request == nil {
		return p
	}
	p.Request = b.request
	instructions, tools := clientTokens(b.request, b.Tokens)
	p.Snapshot.ClientTokens, p.Snapshot.ToolTokens = instructions, b.budgets.schemas(tools)
	n := headLen(p.Messages)
	if b.request.Instructions == "" {
		return p
	}
	p.Messages = instruct(p.Messages, b.request)
	p.Sources, p.Foreign = slices.Insert(p.Sources, n, 0), slices.Insert(p.Foreign, n, true)
	if p.CachePrefix >= n {
		p.CachePrefix++
	}
	return p
}

// headLen is how many messages stand before the raw ones.
func headLen(ms []core.ModelMessage) int {
	n := slices.IndexFunc(ms, func(m core.ModelMessage) bool { return m.Role != core.RoleSystem })
	if n < 0 {
		return len(ms)
	}
	return n
}

// instruct puts the instructions of a request behind the head.
func instruct(ms []core.ModelMessage, r *core.Request) []core.ModelMessage {
	if r == nil || r.Instructions == "" {
		return ms
	}
	return slices.Insert(ms, headLen(ms), core.ModelMessage{Role: core.RoleSystem, Content: r.Instructions})
}
