package markup

import (
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// writer builds a Text from left to right. Line breaks are delayed until more text
// follows, and spans begin at their first text, so neither dangles.
type writer struct {
	src    []byte
	out    strings.Builder
	spans  []core.Span // Start -1: no text yet; End -1: still open
	unset  []int       // spans without text yet
	inside []core.SpanKind

	breaks int    // delayed line breaks
	indent string // of lines inside a list item
	marker string // of a list item without text yet, with its indent
}

func (w *writer) finish() Text {
	s := strings.TrimRight(w.out.String(), " \t\n")
	spans := w.spans[:0]
	for _, sp := range w.spans {
		sp.End = min(sp.End, len(s))
		if sp.Start >= 0 && sp.Start < sp.End {
			spans = append(spans, sp)
		}
	}
	if len(spans) == 0 {
		spans = nil
	}
	return Text{Text: s, Spans: spans}
}

// line requests n line breaks before the next text.
func (w *writer) line(n int) { w.breaks = max(w.breaks, n) }

// text writes s with its line breaks, and indents its lines.
func (w *writer) text(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.breaks++
		}
		if line != "" {
			w.begin()
			w.out.WriteString(line)
		}
	}
}

// verbatim writes s unchanged, on its own lines without indent.
func (w *writer) verbatim(s string) {
	w.flushMarker()
	indent := w.indent
	w.indent = ""
	w.begin()
	w.out.WriteString(s)
	w.indent = indent
}

// flushMarker writes the marker of a list item without text, if there is one, on its line.
func (w *writer) flushMarker() {
	if w.marker == "" {
		return
	}
	m := strings.TrimRight(w.marker, " ")
	w.marker = ""
	w.newline()
	w.out.WriteString(m)
	w.line(1)
}

// begin writes the delayed line breaks and marker before text.
func (w *writer) begin() {
	if w.newline() {
		w.out.WriteString(w.marker)
		if w.marker == "" {
			w.out.WriteString(w.indent)
		}
		w.marker = ""
	}
	for _, i := range w.unset {
		w.spans[i].Start = w.out.Len()
	}
	w.unset = w.unset[:0]
}

// newline writes the delayed line breaks, and reports whether a line begins.
func (w *writer) newline() bool {
	if w.out.Len() == 0 {
		w.breaks = 0
		return true
	}
	for range w.breaks {
		w.out.WriteByte('\n')
	}
	begins := w.breaks > 0
	w.breaks = 0
	return begins
}

// span writes body as a span of kind, or only the body inside a span of the same kind.
func (w *writer) span(kind core.SpanKind, value string, body func()) {
	if slices.Contains(w.inside, kind) {
		body()
		return
	}
	i := len(w.spans)
	w.spans = append(w.spans, core.Span{Kind: kind, Start: -1, Value: value})
	w.unset = append(w.unset, i)
	w.inside = append(w.inside, kind)
	body()
	w.inside = w.inside[:len(w.inside)-1]
	w.spans[i].End = w.out.Len()
	if w.spans[i].Start < 0 {
		w.unset = w.unset[:len(w.unset)-1]
	}
}
