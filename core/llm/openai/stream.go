package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
)

// chunk is one event of a stream, or a whole answer if Message is set in place of Delta. Some servers send both: the
// next piece, and the message so far.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta        piece    `json:"delta"`
		Message      *piece   `json:"message"`
		FinishReason flexible `json:"finish_reason"`
	} `json:"choices"`
	Usage     *usage          `json:"usage"`
	Citations []source        `json:"citations"`
	Error     json.RawMessage `json:"error"`
}

type usage struct {
	Prompt     llm.Number `json:"prompt_tokens"`
	Completion llm.Number `json:"completion_tokens"`
	PromptSome struct {
		Cached llm.Number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionSome struct {
		Reasoning llm.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type piece struct {
	Content   flexible   `json:"content"`
	Refusal   flexible   `json:"refusal"`
	ToolCalls []callPart `json:"tool_calls"`
	// FunctionCall is the older form of one tool call.
	FunctionCall *callFunction `json:"function_call"`

	ReasoningContent flexible          `json:"reasoning_content"`
	Reasoning        flexible          `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`

	Annotations []struct {
		Citation source `json:"url_citation"`
	} `json:"annotations"`
	Images []json.RawMessage `json:"images"`
}

// says reports whether a piece holds anything of an answer.
func (p *piece) says() bool {
	return p.Content != "" || len(p.ToolCalls) > 0 || p.FunctionCall != nil || len(p.Images) > 0 ||
		p.ReasoningContent != "" || p.Reasoning != ""
}

type callPart struct {
	Index    *int
	ID       flexible
	Function callFunction
	// rest is what the provider wants back with the call.
	rest map[string]json.RawMessage
}

type callFunction struct {
	Name      flexible `json:"name"`
	Arguments flexible `json:"arguments"`
}

// UnmarshalJSON reads a part of a call in any form, and never fails.
func (p *callPart) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &p.rest) != nil {
		return nil
	}
	for name, field := range map[string]any{"index": &p.Index, "id": &p.ID, "function": &p.Function} {
		_ = llm.Decode(p.rest[name], field) // in another form, it counts as missing
		delete(p.rest, name)
	}
	delete(p.rest, "type")
	maps.DeleteFunc(p.rest, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return nil
}

// flexible is a string that some servers send in another form: as a list of parts, of
// which those of type text count, or as the object that it should encode.
type flexible string

// UnmarshalJSON reads any of the forms, and never fails.
func (f *flexible) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		*f = flexible(unquoted(b))
	case 'n':
	case '[':
		f.join(b)
	default:
		*f = flexible(b)
	}
	return nil
}

func (f *flexible) join(b []byte) {
	var parts []struct {
		Type string   `json:"type"`
		Text flexible `json:"text"`
	}
	if llm.Decode(b, &parts) != nil {
		return
	}
	for _, part := range parts {
		if part.Type == "text" || part.Type == "" {
			*f += part.Text
		}
	}
}

// assembly is the llm.Answer.
type assembly struct {
	secret   string
	model    string
	source   string // of what is kept in core.ToolCall.Extra
	calls    []core.ToolCall
	indexes  []int // of calls, in the stream
	rest     []map[string]json.RawMessage
	thoughts thoughts
	finish   string
	refused  bool
	thought  bool
	foreign  bool // an event was read that is none of an answer
	pieces   bool // the answer comes in pieces
	usage    *core.Usage
	said     strings.Builder // the text
	half     string          // the end of the text if it is half of a character
	sources  []string        // addresses that the text rests on
	pictured bool
}

// Add adds an event.
func (a *assembly) Add(event []byte) (string, error) {
	var c chunk
	if event[0] != '{' || llm.Decode(event, &c) != nil {
		return "", llm.ErrMalformed
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		failure := llm.ReadError(c.Error)
		failure.Secret = a.secret
		return "", failure.Error()
	}
	if c.Model != "" {
		a.model = c.Model
	}
	a.count(c.Usage)
	a.cite(c.Citations...)
	if len(c.Choices) == 0 {
		a.foreign = a.foreign || c.Usage == nil && c.Model == "" && a.usage == nil
		return "", nil
	}
	a.foreign = false
	choice := c.Choices[0]
	if choice.FinishReason != "" {
		a.finish = string(choice.FinishReason)
	}
	if a.pieces = a.pieces || choice.Delta.says(); choice.Message != nil && !a.pieces {
		return a.piece(*choice.Message), nil
	}
	return a.piece(choice.Delta), nil
}

func (a *assembly) count(u *usage) {
	if u == nil || u.Prompt == 0 && u.Completion == 0 {
		return
	}
	a.usage = &core.Usage{Prompt: int(u.Prompt), Cached: int(u.PromptSome.Cached), Completion: int(u.Completion)}
	a.thought = a.thought || u.CompletionSome.Reasoning > 0
}

// piece adds a part of the answer, and returns its text.
func (a *assembly) piece(p piece) string {
	a.refused = a.refused || p.Refusal != ""
	for _, part := range p.ToolCalls {
		a.call(part)
	}
	if p.FunctionCall != nil {
		a.call(callPart{Index: new(int), Function: *p.FunctionCall})
	}
	a.thoughts.add(p)
	for _, one := range p.Annotations {
		a.cite(one.Citation)
	}
	a.pictured = a.pictured || len(p.Images) > 0
	text, half := joined(a.half + string(p.Content))
	a.half = half
	a.said.WriteString(text)
	return text
}

// call adds a part of a tool call. Servers identify calls by the index, the id, or both.
func (a *assembly) call(p callPart) {
	i := a.find(p)
	if i < 0 {
		i = len(a.calls)
		at := i
		if p.Index != nil {
			at = *p.Index
		}
		a.calls, a.indexes, a.rest = append(a.calls, core.ToolCall{}), append(a.indexes, at), append(a.rest, p.rest)
	} else if len(p.rest) > 0 {
		a.rest[i] = merged(a.rest[i], p.rest)
	}
	call := &a.calls[i]
	if p.ID != "" {
		call.ID = string(p.ID)
	}
	if call.Name == "" {
		call.Name = string(p.Function.Name)
	}
	call.Arguments += string(p.Function.Arguments)
}

func merged(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	if a == nil {
		return b
	}
	maps.Copy(a, b)
	return a
}

// find returns the call that p continues, -1 if it begins one. What has no name begins none; nor does what repeats the
// name before the arguments are whole.
func (a *assembly) find(p callPart) int {
	last := len(a.calls) - 1
	id, name := string(p.ID), string(p.Function.Name)
	open := -1 // the newest call that p may continue although its id is another one
	for i := last; i >= 0; i-- {
		c := a.calls[i]
		if p.Index != nil && a.indexes[i] != *p.Index {
			continue
		}
		if id != "" && id != c.ID && (c.ID != "" || p.Index == nil) {
			begun := c.Arguments != "" && !json.Valid([]byte(c.Arguments))
			if open < 0 && (name == "" || p.Index != nil && name == c.Name && begun) {
				open = i
			}
			continue
		}
		if p.Index == nil && id == "" && name != "" {
			return -1
		}
		return i
	}
	if open < 0 && name == "" {
		return last
	}
	return open
}

// Whole reports whether the server said why the answer ended, or ended it without.
func (a *assembly) Whole(done bool) bool { return a.finish != "" || done && !a.foreign }

// Last returns the end of the answer.
func (a *assembly) Last() core.Delta {
	d := core.Delta{ToolCalls: a.calls, Usage: a.usage, Model: a.model, Finish: core.FinishStop,
		Thought: a.thought || !a.thoughts.empty()}
	if a.finish != "" {
		d.Finish = llm.Ending(a.finish)
	}
	for i := range a.calls {
		a.calls[i].Arguments, _ = joined(a.calls[i].Arguments)
	}
	whole := !slices.ContainsFunc(a.calls, func(c core.ToolCall) bool { return !json.Valid([]byte(c.Arguments)) })
	if len(a.calls) > 0 && (d.Finish == core.FinishStop || d.Finish == core.FinishCut && whole && a.finish != "error") {
		d.Finish = core.FinishTools
	}
	if a.refused {
		d.Finish = core.FinishRefused
	}
	if a.keep(); len(a.calls) == 0 {
		d.Text, d.Pictured = a.references(), a.pictured
	}
	return d
}
