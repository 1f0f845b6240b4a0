package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

func TestRender_entities(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		md   string
		fold bool
		want []string
	}{
		"plain":           {md: "hello", want: nil},
		"heading is bold": {md: "# Title\ntext", want: []string{`bold "Title"`}},
		"counts UTF-16":   {md: "🙂 **b** é *i*", want: []string{`bold "b"`, `italic "i"`}},
		"nested": {md: "**a *b* ~~c~~**", want: []string{`bold "a b c"`, `italic "b"`,
			`strikethrough "c"`}},
		"bold is cut around code": {md: "**use `x` now**",
			want: []string{`bold "use "`, `code "x"`, `bold " now"`}},
		"bold that is only code": {md: "**`x`**", want: []string{`code "x"`}},
		"a link keeps, its code goes": {md: "[see `x`](https://a.example)",
			want: []string{`text_link "see x" https://a.example`}},
		"code with language":                {md: "```go\nx := 1\n```", want: []string{`pre "x := 1" go`}},
		"quote with code":                   {md: "> a\n> ```\n> b\n> ```", want: []string{`blockquote "a\nb"`, `pre "b"`}},
		"mail addresses link by themselves": {md: "me@a.example", want: nil},
		"fold": {md: "**Summary**\n\n- one **b**\n> q", fold: true,
			want: []string{`bold "Summary"`, `expandable_blockquote "\n• one b\nq"`, `bold "b"`}},
		"fold cuts what crosses the line": {md: "~~a\nb~~", fold: true,
			want: []string{`strikethrough "a\n"`, `expandable_blockquote "b"`, `strikethrough "b"`}},
		"fold of one line": {md: "**one**", fold: true, want: []string{`bold "one"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := markup.Parse(c.md).Part()
			p.Fold = c.fold
			if got := describe(p.Text, entities(p)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func describe(text string, entities []models.MessageEntity) []string {
	wide := utf16.Encode([]rune(text))
	var out []string
	for _, e := range entities {
		s := fmt.Sprintf("%s %q", e.Type, string(utf16.Decode(wide[e.Offset:e.Offset+e.Length])))
		out = append(out, strings.TrimSpace(s+" "+e.URL+e.Language))
	}
	return out
}

func TestRender_fields(t *testing.T) {
	t.Parallel()
	m := Render(5, core.Part{Text: "x", Quiet: true, Reply: "41"})
	if m.ChatID != int64(5) || !m.DisableNotification || m.ParseMode != "" || !*m.LinkPreviewOptions.IsDisabled {
		t.Errorf("got %+v", m)
	}
	if r := m.ReplyParameters; r == nil || r.MessageID != 41 || !r.AllowSendingWithoutReply {
		t.Errorf("got reply %+v", r)
	}
	if m := Render(5, core.Part{Text: "x", Reply: "no id"}); m.ReplyParameters != nil {
		t.Errorf("got reply %+v to no message", m.ReplyParameters)
	}
}

func TestRender_keepsOutermostEntities(t *testing.T) {
	t.Parallel()
	p := markup.Parse(strings.Repeat("**a *b* c** ", 80)).Part()
	got := entities(p)
	if len(got) != maxEntities {
		t.Fatalf("%d entities, want %d", len(got), maxEntities)
	}
	bold := 0
	for _, e := range got {
		if e.Type == models.MessageEntityTypeBold {
			bold++
		}
	}
	if bold != 80 {
		t.Errorf("%d outer entities left of 80", bold)
	}
}

// Whatever spans a part has, the service accepts its entities, and the text is
// complete.
func TestRender_isAlwaysTaken(t *testing.T) {
	t.Parallel()
	s := telegramtest.New()
	t.Cleanup(s.Close)
	c := open(t, Options{Config: Config{APIURL: s.URL()}})
	to := core.Address{Channel: Name, Account: "123456", External: "7"}
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"**", "*", "~~", "`", "[", "](https://a.example)", "\n", "\n\n", "> ", "- ", "# ", "```\n", "🙂", "a ",
			"word ", "|", "|-|", "é",
		}), 1, 60).Draw(t, "pieces")
		p := core.Part{}
		for _, part := range markup.Split(markup.Parse("x "+strings.Join(pieces, "")), 200, markup.UTF16Len) {
			p = part.Part()
			p.Fold = rapid.Bool().Draw(t, "fold")
			if rapid.Bool().Draw(t, "wild") {
				p.Spans = wildSpans(t, p.Text)
			}
			calls := s.Calls("sendMessage")
			if _, err := c.Send(context.Background(), to, p); err != nil {
				t.Fatalf("send %q %v: %v", p.Text, p.Spans, err)
			}
			if n := s.Calls("sendMessage") - calls; n != 1 {
				t.Fatalf("took %d attempts for %q %v", n, p.Text, p.Spans)
			}
		}
	})
}

// wildSpans draws properly nested spans of any kind, side by side and within.
func wildSpans(t *rapid.T, text string) []core.Span {
	var borders []int
	for i := range text {
		borders = append(borders, i)
	}
	borders = append(borders, len(text))
	var spans []core.Span
	var within func(from, to, depth int)
	within = func(from, to, depth int) {
		for from < to && depth < 4 && len(spans) < 150 {
			a := rapid.IntRange(from, to).Draw(t, "start")
			b := rapid.IntRange(a, to).Draw(t, "end")
			if a == b {
				return
			}
			kind := rapid.SampledFrom([]core.SpanKind{
				core.SpanBold, core.SpanItalic, core.SpanStrike, core.SpanCode, core.SpanPre,
				core.SpanLink, core.SpanQuote, core.SpanHeading, core.SpanSpoiler,
			}).Draw(t, "kind")
			spans = append(spans, core.Span{Kind: kind, Start: borders[a], End: borders[b], Value: "https://a.example"})
			within(a, b, depth+1)
			from = b
		}
	}
	within(0, len(borders)-1, 0)
	return spans
}

func TestHead(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"ab": "ab", "abcd": "abc", "a🙂b": "a🙂", "ab🙂": "ab"} {
		if got := head(in, 3); got != want {
			t.Errorf("head(%q) = %q, want %q", in, got, want)
		}
	}
}
