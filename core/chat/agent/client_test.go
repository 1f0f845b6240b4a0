package agent

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
)

var weather = core.ToolSpec{Name: "weather", Description: "the client's",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}

func TestClientTool_endsTheTurn(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(
		llmtest.Call(wish("1", "own", "{}")),
		llmtest.Reply{Text: "Let me look.", ToolCalls: []core.ToolCall{wish("2", "own", "{}"),
			wish("3", "weather", `{"city":"Oslo"}`)}},
		llmtest.Say("never asked"))
	req := request(m, registry(t, echo("own")))
	req.Client, req.Choice = []core.ToolSpec{weather}, "required"
	req.Guard = func(string, []string) string { return "is not asked" }
	out, err := Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := "assistant |tool 1own got {}|assistant Let me look.|tool 2own got {}|"
	if got := shown(out.Messages); got != want || out.Finish != core.FinishTools || out.Steps != 2 ||
		len(out.Effects) != 2 {
		t.Errorf("got %s after %d steps, %s", got, out.Steps, out.Finish)
	}
	if d := cmp.Diff([]core.ToolCall{wish("2", "own", "{}"), wish("3", "weather", `{"city":"Oslo"}`)},
		out.Messages[2].ToolCalls); d != "" {
		t.Error(d)
	}
	asked := m.Requests()
	if d := cmp.Diff([]core.ToolSpec{echo("own").Spec(), weather}, asked[0].Tools); d != "" ||
		asked[0].Choice != "required" || asked[1].Choice != "" {
		t.Errorf("the model was offered %s; choices %q, then %q", d, asked[0].Choice, asked[1].Choice)
	}
}

func TestClientTool_hidesOursOfTheSameName(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(llmtest.Call(wish("1", "weather", "{}")))
	req := request(m, registry(t, echo("weather")))
	req.Client = []core.ToolSpec{weather}
	out, err := Run(t.Context(), req)
	if err != nil || len(out.Messages) != 1 || len(out.Effects) != 0 {
		t.Errorf("got %s, %v", shown(out.Messages), err)
	}
	if d := cmp.Diff([]core.ToolSpec{weather}, m.Requests()[0].Tools); d != "" {
		t.Error(d)
	}
}

func TestClientTool_forbidden(t *testing.T) {
	t.Parallel()
	m := llmtest.Replies(llmtest.Say("without"))
	req := request(m, registry(t, echo("own")))
	req.Client, req.Choice = []core.ToolSpec{weather}, "none"
	out, err := Run(t.Context(), req)
	if err != nil || out.Text != "without" || len(m.Requests()[0].Tools) != 0 {
		t.Errorf("got %q, %v with %v", out.Text, err, m.Requests()[0].Tools)
	}
}
