package prompt

import (
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// usable returns the messages that a prompt may contain, in order, up to the last input (to the end if inputs is nil):
// messages of user, assistant and tools that are not redacted, and calls only with their results. The decision depends
// only on a message and those directly after it in its group, so it does not change while an epoch grows.
func (v *view) usable(ms []core.Message, inputs []core.MessageID, redacted bool) []raw {
	out := make([]raw, 0, len(ms))
	end := 0
	for i := 0; i < len(ms); {
		n := span(ms[i:])
		out = v.appendGroup(out, ms[i:i+n], inputs, redacted)
		i += n
		if len(out) > 0 && out[len(out)-1].input {
			end = len(out)
		}
	}
	if inputs != nil {
		out = out[:end]
	}
	numberTurns(out)
	return out
}

// span returns the number of messages in the first group: an assistant's calls and the tool messages directly after it.
func span(ms []core.Message) int {
	n := 1
	if ms[0].Role == core.RoleAssistant && len(ms[0].ToolCalls) > 0 {
		for n < len(ms) && ms[n].Role == core.RoleTool {
			n++
		}
	}
	return n
}

func (v *view) appendGroup(out []raw, ms []core.Message, inputs []core.MessageID, redacted bool) []raw {
	from, group := len(out), 0
	if from > 0 {
		group = out[from-1].group + 1
	}
	usable := func(m *core.Message) bool {
		return m.Kind == core.KindChat && (redacted || !m.Redacted) && m.Role != core.RoleSystem
	}
	first := &ms[0]
	if !usable(first) || first.Role == core.RoleTool {
		return out
	}
	r := v.newRaw(first)
	var results []raw
	if len(first.ToolCalls) > 0 && first.Role == core.RoleAssistant {
		r.calls, results = v.answered(ms, usable)
	}
	if r.Role == core.RoleAssistant && strings.TrimSpace(r.Text) == "" && len(r.calls) == 0 && !r.Redacted {
		return out
	}
	out = append(append(out, r), results...)
	for i := from; i < len(out); i++ {
		out[i].group = group
		out[i].input = out[i].Role != core.RoleAssistant && slices.Contains(inputs, out[i].ID)
	}
	return out
}

// answered returns the calls of a group that have a result, and their results, in order.
func (v *view) answered(ms []core.Message, usable func(*core.Message) bool) ([]core.ToolCall, []raw) {
	var results []raw
	found := map[string]bool{}
	wanted := func(id string) bool {
		return id != "" && slices.ContainsFunc(ms[0].ToolCalls, func(c core.ToolCall) bool { return c.ID == id })
	}
	for i := 1; i < len(ms); i++ {
		m := &ms[i]
		if usable(m) && wanted(m.ToolCallID) && !found[m.ToolCallID] {
			found[m.ToolCallID] = true
			results = append(results, v.newRaw(m))
		}
	}
	var calls []core.ToolCall
	for _, c := range ms[0].ToolCalls {
		if found[c.ID] {
			calls = append(calls, c)
			found[c.ID] = false
		}
	}
	return calls, results
}

// numberTurns gives messages of one turn the same number. Messages without a turn are
// grouped as a user message and its answer.
func numberTurns(rs []raw) {
	for i := 1; i < len(rs); i++ {
		p, r := &rs[i-1], &rs[i]
		r.turn = p.turn
		same := r.Turn != 0 && r.Turn == p.Turn ||
			r.Turn == 0 && p.Turn == 0 && r.Role != core.RoleUser && (p.Role != core.RoleAssistant || len(p.calls) > 0)
		if !same && r.group != p.group {
			r.turn++
		}
	}
}
