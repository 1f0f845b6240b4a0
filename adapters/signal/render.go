package signal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

// styles are the service's names of the spans that it shows.
var styles = map[core.SpanKind]string{
	core.SpanBold: "BOLD", core.SpanHeading: "BOLD", core.SpanItalic: "ITALIC", core.SpanStrike: "STRIKETHROUGH",
	core.SpanCode: "MONOSPACE", core.SpanPre: "MONOSPACE", core.SpanSpoiler: "SPOILER",
}

// insertion is text that the service has no style for, at a byte offset of the text of a part.
type insertion struct {
	at   int
	text string
}

// render returns the text of p, and its styles as START:LENGTH:STYLE in UTF-16 units. An address stands behind its
// words, and a sign before each line of a quote.
func render(p core.Part) (text string, ranges []string) {
	added := insertions(p)
	var b strings.Builder
	from := 0
	for _, i := range added {
		b.WriteString(p.Text[from:i.at])
		b.WriteString(i.text)
		from = i.at
	}
	b.WriteString(p.Text[from:])
	for _, s := range p.Spans {
		name := styles[s.Kind]
		if name == "" || strings.TrimSpace(p.Text[s.Start:s.End]) == "" {
			continue
		}
		start := units(p.Text, added, s.Start, func(at int) bool { return at <= s.Start })
		end := units(p.Text, added, s.End, func(at int) bool { return at < s.End })
		ranges = append(ranges, fmt.Sprintf("%d:%d:%s", start, end-start, name))
	}
	return b.String(), ranges
}

// insertions returns the additions to the text of p, in order.
func insertions(p core.Part) []insertion {
	var out []insertion
	for _, s := range p.Spans {
		words := p.Text[s.Start:s.End]
		switch s.Kind {
		case core.SpanLink:
			if !same(words, s.Value) {
				out = append(out, insertion{s.End, " (" + s.Value + ")"})
			}
		case core.SpanQuote:
			out = append(out, insertion{s.Start, "> "})
			for i := range words {
				if words[i] == '\n' && i < len(words)-1 {
					out = append(out, insertion{s.Start + i + 1, "> "})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b insertion) int { return a.at - b.at })
	return out
}

// same reports whether words are the address that they lead to.
func same(words, address string) bool {
	bare := func(s string) string {
		for _, scheme := range []string{"https://", "http://", "mailto:", "tel:"} {
			s = strings.TrimPrefix(s, scheme)
		}
		return strings.TrimSuffix(s, "/")
	}
	return address == "" || bare(words) == bare(address)
}

// units returns the offset in the rendered text of a byte offset of text, behind the insertions that count.
func units(text string, added []insertion, offset int, counts func(at int) bool) int {
	n := markup.UTF16Len(text[:offset])
	for _, i := range added {
		if counts(i.at) {
			n += markup.UTF16Len(i.text)
		}
	}
	return n
}
