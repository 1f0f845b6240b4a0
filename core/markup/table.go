package markup

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/everthread/everthread/core"
)

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
