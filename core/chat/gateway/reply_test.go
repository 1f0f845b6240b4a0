package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

// A question below an answer stands in the message that holds the turn's last calls, whose arguments may be long.
func TestReply_countsCallsBesideAQuestion(t *testing.T) {
	t.Parallel()
	call := core.ToolCall{ID: "1", Name: "task_set",
		Arguments: `{"do":"` + strings.Repeat("water the roses ", 300) + `"}`}
	a := core.Answer{Messages: []core.NewMessage{
		{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{call}, Tokens: 1200},
		{Role: core.RoleTool, ToolCallID: "1", Text: "asked", Tokens: 1}}}
	sayAlso(&a, "Shall I do this on my own?", false)
	g := &Gateway{Options: Options{Tokens: tokens.New(), Calendar: day.Calendar{Zone: time.UTC}}}
	r := g.reply(&core.Turn{}, core.User{}, store.Prompt{}, a, time.Unix(1_790_000_000, 0))
	if got, least := r.Messages[0].Tokens, tokens.New().Count(call.Arguments); got < least {
		t.Errorf("%d tokens, its call alone has %d", got, least)
	}
}
