package openai

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/everthread/everthread/core"
)

// thoughts are the thoughts of an answer in the forms that providers want back while the model uses tools.
type thoughts struct {
	Content flexible          `json:"reasoning_content,omitempty"`
	Plain   flexible          `json:"reasoning,omitempty"`
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
}

func (t *thoughts) add(p piece) {
	t.Content += p.ReasoningContent
	t.Plain += p.Reasoning
	t.Details = append(t.Details, p.ReasoningDetails...)
}

func (t *thoughts) empty() bool { return t.Content == "" && t.Plain == "" && len(t.Details) == 0 }

// extra is the form of core.ToolCall.Extra. Another server or model gets nothing of it, since it would refuse it.
type extra struct {
	Source  string                     `json:"source"`
	Call    map[string]json.RawMessage `json:"call,omitempty"`
	Message *thoughts                  `json:"message,omitempty"` // with the first call of an answer
}

// keep puts what the provider wants back into the calls.
func (a *assembly) keep() {
	for i := range a.calls {
		e := extra{Source: a.source, Call: a.rest[i]}
		if i == 0 && !a.thoughts.empty() {
			e.Message = &a.thoughts
		}
		if len(e.Call) > 0 || e.Message != nil {
			a.calls[i].Extra, _ = json.Marshal(e) // of JSON
		}
	}
}

// extraOf returns what a call holds for a source.
func extraOf(call core.ToolCall, source string) extra {
	var e extra
	if json.Unmarshal(call.Extra, &e) != nil || e.Source != source {
		return extra{}
	}
	return e
}

// toolCall is a call in a request, with the fields that its provider wants back.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledInFull `json:"function"`
	rest     map[string]json.RawMessage
}

type calledInFull struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// MarshalJSON adds the fields.
func (c toolCall) MarshalJSON() ([]byte, error) {
	type plain toolCall
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(plain(c)); err != nil || len(c.rest) == 0 {
		return b.Bytes(), err
	}
	fields := maps.Clone(c.rest)
	if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}
