package core

import (
	"context"
	"encoding/json"
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

// ToolUse is one call of a tool, for the user whose turn it is.
type ToolUse struct {
	User        UserID
	Thread      ThreadID
	Turn        TurnID
	Inputs      []MessageID // what the turn answers
	Step, Index int         // of the model's calls in the turn, of the tool calls in that; both from 0
	Now         time.Time
	Location    *time.Location
	Language    string
	Arguments   json.RawMessage
}

// ToolResult is what a tool found or did.
type ToolResult struct {
	Text    string   // for the model
	Effects []Effect // to be committed with the reply
	Usage   Usage    // of models that the tool called itself
}
