package markup

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/everthread/everthread/core"
)

func (w *writer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.inline(n)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.words(n)
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		w.code(n)
	case *ast.Emphasis:
		w.emphasis(n)
	case *east.Strikethrough:
		w.span(core.SpanStrike, "", func() { w.inlines(n) })
	case *ast.Link:
		w.link(unescape(n.Destination), func() { w.inlines(n) })
	case *ast.Image:
		w.link(unescape(n.Destination), func() { w.inlines(n) })
	case *ast.AutoLink:
		w.autolink(n)
	case *ast.RawHTML:
		tag := string(n.Segments.Value(w.src))
		if bare := strings.ToLower(strings.ReplaceAll(tag, " ", "")); bare == "<br>" || bare == "<br/>" {
			w.breaks++
			return
		}
		w.text(tag)
	case *east.TaskCheckBox:
		w.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	default:
		w.inlines(n)
	}
}

func (w *writer) words(n *ast.Text) {
	raw := n.Segment.Value(w.src)
	if n.IsRaw() {
		w.text(string(raw))
	} else {
		w.text(unescape(raw))
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.line(1)
	}
}

// code writes a code span, with blanks for line breaks.
func (w *writer) code(n *ast.CodeSpan) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.src))
		}
	}
	s := strings.ReplaceAll(b.String(), "\n", " ")
	w.span(core.SpanCode, "", func() { w.text(s) })
}

// emphasis writes italic or bold text; a heading is bold already.
func (w *writer) emphasis(n *ast.Emphasis) {
	body := func() { w.inlines(n) }
	switch {
	case n.Level == 1:
		w.span(core.SpanItalic, "", body)
	case len(w.inside) > 0 && w.inside[0] == core.SpanHeading:
		body()
	default:
		w.span(core.SpanBold, "", body)
	}
}

// link writes a link. Without text it shows its target; one that no client opens is text.
func (w *writer) link(target string, body func()) {
	before := w.out.Len()
	blank := func() bool { return strings.TrimSpace(w.out.String()[before:]) == "" }
	if !linkable(target) {
		body()
		switch {
		case target == "":
		case blank():
			w.text(target)
		default:
			w.text(" (" + target + ")")
		}
		return
	}
	w.span(core.SpanLink, target, func() {
		body()
		if blank() {
			w.text(target)
		}
	})
}

func (w *writer) autolink(n *ast.AutoLink) {
	target := string(n.URL(w.src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	label := func() { w.text(string(n.Label(w.src))) }
	if !linkable(target) {
		label()
		return
	}
	w.span(core.SpanLink, target, label)
}

// linkable reports whether chat clients open target.
func linkable(target string) bool {
	scheme, rest, ok := strings.Cut(target, ":")
	if !ok || strings.TrimLeft(rest, "/") == "" || strings.ContainsAny(target, " \n\t\"<>") {
		return false
	}
	return slices.Contains([]string{"http", "https", "mailto", "tel", "tg", "matrix", "sgnl", "geo", "ftp", "sms"},
		strings.ToLower(scheme))
}

// longestEntity bounds the length of a character reference, in bytes.
const longestEntity = 34

// unescape resolves backslash escapes and character references.
func unescape(b []byte) string {
	s := string(b)
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			out.WriteByte(s[i+1])
			i += 2
		case s[i] == '&':
			n := entityLen(s[i:])
			out.WriteString(strings.ReplaceAll(html.UnescapeString(s[i:i+n]), "\x00", "\uFFFD"))
			i += n
		default:
			out.WriteByte(s[i])
			i++
		}
	}
	return out.String()
}

// entityLen returns the length of the character reference at the beginning of s, or 1 for a lone ampersand.
func entityLen(s string) int {
	if end := strings.IndexByte(s[:min(len(s), longestEntity)], ';'); end > 1 {
		return end + 1
	}
	return 1
}

var (
	heading = regexp.MustCompile(`^…?#{1,6} `)
	bullet  = regexp.MustCompile(`^(…?)(?:[-*]|[0-9]+\.) `)
)

// Excerpt returns a piece of a summary's Markdown as one line for people: without
// headings and references to messages, and with " · " between list items.
func Excerpt(md string) string {
	var b strings.Builder
	for line := range strings.Lines(StripRefs(md)) {
		line = strings.TrimSpace(line)
		if line == "" || heading.MatchString(line) {
			continue
		}
		entry := bullet.ReplaceAllString(line, "$1")
		switch {
		case b.Len() == 0:
		case entry != line:
			b.WriteString(" · ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(Plain(entry))
	}
	return b.String()
}

// refs matches references to messages with the blanks before them, and the beginning of a link's target after them.
var refs = regexp.MustCompile(`[ \t]*\[#[0-9]+(?:, *#[0-9]+)*\]\(?`)

// StripRefs removes references to messages, such as [#123] and [#1, #2], and
// the blanks before them from Markdown. Links whose text looks like one stay.
func StripRefs(md string) string {
	if !strings.Contains(md, "[#") {
		return md
	}
	return refs.ReplaceAllStringFunc(md, func(ref string) string {
		if strings.HasSuffix(ref, "(") {
			return ref
		}
		return ""
	})
}
