package signal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		md, text string
		want     []string
	}{
		"plain":                     {"hello", "hello", nil},
		"heading is bold":           {"# Title\ntext", "Title\ntext", []string{`BOLD "Title"`}},
		"counts UTF-16":             {"🙂 **b** é *i*", "🙂 b é i", []string{`BOLD "b"`, `ITALIC "i"`}},
		"nested":                    {"**a *b* ~~c~~**", "a b c", []string{`BOLD "a b c"`, `ITALIC "b"`, `STRIKETHROUGH "c"`}},
		"code":                      {"use `x`", "use x", []string{`MONOSPACE "x"`}},
		"code block":                {"```go\nx := 1\n```", "x := 1", []string{`MONOSPACE "x := 1"`}},
		"a link shows its address":  {"**see [this](https://a.example/b) now**", "see this (https://a.example/b) now", []string{`BOLD "see this (https://a.example/b) now"`}},
		"a bold link":               {"[**this**](https://a.example) *i*", "this (https://a.example) i", []string{`BOLD "this"`, `ITALIC "i"`}},
		"an address is its own":     {"[a.example](https://a.example/) me@a.example", "a.example me@a.example", nil},
		"a quote has a sign a line": {"> a **b**\n> c\n\nd **e**", "> a b\n> c\n\nd e", []string{`BOLD "b"`, `BOLD "e"`}},
		"a bold quote":              {"> **a**", "> a", []string{`BOLD "a"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, ranges := render(markup.Parse(c.md).Part())
			if got := describe(t, text, ranges); text != c.text || !slices.Equal(got, c.want) {
				t.Errorf("got %q %q, want %q %q", text, got, c.text, c.want)
			}
		})
	}
}

func describe(t *testing.T, text string, ranges []string) []string {
	t.Helper()
	wide := utf16.Encode([]rune(text))
	var out []string
	for _, r := range ranges {
		var start, length int
		var name string
		if _, err := fmt.Sscanf(r, "%d:%d:%s", &start, &length, &name); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %q", name, string(utf16.Decode(wide[start:start+length]))))
	}
	return out
}

// Whatever spans a part has, the daemon accepts its styles, and no word is lost.
func TestRender_isAlwaysTaken(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"**", "*", "~~", "`", "[", "](https://a.example)", "\n", "\n\n", "> ", "- ", "# ", "```\n", "🙂", "a ", "word ", "||", "é",
		}), 1, 40).Draw(rt, "pieces")
		for _, part := range markup.Split(markup.Parse("x "+strings.Join(pieces, "")), 200, nil) {
			if _, err := p.ch.Send(t.Context(), toAda, part.Part()); err != nil {
				rt.Fatalf("send %q %v: %v", part.Text, part.Spans, err)
			}
			sent := p.s.Sent(ada)
			got := sent[len(sent)-1].Text
			if bare(got) != bare(part.Text) {
				rt.Fatalf("sent %q for %q", got, part.Text)
			}
			for _, s := range part.Spans {
				if s.Kind == core.SpanLink && !strings.Contains(got, strings.TrimPrefix(s.Value, "https://")) {
					rt.Fatalf("sent %q without the address of %q", got, part.Text[s.Start:s.End])
				}
			}
		}
	})
}

// bare returns a text without what rendering may add, and without blanks.
func bare(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, " (https://a.example)", ""), "https://a.example", "")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, ">", "")), "")
}

// What one person marks in an app comes back as it was when it is quoted to another.
func TestMarked_isWhatRenderShows(t *testing.T) {
	t.Parallel()
	for _, md := range []string{"a ~~b~~ `c` d", "🙂 ~~é~~ x", "no marks", "~~a `b`~~ c"} {
		text, ranges := render(markup.Parse(md).Part())
		var all []style
		for _, r := range ranges {
			var s style
			if _, err := fmt.Sscanf(r, "%d:%d:%s", &s.Start, &s.Length, &s.Style); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		if got := known().marked(text, all, nil); got != md {
			t.Errorf("got %q, want %q", got, md)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Config: Config{APIURL: "http://127.0.0.1:1", Account: signaltest.Self, RatePerChat: 2}})
	want := core.Capabilities{MaxText: 2000, Push: true, Files: true, Voice: true, RatePerChat: 2}
	if got := c.Capabilities(); fmt.Sprint(got) != fmt.Sprint(want) || c.Account() != signaltest.Self || c.memory.me() != signaltest.Self {
		t.Errorf("got %+v of %s, who is %s", got, c.Account(), c.memory.me())
	}
}
