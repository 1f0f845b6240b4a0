package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/llmtest"
)

// byWords counts words as tokens, so that tests need no vocabulary.
type byWords struct{}

func (byWords) Count(text string) int { return len(strings.Fields(text)) }

// fakeTool is a tool that calls do.
type fakeTool struct {
	name     string
	external bool
	do       func(ctx context.Context, c core.ToolUse) (core.ToolResult, error)
}

func (f fakeTool) Spec() core.ToolSpec {
	return core.ToolSpec{Name: f.name, Description: "a tool", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (f fakeTool) Use(ctx context.Context, c core.ToolUse) (core.ToolResult, error) {
	return f.do(ctx, c)
}
func (f fakeTool) Outside() bool { return f.external }

func echo(name string) fakeTool {
	return fakeTool{name: name, do: func(_ context.Context, c core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{Text: name + " got " + string(c.Arguments), Effects: []core.Effect{effect.SetName{Name: name}}},
			nil
	}}
}

func registry(t *testing.T, tools ...core.Tool) *Registry {
	t.Helper()
	r, err := NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func request(m core.Model, tools *Registry) Request {
	return Request{
		Model: m, Tools: someTools(tools), Journal: &memoryJournal{}, MaxSteps: 8, ToolTokens: 8000, ResultTokens: 4000,
		ToolTimeout: 30 * time.Second, MaxImages: 4, Window: 1 << 20,
		Permit:    func(core.Tool, bool) Verdict { return Allow },
		Tokenizer: byWords{}, Now: time.Now,
		Messages: []core.ModelMessage{{Role: core.RoleUser, Content: "hello"}},
		Call:     core.ToolUse{User: 1, Turn: 7},
	}
}

func wish(id, name, arguments string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// shown returns the roles and texts of messages, one a line.
func shown(messages []core.NewMessage) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %s%s|", m.Role, m.ToolCallID, m.Text)
	}
	return b.String()
}

func TestRun_countsCallsForTheirModel(t *testing.T) {
	t.Parallel()
	used := &core.Usage{Prompt: 9, Completion: 2}
	for name, c := range map[string]struct {
		task core.PlanID
		want core.Purpose
	}{"a message": {0, core.ForAnswer}, "a task": {7, core.ForTask}} {
		m := llmtest.Replies(llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "wiki_search", `{"text":"x"}`)}, Model: "large", Usage: used},
			llmtest.Reply{Text: "found", Model: "fallback", Usage: used})
		req := request(m, registry(t, echo("wiki_search")))
		req.Call.Task = c.task
		out, err := Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := core.SpentOn(c.want, "large", *used).And(core.SpentOn(c.want, "fallback", *used))
		if !slices.Equal(out.Spent, want) {
			t.Errorf("%s: got %+v, want %+v", name, out.Spent, want)
		}
	}
}

func TestRun_withoutTools(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(llmtest.Reply{Text: " Good morning! ", Pieces: 3, Usage: &core.Usage{Prompt: 9, Completion: 2}})
	var previews []string
	req := request(m, nil)
	req.OnText = func(soFar string) { previews = append(previews, soFar) }
	out, err := Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if out.Text != "Good morning!" || shown(out.Messages) != "assistant Good morning!|" || out.Messages[0].Tokens != 2 {
		t.Errorf("outcome %+v", out)
	}
	if out.Spent.Total() != (core.Usage{Prompt: 9, Completion: 2}) || out.Estimated || out.Steps != 1 || out.Model != "scripted" {
		t.Errorf("usage %+v of %s in %d", out.Spent.Total(), out.Model, out.Steps)
	}
	if len(previews) < 2 || !strings.HasPrefix(previews[1], previews[0]) || previews[len(previews)-1] != "Good morning!" {
		t.Errorf("previews %q", previews)
	}
}

func TestRun_toolResultsComeInOrder(t *testing.T) {
	t.Parallel()
	first := make(chan struct{})
	slow := fakeTool{name: "slow", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		<-first // only returns because both run concurrently
		return core.ToolResult{Text: "slow"}, nil
	}}
	quick := fakeTool{name: "quick", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		close(first)
		return core.ToolResult{Text: "quick", Effects: []core.Effect{effect.SetName{Name: "x"}}}, nil
	}}
	m := llmtest.Replies(
		llmtest.Reply{Text: "Let me see.", ToolCalls: []core.ToolCall{wish("a", "slow", ""), wish("b", "quick", "{}")}},
		llmtest.Say("done"))
	out, err := Run(t.Context(), request(m, registry(t, slow, quick)))
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(out.Messages); got != "assistant Let me see.|tool aslow|tool bquick|assistant done|" {
		t.Errorf("messages %s", got)
	}
	if len(out.Effects) != 1 || out.Messages[0].ToolCalls[0].Arguments != "{}" || out.Messages[2].ToolName != "quick" {
		t.Errorf("outcome %+v", out)
	}
	want := []core.ModelMessage{
		{Role: core.RoleUser, Content: "hello"},
		{Role: core.RoleAssistant, Content: "Let me see.", ToolCalls: []core.ToolCall{wish("a", "slow", "{}"),
			wish("b", "quick", "{}")}},
		{Role: core.RoleTool, Content: "slow", ToolCallID: "a"},
		{Role: core.RoleTool, Content: "quick", ToolCallID: "b"},
	}
	if diff := cmp.Diff(want, m.Requests()[1].Messages); diff != "" {
		t.Error(diff)
	}
}

func TestRun_toolFaultsAreTold(t *testing.T) {
	t.Parallel()
	broken := fakeTool{name: "broken", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{}, errors.New("no such day")
	}}
	panics := fakeTool{name: "panics", do: func(context.Context,
		core.ToolUse) (core.ToolResult, error) {
		panic("secret detail")
	}}
	silent := fakeTool{name: "silent", do: func(context.Context,
		core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{}, nil
	}}
	cases := []struct {
		name string
		call core.ToolCall
		want string
	}{
		{"an error in its own words", wish("1", "broken", "{}"), "Error: no such day"},
		{"a panic without its detail", wish("1", "panics", "{}"),
			"Error: the tool broke down; do not call it again in this answer"},
		{"no output", wish("1", "silent", "{}"), "(no output)"},
		{"an unknown tool with those there are", wish("1", "no such", "{}"),
			`Error: there is no tool "no such"; there are: broken, panics, silent`},
		{"arguments that are no JSON", wish("1", "silent", `{"a":`),
			"Error: the arguments are not a JSON object (unexpected end of JSON input); they began with: {\"a\":"},
		{"arguments that are no object", wish("1", "silent", `null`),
			"Error: the arguments are not a JSON object (null is not an object); they began with: null"},
	}
	for _, c := range cases {
		m := llmtest.Replies(llmtest.Call(c.call), llmtest.Say("sorry"))
		out, err := Run(t.Context(), request(m, registry(t, broken, panics, silent)))
		if err != nil || out.Text != "sorry" {
			t.Fatalf("%s: %q, %v", c.name, out.Text, err)
		}
		if got := out.Messages[1].Text; got != c.want {
			t.Errorf("%s: result %q, want %q", c.name, got, c.want)
		}
		if sent := m.Requests()[1].Messages[1].ToolCalls[0]; !toolName().MatchString(sent.Name) ||
			wellFormed(sent.Arguments) != nil {
			t.Errorf("%s: sent back %+v", c.name, sent)
		}
	}
}

func TestRun_callsGetTheirOwnIDs(t *testing.T) {
	t.Parallel()
	same := llmtest.Call(wish("call_0", "e", "{}"), wish("", "e", "{}"), wish("call_0", "e", "{}"))
	m := llmtest.Replies(same, same, llmtest.Say("ok"))
	out, err := Run(t.Context(), request(m, registry(t, echo("e"))))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range out.Messages {
		if m.Role == core.RoleTool {
			ids[m.ToolCallID] = true
		}
	}
	if len(ids) != 6 || ids[""] {
		t.Errorf("ids %v", ids)
	}
}

func TestRun_slowToolIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hung := fakeTool{name: "hung", do: func(ctx context.Context, _ core.ToolUse) (core.ToolResult, error) {
			<-ctx.Done()
			return core.ToolResult{}, ctx.Err()
		}}
		req := request(llmtest.Replies(llmtest.Call(wish("1", "hung", "")), llmtest.Say("too slow")), registry(t, hung))
		start := time.Now()
		out, err := Run(t.Context(), req)
		if err != nil || time.Since(start) != 30*time.Second ||
			out.Messages[1].Text != "Error: the tool did not answer within 30s" {
			t.Errorf("after %s: %+v, %v", time.Since(start), out.Messages, err)
		}
	})
}

func TestRun_stepLimitAsksForAnAnswer(t *testing.T) {
	t.Parallel()
	m := (&llmtest.Model{}).Script(func(req core.ModelRequest) llmtest.Reply {
		if len(req.Tools) == 0 {
			return llmtest.Say("that is all I have")
		}
		return llmtest.Call(wish("", "e", "{}"))
	})
	req := request(m, registry(t, echo("e")))
	req.MaxSteps = 3
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "that is all I have" || out.Steps != 4 || len(out.Messages) != 7 {
		t.Fatalf("%+v, %v", out, err)
	}
	asked := m.Requests()[3].Messages
	if asked[len(asked)-1].Content != noMoreTools {
		t.Errorf("asked with %+v", asked[len(asked)-1])
	}
}

func TestRun_emptyAnswerIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	out, err := Run(t.Context(), request(llmtest.Replies(llmtest.Say(" \n"), llmtest.Say("here")), nil))
	if err != nil || out.Text != "here" || out.Steps != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = Run(t.Context(), request(llmtest.Replies(llmtest.Say("")), nil))
	if !errors.Is(err, core.ErrEmpty) || out.Steps != 2 || len(out.Messages) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestRun_endsOfAnAnswer(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		reply llmtest.Reply
		kind  core.ModelErrorKind // empty: no error
	}{
		{"too long is kept", llmtest.Reply{Text: "half", Finish: core.FinishLength}, ""},
		{"filtered after its first words", llmtest.Reply{Text: "half", Finish: core.FinishRefused}, ""},
		{"ended for a reason that is not known", llmtest.Reply{Text: "half", Finish: core.FinishCut}, ""},
		{"cut off", llmtest.Reply{Text: "half", Cut: true}, core.ModelDown},
		{"busy", llmtest.Reply{Text: "half", Err: &core.ModelError{Kind: core.ModelBusy, Err: errors.New("wait")}},
			core.ModelBusy},
	}
	for _, c := range cases {
		out, err := Run(t.Context(), request(llmtest.Replies(c.reply), nil))
		var modelErr *core.ModelError
		if errors.As(err, &modelErr) != (c.kind != "") || modelErr != nil && modelErr.Kind != c.kind {
			t.Errorf("%s: %v", c.name, err)
		}
		if out.Text != "half" || out.Finish != c.reply.Finish {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}

// TestAsk_pictures: a picture that the model sent is not dropped silently, and is an answer on its own.
func TestAsk_pictures(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"Here is Snoopy:\n": "Here is Snoopy:\n\n(The model", "": "(The model"} {
		shown := ""
		req := request(llmtest.Replies(llmtest.Reply{Text: said, Pictured: true}), nil)
		req.OnText = func(s string) { shown = s }
		out, err := Run(t.Context(), req)
		if err != nil || !strings.HasPrefix(out.Text, want) || shown != out.Text || out.Steps != 1 {
			t.Errorf("%q: got %q, shown %q, %v", said, out.Text, shown, err)
		}
	}
}

// TestAsk_endsThatAreNoAnswer: what happens after an answer without text, or one that broke off.
func TestAsk_endsThatAreNoAnswer(t *testing.T) {
	t.Parallel()
	down := &core.ModelError{Kind: core.ModelDown, Err: errors.New("no connection")}
	for name, c := range map[string]struct {
		replies []llmtest.Reply
		text    string
		finish  core.Finish
		err     error
		limits  string // of the requests
	}{
		"thoughts alone, then an answer": {[]llmtest.Reply{{Thought: true}, llmtest.Say("here")}, "here",
			core.FinishStop, nil, "[100 0]"},
		"thoughts alone": {[]llmtest.Reply{{Thought: true}}, "", "", core.ErrThoughtOnly, "[100 0]"},
		"a limit before the first word": {[]llmtest.Reply{{Finish: core.FinishLength}}, "", "", core.ErrThoughtOnly,
			"[100 0]"},
		"refused before the first word": {[]llmtest.Reply{{Finish: core.FinishRefused}}, "", "", nil, "[100]"},
		"cut before the first word, then whole": {[]llmtest.Reply{{Finish: core.FinishCut}, llmtest.Say("whole")}, "whole",
			core.FinishStop, nil, "[100 100]"},
		"cut, which people may have seen": {[]llmtest.Reply{{Text: "half", Finish: core.FinishCut}, llmtest.Fail(down)},
			"half", core.FinishCut, nil, "[100]"},
		"a limit within the answer": {[]llmtest.Reply{{Text: "half", Finish: core.FinishLength}}, "half",
			core.FinishLength, nil, "[100]"},
	} {
		m := llmtest.Replies(c.replies...)
		req := request(m, nil)
		req.MaxOutputTokens = 100
		out, err := Run(t.Context(), req)
		var limits []int
		for _, asked := range m.Requests() {
			limits = append(limits, asked.MaxTokens)
		}
		failed := c.text == ""
		if out.Text != c.text || out.Finish != c.finish && !failed || (err != nil) != failed ||
			c.err != nil && !errors.Is(err, c.err) || fmt.Sprint(limits) != c.limits {
			t.Errorf("%s: %q, %s, %v, limits %v", name, out.Text, out.Finish, err, limits)
		}
		var modelErr *core.ModelError
		if failed && (!errors.As(err, &modelErr) || modelErr.Kind != core.ModelRejected) {
			t.Errorf("%s: %v is tried again for ever", name, err)
		}
	}
}

func TestRun_stopKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, err := Run(ctx, request(llmtest.Replies(llmtest.Reply{Text: "Once upon", Stall: true}), nil))
		if !errors.Is(err, context.DeadlineExceeded) || shown(out.Messages) != "assistant Once upon|" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestRun_stopInToolDropsTheCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stop := fakeTool{name: "stop", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		cancel()
		return core.ToolResult{Text: "x", Effects: []core.Effect{effect.SetName{}}}, nil
	}}
	m := llmtest.Replies(llmtest.Reply{Text: "Wait", ToolCalls: []core.ToolCall{wish("1", "stop", "")}})
	out, err := Run(ctx, request(m, registry(t, stop)))
	if !errors.Is(err, context.Canceled) || shown(out.Messages) != "assistant Wait|" || len(out.Effects) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if len(out.Messages[0].ToolCalls) != 0 {
		t.Error("the call was kept")
	}
}

func TestUsage_summedOrEstimated(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(
		llmtest.Reply{ToolCalls: []core.ToolCall{wish("1", "e", "")},
			Usage: &core.Usage{Prompt: 100, Cached: 40, Completion: 5}},
		llmtest.Say("two words"))
	out, err := Run(t.Context(), request(m, registry(t, echo("e"))))
	if err != nil || !out.Estimated {
		t.Fatal(out, err)
	}
	if out.Spent.Total().Cached != 40 || out.Spent.Total().Completion != 7 || out.Spent.Total().Prompt <= 110 {
		t.Errorf("usage %+v", out.Spent.Total())
	}
}

func TestRun_timesTheFirstToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.Replies(llmtest.Reply{Text: "one two three", Pieces: 3, Delay: 2 * time.Second})
		out, err := Run(t.Context(), request(m, nil))
		if err != nil || out.FirstToken != 2*time.Second {
			t.Errorf("%s, %v", out.FirstToken, err)
		}
	})
}

func TestBudget_usedUpEndsTools(t *testing.T) {
	t.Parallel()
	asked := 0
	m := llmtest.Replies(llmtest.Call(wish("1", "e", "")), llmtest.Call(wish("2", "e", "")), llmtest.Say("what I have"))
	req := request(m, registry(t, echo("e")))
	req.More = func(context.Context, core.ModelRequest) (bool, error) { asked++; return asked < 2, nil }
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "what I have" || out.Steps != 3 || asked != 2 {
		t.Fatalf("got %q after %d steps, asked %d times, %v", out.Text, out.Steps, asked, err)
	}
	if last := m.Requests()[2]; len(last.Tools) != 0 {
		t.Errorf("the last call had %d tools", len(last.Tools))
	}
}

func TestBudget_emptyAnswerIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(llmtest.Say(""), llmtest.Say("more"))
	req := request(m, nil)
	req.More = func(context.Context, core.ModelRequest) (bool, error) { return false, nil }
	if _, err := Run(t.Context(), req); !errors.Is(err, core.ErrEmpty) || len(m.Requests()) != 1 {
		t.Errorf("%d calls, %v", len(m.Requests()), err)
	}
}

func TestUsage_failedCallTookNothing(t *testing.T) {
	t.Parallel()
	down := llmtest.Fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New("no connection")})
	if out, err := Run(t.Context(), request(llmtest.Replies(down), nil)); err == nil || out.Spent.Total() != (core.Usage{}) {
		t.Errorf("%+v, %v", out.Spent.Total(), err)
	}
}

// someTools returns tools, or the empty set.
func someTools(tools *Registry) *Registry {
	if tools == nil {
		return &Registry{}
	}
	return tools
}

// TestRun_answerWithinTheWindow checks that an endless answer is cut, and that what was said stays, marked.
func TestRun_answerWithinTheWindow(t *testing.T) {
	t.Parallel()
	req := request(endless{}, registry(t))
	req.Window = 1000
	out, err := Run(t.Context(), req)
	if n := len(strings.Fields(out.Text)); err != nil || out.Finish != core.FinishLength || n < 900 || n > 1100 {
		t.Errorf("%d words, %q, %v", n, out.Finish, err)
	}
}

// endless is a model that repeats itself.
type endless struct{}

func (endless) Stream(context.Context, core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		for yield(core.Delta{Text: "again "}, nil) {
		}
	}
}
