package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
)

// event is one of a stream.
type event struct {
	Type    string `json:"type"`
	Message struct {
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Index int             `json:"index"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage           `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type usage struct {
	Input   llm.Number `json:"input_tokens"`
	Written llm.Number `json:"cache_creation_input_tokens"`
	Read    llm.Number `json:"cache_read_input_tokens"`
	Output  llm.Number `json:"output_tokens"`
}

// block is a part of an answer.
type block struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	input     string
	raw       json.RawMessage
}

// assembly is the llm.Answer.
type assembly struct {
	secret string
	model  string
	source string // of what is kept in core.ToolCall.Extra
	blocks map[int]*block
	usage  core.Usage
	stop   string
}

// Add adds an event.
func (a *assembly) Add(data []byte) (string, error) {
	var e event
	if data[0] != '{' || llm.Decode(data, &e) != nil {
		return "", llm.ErrMalformed
	}
	switch e.Type {
	case "error":
		failure := llm.ReadError(e.Error)
		failure.Secret = a.secret
		return "", failure.Error()
	case "message_start":
		a.model = cmp.Or(e.Message.Model, a.model)
		a.count(e.Message.Usage)
	case "content_block_start":
		b := &block{raw: e.Block}
		_ = llm.Decode(e.Block, b) // what cannot be read is a block of an unknown type
		a.blocks[e.Index] = b
		return b.Text, nil
	case "content_block_delta":
		if b := a.blocks[e.Index]; b != nil {
			b.input += e.Delta.PartialJSON
			b.Thinking += e.Delta.Thinking
			b.Signature += e.Delta.Signature
		}
		return e.Delta.Text, nil
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.count(e.Usage)
	}
	return "", nil
}

// count adds a usage. Later events repeat what is known, or leave it out.
func (a *assembly) count(u usage) {
	if prompt := int(u.Input + u.Written + u.Read); prompt > 0 {
		a.usage.Prompt, a.usage.Cached = prompt, int(u.Read)
	}
	a.usage.Completion = max(a.usage.Completion, int(u.Output))
}

// Whole reports whether the server said why the answer ended.
func (a *assembly) Whole(bool) bool { return a.stop != "" }

// Last returns the end of the answer.
func (a *assembly) Last() core.Delta {
	d := core.Delta{Model: a.model, Finish: llm.Ending(a.stop)}
	if a.usage != (core.Usage{}) {
		d.Usage = &a.usage
	}
	var thoughts []json.RawMessage
	for _, i := range slices.Sorted(maps.Keys(a.blocks)) {
		switch b := a.blocks[i]; b.Type {
		case "thinking", "redacted_thinking":
			thoughts = append(thoughts, b.thought())
		case "tool_use":
			d.ToolCalls = append(d.ToolCalls, core.ToolCall{ID: b.ID, Name: b.Name, Arguments: cmp.Or(b.input, "{}")})
		}
	}
	d.Thought = len(thoughts) > 0
	if d.Thought && len(d.ToolCalls) > 0 {
		d.ToolCalls[0].Extra, _ = json.Marshal(extra{a.source, thoughts}) // of JSON
	}
	return d
}

// thought returns a block of thoughts as the API wants it back.
func (b *block) thought() json.RawMessage {
	if b.Type != "thinking" {
		return b.raw
	}
	raw, _ := json.Marshal(map[string]string{"type": b.Type, "thinking": b.Thinking, "signature": b.Signature}) // text
	return raw
}

// extra is the form of core.ToolCall.Extra of the first call of an answer.
type extra struct {
	Source   string            `json:"source"`
	Thoughts []json.RawMessage `json:"thoughts"`
}

// thoughtsOf returns the thoughts before a call, for a source.
func thoughtsOf(call core.ToolCall, source string) []json.RawMessage {
	var e extra
	if json.Unmarshal(call.Extra, &e) != nil || e.Source != source {
		return nil
	}
	return e.Thoughts
}
