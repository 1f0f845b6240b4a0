package configs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestDefault_suitsTheWindow: keys without a value fit the smallest window of the models that
// answer; a large one changes nothing.
func TestDefault_suitsTheWindow(t *testing.T) {
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

// TestLoad_configuredWinsOverTheWindow, and the fallback's window counts.
func TestLoad_configuredWinsOverTheWindow(t *testing.T) {
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

// TestLoad_windowOfTheModel: without a configured window that of the table counts; on a server of one's own at most the
// default.
func TestLoad_windowOfTheModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		llm  string
		want int
	}{
		{"model: gpt-4.1", 1_047_576},
		{"model: gpt-4.1, context_window: 64000", 64_000},
		{"model: gpt-4.1, context_window: 128000", 128_000},
		{"model: openai/gpt-4, base_url: 'https://openrouter.ai/api/v1'", 8192},
		{"model: 'llama3.2:3b', base_url: 'http://127.0.0.1:11434/v1'", 128_000},
		{"model: 'llama3.2:3b', base_url: 'http://ollama:11434/v1'", 128_000},
		{"model: gemma2, base_url: 'http://127.0.0.1:11434/v1'", 8192},
		{"model: my-own", 128_000},
	} {
		got, err := Load(write(t, "llm: {provider: openai, api_key: k, "+c.llm+"}\n"), nil, channels()...)
		if err != nil || got.LLM.ContextWindow != c.want || got.LLM.MaxOutputTokens != 0 || got.Validate() != nil {
			t.Errorf("%s: %d, %v, %v", c.llm, got.LLM.ContextWindow, err, got.Validate())
		}
	}
	got, err := Load(write(t, "llm: {provider: openai, api_key: k, model: gpt-4.1, fallbacks: [{provider: openai, "+
		"api_key: k, model: gpt-4}]}\n"), nil, channels()...)
	if err != nil || got.LLM.Smallest() != 8192 || got.LLM.Output() != 1024 || got.Context.TotalTokens >= 6150 {
		t.Errorf("with a small fallback: %d, %+v, %v", got.LLM.Smallest(), got.Context, err)
	}
}

func TestLLM_seesPictures(t *testing.T) {
	t.Parallel()
	for vision, want := range map[string][2]bool{"": {true, false}, "auto": {true, false}, "true": {true, true},
		"false": {false, false}} {
		got := [2]bool{LLM{Model: "gpt-4o", Vision: vision}.Sees(), LLM{Model: "my-own", Vision: vision}.Sees()}
		if got != want {
			t.Errorf("%q: %v, want %v", vision, got, want)
		}
	}
	if l := (LLM{Model: "my-own", Fallbacks: []LLM{{Model: "gpt-4o"}}}); !l.Sees() || l.SeesItself() {
		t.Error("a fallback that sees is not asked with pictures")
	}
	c := Default(channels()...)
	c.LLM.Vision, c.LLM.MaxOutputTokens = "perhaps", 5
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "llm.vision") ||
		!strings.Contains(err.Error(), "llm.max_output_tokens is 5; it must be at least 16, or 0") {
		t.Errorf("got %v", err)
	}
}

// TestLoad_foldersAreAbsolute: processes that run in another folder use them too.
// TestConfig_chosen: a choice has the default model as its last fallback, and the defaults that suit its window.
func TestConfig_chosen(t *testing.T) {
	t.Parallel()
	file := write(t, `
llm:
  provider: openai
  api_key: k
  model: large
  choices:
    small: {provider: openai, base_url: "http://127.0.0.1:1/v1", model: tiny, context_window: 8192, users: [1, 2]}
    other: {provider: openai, api_key: k2, model: other, prices: {prompt: 2}, fallbacks: [{provider: demo}]}
`)
	c, err := Load(file, []string{"EVERTHREAD_CONTEXT_OPEN_LOOPS_TOKENS=390"}, channels()...)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	small, ok := c.Chosen("small")
	if !ok || small.LLM.Model != "tiny" || small.LLM.Fallbacks[0].Model != "large" || small.LLM.Smallest() != 8192 ||
		small.Context.TotalTokens >= c.Context.TotalTokens || small.Context.OpenLoopsTokens != 390 {
		t.Errorf("small: %t %+v", ok, small.LLM)
	}
	other, _ := c.Chosen("other")
	if f := other.LLM.Fallbacks; len(f) != 2 || f[0].Provider != "demo" || f[1].Model != "large" ||
		other.Context.TotalTokens != c.Context.TotalTokens {
		t.Errorf("other: %+v", other.LLM)
	}
	if o := c.LLM.Choices["other"]; o.Prices.Prompt != 2 || o.Currency != c.LLM.Currency {
		t.Errorf("prices of other: %+v %q", o.Prices, o.Currency)
	}
	if s := c.LLM.Choices["small"]; !s.May(2) || s.May(3) || !c.LLM.Choices["other"].May(3) {
		t.Error("who may use a choice is not kept")
	}
	for name, config := range map[string]string{
		"a bad name":        "llm: {provider: demo, choices: {default: {provider: demo}}}",
		"a provider":        "llm: {provider: demo, choices: {x: {provider: nobody}}}",
		"a model":           "llm: {provider: demo, choices: {x: {provider: openai, api_key: k}}}",
		"none of a summary": "summary_llm: {provider: demo, choices: {x: {provider: demo}}}",
	} {
		c, err := Load(write(t, config), nil, channels()...)
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), "llm.choices.") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoad_foldersAreAbsolute(t *testing.T) {
	at := t.TempDir()
	t.Chdir(at)
	for _, c := range []struct{ text, data, backup string }{
		{"{}", filepath.Join(at, "data"), ""},
		{"data_dir: ../x\nbackup: {dir: b}", filepath.Join(filepath.Dir(at), "x"), filepath.Join(at, "b")},
		{"data_dir: /srv/e\nbackup: {dir: /srv/b}", "/srv/e", "/srv/b"},
	} {
		got, err := Load(write(t, c.text+"\n"), nil, channels()...)
		if err != nil || got.DataDir != c.data || got.Backup.Dir != c.backup {
			t.Errorf("%s: %s, %s, %v", c.text, got.DataDir, got.Backup.Dir, err)
		}
	}
}
