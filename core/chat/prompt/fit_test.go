package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core/llm/tokens"
)

// FuzzShortening checks that shortened texts keep to their limit and never end within a character.
func FuzzShortening(f *testing.F) {
	f.Add("## Summary\nA day. [#1]\n\n## Goals\n- one [#2]\n  and more\n- two [#3]\n", 12)
	f.Add("no headings at all, only a long sentence that goes on", 8)
	f.Add("# \n## \n\n-\n- é🙂漢", 3)
	f.Add(strings.Repeat("x", 5000), 50)
	counter := tokens.New()
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 1000 || !utf8.ValidString(text) {
			return
		}
		for name, got := range map[string]string{
			"condense": condense(text, limit, counter),
			"clip":     clip(text, limit, counter),
			"middle":   middle(text, counter.Count(text), limit, counter, textMark(17)),
		} {
			if n := counter.Count(got); n > limit || !utf8.ValidString(got) {
				t.Errorf("%s to %d tokens: %d, %q", name, limit, n, got)
			}
		}
	})
}

func TestCondense(t *testing.T) {
	t.Parallel()
	counter := tokens.New()
	const whole = "## Summary\nThey planned a trip to Lyon by train and found a cheap day. [#1]\n\n## Goals\n- See the lights. [#2]\n- Eat well. [#3]\n\n" +
		"## Decisions\n- Friday 11 December. [#4]\n- Only hand luggage. [#5]\n\n## Open loops\n- The ticket. [#6]\n\n## Next steps\n- Book it. [#7]"
	cases := []struct {
		limit int
		want  string
	}{
		{200, whole},
		{80,
			"## Summary\nThey planned a trip to Lyon by train and found a cheap day. [#1]\n\n## Decisions\n- Friday 11 December. [#4]\n\n" +
				"## Open loops\n- The ticket. [#6]\n\n## Next steps\n- Book it. [#7]\n\n[shortened]"},
		{50,
			"## Summary\nThey planned a trip to Lyon by train and found a cheap day. [#1]\n\n## Decisions\n- Friday 11 December. [#4]\n\n[shortened]"},
		{8, "## Summary\nThey planned a trip…"},
	}
	for _, c := range cases {
		if got := condense(whole, c.limit, counter); got != c.want {
			t.Errorf("to %d tokens:\n%s\nwant:\n%s", c.limit, got, c.want)
		}
	}
}

// TestMiddle_keepsHeadAndTail checks that a cut text has the head and the tail of the whole.
func TestMiddle_keepsHeadAndTail(t *testing.T) {
	t.Parallel()
	counter := tokens.New()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"word ", "é🙂漢", "12345", "\n", "identifier_x "}), 100,
			2000).Draw(t, "text"), "")
		total := counter.Count(text)
		limit := rapid.IntRange(30, 80).Draw(t, "limit")
		got := middle(text, total, limit, counter, toolMark)
		first, rest, cut := strings.Cut(got, "\n[… ")
		_, last, _ := strings.Cut(rest, " tokens of tool output trimmed]\n")
		if !cut || first == "" || last == "" || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) ||
			counter.Count(got) > limit {
			t.Fatalf("%d tokens to %d: %q", total, limit, got)
		}
	})
}

func TestLoops_onlyInTheirOwnPart(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"## Summary\nx\n\ny\n\n## Open loops\n- a [#1]\n- b [?]\n\n## Next steps\n- c [#2]": "## Summary\nx\n\ny\n\n## Open loops\n- b [?]\n\n## Next steps\n- c [#2]",
		"## Summary\nx\n\n## Open loops\n- a [#1]\n\n## Next steps\n- c [#2]":               "## Summary\nx\n\n## Next steps\n- c [#2]",
		"## Summary\nx\n\n## Open loops\n- a [#1]":                                          "## Summary\nx",
		"## Open loops\n- a [#1]":                                                           "",
		"## Summary\nthe ## Open loops\n":                                                   "## Summary\nthe ## Open loops\n",
	} {
		if d := cmp.Diff(want, withoutLoops(in)); d != "" {
			t.Error(d)
		}
	}
}
