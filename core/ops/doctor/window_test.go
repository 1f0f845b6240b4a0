package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
)

// lab is a tool of an MCP server with a long description.
type lab int

func (n lab) Spec() core.ToolSpec {
	return core.ToolSpec{Name: fmt.Sprintf("lab_%d", n), Description: strings.Repeat("It measures and weighs. ", 20),
		Schema: json.RawMessage(`{"type":"object"}`)}
}

func (lab) Use(context.Context, core.ToolUse) (core.ToolResult, error) { return core.ToolResult{}, nil }
func (lab) Outside() bool                                              { return true }

// TestDoctor_windowInPlainWords: its shares, and what does not fit.
func TestDoctor_windowInPlainWords(t *testing.T) {
	t.Parallel()
	var many []core.Tool
	for n := range 30 {
		many = append(many, lab(n))
	}
	for name, c := range map[string]struct {
		environ []string
		outside []core.Tool
		ok      bool
		want    string
	}{
		"small": {[]string{"EVERTHREAD_LLM_CONTEXT_WINDOW=8192"}, nil, true,
			"reads 8,192 tokens at a time: a prompt gets up to 3,756 of them, tool results at least 1,365, the answer 1,024; 21 of 21 tools"},
		"many tools": {[]string{"EVERTHREAD_LLM_CONTEXT_WINDOW=8192"}, many, true, " of 51 tools are offered"},
		"large":      {nil, nil, true, "128,000 tokens at a time: a prompt gets up to 6,150 of them, tool results at least 8,000"},
		"configured": {[]string{"EVERTHREAD_LLM_CONTEXT_WINDOW=8192", "EVERTHREAD_CONTEXT_TOTAL_TOKENS=6150"}, nil, false,
			"context.total_tokens is 6,150, but llm.context_window is 8,192, which leaves room for 3,756"},
		"truncate": {[]string{"EVERTHREAD_LLM_CONTEXT_WINDOW=8192", "EVERTHREAD_CONTEXT_STRATEGY=truncate",
			"EVERTHREAD_CONTEXT_MAX_CONTEXT_TOKENS=6000"}, nil, false, "context.max_context_tokens is 6,000"},
		"long": {[]string{"EVERTHREAD_LLM_CONTEXT_WINDOW=8192", "EVERTHREAD_CONTEXT_STRATEGY=long"}, nil, true,
			"up to 3,756 of them"},
		"tiny": {[]string{"EVERTHREAD_LLM_CONTEXT_WINDOW=2048"}, nil, false, "llm.context_window is 2,048, which leaves 940"},
	} {
		config, err := configs.Load("", append(c.environ, "EVERTHREAD_LLM_PROVIDER=openai"))
		if err != nil {
			t.Fatal(err)
		}
		e := &examination{Doctor: &Doctor{Config: config, Language: "en"}, texts: say("en")}
		e.window(c.outside)
		if len(e.out) != 1 || e.out[0].OK != c.ok || !strings.Contains(e.out[0].Detail, c.want) {
			t.Errorf("%s: %+v, want %q", name, e.out, c.want)
		}
	}
}
