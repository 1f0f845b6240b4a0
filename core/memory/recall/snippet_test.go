package recall

import (
	"strings"
	"testing"
)

func TestSnippets(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	long := strings.Repeat("Some words that nobody asked for stand here. ", 10)
	words := func(query string) []ranked {
		var out []ranked
		for _, w := range a.Query(query).Words {
			out = append(out, ranked{Word: w, idf: 1})
		}
		return out
	}
	for _, c := range []struct{ text, query, want string }{
		{"short", "short", "short"},
		{long + "The violin is in the attic. " + long, "violin attic", "violin is in the attic"},
		{long, "nothing", "Some words"},
		{strings.Repeat("東京は広い。", 60) + "寿司を食べた。" + strings.Repeat("東京は広い。", 60), "寿司", "寿司を食べた"},
		{strings.Repeat("👩‍👩‍👧", 300), "👩", "👩‍👩‍👧"},
		{strings.Repeat("x", 5000), "y", "xxx"},
	} {
		got := a.snippet(c.text, words(c.query), 200)
		if !strings.Contains(got, c.want) || len([]rune(got)) > 210 || !strings.Contains(c.text, strings.Trim(got, "…")) {
			t.Errorf("%q: got %d runes %q", c.query, len([]rune(got)), got)
		}
		if strings.HasPrefix(c.text, "👩") && strings.Trim(strings.ReplaceAll(got, "👩‍👩‍👧", ""), "…") != "" {
			t.Errorf("a grapheme was cut: %q", got)
		}
	}
}

func FuzzSnippet(f *testing.F) {
	a := newAnalyzer(f)
	f.Add("the quick brown fox", "fox", 5)
	f.Add("\xff東京👩‍👩‍👧", "東", 1)
	f.Fuzz(func(t *testing.T, text, query string, n int) {
		var words []ranked
		for _, w := range a.Query(query).Words {
			words = append(words, ranked{Word: w, idf: 1})
		}
		got := a.snippet(text, words, 1+abs(n)%300)
		if len(got) > len(text)+len("……") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }
