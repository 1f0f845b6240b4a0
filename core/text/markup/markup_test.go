package markup

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
)

func TestUTF16Len(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		if got, want := UTF16Len(s), len(utf16.Encode([]rune(s))); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	})
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"## Summary\nA **boat**.\n\n## Goals\n- Sail to Groix [#12]\n- Rest [#3, #4]": "A boat. · Sail to Groix " +
			"· Rest",
		"…## Goals\n1. Sail":              "Sail",
		"…and more\nof the same…":         "…and more of the same…",
		"C# and #12 stay, 5 - 3 does too": "C# and #12 stay, 5 - 3 does too",
		"":                                "",
	} {
		if got := Excerpt(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestStripRefs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"- Decided to go [#12].":         "- Decided to go.",
		"two [#1, #2] and [#3,#4]":       "two and",
		"[#1]":                           "",
		"a [#x] [#] [#1,] [#1 [1] [# 2]": "a [#x] [#] [#1,] [#1 [1] [# 2]",
		"see [#5](https://x.example)":    "see [#5](https://x.example)",
		"ends with [#":                   "ends with [#",
		"line [#1]\nnext [#2]":           "line\nnext",
	} {
		if got := StripRefs(in); got != want {
			t.Errorf("StripRefs(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRender_nestsAndEscapes(t *testing.T) {
	t.Parallel()
	r := Renderer{
		Open:   func(s core.Span) string { return "<" + string(s.Kind) + ">" },
		Close:  func(s core.Span) string { return "</" + string(s.Kind) + ">" },
		Escape: func(s string, in core.Span) string { return strings.ToUpper(s) },
	}
	got := r.Render(Parse("a **b *c*** `d` e"))
	want := "A <bold>B <italic>C</italic></bold> <code>D</code> E"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestParse_keepsEveryWord checks that parsing keeps all words of a document in order, whatever the
// markup.
func TestParse_keepsEveryWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		md := strings.Join(rapid.SliceOfN(drawBlock(&words), 1, 12).Draw(t, "blocks"), "\n\n")
		if rapid.Bool().Draw(t, "long") {
			n := chunkSize/len(md) + 2
			md = strings.Repeat(md+"\n\n", n)
			one := words
			for range n - 1 {
				words = append(words, one...)
			}
		}
		got := Parse(md)
		checkText(t, got)
		rest := got.Text
		for _, w := range words {
			i := strings.Index(rest, w)
			if i < 0 {
				t.Fatalf("lost %q of\n%s\ngot\n%s", w, md, got.Text)
			}
			rest = rest[i+len(w):]
		}
	})
}

func drawBlock(words *[]string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		word := func() string {
			w := rapid.StringMatching(`[a-z]{2,5}é?|日本|🙂x`).Draw(t, "word")
			*words = append(*words, w)
			return w
		}
		inline := func() string {
			open := rapid.SampledFrom([]string{"", "**", "*", "~~", "`"}).Draw(t, "mark")
			return open + word() + " " + word() + open
		}
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return "## " + inline()
		case 1:
			return "- " + inline() + "\n- [ ] " + inline() + "\n  1. " + inline()
		case 2:
			return "> " + inline() + "\n> > " + inline()
		case 3:
			return "```go\n" + word() + "\n\n  " + word() + "\n```"
		case 4:
			return "| " + inline() + " | " + inline() + " |\n|---|:-:|\n| " + inline() + " |"
		case 5:
			return "[" + inline() + "](https://x.example) <b>" + word() + "</b>\\\n" + inline()
		case 6:
			return "<div>" + word() + "\n" + word() + "\n</div>"
		}
		return inline() + "\n" + inline()
	})
}

// TestParse_longCode checks that code of many chunks becomes one span with every line unchanged.
func TestParse_longCode(t *testing.T) {
	t.Parallel()
	code := strings.TrimSpace(strings.Repeat("# no heading\n\n- *no* item\n    x := `y`\n~~~\n", 1000))
	x := Parse("before\n\n```go\n" + code + "\n```\n\nafter **that**")
	checkText(t, x)
	if len(x.Spans) != 2 || x.Spans[0].Kind != core.SpanPre || x.Spans[0].Value != "go" ||
		x.Spans[1].Kind != core.SpanBold {
		t.Fatalf("got spans %v", x.Spans)
	}
	if got := x.Text[x.Spans[0].Start:x.Spans[0].End]; got != code {
		t.Errorf("got %d bytes of code, want %d", len(got), len(code))
	}
}

type reporter interface{ Fatalf(string, ...any) }

// checkText checks the contract of Text.
func checkText(t reporter, x Text) {
	if !utf8.ValidString(x.Text) {
		t.Fatalf("invalid UTF-8: %q", x.Text)
	}
	var open []core.Span
	for i, s := range x.Spans {
		if s.Start < 0 || s.Start >= s.End || s.End > len(x.Text) {
			t.Fatalf("span %v out of %d bytes", s, len(x.Text))
		}
		if !utf8.RuneStart(x.Text[s.Start]) || s.End < len(x.Text) && !utf8.RuneStart(x.Text[s.End]) {
			t.Fatalf("span %v within a rune", s)
		}
		if i > 0 && s.Start < x.Spans[i-1].Start {
			t.Fatalf("span %v out of order", s)
		}
		for len(open) > 0 && innermost(open).End <= s.Start {
			open = open[:len(open)-1]
		}
		for _, o := range open {
			if s.End > o.End || o.Kind == s.Kind || o.Kind == core.SpanPre || o.Kind == core.SpanCode {
				t.Fatalf("span %v within %v", s, o)
			}
		}
		open = append(open, s)
	}
}

func TestSplit_places(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		max  int
		want []string
	}{
		"whole":                 {"short", 10, []string{"short"}},
		"no limit":              {"short", 0, []string{"short"}},
		"empty":                 {" \n ", 4, nil},
		"paragraph before line": {"one two\n\nthree\nfour five", 18, []string{"one two", "three\nfour five"}},
		"line before word":      {"one two\nthree four", 12, []string{"one two", "three four"}},
		"sentence before word":  {"It is. So we go on", 11, []string{"It is.", "So we go on"}},
		"word":                  {"alpha beta gamma", 11, []string{"alpha beta", "gamma"}},
		"word at the limit":     {"alpha beta", 5, []string{"alpha", "beta"}},
		"grapheme":              {"aaaae\u0301b", 5, []string{"aaaa", "e\u0301b"}},
		"flag":                  {"🇫🇷🇩🇪", 12, []string{"🇫🇷", "🇩🇪"}},
		"huge grapheme":         {"e\u0301\u0301\u0301", 4, []string{"e\u0301", "\u0301\u0301"}},
		"rune over the limit":   {"🙂🙂", 1, []string{"🙂", "🙂"}},
		"keeps indent":          {"aaaa\n  bbbb", 6, []string{"aaaa", "  bbbb"}},
		"no useful break":       {"a bbbbbbbbbbbb", 8, []string{"a", "bbbbbbbb", "bbbb"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range Split(Text{Text: c.in}, c.max, nil) {
				got = append(got, p.Text)
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSplit_reopensCode(t *testing.T) {
	t.Parallel()
	parts := Split(Parse("intro\n\n```go\nline one\nline two\nline three\n```"), 20, UTF16Len)
	for _, p := range parts[1:] {
		if len(p.Spans) != 1 || p.Spans[0].Kind != core.SpanPre || p.Spans[0].Value != "go" {
			t.Errorf("part %q has spans %v", p.Text, p.Spans)
		}
	}
	if len(parts) < 3 {
		t.Errorf("got %d parts, want at least 3", len(parts))
	}
}

func TestSplit_losesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		md := strings.Join(rapid.SliceOfN(drawBlock(&words), 0, 8).Draw(t, "blocks"), "\n\n")
		x := Parse(md + rapid.String().Draw(t, "tail"))
		limit := rapid.IntRange(2, 60).Draw(t, "max")
		var joined strings.Builder
		for _, p := range Split(x, limit, UTF16Len) {
			checkText(t, p)
			if strings.TrimSpace(p.Text) == "" {
				t.Fatalf("empty part of %q", x.Text)
			}
			if n := UTF16Len(p.Text); n > limit {
				t.Fatalf("part of %d units, at most %d: %q", n, limit, p.Text)
			}
			joined.WriteString(p.Text)
		}
		if got, want := noSpace(joined.String()), noSpace(x.Text); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestSplit_keepsSpans checks that the spans of the parts cover the same visible text as those of
// the whole.
func TestSplit_keepsSpans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		x := Parse(strings.Join(rapid.SliceOfN(drawBlock(&words), 1, 6).Draw(t, "blocks"), "\n\n"))
		want, got := covered(x), map[core.SpanKind]string{}
		for _, p := range Split(x, rapid.IntRange(3, 40).Draw(t, "max"), nil) {
			for k, s := range covered(p) {
				got[k] += s
			}
		}
		for k, s := range want {
			if got[k] != s {
				t.Fatalf("%s: got %q, want %q", k, got[k], s)
			}
		}
	})
}

func covered(x Text) map[core.SpanKind]string {
	m := map[core.SpanKind]string{}
	for _, s := range x.Spans {
		m[s.Kind] += noSpace(x.Text[s.Start:s.End])
	}
	return m
}

func noSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func FuzzParse(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, md string) {
		x := Parse(md)
		checkText(t, x)
		for _, p := range Split(x, 50, UTF16Len) {
			checkText(t, p)
		}
		StripRefs(md)
	})
}

// hostile lists pieces that are costly for a careless parser when repeated.
var hostile = []string{
	">", "> - ", "- ", "1. ", "[", "![", "*a ", "*a **b ", "_a", "a**b*", "`a``b```c", "<", "<!--", "[a](", "[](",
	"[x](<", "[a]: b\n", "|", "|a|b\n|-|-\n", "a|a\n-|-\n", "a@b.c", "http://a.b/((", "&", "\\", "~~", "* a\n", "# ",
	"[a]: http://b\n", "x ```\n", "``` a b\n", "**：", "|`\n|-|\n", "```\n", "    a\n", "\n", "\t", "e\u0301",
	"\u0301", "\r\n", "\x00\xff", "[#1, ", "🇫🇷", "👨‍👩‍👧", " ",
}

// TestParse_hostileInput parses and splits hostile input of many chunks. The test would take far too long
// if anything were worse than linear.
func TestParse_hostileInput(t *testing.T) {
	t.Parallel()
	for _, piece := range hostile {
		x := Parse(strings.Repeat(piece, (20<<10)/len(piece)))
		checkText(t, x)
		Split(x, 4096, UTF16Len)
	}
	wide := strings.Repeat("|a", 2000) + "\n" + strings.Repeat("|-", 2000) + "\n" + strings.Repeat("a\n", 10000)
	checkText(t, Parse(wide))
}

func BenchmarkParseHostile(b *testing.B) {
	for _, piece := range hostile {
		md := strings.Repeat(piece, (1<<20)/len(piece))
		b.Run(piece, func(b *testing.B) {
			for b.Loop() {
				StripRefs(md)
				Split(Parse(md), 4096, UTF16Len)
			}
		})
	}
}

func BenchmarkParseReply(b *testing.B) {
	md := strings.Repeat("A sentence with **bold** and `code`, a [link](https://x.example).\n\n- item one\n- "+
		"item two\n\n",
		10)
	for b.Loop() {
		Split(Parse(md), 4096, UTF16Len)
	}
}
