package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/llm/tokens"
)

// sizeOf counts the tokens of a request and its reply, as a server does.
func sizeOf(r core.ModelRequest, t core.Tokenizer) int {
	n := r.MaxTokens + specsTokens(r.Tools, t)
	for _, m := range r.Messages {
		calls, _ := json.Marshal(m.ToolCalls) // strings always encode
		n += messageTokens + t.Count(m.Content) + t.Count(string(calls))
	}
	return n
}

// TestRun_noRequestPassesTheWindow checks, with large tool results and much text beside the calls, that
// no request exceeds the window, every call has its result, and calls are stored whole.
func TestRun_noRequestPassesTheWindow(t *testing.T) {
	t.Parallel()
	counter := tokens.New()
	flood := fakeTool{name: "flood", do: func(context.Context, core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{Text: strings.Repeat("water everywhere ", 3000)}, nil
	}}
	arguments := `{"text": "` + strings.Repeat("blue harbour ", 150) + `"}`
	wordy := llmtest.Call(wish("", "flood", arguments), wish("", "flood", arguments), wish("", "flood", "{}"))
	wordy.Text = strings.Repeat("I think about it. ", 80)
	m := llmtest.Replies(wordy, wordy, wordy, wordy, wordy, wordy, wordy, wordy, llmtest.Say("done"))
	req := request(m, registry(t, flood))
	req.Tokenizer, req.Window, req.MaxOutputTokens, req.ToolTokens = counter, 3000, 500, 8000
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "done" {
		t.Fatalf("%v %q", err, out.Text)
	}
	largest := 0
	for _, r := range m.Requests() {
		largest = max(largest, sizeOf(r, counter))
	}
	if largest > 3000 || largest < 2500 {
		t.Errorf("the largest request has %d tokens of 3,000", largest)
	}
	for _, msg := range out.Messages {
		for _, c := range msg.ToolCalls {
			if c.Name == "flood" && len(c.Arguments) > 2 && c.Arguments != arguments {
				t.Fatalf("stored is %q", c.Arguments)
			}
		}
	}
}

// described returns a tool with a long description.
func described(name, description string, outside bool) core.Tool {
	return longTool{fakeTool{name: name, external: outside, do: echo(name).do}, description}
}

type longTool struct {
	fakeTool
	description string
}

func (l longTool) Spec() core.ToolSpec {
	return core.ToolSpec{Name: l.name, Description: l.description, Schema: json.RawMessage(
		`{"type":"object","title":"T","properties":{"title":{"type":"string","description":"remarks on it, at length"}}}`)}
}

func shelf(t *testing.T, budget int) *Selection {
	t.Helper()
	var tools []core.Tool
	for i := range 8 {
		tools = append(tools, described(fmt.Sprintf("tool_%d", i), "Do a thing. "+strings.Repeat("At length. ", 30), i > 5))
	}
	rank := func(tool core.Tool) int { return -int(tool.Spec().Name[5]) } // the last is ranked highest
	return Select(registry(t, tools...), budget, rank, tokens.New())
}

func namesOf(r *Registry) (out []string) {
	for _, s := range r.Specs() {
		out = append(out, s.Name)
	}
	return out
}

func TestTools_descriptionsAreShortenedFirst(t *testing.T) {
	t.Parallel()
	counter := tokens.New()
	full := shelf(t, 1<<20).Tokens()
	for _, c := range []struct {
		budget      int
		whole       bool
		told, brief int // tools, and how many of them are shortened
	}{{full, true, 8, 0}, {full - 50, true, 8, 2}, {full / 2, true, 8, 8}, {220, false, 5, 4}} {
		s := shelf(t, c.budget)
		tools := s.Tools()
		brief := 0
		for _, spec := range tools.Specs() {
			if spec.Description == "Do a thing." {
				brief++
			}
			if spec.Name == MoreTools {
				continue
			}
			if strings.Contains(string(spec.Schema), "remarks") != (len(spec.Description) > 20) ||
				!strings.Contains(string(spec.Schema), `"title":{`) {
				t.Errorf("%d: %s has the schema %s", c.budget, spec.Name, spec.Schema)
			}
		}
		if s.Whole() != c.whole || len(tools.Specs()) != c.told || brief != c.brief ||
			tools.Tokens(counter) > c.budget {
			t.Errorf("%d: whole %v, %d tools, %d in short, %d tokens: %q", c.budget, s.Whole(), len(tools.Specs()), brief,
				tools.Tokens(counter), namesOf(tools))
		}
	}
}

// TestTools_leftOutComeBack checks that a model can find and call tools that are left out of
// a request, and that tools called before are offered again, in place of lower-ranked ones.
func TestTools_leftOutComeBack(t *testing.T) {
	t.Parallel()
	s := shelf(t, 220)
	tools := s.Tools()
	if got := namesOf(tools); !slices.Contains(got, "tool_7") || slices.Contains(got, "tool_0") ||
		!slices.Contains(got, MoreTools) {
		t.Fatalf("offered tools %q", got)
	}
	if got := namesOf(s.Tools("tool_0")); !slices.Contains(got, "tool_0") || slices.Contains(got, "tool_4") {
		t.Errorf("offered tools after a call: %q", got)
	}
	m := llmtest.Replies(llmtest.Call(wish("", MoreTools, `{"names": ["tool_0", "nothing"]}`)),
		llmtest.Call(wish("", "tool_0", "{}"), wish("", "tool_1", "{}"), wish("", MoreTools, `{"names": ["nothing"]}`)),
		llmtest.Say("ok"))
	out, err := Run(t.Context(), request(m, tools))
	if err != nil {
		t.Fatal(err)
	}
	got := shown(out.Messages)
	for _, want := range []string{"You can call these now: tool_0.", "tool_0 got {}", "tool_1 got {}", "no such tools left"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing: %s", want, got)
		}
	}
	told := func(n int) bool {
		return slices.ContainsFunc(m.Requests()[n].Tools, func(s core.ToolSpec) bool { return s.Name == "tool_0" })
	}
	if told(0) || !told(1) {
		t.Error("tool_0 is offered from the second request on")
	}
}
