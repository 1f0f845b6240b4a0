package prompt_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
)

var pirate = &core.Request{Instructions: "Answer like a pirate.",
	Tools: []core.ToolSpec{{Name: "weather", Schema: json.RawMessage(`{"type":"object"}`)}}}

func TestClientInstructions_behindTheHeadForOneTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	plain := w.exchange("hello", "hi")
	in := w.begin(core.Message{Role: core.RoleUser, Text: "and now?", Request: pirate})
	p := w.build(&in)
	head := slices.IndexFunc(p.Messages, func(m core.ModelMessage) bool { return m.Role != core.RoleSystem })
	if p.Messages[head-1].Content != pirate.Instructions || p.Sources[head-1] != 0 || len(p.Sources) != len(p.Messages) ||
		p.Request != pirate {
		t.Errorf("got %+v from %v", p.Messages, p.Sources)
	}
	if p.Snapshot.ClientTokens != 6 || p.Snapshot.ToolTokens <= plain.Snapshot.ToolTokens {
		t.Errorf("counted %d tokens of instructions and %d of tools", p.Snapshot.ClientTokens, p.Snapshot.ToolTokens)
	}
	epoch := w.epoch
	if p.Epoch != nil {
		epoch = p.Epoch
	}
	if d := cmp.Diff(p.Messages, prompt.Rebuild(*epoch, p.Snapshot, w.messages, nil, w.budgets, w.tokens)); d != "" {
		t.Errorf("rebuilt: %s", d)
	}
	w.answer(p, says("arr"))
	_, next := w.ask("thanks")
	if next.Request != nil || slices.ContainsFunc(next.Messages,
		func(m core.ModelMessage) bool { return m.Content == pirate.Instructions }) {
		t.Error("the next turn still has the client's instructions")
	}
}

func TestClientTools_resultsJoinTheirCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	in := w.begin(core.Message{Role: core.RoleUser, Text: "the weather?", Request: pirate})
	p := w.build(&in)
	w.answer(p, core.Message{Role: core.RoleAssistant, Text: "I look.",
		ToolCalls: []core.ToolCall{{ID: "a", Name: "weather", Arguments: "{}"}}})
	in = w.begin(core.Message{Role: core.RoleTool, ToolCallID: "a", Text: "rain", Request: pirate})
	p = w.build(&in)
	n := len(p.Messages)
	if last := p.Messages[n-1]; last.Role != core.RoleTool || last.ToolCallID != "a" || last.Content != "rain" {
		t.Errorf("got last message %+v", last)
	}
	if calls := p.Messages[n-2].ToolCalls; len(calls) != 1 || calls[0].ID != "a" {
		t.Errorf("got %+v before it", p.Messages[n-2])
	}
	w.answer(p, says("It rains."))

	in = w.begin(core.Message{Role: core.RoleUser, Text: "and tomorrow?", Request: pirate})
	p = w.build(&in)
	w.answer(p, core.Message{Role: core.RoleAssistant,
		ToolCalls: []core.ToolCall{{ID: "b", Name: "weather", Arguments: "{}"}}})
	_, p = w.ask("never mind") // the client never gave a result
	for _, m := range p.Messages {
		if slices.ContainsFunc(m.ToolCalls, func(c core.ToolCall) bool { return c.ID == "b" }) {
			t.Error("a call without a result is in the prompt")
		}
	}
}
