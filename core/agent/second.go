package agent

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

// counterfactual holds the calls that the model would make if it had not read foreign
// words. A call that it makes in both cases is the person's wish, and not that of the author
// of these words.
type counterfactual struct {
	mu    sync.Mutex
	asked int             // step of calls, from 1; 0: none yet
	calls []core.ToolCall // of that step
	made  map[string]bool // matched calls of the whole turn, in canonical form
}

// leftOut replaces foreign words.
const leftOut = "[Words that are not the user's are left out here.]"

// own reports whether the model makes a call without foreign words, too. A call is the
// person's wish only once in a turn.
func (r *run) own(ctx context.Context, call core.ToolCall) bool {
	if r.Foreign == nil {
		return false
	}
	s := &r.without
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := r.step - r.firstStep + 1; s.asked != at {
		s.asked, s.calls = at, r.askWithout(ctx)
	}
	wanted := canonical(call)
	i := slices.IndexFunc(s.calls, func(c core.ToolCall) bool { return canonical(c) == wanted })
	if i < 0 || s.made[wanted] {
		return false
	}
	if s.made == nil {
		s.made = map[string]bool{}
	}
	s.made[wanted] = true
	return true
}

// askWithout calls the model once without foreign words, and returns its tool calls; none
// after an error.
func (r *run) askWithout(ctx context.Context) []core.ToolCall {
	request := core.ModelRequest{Messages: r.ownPrompt(), Tools: r.specs, MaxTokens: r.MaxOutputTokens, User: r.Call.User}
	if r.More != nil {
		if ok, err := r.More(ctx, request); err != nil || !ok {
			return nil
		}
	}
	text, last, usage, err := r.stream(ctx, request, func(core.Delta, string) {})
	r.settle(usage, text)
	if err != nil {
		return nil
	}
	return last.ToolCalls
}

// ownPrompt returns the prompt without foreign words: it drops tool calls that were made
// after reading such words, with their results, and replaces other foreign messages.
func (r *run) ownPrompt() []core.ModelMessage {
	var out []core.ModelMessage
	for i := 0; i < len(r.prompt); i++ {
		m := r.prompt[i]
		switch {
		case !r.foreign[i]:
			out = append(out, m)
		case m.Role == core.RoleSystem:
		case len(m.ToolCalls) > 0:
			for i+1 < len(r.prompt) && r.prompt[i+1].Role == core.RoleTool {
				i++
			}
		default:
			out = append(out, core.ModelMessage{Role: m.Role, Content: leftOut, ToolCallID: m.ToolCallID})
		}
	}
	return out
}

// canonical returns a call as its name and its arguments in normal form.
func canonical(call core.ToolCall) string {
	var v any
	if json.Unmarshal([]byte(call.Arguments), &v) != nil {
		return call.Name + "\x00" + call.Arguments
	}
	arguments, _ := json.Marshal(v) // it was JSON
	return call.Name + "\x00" + string(arguments)
}
