package standing

import (
	"context"
	"errors"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// Tools returns instruction_propose.
func (s *Standing) Tools() []core.Tool {
	return []core.Tool{
		core.NewTool("instruction_propose",
			"Propose a standing instruction: what the person wants in every answer from now on. "+
				"They are asked below your answer, and it counts once they say yes.",
			`{"type":"object","properties":{"text":{"type":"string","description":"one short line, in their language"}},"required":["text"]}`, s.proposeTool),
	}
}

// proposed is the result for the model.
type proposed struct {
	Status string `json:"status"` // asked or exists
	Text   string `json:"text"`
	Note   string `json:"note,omitempty"`
}

const awaited = "The person is asked below your answer. Do not ask them yourself, and do not say that it is set: it counts once they say yes."

// proposeTool asks the person, unless the instruction exists already.
func (s *Standing) proposeTool(ctx context.Context, use core.ToolUse, in struct {
	Text string `json:"text"`
}) (core.ToolResult, error) {
	add, same, err := s.Add(ctx, use.User, words.English, in.Text, use.Now)
	var f core.Refusal
	switch {
	case errors.As(err, &f):
		return core.ToolResult{}, errors.New(string(f))
	case err != nil:
		return core.ToolResult{}, err
	case add == nil:
		return core.ResultOf(proposed{Status: "exists", Text: same.Text})
	}
	return core.ResultOf(proposed{Status: "asked", Text: add.Instruction.Text, Note: awaited},
		core.ProposeInstruction{Text: add.Instruction.Text})
}
