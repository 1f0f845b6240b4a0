package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

// Results of calls that do not run.
const (
	waitsForYes     = "Not done yet: the person is being asked, and this turn ends with the question. If they say yes, exactly this call is made then, and you go on with its result. If they say no, or nothing within an hour, it is not made."
	oneAtATime      = "Not done: the person is asked about one call at a time, and another one of this turn waits already. Ask for it again after that."
	refusedHere     = "Not done: this tool needs a yes of the person, which a helper cannot ask for. Say in your result what should be done, so that the assistant can ask."
	answeredAlready = "Not done again: the person has just answered a question about exactly this call; what came of it stands above."
	saidNo          = "The person said no. The call was not made. Do not try it again unless they ask for it."
)

// permitted decides about a call of an outside tool. With stop it does not run, and d says why. A call that is the
// person's own wish is replaced by the one that the model makes without foreign words and descriptions, and a question
// about it is as in a turn without them.
func (r *run) permitted(ctx context.Context, tool core.Tool, call *core.ToolCall) (d done, stop bool) {
	if !r.outside(call.Name) {
		return done{}, false
	}
	if r.Decided != nil && fingerprint(r.Decided.Call) == fingerprint(*call) {
		return notDone(answeredAlready), true
	}
	foreign := r.tainted || r.steered(tool)
	verdict, freely := r.Permit(tool, foreign), r.Permit(tool, false) == Allow
	own := false
	if foreign && verdict != Allow {
		if freely {
			pointed, err := r.pointed(tool, *call)
			if err != nil {
				return failed("%v", err), true
			}
			own = pointed
		}
		own = own || (freely || verdict == Ask) && r.own(ctx, tool, call)
	}
	if own && freely {
		verdict = Allow
	}
	switch verdict {
	case Ask:
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.out.Question != nil {
			return notDone(oneAtATime), true
		}
		r.out.Question = &core.Question{Call: *call, Tainted: r.tainted && !own}
		return notDone(waitsForYes), true
	case Refuse:
		return notDone(refusedHere), true
	}
	return done{}, false
}

// pointed reports whether a call reaches nothing but what the person, or a search of the turn, pointed to. With an error
// the call does not run.
func (r *run) pointed(tool core.Tool, call core.ToolCall) (bool, error) {
	t, ok := tool.(core.ReachingTool)
	if !ok {
		return false, nil
	}
	var found []string
	for _, res := range r.results {
		_, addresses := r.searched(r.out.Messages[res.message].ToolName, res.full)
		found = append(found, addresses...)
	}
	return t.Reaches(call.Arguments, r.Own, found)
}

// searched returns the query and the addresses of a result, if it is that of a search.
func (r *run) searched(name, result string) (query string, addresses []string) {
	tool, _ := r.Tools.tool(name)
	s, ok := tool.(core.SearchingTool)
	if !ok {
		return "", nil
	}
	return s.Found(result)
}

// decided adds the call that the person decided about as the first step of the turn: its
// result after a yes, a refusal after a no.
func (r *run) decided(ctx context.Context) error {
	if r.Decided == nil {
		return nil
	}
	calls := r.accept([]core.ToolCall{r.Decided.Call})
	if form, ok := canonical(r.Decided.Call); ok { // whatever was decided, this wish is settled
		r.without.made = map[string]bool{form: true}
	}
	d := notDone(saidNo)
	if r.Decided.Yes {
		d = r.approved(ctx, calls[0])
	}
	r.out.Spent = r.out.Spent.And(d.Spent)
	if d.err != nil {
		return d.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.add(core.ModelMessage{Role: core.RoleAssistant, ToolCalls: sendable(calls)}, "")
	r.addResult(calls[0], d)
	r.step++
	return nil
}

// approved makes the call that the person approved, or replays it if any turn has begun it.
func (r *run) approved(ctx context.Context, call core.ToolCall) done {
	c := r.Call
	c.Step, c.Index, c.Now, c.Arguments = r.step, 0, r.Now(), json.RawMessage(call.Arguments)
	e := entry(c, call)
	e.Approval = r.Decided.Approval
	tool, ok := r.Tools.tool(call.Name)
	switch {
	case r.Decided.Result != "":
		return r.replayed(r.Decided.Result)
	case r.Decided.Used:
		return r.unknown(ctx, tool, c, e)
	case !ok:
		return failed("the tool %q is not there any more", head(call.Name))
	}
	err := r.record(ctx, tool, c, e, audit.Begun)
	if errors.Is(err, core.ErrRefused) { // another process was faster
		return failed(unknownEnd)
	}
	if err != nil {
		return done{err: err}
	}
	return r.make(ctx, tool, c, e)
}

// changes reports whether an outside tool may change something: it is not known to only read.
func changes(tool core.Tool) bool {
	g, ok := tool.(core.GuardedTool)
	if !ok {
		return true
	}
	_, readOnly := g.Standing()
	return !readOnly
}

// ReadsClosed reports whether a tool only reads, and reaches nothing beyond what the operator connected.
func ReadsClosed(tool core.Tool) bool {
	s, ok := tool.(core.ServedTool)
	return ok && s.Closed() && !changes(tool)
}

// steered reports whether the model read descriptions of tools by others than the server of a tool: their words could
// have caused a call of it.
func (r *run) steered(tool core.Tool) bool {
	return len(r.Client) > 0 || slices.ContainsFunc(r.specs, func(s core.ToolSpec) bool {
		other, ok := r.Tools.tools[s.Name].(core.ServedTool)
		own, _ := tool.(core.ServedTool)
		return ok && (own == nil || own.Server() != other.Server())
	})
}

// entry returns the journal entry of a call, without its text.
func entry(c core.ToolUse, call core.ToolCall) store.CallRecord {
	return store.CallRecord{Turn: c.Turn, By: c.By, Step: c.Step, Index: c.Index, Tool: call.Name}
}

// record stores a call in the journal, and in the audit unless the tool only reads.
func (r *run) record(ctx context.Context, tool core.Tool, c core.ToolUse, e store.CallRecord,
	result audit.Result) error {
	e.At = r.Now()
	if changes(tool) {
		e.Result, e.Changes = result, result != audit.Failed
	}
	if err := r.Journal.Record(ctx, c.User, e); err != nil {
		return fmt.Errorf("record tool call: %w", err)
	}
	return nil
}

// result returns the result of a call for the audit.
func (d done) result() audit.Result {
	switch {
	case d.unsure:
		return audit.Unknown
	case d.failed:
		return audit.Failed
	}
	return audit.Done
}

// counterfactual holds the calls that the model would make if it had not read foreign words. A call that it makes in
// both cases is the person's wish, and not that of the author of these words.
type counterfactual struct {
	mu    sync.Mutex
	asked int                        // step of calls, from 1; 0: none yet
	calls map[string][]core.ToolCall // of that step, by tool
	made  map[string]bool            // matched calls of the whole turn, in canonical form
}

// leftOut replaces foreign words.
const leftOut = "[Words that are not the user's are left out here.]"

// own reports whether the model makes a call of a tool without foreign words, too, and replaces its arguments by those.
// They may differ if the only foreign words are descriptions of other tools, as they miss nothing of the conversation
// then, and if the tool only searches. A call is the person's wish only once in a turn.
func (r *run) own(ctx context.Context, tool core.Tool, call *core.ToolCall) bool {
	if r.Foreign == nil && r.tainted {
		return false
	}
	s := &r.without
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := r.step - r.firstStep + 1; s.asked != at {
		s.asked, s.calls = at, map[string][]core.ToolCall{}
	}
	calls, asked := s.calls[call.Name]
	if !asked {
		calls = r.askWithout(ctx, tool)
		s.calls[call.Name] = calls
	}
	wanted, ok := canonical(*call)
	_, searches := tool.(core.SearchingTool)
	exactly := r.tainted && !searches
	found := -1
	for i, c := range calls {
		form, plain := canonical(c)
		if same := ok && form == wanted; !plain || s.made[form] || c.Name != call.Name || exactly && !same {
			continue
		} else if same || found < 0 {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	call.Arguments = calls[found].Arguments
	if s.made == nil {
		s.made = map[string]bool{}
	}
	form, _ := canonical(*call)
	s.made[form] = true
	return true
}

// askWithout calls the model once without foreign words and with no tool but one, and returns its tool calls, if any.
func (r *run) askWithout(ctx context.Context, tool core.Tool) []core.ToolCall {
	spec := tool.Spec()
	if i := slices.IndexFunc(r.specs, func(s core.ToolSpec) bool { return s.Name == spec.Name }); i >= 0 {
		spec = r.specs[i]
	}
	request := core.ModelRequest{Messages: r.ownPrompt(), Tools: []core.ToolSpec{spec}, MaxTokens: r.MaxOutputTokens,
		User: r.Call.User}
	if r.More != nil {
		if ok, err := r.More(ctx, request); err != nil || !ok {
			return nil
		}
	}
	text, last, usage, err := r.stream(ctx, request, func(core.Delta, string) {})
	r.settle(usage, text, cmp.Or(last.Asked, last.Model))
	if err != nil {
		return nil
	}
	for i, c := range last.ToolCalls {
		last.ToolCalls[i].Arguments = cmp.Or(strings.TrimSpace(c.Arguments), "{}")
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

// canonical returns a call as its name and its arguments in normal form, with numbers as they are written. ok is false
// if programs may read the arguments differently: a key appears twice, or a character is no character.
func canonical(call core.ToolCall) (form string, ok bool) {
	if !json.Valid([]byte(call.Arguments)) { // which bounds the depth, too
		return "", false
	}
	d := json.NewDecoder(strings.NewReader(call.Arguments))
	d.UseNumber()
	v, ok := readValue(d)
	arguments, err := json.Marshal(v)
	return call.Name + "\x00" + string(arguments), ok && err == nil
}

// readValue reads a JSON value that every program reads in the same way.
func readValue(d *json.Decoder) (v any, ok bool) {
	token, err := d.Token()
	if err != nil {
		return nil, false
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			key, ok := readValue(d)
			name, _ := key.(string)
			if _, twice := object[name]; twice || !ok {
				return nil, false
			}
			if object[name], ok = readValue(d); !ok {
				return nil, false
			}
		}
		_, err = d.Token()
		return object, err == nil
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, ok := readValue(d)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err == nil
	}
	s, _ := token.(string)
	return token, !strings.ContainsRune(s, utf8.RuneError)
}
