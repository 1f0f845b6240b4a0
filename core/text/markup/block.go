package markup

import (
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/everthread/everthread/core"
)

// maxIndent bounds the indent of nested lists, in columns.
const maxIndent = 16

// blocks writes the children of parent, with the blank lines of the source between them.
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
		w.pre(string(n.Language(w.src)), string(n.Lines().Value(w.src)))
	case *ast.CodeBlock:
		w.pre("", string(n.Lines().Value(w.src)))
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
	w.flushMarker()
	outer := w.indent
	w.marker = outer + mark
	if len(outer) < maxIndent {
		w.indent = outer + strings.Repeat(" ", max(2, len([]rune(mark))))
	}
	w.blocks(n)
	w.flushMarker()
	w.indent = outer
}

func (w *writer) pre(language, code string) {
	code = strings.TrimRight(code, "\n")
	if strings.TrimSpace(code) == "" {
		return
	}
	w.span(core.SpanPre, language, func() { w.verbatim(code) })
}

func (w *writer) html(n *ast.HTMLBlock) {
	s := string(n.Lines().Value(w.src))
	if n.HasClosure() {
		s += string(n.ClosureLine.Value(w.src))
	}
	w.text(strings.Trim(s, "\n"))
}

// maxCell bounds the padding of a cell, in columns; a longer text is not cut.
const maxCell = 40

// table writes a table as aligned text.
func (w *writer) table(n *east.Table) {
	var rows [][]string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.cell(cell))
		}
		rows = append(rows, cells)
	}
	widths := columnWidths(rows)
	var b strings.Builder
	for i, cells := range rows {
		b.WriteString(tableRow(cells, widths, n.Alignments))
		if i == 0 {
			b.WriteString(tableRule(widths))
		}
	}
	w.span(core.SpanPre, "", func() { w.verbatim(strings.TrimRight(b.String(), "\n")) })
}

// cell returns the plain text of a cell on one line.
func (w *writer) cell(n ast.Node) string {
	inner := &writer{src: w.src}
	inner.inlines(n)
	return strings.ReplaceAll(inner.finish().Text, "\n", " ")
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], min(uniseg.StringWidth(c), maxCell))
		}
	}
	return widths
}

func tableRow(cells []string, widths []int, align []east.Alignment) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString(" | ")
		}
		room := max(0, widths[i]-uniseg.StringWidth(c))
		left := 0
		if i < len(align) {
			switch align[i] {
			case east.AlignRight:
				left = room
			case east.AlignCenter:
				left = room / 2
			}
		}
		b.WriteString(strings.Repeat(" ", left) + c + strings.Repeat(" ", room-left))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

func tableRule(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("-", n)
	}
	return strings.Join(parts, "-+-") + "\n"
}
