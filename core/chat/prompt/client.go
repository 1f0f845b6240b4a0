package prompt

import (
	"slices"

	"github.com/everthread/everthread/core"
)

// request returns the client's request with the last input that has one, or nil.
func request(ms []core.Message, inputs []core.MessageID) *core.Request {
	for _, m := range slices.Backward(ms) {
		if m.Request != nil && slices.Contains(inputs, m.ID) {
			return m.Request
		}
	}
	return nil
}

func clientTokens(r *core.Request, t core.Tokenizer) (instructions, tools int) {
	if r == nil {
		return 0, 0
	}
	return t.Count(r.Instructions), ToolTokens(r.Tools, t)
}

// ToolTokens returns the tokens of the descriptions of a client's tools.
func ToolTokens(tools []core.ToolSpec, t core.Tokenizer) (n int) {
	for _, s := range tools {
		n += t.Count(s.Name) + t.Count(s.Description) + t.Count(string(s.Schema)) + 8
	}
	return n
}

// forClient adds the client's request to a prompt. Its instructions follow the head, and apply to this turn only.
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

// headLen returns the number of system messages at the beginning.
func headLen(ms []core.ModelMessage) int {
	n := slices.IndexFunc(ms, func(m core.ModelMessage) bool { return m.Role != core.RoleSystem })
	if n < 0 {
		return len(ms)
	}
	return n
}

// instruct inserts the instructions of a request after the system messages.
func instruct(ms []core.ModelMessage, r *core.Request) []core.ModelMessage {
	if r == nil || r.Instructions == "" {
		return ms
	}
	return slices.Insert(ms, headLen(ms), core.ModelMessage{Role: core.RoleSystem, Content: r.Instructions})
}
