package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/everthread/everthread/core"
)

// maxIndent bounds the indent of nested lists, in columns.
const maxIndent = 16

// blocks writes the children of parent, with the blank lines of the source between
// them.
func (w *writer) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil {
			w.line(1)
			if n.HasBlankPreviousLines() {
				w.line(2)
			}
		}
		w.block(n)
	}
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.span(core.SpanHeading, "", func() { w.inlines(n) })
	case *ast.Paragraph, *ast.TextBlock:
		w.inlines(n)
	case *ast.Blockquote:
		w.span(core.SpanQuote, "", func() { w.blocks(n) })
	case *ast.List:
		w.list(n)
	case *ast.FencedCodeBlock:
		w.pre(string(n.Language(w.src)), w.lines(n))
	case *ast.CodeBlock:
		w.pre("", w.lines(n))
	case *ast.HTMLBlock:
		w.html(n)
	case *ast.ThematicBreak:
		w.text("———")
	case *east.Table:
		w.table(n)
	default:
		w.blocks(n)
	}
}

func (w *writer) list(n *ast.List) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil {
			w.line(1)
			if item.HasBlankPreviousLines() {
				w.line(2)
			}
		}
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		w.item(item, mark)
	}
}

// item writes one list item. An item without text still shows its mark.
func (w *writer) item(n ast.Node, mark string) {
	if w.marker != "" {
		w.flushMarker()
	}
	outer := w.indent
	w.marker = outer + mark
	if len(outer) < maxIndent {
		w.indent = outer + strings.Repeat(" ", max(2, len([]rune(mark))))
	}
	w.blocks(n)
	if w.marker != "" {
		w.flushMarker()
	}
	w.indent = outer
}

// pre writes a block of code.
func (w *writer) pre(language, code string) {
	code = strings.TrimRight(code, "\n")
	if strings.TrimSpace(code) == "" {
		return
	}
	w.span(core.SpanPre, language, func() { w.verbatim(code) })
}

func (w *writer) html(n *ast.HTMLBlock) {
	s := w.lines(n)
	if n.HasClosure() {
		s += string(n.ClosureLine.Value(w.src))
	}
	w.text(strings.Trim(s, "\n"))
}

// lines returns the raw lines of a block.
func (w *writer) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(w.src))
	}
	return b.String()
}
