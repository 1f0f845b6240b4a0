package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/llm/tokens"
)

func TestTruncate_keepsHeadAndTail(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d of the report\n", i)
	}
	counter := tokens.New()
	got := Truncate(b.String(), 200, counter)
	if n := counter.Count(got); n > 200 || n < 150 {
		t.Errorf("%d tokens, want nearly 200", n)
	}
	if !strings.HasPrefix(got, "line 0 of") || !strings.HasSuffix(got, "line 999 of the report\n") ||
		!strings.Contains(got, "\n[… ") {
		t.Errorf("got %q", got)
	}
}

func TestTruncate_staysWithinItsBound(t *testing.T) {
	t.Parallel()
	counter := tokens.New()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 40, -1).Draw(t, "unit"), rapid.IntRange(1, 200).Draw(t, "times"))
		most := rapid.IntRange(0, 300).Draw(t, "most")
		got := Truncate(text, most, counter)
		if n := counter.Count(got); n > most {
			t.Fatalf("%d tokens, want at most %d", n, most)
		}
		if !utf8.ValidString(got) {
			t.Fatal("a rune was cut")
		}
		if counter.Count(text) <= most && got != text {
			t.Fatal("a short text was changed")
		}
	})
}

func TestTrim_olderResultsShrinkFirst(t *testing.T) {
	t.Parallel()
	long := fakeTool{name: "long", do: func(_ context.Context, c core.ToolUse) (core.ToolResult, error) {
		return core.ToolResult{Text: strings.Repeat(fmt.Sprintf("s%d ", c.Step), 600)}, nil
	}}
	wishes := llmtest.Call(wish("", "long", ""))
	m := llmtest.Replies(wishes, wishes, wishes, wishes, llmtest.Say("ok"))
	req := request(m, registry(t, long))
	req.ToolTokens, req.ResultTokens = 1000, 500
	out, err := Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	total := 0
	for _, m := range out.Messages {
		if m.Role == core.RoleTool {
			sizes = append(sizes, m.Tokens)
			total += m.Tokens
		}
	}
	if total > 1000 || sizes[3] < 450 || sizes[2] <= sizes[0] || sizes[0] == 0 {
		t.Errorf("sizes %v", sizes)
	}
	for i, req := range m.Requests() {
		shown := 0
		for _, m := range req.Messages {
			if m.Role == core.RoleTool {
				shown += byWords{}.Count(m.Content)
			}
		}
		if shown > 1000 {
			t.Errorf("request %d shows %d tokens of results", i, shown)
		}
	}
}
