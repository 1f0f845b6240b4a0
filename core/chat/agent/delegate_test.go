package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
)

func delegate(m core.Model, tools *Registry) *Delegate {
	return &Delegate{Model: m, Outfit: outfit{someTools(tools)}, Journal: &memoryJournal{}, MaxSteps: 8, ToolTokens: 8000,
		ResultTokens: 4000, ToolTimeout: 30 * time.Second, Window: 1 << 20, Patience: 2 * time.Minute,
		Tokenizer: byWords{}, Now: time.Now}
}

// outfit provides the same tools for every user, and no standing instructions.
type outfit struct{ tools *Registry }

func (o outfit) ToolsOf(context.Context, core.UserID) *Registry        { return o.tools }
func (outfit) StandingOf(context.Context, core.UserID) (string, error) { return "", nil }

func use(arguments string) core.ToolUse {
	return core.ToolUse{User: 1, Turn: 7, Step: 2, Index: 3, Arguments: json.RawMessage(arguments)}
}

func TestDelegate_seesOnlyItsTask(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(llmtest.Call(wish("1", "wiki_search", `{"q":"x"}`)),
		llmtest.Reply{Text: "42", Usage: &core.Usage{Prompt: 50, Completion: 1}})
	d := delegate(m, registry(t, TimeNow{}, echo("wiki_search"), echo("conversation_search"), echo("memory_add"),
		echo("loops_open"), echo("reminder_set")))
	d.Outfit = outfit{registry(t, echo("wiki_search"), echo("memory_add"), echo("conversation_get"), TimeNow{}, d)}
	res, err := d.Use(t.Context(), use(`{"task":"find x","context":"x is a\nnumber"}`))
	if err != nil || res.Text != "42" || res.Spent.Total().Completion < 1 || res.Spent.Total().Prompt < 50 {
		t.Fatalf("%+v, %v", res, err)
	}
	first := m.Requests()[0]
	want := []core.ModelMessage{{Role: core.RoleSystem, Content: helperPrompt},
		{Role: core.RoleUser, Content: "find x\n\n" + `{"context":"x is a\nnumber"}`}}
	if diff := cmp.Diff(want, first.Messages); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, spec := range first.Tools {
		names = append(names, spec.Name)
	}
	if got := strings.Join(names, " "); got != "time_now wiki_search" {
		t.Errorf("tools %s", got)
	}
}

func TestDelegate_isAToolOfTheTurn(t *testing.T) {
	t.Parallel()
	helper := llmtest.Replies(llmtest.Reply{Text: strings.Repeat("fact ", 900),
		Usage: &core.Usage{Prompt: 30, Completion: 900}})
	d := delegate(helper, nil)
	m := llmtest.Replies(
		llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "delegate", `{"task":"find facts"}`)},
			Usage: &core.Usage{Prompt: 5, Completion: 5}},
		llmtest.Reply{Text: "thanks", Usage: &core.Usage{Prompt: 5, Completion: 5}})
	req := request(m, registry(t, d))
	req.ResultTokens = 100
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "thanks" || out.Spent.Total() != (core.Usage{Prompt: 40, Completion: 910}) {
		t.Errorf("%+v, %v", out, err)
	}
	if want := (core.Spent{Model: "scripted", Purpose: core.ForAnswer, Calls: 3, Usage: core.Usage{Prompt: 40, Completion: 910}}); !slices.Equal(out.Spent, core.Bill{want}) {
		t.Errorf("spent %+v", out.Spent)
	}
	if n := out.Messages[1].Tokens; n > 100 || n < 60 || out.Messages[1].Outside {
		t.Errorf("result of %d tokens, outside %v", n, out.Messages[1].Outside)
	}
}

func TestDelegate_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	down := llmtest.Fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New("no connection")})
	cases := []struct{ name, arguments, want string }{
		{"no task", `{}`, "the task is empty"},
		{"a blank task", `{"task":" \n"}`, "the task is empty"},
		{"a task of another kind", `{"task":["a"]}`, "task and context are strings"},
		{"the model is down", `{"task":"x"}`, "the helper did not finish: model down: no connection"},
	}
	for _, c := range cases {
		_, err := delegate(llmtest.Replies(down), nil).Use(t.Context(), use(c.arguments))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestDelegate_timeAndUsageOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := fakeTool{name: "slow", do: func(ctx context.Context, _ core.ToolUse) (core.ToolResult, error) {
			<-ctx.Done()
			return core.ToolResult{}, ctx.Err()
		}}
		step := llmtest.Reply{ToolCalls: []core.ToolCall{wish("", "slow", "{}")},
			Usage: &core.Usage{Prompt: 10, Completion: 1}}
		d := delegate(llmtest.Replies(step), registry(t, slow))
		d.ToolTimeout = 50 * time.Second
		call := llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "delegate", `{"task":"x"}`)}, Usage: &core.Usage{}}
		req := request(llmtest.Replies(call, llmtest.Reply{Text: "sorry", Usage: &core.Usage{}}), registry(t, d))
		start := time.Now()
		out, err := Run(t.Context(), req)
		if err != nil || time.Since(start) != 120*time.Second ||
			out.Messages[1].Text != "Error: the tool did not answer within 2m0s" {
			t.Errorf("after %s: %+v, %v", time.Since(start), out.Messages, err)
		}
		if out.Spent.Total() != (core.Usage{Prompt: 30, Completion: 3}) { // steps at 0, 50 and 100 s
			t.Errorf("usage %+v", out.Spent.Total())
		}
	})
}

func TestDelegate_stopsAtTheDaysBudget(t *testing.T) {
	t.Parallel()
	helper := llmtest.Replies(llmtest.Reply{ToolCalls: []core.ToolCall{wish("", "time_now", "{}")},
		Usage: &core.Usage{Prompt: 30, Completion: 1}})
	d := delegate(helper, registry(t, TimeNow{}))
	d.MaxOutputTokens = 100
	req := request(llmtest.Replies(llmtest.Call(wish("1", "delegate", `{"task":"x"}`)), llmtest.Say("what I have")),
		registry(t, d))
	var reserved, took []int
	req.Call.Reserve = func(_ context.Context, n int) (func(int), error) {
		if len(reserved) == 2 {
			return nil, errors.New("today is used up")
		}
		reserved = append(reserved, n)
		return func(n int) { took = append(took, n) }, nil
	}
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "what I have" || !strings.Contains(out.Messages[1].Text,
		"Error: the helper did not finish: ") || !strings.Contains(out.Messages[1].Text, "today is used up") {
		t.Errorf("%+v, %v", out.Messages, err)
	}
	if len(helper.Requests()) != 2 || len(reserved) != 2 || reserved[0] < 100 || fmt.Sprint(took) != "[31 31]" ||
		out.Spent.Total().Prompt < 60 {
		t.Errorf("%d calls, reserved %v, took %v, used %+v", len(helper.Requests()), reserved, took, out.Spent.Total())
	}
}

func TestDelegate_stoppedCounts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stop := fakeTool{name: "stop", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		cancel()
		return core.ToolResult{}, nil
	}}
	helper := llmtest.Replies(llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "stop", "{}")},
		Usage: &core.Usage{Prompt: 30, Completion: 1}})
	call := llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "delegate", `{"task":"x"}`)}, Usage: &core.Usage{Prompt: 5}}
	out, err := Run(ctx, request(llmtest.Replies(call), registry(t, delegate(helper, registry(t, stop)))))
	if !errors.Is(err, context.Canceled) || out.Spent.Total().Prompt != 35 {
		t.Errorf("%+v, %v", out.Spent.Total(), err)
	}
}

func TestDelegate_callsAreKeptApart(t *testing.T) {
	t.Parallel()
	journal, calls := &memoryJournal{}, 0
	run := func() Outcome {
		tools := registry(t, counted(&calls, func() {}))
		d := delegate((&llmtest.Model{}).Script(func(req core.ModelRequest) llmtest.Reply {
			if len(req.Messages) == 2 {
				return llmtest.Call(wish("1", "mail", `{"to":"ann"}`))
			}
			return llmtest.Say(req.Messages[3].Content)
		}), tools)
		d.Journal = journal
		task := func(id string) core.ToolCall { return wish(id, "delegate", `{"task":"`+id+`"}`) }
		both := llmtest.Call(wish("m", "mail", `{"to":"ann"}`), task("a"))
		req := request(llmtest.Replies(both, llmtest.Call(task("b")), llmtest.Say("done")), tools.With(d))
		req.Journal = journal
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := run()
	if calls != 3 || len(journal.entries) != 3 {
		t.Fatalf("%d calls, entries %v", calls, journal.entries)
	}
	second := run()
	if calls != 3 || shown(first.Messages) != shown(second.Messages) {
		t.Errorf("a re-run called again: %d calls\n%s\n%s", calls, shown(first.Messages), shown(second.Messages))
	}
}

func TestDelegate_stepsNeverMeet(t *testing.T) {
	t.Parallel()
	seen := map[int]string{}
	for step := range 102 {
		for index := range maxCalls {
			first := firstStepOf(core.ToolUse{Step: step, Index: index})
			for _, s := range []int{first, first + 101} {
				if other := seen[s]; other != "" || s <= 102 {
					t.Fatalf("step %d of %d/%d equals that of %s", s, step, index, other)
				}
				seen[s] = fmt.Sprint(step, index)
			}
		}
	}
}

func TestRegistry_with(t *testing.T) {
	t.Parallel()
	base := registry(t, echo("b"), TimeNow{})
	got := base.With(echo("a"), fakeTool{name: "b"}, echo("not a name"))
	if got.names() != "a, b, time_now" || base.names() != "b, time_now" {
		t.Errorf("got %s of %s", got.names(), base.names())
	}
	if tool, _ := got.tool("b"); tool.(fakeTool).do == nil {
		t.Error("a tool was replaced")
	}
	var none Registry
	if none.With(echo("a")).names() != "a" || none.With() != &none ||
		none.Only(func(string) bool { return true }).names() != "" {
		t.Error("the zero value is not an empty set")
	}
}

// lookingTool looks something up, and says so.
type lookingTool struct{ fakeTool }

func (lookingTool) Reaches(string, []string, []string) (bool, error) { return false, nil }
func (lookingTool) Trace(result string) string                       { return `{"url":"` + result + `"}` }

// TestDelegate_saysWhatItLookedUp checks that the result of a helper ends with a line about what it looked up, once.
func TestDelegate_saysWhatItLookedUp(t *testing.T) {
	t.Parallel()
	look := lookingTool{fakeTool{name: "look", external: true, do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{Text: "https://w.example/"}, nil
	}}}
	m := llmtest.Replies(llmtest.Call(wish("a", "look", "{}"), wish("b", "look", "{}")), llmtest.Say("it rains"))
	out, err := delegate(m, registry(t, look)).Use(t.Context(), core.ToolUse{Arguments: []byte(`{"task":"weather"}`)})
	if want := "it rains\n\n" + `{"looked_up":[{"url":"https://w.example/"}]}`; err != nil || out.Text != want {
		t.Errorf("%q, %v", out.Text, err)
	}
}
