package markup

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/everthread/everthread/core"
)

// maxColumns bounds the columns of a table, which every row costs; a wider one stays text.
const maxColumns = 64

var (
	withTables    = sync.OnceValue(func() parser.Parser { return newParser(extension.Table) })
	withoutTables = sync.OnceValue(func() parser.Parser { return newParser() })
)

func newParser(more ...goldmark.Extender) parser.Parser {
	return goldmark.New(goldmark.WithExtensions(append(more, Lenient{})...)).Parser()
}

// Parse returns the Markdown md as plain text with spans. Headings are on their own lines, list items begin with "• "
// or their number, tables are aligned text in a SpanPre, task boxes are ☐ and ☑. Line breaks stay. Raw HTML stays text,
// but <br> is a line break; see Lenient and Mend for what else is not by the letter of the standard. A link that no client would open (no web, mail, phone or chat scheme) is written out as
// "text (target)". Parse accepts any bytes, never panics, and its time is linear in len(md).
func Parse(md string) Text {
	md = strings.ToValidUTF8(md, "\uFFFD")
	md = Mend(strings.ReplaceAll(strings.ReplaceAll(md, "\r\n", "\n"), "\x00", "\uFFFD"))
	if len(md) <= chunkSize {
		return parseChunk(md)
	}
	var out Text
	var b strings.Builder
	for _, c := range chunks(md) {
		t := parseChunk(c.text)
		if t.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(c.join)
		}
		out.Spans = appendShifted(out.Spans, t.Spans, b.Len(), c.code)
		b.WriteString(t.Text)
	}
	out.Text = b.String()
	return out
}

// appendShifted appends spans moved by offset. With join, code at their beginning
// continues the code at the end of the earlier ones.
func appendShifted(to, spans []core.Span, offset int, join bool) []core.Span {
	for i, s := range spans {
		s.Start += offset
		s.End += offset
		if last := len(to) - 1; i == 0 && join && last >= 0 && to[last].Kind == core.SpanPre && s.Kind == core.SpanPre {
			to[last].End = s.End
			continue
		}
		to = append(to, s)
	}
	return to
}

func parseChunk(md string) Text {
	tables, links := Grows(md)
	if links {
		return Text{Text: md}
	}
	p := withTables()
	if tables || widestLine(md) > maxColumns {
		p = withoutTables()
	}
	src := []byte(md)
	w := &writer{src: src}
	w.blocks(p.Parse(text.NewReader(src)))
	return w.finish()
}

// widestLine returns the largest number of pipes in a line of md.
func widestLine(md string) int {
	widest := 0
	for line := range strings.Lines(md) {
		widest = max(widest, strings.Count(line, "|"))
	}
	return widest
}

// Bounds of what rendering may add to a text: cells of tables, to which short rows are
// padded, and targets of link definitions, which each use repeats.
const (
	maxCells   = 20_000
	maxTargets = 1 << 20 // bytes
)

// Grows reports whether Markdown could become much larger when rendered: by rows of a table that are padded to its
// header, or by link definitions that are used repeatedly. Its time is linear in len(md).
func Grows(md string) (tables, links bool) { return cells(md) > maxCells, targets(md) > maxTargets }

// cells bounds the cells of all tables: the columns of each rule below a header,
// times the lines until the next empty one.
func cells(md string) int {
	total, columns := 0, 0
	for line := range strings.Lines(md) {
		rest := strings.Trim(line, " \t>\r\n")
		switch {
		case rest == "":
			columns = 0
		case strings.Contains(rest, "-") && strings.Trim(rest, "|:-+* \t>0123456789.)") == "":
			columns = max(columns, strings.Count(rest, "|")+1)
		}
		total += columns
	}
	return total
}

// targets bounds the bytes of all uses of link definitions.
func targets(md string) int {
	if !strings.Contains(md, "]:") {
		return 0
	}
	longest, uses := 0, strings.Count(md, "]")
	for line := range strings.Lines(md) {
		longest = max(longest, len(line))
	}
	return longest * uses
}

// chunkSize bounds the input of one run of the Markdown parser, in bytes. Its time is
// quadratic for hostile input; with the bound that of a document is linear.
const chunkSize = 8 << 10

// chunk is a piece of a document that is parsed separately.
type chunk struct {
	text string
	join string // the text between it and the chunk before
	code bool   // it continues the fenced code of the chunk before
}

// chunks cuts md at blank lines, else at lines, else anywhere. A fence around a cut is closed and reopened.
func chunks(md string) []chunk {
	var out []chunk
	next := chunk{}
	for len(md) > chunkSize {
		n, join, fence := cut(next.text, md)
		c := next
		c.text += md[:n]
		md = md[n:]
		next = chunk{join: join}
		if fence != "" {
			c.text += "\n" + marker(fence)
			next = chunk{join: "\n", code: true, text: fence + "\n"}
		}
		out = append(out, c)
	}
	next.text += md
	return append(out, next)
}

// cut returns the end of a chunk in md, the text between it and the next one, and the line that opened a fence around
// the cut, if any. opened is the fence line that the chunk itself continues, if any.
func cut(opened, md string) (n int, join, reopen string) {
	inForce := strings.TrimSuffix(opened, "\n")
	var blank, plain, any int
	fence, anyFence := inForce, inForce
	for pos := 0; pos < chunkSize; {
		line, _, ended := strings.Cut(md[pos:], "\n")
		size := len(line)
		if ended {
			size++
		}
		if pos > 0 && pos+size > chunkSize {
			break
		}
		fence = fenceAfter(fence, line)
		pos += size
		if pos > chunkSize || pos >= len(md) {
			break
		}
		empty := strings.TrimSpace(line) == ""
		if fence == "" || !empty { // an empty line at the end of code would be lost
			any, anyFence = pos, fence
		}
		if fence == "" && md[pos] != ' ' && md[pos] != '\t' {
			plain = pos
			if empty {
				blank = pos
			}
		}
	}
	switch {
	case blank > chunkSize/4:
		return blank, "\n\n", ""
	case plain > chunkSize/4:
		return plain, "\n", ""
	case any > 0:
		return any, "\n", anyFence
	}
	n, join = cutLine(md)
	return n, join, inForce
}

// cutLine returns the place to cut a line that is too long, and the text between the pieces.
func cutLine(md string) (int, string) {
	if i := strings.LastIndexByte(md[:chunkSize], ' '); i > chunkSize/2 {
		return i, " "
	}
	n := chunkSize
	for n > chunkSize-utf8.UTFMax && !utf8.RuneStart(md[n]) {
		n--
	}
	return n, ""
}

// fenceAfter returns the line that opened the current fence after line, given that before it.
func fenceAfter(fence, line string) string {
	m := marker(line)
	switch {
	case m == "":
		return fence
	case fence == "":
		return line
	}
	open := marker(fence)
	if m[0] == open[0] && len(m) >= len(open) && strings.TrimSpace(line) == m {
		return ""
	}
	return fence
}

// marker returns the run of backticks or tildes of a line that opens or closes a fence, else "".
func marker(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	rest := strings.TrimLeft(s, s[:1])
	m := s[:len(s)-len(rest)]
	if len(m) < 3 || m[0] == '`' && strings.Contains(rest, "`") {
		return ""
	}
	return m
}
