package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

type getTool struct{ searcher *Searcher }

// Spec describes conversation_get.
func (getTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        "conversation_get",
		Description: "Read a message by message_id, a day's summary by day_segment_id, or a day's messages from one id to another.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"message_id":{"type":"integer"},"day_segment_id":{"type":"integer"},` +
				`"from_message_id":{"type":"integer"},"to_message_id":{"type":"integer"}}}`),
	}
}

// getInput holds the arguments of conversation_get.
type getInput struct {
	Message wholeNum `json:"message_id"`
	Segment wholeNum `json:"day_segment_id"`
	From    wholeNum `json:"from_message_id"`
	To      wholeNum `json:"to_message_id"`
}

// gotMessage is a message in a result of conversation_get.
type gotMessage struct {
	ID      core.MessageID `json:"message_id"`
	Role    core.Role      `json:"role"`
	Content string         `json:"content"`
	SentAt  string         `json:"sent_at"`
	Channel string         `json:"channel"`
	Foreign bool           `json:"foreign,omitempty"` // it holds words that the user did not write
	Task    bool           `json:"task,omitempty"`    // the text of a due task, not typed then
}

type gotRange struct {
	Messages []gotMessage   `json:"messages"`
	Next     core.MessageID `json:"next_from_message_id,omitempty"`
}

type gotSummary struct {
	Segment core.SegmentID    `json:"day_segment_id"`
	Label   string            `json:"day_label"`
	Summary string            `json:"summary_markdown"`
	Updated string            `json:"updated_at,omitempty"`
	Foreign bool              `json:"foreign,omitempty"`
	State   core.SegmentState `json:"state"`
}

// Use reads a message, a summary or a range.
func (t getTool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	var in getInput
	if err := arguments(use.Arguments, &in); err != nil {
		return core.ToolResult{}, err
	}
	switch {
	case in.Message != 0 && in.Segment == 0 && in.From == 0 && in.To == 0:
		return t.message(ctx, use, core.MessageID(in.Message))
	case in.Message != 0 || in.Segment == 0:
		return core.ToolResult{},
			errors.New("give either message_id, or day_segment_id, or day_segment_id with from_message_id and to_message_id")
	case in.From == 0 && in.To == 0:
		return t.summary(ctx, use, core.SegmentID(in.Segment))
	case in.From <= 0 || in.To < in.From:
		return core.ToolResult{}, errors.New("from_message_id and to_message_id must both be given, the smaller one first")
	}
	return t.messages(ctx, use, core.SegmentID(in.Segment), core.MessageID(in.From), core.MessageID(in.To))
}

func (t getTool) message(ctx context.Context, use core.ToolUse, id core.MessageID) (core.ToolResult, error) {
	m, err := t.searcher.Message(ctx, use.User, id)
	if errors.Is(err, core.ErrNotFound) {
		return core.ToolResult{}, fmt.Errorf("there is no message #%d", id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.TaintedResult(got(m, use.Location), m.Foreign())
}

func got(m core.Message, location *time.Location) gotMessage {
	return gotMessage{m.ID, m.Role, m.Text, core.Stamp(m.SentAt, location), m.Channel, m.Foreign(), m.Task != nil}
}

func (t getTool) summary(ctx context.Context, use core.ToolUse, id core.SegmentID) (core.ToolResult, error) {
	s, err := t.searcher.Summary(ctx, use.User, id)
	if errors.Is(err, core.ErrNotFound) {
		return core.ToolResult{}, noDay(id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	out := gotSummary{Segment: id, Label: s.Label, Summary: s.Markdown, State: s.State, Foreign: s.Tainted}
	if s.Markdown != "" {
		out.Updated = core.Stamp(s.CreatedAt, use.Location)
	}
	return core.TaintedResult(out, s.Tainted)
}

func noDay(id core.SegmentID) error { return fmt.Errorf("there is no day_segment_id %d", id) }

func (t getTool) messages(ctx context.Context, use core.ToolUse, id core.SegmentID, from,
	to core.MessageID) (core.ToolResult, error) {
	page, err := t.searcher.Range(ctx, use.User, id, from, to)
	if errors.Is(err, core.ErrNotFound) {
		return core.ToolResult{}, noDay(id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	out := gotRange{Messages: make([]gotMessage, 0, len(page.Messages)), Next: page.Next}
	foreign := false
	for _, m := range page.Messages {
		out.Messages, foreign = append(out.Messages, got(m, use.Location)), foreign || m.Foreign()
	}
	return core.TaintedResult(out, foreign)
}
