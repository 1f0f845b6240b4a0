package catalog

import (
	"regexp"
	"strings"
	"testing"
)

func TestTable_eachLineIsRead(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9.:-]+,[0-9]+,v?t?r?,([0-9.]+,[0-9.]+|,)$`)
	seen := map[string]bool{}
	for line := range strings.Lines(models) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, ",")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !form.MatchString(line) || seen[name] {
			t.Errorf("%q has another form, or comes twice", line)
		}
		seen[name] = true
		if e, ok := table()[name]; !ok || e.Window < 2048 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d lines", len(seen))
	}
}

func TestLookup_namesOfServers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Entry{
		"gpt-4o-2024-08-06":                       {128_000, true, true, false, 2.5, 10},
		"openai/gpt-5-mini":                       {400_000, true, true, true, 0.25, 2},
		"o3-mini":                                 {200_000, false, true, true, 1.1, 4.4},
		"anthropic/claude-sonnet-4.5":             {200_000, true, true, true, 3, 15},
		"us.anthropic.claude-3-haiku-20240307-v1": {200_000, true, true, false, 0.25, 1.25},
		"models/gemini-2.5-flash":                 {1_048_576, true, true, true, 0.3, 2.5},
		"llama3.2-vision:11b":                     {131_072, true, false, false, 0, 0},
		"meta-llama/Llama-3.3-70B-Instruct":       {131_072, false, true, false, 0, 0},
		"gemma3:4b":                               {131_072, true, false, false, 0, 0},
		"qwen3:8b":                                {40_960, false, true, true, 0, 0},
		"deepseek-r1:14b":                         {131_072, false, false, true, 0, 0},
	} {
		if got, ok := Lookup(name); !ok || got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"", "my-own-model", "x/y"} {
		if got, ok := Lookup(name); ok {
			t.Errorf("%q: got %+v", name, got)
		}
	}
}
