package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Tool is a tool for models. It is safe for concurrent use.
type Tool interface {
	// Spec describes the tool to the model. It returns the same value at every call.
	Spec() ToolSpec
	// Use runs the tool and returns soon after ctx ends. Arguments is a JSON object, not validated against the schema.
	// Changes to our own store are returned as Effects. The model sees the text of an error.
	Use(ctx context.Context, use ToolUse) (ToolResult, error)
}

// OutsideTool is an optional interface of a Tool that acts outside our own store. Its
// calls are journalled, and its results are indexed.
type OutsideTool interface {
	Outside() bool
}

// GuardedTool is an optional interface of an OutsideTool that restricts its users, and
// determines whether calls need an approval.
type GuardedTool interface {
	// May reports whether a user may use the tool.
	May(u User) bool
	// Standing returns the operator's decisions: an allowed tool runs without
	// approval, and a readOnly tool changes nothing outside.
	Standing() (allowed, readOnly bool)
}

// ServedTool is an optional interface of a GuardedTool that somebody else serves and describes.
type ServedTool interface {
	// Server names who does. Its words may be meant to cause calls of the tools of others.
	Server() string
	// Closed reports whether its calls reach nothing beyond what the operator connected: no address in the arguments
	// leads elsewhere.
	Closed() bool
}

// ReachingTool is an optional interface of a GuardedTool whose arguments say what it reaches, so that foreign words could
// carry something out by them.
type ReachingTool interface {
	// Reaches reports whether a call in a turn that read foreign words reaches nothing but what the person pointed to:
	// own are the person's own words that the prompt shows, found the addresses that searches of the turn found. With an
	// error, which the model reads, the call is not even asked about.
	Reaches(arguments string, own, found []string) (bool, error)
	// Trace returns what the call of a result looked up, as a JSON object; empty: nothing.
	Trace(result string) string
}

// SearchingTool is an optional interface of a GuardedTool that sends a query to a service of the operator's choice. A
// call that the model makes without foreign words may run in place of the one that it makes with them.
type SearchingTool interface {
	// Found returns the query of a result, as it was sent, and the addresses in the result; none if the call failed.
	Found(result string) (query string, addresses []string)
}

// NewTool returns a tool without an optional interface. Its arguments are decoded by
// ToolUse.Read; schema is their JSON schema.
func NewTool[A any](name, description, schema string,
	use func(ctx context.Context, use ToolUse, in A) (ToolResult, error)) Tool {
	return tool[A]{ToolSpec{Name: name, Description: description, Schema: json.RawMessage(schema)}, use}
}

type tool[A any] struct {
	spec ToolSpec
	use  func(ctx context.Context, use ToolUse, in A) (ToolResult, error)
}

// Spec describes the tool.
func (t tool[A]) Spec() ToolSpec { return t.spec }

// Use decodes the arguments and runs the tool.
func (t tool[A]) Use(ctx context.Context, use ToolUse) (ToolResult, error) {
	var in A
	if err := use.Read(&in); err != nil {
		return ToolResult{}, err
	}
	return t.use(ctx, use, in)
}

// NoArguments are the arguments of a tool that has none: whatever a model writes is ignored.
type NoArguments struct{}

// UnmarshalJSON reads nothing.
func (*NoArguments) UnmarshalJSON([]byte) error { return nil }

// ToolUse is one call of a tool, for the user whose turn it is.
type ToolUse struct {
	User        UserID
	Thread      ThreadID
	Turn        TurnID
	By          Actor       // who started the turn; zero: nobody
	Inputs      []MessageID // the messages that the turn answers
	Segment     SegmentID   // the day of the turn; 0: none
	Seen        IDSet       // the messages that the prompt of the turn shows
	Task        PlanID      // the task that the turn runs; 0: none
	Tainted     bool        // the turn read words that its person did not write there
	Step, Index int         // of the model call in the turn, and of the tool call in it; both from 0
	Now         time.Time
	Location    *time.Location
	Language    string
	Arguments   json.RawMessage
	// Reserve reserves n tokens of the person's day for a model call by the tool. give
	// replaces the reservation with the tokens used. nil: the day has no limit.
	Reserve func(ctx context.Context, n int) (give func(took int), err error)
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	Text    string   // for the model
	Effects []Effect // committed with the reply
	Spent   Bill     // on models that the tool called itself
	Files   []File   // for the person: they are sent with the answer
	Tainted bool     // Text contains, or derives from, words that the person did not write
	// Searched are queries that a helper sent after it had read foreign words.
	Searched []string
}

// File is a file that a tool created.
type File struct {
	Name string // may be empty
	MIME string // may be empty
	Alt  string // describes a picture in words; empty: not a picture
	Data []byte
}

// Read decodes the arguments; missing ones count as an empty object. Errors explain the problem in plain words.
func (u ToolUse) Read(into any) error {
	if len(u.Arguments) == 0 {
		return nil
	}
	err := json.Unmarshal(u.Arguments, into)
	var odd *json.UnmarshalTypeError
	switch {
	case errors.As(err, &odd) && odd.Field == "":
		return fmt.Errorf("the arguments are not as described: they cannot be of type %s", odd.Value)
	case errors.As(err, &odd):
		return fmt.Errorf("the arguments are not as described: %q cannot be of type %s", odd.Field, odd.Value)
	case err != nil:
		return fmt.Errorf("the arguments are not as described: %w", err)
	}
	return nil
}

// Stamp formats a time for tool results, in the user's zone (nil: UTC).
func Stamp(t time.Time, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}

// ResultOf returns a result with v as JSON, and effects.
func ResultOf(v any, effects ...Effect) (ToolResult, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ToolResult{}, fmt.Errorf("write answer: %w", err)
	}
	return ToolResult{Text: strings.TrimSpace(text.String()), Effects: effects}, nil
}

// TaintedResult is like ResultOf, and sets Tainted.
func TaintedResult(v any, tainted bool, effects ...Effect) (ToolResult, error) {
	out, err := ResultOf(v, effects...)
	out.Tainted = tainted
	return out, err
}

// Number is an integer in the arguments of a tool, which some models write as a string.
type Number int64

// UnmarshalJSON reads 7, "7", "#7" or null.
func (n *Number) UnmarshalJSON(b []byte) error {
	return json.Unmarshal([]byte(strings.Trim(string(b), `"# `)), (*int64)(n))
}

// ItemView is the form of an Item for models and programs.
type ItemView struct {
	ID        ItemID         `json:"id"`
	Theme     string         `json:"theme"`
	Type      ItemType       `json:"type"`
	Content   string         `json:"content"`
	Tags      []string       `json:"tags"`
	Status    ItemStatus     `json:"status"`
	Embedding EmbeddingState `json:"embedding,omitempty"`
	Thread    ThreadID       `json:"source_thread_id,omitempty"`
	Message   MessageID      `json:"source_message_id,omitempty"`
	Created   string         `json:"created_at"`
	Updated   string         `json:"updated_at"`
	Foreign   bool           `json:"foreign,omitempty"` // it derives from words that the user did not write
}

// View returns the item as an ItemView, with times in a zone (nil: UTC).
func (i Item) View(zone *time.Location) ItemView {
	return ItemView{i.ID, i.Theme, i.Type, i.Content, append([]string{}, i.Tags...), i.Status, i.Embedding,
		i.SourceThread, i.SourceMessage, Stamp(i.CreatedAt, zone), Stamp(i.UpdatedAt, zone), i.Tainted}
}
