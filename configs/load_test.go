package configs

import (
	"fmt"
	"testing"
)

// TestDefaultsSuitTheWindow: keys without a value fit the smallest window of the models that
// answer; a large one changes nothing.
func TestDefaultsSuitTheWindow(t *testing.T) {
	t.Parallel()
	d := Default().Context
	for _, c := range []struct{ window, output, total, target, raw, last, result, preview int }{
		{4096, 512, 1879, 1252, 1222, 91, 682, 156},
		{8192, 1024, 3756, 2504, 2442, 183, 1365, 300},
		{16384, 1024, d.TotalTokens, d.TargetTokens, d.TodayRawTokens, d.LastConversationTokens, 2730, 300},
		{32768, 1024, d.TotalTokens, d.TargetTokens, d.TodayRawTokens, d.LastConversationTokens, 4000, 300},
		{128_000, 1024, d.TotalTokens, d.TargetTokens, d.TodayRawTokens, d.LastConversationTokens, 4000, 300},
	} {
		got, err := Load(write(t, fmt.Sprintf("llm: {context_window: %d}\n", c.window)), nil, channels()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%d: %v", c.window, err)
		}
		x := got.Context
		have := [...]int{got.LLM.Output(), x.TotalTokens, x.TargetTokens, x.TodayRawTokens, x.LastConversationTokens,
			got.Agent.ResultTokens, got.Documents.PreviewTokens}
		if want := [...]int{c.output, c.total, c.target, c.raw, c.last, c.result, c.preview}; have != want {
			t.Errorf("%d: %v, want %v", c.window, have, want)
		}
		if r := got.Room(); x.TotalTokens > r.Prompt || r.Prompt+r.Output+r.Schemas+r.Results > got.LLM.Usable() {
			t.Errorf("%d: %+v", c.window, r)
		}
	}
}

// TestWhatIsConfiguredWinsOverTheWindow, and the fallback's window counts.
func TestWhatIsConfiguredWinsOverTheWindow(t *testing.T) {
	t.Parallel()
	file := write(t, "llm:\n  provider: openai\n  api_key: k\n  model: m\n  max_output_tokens: 700\n  fallbacks: "+
		"[{provider: openai, api_key: k, model: small, context_window: 8192}]\ncontext: {total_tokens: 5000}\n")
	c, err := Load(file, []string{"EVERTHREAD_CONTEXT_OPEN_LOOPS_TOKENS=390"}, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	x := c.Context
	if c.LLM.ContextWindow != 128_000 || c.LLM.Smallest() != 8192 || c.LLM.MaxOutputTokens != 700 ||
		c.LLM.Fallbacks[0].MaxOutputTokens != 700 || x.TotalTokens != 5000 || x.OpenLoopsTokens != 390 ||
		x.LastConversationTokens != 199 || x.TargetTokens != 2720 {
		t.Errorf("%+v %+v", c.LLM, x)
	}
}
