// Package markup turns Markdown into plain text with spans over it, and cuts such texts into parts of the length that a
// channel supports. It is pure: each channel renders the spans as its own markup. It imports goldmark, uniseg and core.
package markup

import (
	"strings"
	"unicode/utf16"

	"github.com/everthread/everthread/core"
)

// Text is plain text with spans over it. Spans obey the contract of core.Span: byte offsets at rune boundaries, sorted
// by start, outer before inner, properly nested, never empty, and no span inside another of its own kind.
type Text struct {
	Text  string
	Spans []core.Span
}

// Part returns t as a part of a delivery.
func (t Text) Part() core.Part { return core.Part{Text: t.Text, Spans: t.Spans} }

// Plain returns the visible text of md without any markup.
func Plain(md string) string { return Parse(md).Text }

// UTF16Len returns the length of s in UTF-16 units, as Telegram counts. An invalid byte is one.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Renderer writes a Text as a channel's own markup. Open and Close return the markup before and after a span. Escape
// returns the text between in escaped form; in is the innermost span around it, the zero Span if there is none.
type Renderer struct {
	Open, Close func(s core.Span) string
	Escape      func(text string, in core.Span) string
}

// Render returns t in the markup of r.
func (r Renderer) Render(t Text) string {
	var b strings.Builder
	var open []core.Span
	pos := 0
	write := func(end int) {
		if end > pos {
			b.WriteString(r.Escape(t.Text[pos:end], innermost(open)))
			pos = end
		}
	}
	closeUntil := func(limit int) {
		for len(open) > 0 && innermost(open).End <= limit {
			write(innermost(open).End)
			b.WriteString(r.Close(innermost(open)))
			open = open[:len(open)-1]
		}
	}
	for _, s := range t.Spans {
		closeUntil(s.Start)
		write(s.Start)
		b.WriteString(r.Open(s))
		open = append(open, s)
	}
	closeUntil(len(t.Text))
	write(len(t.Text))
	return b.String()
}

func innermost(open []core.Span) core.Span {
	if len(open) == 0 {
		return core.Span{}
	}
	return open[len(open)-1]
}

var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">",
	`\>`, "~", `\~`, "#", `\#`, "|", `\|`, "$", `\$`)

// Escape returns a text as Markdown that shows it as it is.
func Escape(text string) string { return escaper.Replace(text) }
