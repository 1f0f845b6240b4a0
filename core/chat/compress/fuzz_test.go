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
		f.Add(s, "a")
	}
	c := compress.New(bytesCounter{})
	f.Fuzz(func(t *testing.T, text, earlier string) {
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
		for _, p := range c.Prints(&core.Message{Text: text}) {
			c.Repeats(text, map[int][]compress.Candidate{p.Piece: {{Message: 3, Piece: p.Piece, Text: earlier + text}}})
		}
		for _, role := range []core.Role{core.RoleUser, core.RoleAssistant} {
			m := core.Message{ID: 7, Role: role, Text: text}
			for _, form := range c.Forms(&m, nil) {
				if form.Tokens > len(text) || utf8.ValidString(text) && !utf8.ValidString(form.Text) {
					t.Fatalf("%q became %q", text, form.Text)
				}
			}
		}
	})
}

// bytesCounter counts bytes as tokens.
type bytesCounter struct{}

func (bytesCounter) Count(text string) int { return len(text) }
