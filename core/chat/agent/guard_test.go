package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
)

// guardedRequest returns a request whose guard objects to answers that begin with "I'll", and
// records its arguments in asked.
func guardedRequest(m core.Model, tools *Registry, asked *[]string) Request {
	req := request(m, tools)
	req.Guard = func(answer string, used []string) string {
		*asked = append(*asked, answer+" after "+strings.Join(used, ","))
		if strings.HasPrefix(answer, "I'll") {
			return "[keep it]"
		}
		return ""
	}
	return req
}

func TestGuard_acceptedAnswerStays(t *testing.T) {
	t.Parallel()
	var asked []string
	m := llmtest.Replies(llmtest.Call(wish("1", "e", "{}"), wish("2", "none", "{}")), llmtest.Say("done"))
	out, err := Run(t.Context(), guardedRequest(m, registry(t, echo("e")), &asked))
	if err != nil || out.Text != "done" || out.Steps != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	if d := cmp.Diff([]string{"done after e"}, asked); d != "" {
		t.Error(d)
	}
}

func TestGuard_refusedAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	var asked, shownTexts []string
	m := llmtest.Replies(
		llmtest.Say("I'll remind you"),
		llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "reminder_set", `{}`)}},
		llmtest.Say("I'll remind you, and it is set"))
	req := guardedRequest(m, registry(t, echo("reminder_set")), &asked)
	req.OnText = func(s string) { shownTexts = append(shownTexts, s) }
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "I'll remind you, and it is set" || len(out.Effects) != 1 || out.Steps != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := shown(
		out.Messages); got != "assistant |tool 1reminder_set got {}|assistant I'll remind you, and it is set|" {
		t.Errorf("stored %s", got)
	}
	want := []core.ModelMessage{
		{Role: core.RoleUser, Content: "hello"},
		{Role: core.RoleAssistant, Content: "I'll remind you"},
		{Role: core.RoleUser, Content: "[keep it]"},
	}
	if d := cmp.Diff(want, m.Requests()[1].Messages); d != "" || len(m.Requests()[1].Tools) != 1 {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"I'll remind you after "}, asked); d != "" {
		t.Errorf("asked more than once: %s", d)
	}
	if !slices.Contains(shownTexts, "I'll remind you, and it is set") {
		t.Errorf("shown %q", shownTexts)
	}
}

func TestGuard_vainSecondChanceKeepsTheAnswer(t *testing.T) {
	t.Parallel()
	cases := map[string][]llmtest.Reply{
		"empty":   {llmtest.Say("")},
		"down":    {llmtest.Fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New("gone")})},
		"refused": {{Text: "half", Finish: core.FinishRefused}},
		"cut off": {{Text: "half", Cut: true}},
	}
	for name, replies := range cases {
		var asked []string
		var last string
		req := guardedRequest(llmtest.Replies(append([]llmtest.Reply{llmtest.Say("I'll do it")}, replies...)...), nil, &asked)
		req.OnText = func(s string) { last = s }
		out, err := Run(t.Context(), req)
		if err != nil || shown(out.Messages) != "assistant I'll do it|" || last != "I'll do it" ||
			out.Finish != core.FinishStop {
			t.Errorf("%s: %+v, %v, shown %q", name, out, err, last)
		}
	}
}

func TestGuard_secondChanceKeepsItsTool(t *testing.T) {
	t.Parallel()
	var asked []string
	m := llmtest.Replies(llmtest.Say("I'll remind you"), llmtest.Call(wish("1", "reminder_set", "{}")),
		llmtest.Fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New("gone")}))
	out, err := Run(t.Context(), guardedRequest(m, registry(t, echo("reminder_set")), &asked))
	if err != nil || len(out.Effects) != 1 ||
		shown(out.Messages) != "assistant |tool 1reminder_set got {}|assistant I'll remind you|" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestGuard_stopInTheSecondChance(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	req := guardedRequest(llmtest.Replies(llmtest.Say("I'll do it"), llmtest.Reply{Text: "no", Stall: true}), nil, &asked)
	req.OnText = func(s string) {
		if s == "no" {
			cancel()
		}
	}
	out, err := Run(ctx, req)
	if !errors.Is(err, context.Canceled) || out.Text != "I'll do it" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestGuard_secondChanceAtTheStepLimit(t *testing.T) {
	t.Parallel()
	var asked []string
	call := llmtest.Call(wish("", "e", "{}"))
	m := llmtest.Replies(call, call, llmtest.Say("I'll do it"), call, llmtest.Say("done"))
	req := guardedRequest(m, registry(t, echo("e")), &asked)
	req.MaxSteps = 2
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "done" || out.Steps != 5 || len(m.Requests()[3].Tools) != 1 ||
		len(m.Requests()[4].Tools) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTrim_resultsShrinkAfterNotes(t *testing.T) {
	t.Parallel()
	var asked []string
	long := fakeTool{name: "long", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{Text: strings.Repeat("word ", 300)}, nil
	}}
	call := llmtest.Call(wish("", "long", "{}"))
	m := llmtest.Replies(call, llmtest.Say("I'll do it"), call, call, llmtest.Say("done"))
	req := guardedRequest(m, registry(t, long), &asked)
	req.ToolTokens, req.ResultTokens = 400, 200
	if _, err := Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	last := m.Requests()[4].Messages
	for i, role := range []core.Role{core.RoleUser, core.RoleAssistant, core.RoleTool, core.RoleAssistant, core.RoleUser,
		core.RoleAssistant, core.RoleTool} {
		if isLong := strings.Contains(last[i].Content, "word word"); last[i].Role != role ||
			isLong != (role == core.RoleTool) {
			t.Errorf("message %d is %s: %.40q", i, last[i].Role, last[i].Content)
		}
	}
}
