package core

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is a chat model. Stream yields the completion as it is produced; an
// error ends the sequence and is one of *ModelError or a context's. A stream
// that ends without a Finish was cut off.
type Model interface {
	Stream(ctx context.Context, req ModelRequest) iter.Seq2[Delta, error]
}

// ModelRequest is one call of a chat model.
type ModelRequest struct {
	Messages  []ModelMessage
	Tools     []ToolSpec
	MaxTokens int    // bound of the completion; 0: the model's own
	User      UserID // for the provider's abuse accounting and for prompt caching; never personal data
	// CachePrefix is how many of Messages, from the first, stay the same in the
	// next request of the epoch; for providers that want cache marks.
	CachePrefix int
	// Choice is which of Tools may be used: "" or auto, none, required (at least one
	// of them), or the name of the one that must be.
	Choice string
}

// ModelMessage is one message of a prompt, in the form that chat models share.
type ModelMessage struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	Images     []Image    `json:"images,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // of an assistant
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool's result
}

// Image is a picture for a model with vision.
type Image struct {
	MIME string
	Data []byte
}

// ToolSpec describes a tool to a model. Schema is the JSON Schema of its input.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// ToolCall is a model's wish to run a tool. Arguments is JSON as the model
// wrote it, perhaps malformed.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Delta is a piece of a completion. The last one has Finish, and Usage if the
// provider reports it. ToolCalls are whole, and come with the last.
type Delta struct {
	Text      string
	ToolCalls []ToolCall
	Finish    Finish
	Usage     *Usage
	Model     string // who answered, on the last
}

// Finish says why a completion ended.
type Finish string

// Reasons to finish.
const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"  // cut off at MaxTokens
	FinishTools   Finish = "tools"   // the tools' results are wanted
	FinishRefused Finish = "refused" // filtered or refused by the provider
)

// Usage is what a call cost, in tokens, as the provider reports it.
type Usage struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"` // part of Prompt that came from the provider's cache
	Completion int `json:"completion"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Prompt + v.Prompt, u.Cached + v.Cached, u.Completion + v.Completion}
}

// Tokenizer counts tokens.
type Tokenizer interface {
	Count(text string) int
}

// Recording is a voice note or another recording of speech.
type Recording struct {
	User UserID // whose it is
	Name string // of the file, with its ending; may be empty
	MIME string
	Data []byte
}
