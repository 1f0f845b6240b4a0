package core

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// Model is a chat model. Stream yields the completion as it is produced. An error ends the sequence; it is a
// *ModelError or the context's. A stream that ends without a Finish was cut off.
type Model interface {
	Stream(ctx context.Context, req ModelRequest) iter.Seq2[Delta, error]
}

// ModelRequest is one call of a chat model.
type ModelRequest struct {
	Messages  []ModelMessage
	Tools     []ToolSpec
	MaxTokens int    // limit of the completion; 0: the model's own
	User      UserID // for the provider's abuse accounting and for prompt caching; never personal data
	// CachePrefix is how many of the first Messages stay the same in the next request
	// of the epoch; for providers that use cache marks.
	CachePrefix int
	// Choice says which of Tools may be used: "" or auto, none, required (at least
	// one), or the name of the tool that must be.
	Choice string
}

// ModelMessage is one message of a prompt, in the form common to chat models.
type ModelMessage struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	Images     []Image    `json:"images,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // of an assistant message
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool result
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

// ToolCall is a model's request to run a tool. Arguments is JSON as it wrote it, perhaps malformed.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Extra is what the provider wants back with the call, such as a signature of its thoughts. Only the provider's
	// client reads it; no person sees it. Empty: nothing.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Delta is a piece of a completion. The last one has Finish, the complete ToolCalls, and
// Usage if the provider reports it.
type Delta struct {
	Text string
	// Restart says that the text of the earlier deltas turned out not to be the answer, which begins with this one.
	Restart   bool
	ToolCalls []ToolCall
	Finish    Finish
	Usage     *Usage
	Model     string // the model that answered, as its server calls it, in the last Delta
	Asked     string // the model that was asked, as the configuration calls it, in the last Delta; may be empty
	Instead   bool   // in the last Delta: a fallback answered
	// Thought reports, in the last Delta, that the model wrote thoughts, which are not part of Text.
	Thought bool
	// Reduced lists, in the last Delta, what the request was sent without because the server refused it whole.
	Reduced []Reduction
	// Pictured reports, in the last Delta, that the model sent a picture, which is not part of Text.
	Pictured bool
}

// AppendTo adds the text of a delta to that of the earlier ones.
func (d Delta) AppendTo(b *strings.Builder) {
	if d.Restart {
		b.Reset()
	}
	b.WriteString(d.Text)
}

// Reduction is a part of a request that a model's server does not take.
type Reduction string

// Reductions, from the least that is lost to the most.
const (
	ReducedParameters Reduction = "parameters" // optional parameters
	ReducedRoles      Reduction = "roles"      // messages are joined so that roles alternate
	ReducedImages     Reduction = "images"
	ReducedTools      Reduction = "tools"
	ReducedLength     Reduction = "length" // the middle of long messages, and old ones
)

// Finish is the reason why a completion ended.
type Finish string

// Reasons to finish.
const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"  // cut off at a limit of tokens
	FinishTools   Finish = "tools"   // the model waits for tool results
	FinishRefused Finish = "refused" // filtered or refused by the provider
	FinishCut     Finish = "cut"     // the stream broke, or it ended for a reason that is not known
	FinishStopped Finish = "stopped" // by the person; no model says so
)

// Early reports whether an answer that ended so may lack its end.
func (f Finish) Early() bool {
	return f == FinishLength || f == FinishRefused || f == FinishCut || f == FinishStopped
}

// ModelChoice is a model that a person may choose.
type ModelChoice struct {
	Name  string // empty: the default
	Model string
	Prices
}

// Tokenizer counts tokens.
type Tokenizer interface {
	Count(text string) int
}

// Recording is a voice note or another recording of speech.
type Recording struct {
	User UserID
	Name string // of the file, with its extension; may be empty
	MIME string
	// Duration is how long it is; 0: it is not known.
	Duration time.Duration
	Data     []byte
}

// DataLine returns v as data for a prompt: one JSON value on one line. No text or name
// in it can end the line or imitate another. v must have a JSON form.
func DataLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	// JSON escapes every other character that some system treats as a line break.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\u0085", `\u0085`)
}
