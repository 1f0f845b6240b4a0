package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Tool is something that a model may use. It is safe for concurrent use.
type Tool interface {
	// Spec describes the tool to the model. It is the same at every call.
	Spec() ToolSpec
	// Use runs the tool and returns soon after ctx ends. Arguments is a JSON
	// object, but not checked against the schema. What it changes in our own
	// store it returns as Effects. An error is told to the model in its own words.
	Use(ctx context.Context, use ToolUse) (ToolResult, error)
}

// OutsideTool is an optional interface of a Tool that acts outside of our own
// store. Its calls are journalled, and its results are indexed.
type OutsideTool interface {
	Outside() bool
}

// GuardedTool is an optional interface of an OutsideTool that says whose it is,
// and which of its calls the person is asked about first.
type GuardedTool interface {
	// May reports whether a user may use the tool.
	May(u User) bool
	// Standing says what its operator decided: with allowed a call runs without a
	// question, with readOnly it changes nothing outside.
	Standing() (allowed, readOnly bool)
}

// ToolUse is one call of a tool, for the user whose turn it is.
type ToolUse struct {
	User        UserID
	Thread      ThreadID
	Turn        TurnID
	By          Actor       // through whom the turn came; zero: through nobody
	Inputs      []MessageID // what the turn answers
	Task        TaskID      // that the turn runs; 0: a person wrote
	Tainted     bool        // the turn read words that its person did not write there
	Step, Index int         // of the model's calls in the turn, of the tool calls in that; both from 0
	Now         time.Time
	Location    *time.Location
	Language    string
	Arguments   json.RawMessage
	// Reserve takes n tokens of the person's day for a call of a model that the tool
	// makes. Give puts what it took in their place. nil: their day has no bound.
	Reserve func(ctx context.Context, n int) (give func(took int), err error)
}

// ToolResult is what a tool found or did.
type ToolResult struct {
	Text    string   // for the model
	Effects []Effect // to be committed with the reply
	Usage   Usage    // of models that the tool called itself
	Files   []File   // for the person: they come with the answer
	Tainted bool     // Text has words that the person did not write, or was made from such
}

// File is a file that a tool made.
type File struct {
	Name string // may be empty
	MIME string // may be empty
	Alt  string // of a picture, for those who do not see it; empty: it is none
	Data []byte
}

// Read reads the arguments; none are as good as an empty object. What is wrong
// with them is told in plain words.
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

// Stamp is a time as tools show it, in the zone of the user (nil: UTC).
func Stamp(t time.Time, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}

// ResultOf is v, as JSON, with the effects of a tool.
func ResultOf(v any, effects ...Effect) (ToolResult, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ToolResult{}, fmt.Errorf("write answer: %w", err)
	}
	return ToolResult{Text: strings.TrimSpace(text.String()), Effects: effects}, nil
}

// TaintedResult is a result like that of ResultOf; tainted: words that the user did not
// write are in it.
func TaintedResult(v any, tainted bool, effects ...Effect) (ToolResult, error) {
	out, err := ResultOf(v, effects...)
	out.Tainted = tainted
	return out, err
}

// Number is a whole number in the arguments of a tool, which some models write as a text.
type Number int64

// UnmarshalJSON reads 7, "7", "#7" or null.
func (n *Number) UnmarshalJSON(b []byte) error {
	return json.Unmarshal([]byte(strings.Trim(string(b), `"# `)), (*int64)(n))
}
