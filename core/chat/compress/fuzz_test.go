package compress_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
)

// FuzzForms checks that no text, however malformed, causes a panic or a form longer than itself,
// and that pieces cover all of it but white space.
func FuzzForms(f *testing.F) {
	for _, s := range []string{"", "a", "```", "```go\nx\n```", "> q\n\n- a\n  b\n\n    code\n\n\n    more",
		"\"a. B\" c. «d", "\xff\xfe. A\x80", "`` ` ``. B", "|a|b|\n|-|-|", "1. a\n2) b", "。。", "…\n…", "**a**:",
		"a \"b", "~~~\n```\n~~~"} {
		f.Add(s, "{\"id\": 1}")
	}
	c := compress.New(bytesCounter{})
	f.Fuzz(func(t *testing.T, text, given string) {
		at := 0
		for _, p := range compress.Split(text) {
			start, end := p.Bounds()
			if start < at || end <= start || end > len(text) || strings.TrimSpace(text[at:start]) != "" {
				t.Fatalf("piece %d–%d after %d of %q", start, end, at, text)
			}
			at = end
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("%q is in no piece", text[at:])
		}
		prints := c.Prints(text)
		for _, p := range prints {
			c.Repeats(text, map[int][]compress.Candidate{p.Piece: {{Message: 3, Piece: p.Piece, Text: given + text}}})
		}
		for _, role := range []core.Role{core.RoleUser, core.RoleAssistant} {
			m := core.Message{ID: 7, Role: role, Text: text}
			for _, form := range c.Forms(&m, given, nil) {
				if form.Tokens > len(text) || utf8.ValidString(text) && utf8.ValidString(given) && !utf8.ValidString(form.Text) {
					t.Fatalf("%q became %q", text, form.Text)
				}
			}
			compress.Request([]core.Message{m})
		}
	})
}

// bytesCounter counts bytes as tokens.
type bytesCounter struct{}

func (bytesCounter) Count(text string) int { return len(text) }

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"id": 12, "text": "a"}`, `{"id":"#12","text":"a"},`,
		"```json\n{\"id\":1,\"text\":\"x\"}\n```", `[{"id":1,"text":"{}"}]`, `{"id": 1e9, "text": null}`, "{", "}{",
		`{"id":-1,"text":""}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for id := range compress.Parse(answer) {
			if id <= 0 {
				t.Fatalf("message %d", id)
			}
		}
	})
}
