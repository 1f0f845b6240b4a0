package chat

import (
	"bytes"
	"html/template"
	"sync"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Largest formula, in bytes, within a line and as a block.
const (
	mostInLine = 1000
	mostBlock  = 4000
)

var kindMath = sync.OnceValue(func() ast.NodeKind { return ast.NewNodeKind("Math") })

var kindMathBlock = sync.OnceValue(func() ast.NodeKind { return ast.NewNodeKind("MathBlock") })

// formula is mathematics within a line, as TeX.
type formula struct {
	ast.BaseInline
	tex  []byte
	wide bool // shown on a line of its own, like a block
}

// Kind returns kindMath().
func (*formula) Kind() ast.NodeKind { return kindMath() }

// Dump writes the node for debugging.
func (f *formula) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// formulaBlock is mathematics on lines of its own, as TeX.
type formulaBlock struct {
	ast.BaseBlock
	closer []byte
	closed bool
}

// Kind returns kindMathBlock().
func (*formulaBlock) Kind() ast.NodeKind { return kindMathBlock() }

// IsRaw reports true: nothing within it is Markdown.
func (*formulaBlock) IsRaw() bool { return true }

// Dump writes the node for debugging.
func (f *formulaBlock) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// mathParser finds $…$, $$…$$, \(…\) and \[…\] within a line.
type mathParser struct{}

// Trigger returns the first characters of a formula.
func (mathParser) Trigger() []byte { return []byte{'$', '\\'} }

// Parse parses a formula. To exclude prices, text between $ signs must not begin or end
// with white space, and no word may precede it, and no number or word follow it.
func (mathParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	opener, closer := delimiters(line)
	if opener == nil {
		return nil
	}
	rest := line[len(opener):min(len(line), mostInLine)]
	end := unescaped(rest, closer)
	if end < 0 || len(bytes.TrimSpace(rest[:end])) == 0 {
		return nil
	}
	tex, after := rest[:end], rest[end+len(closer):]
	if opener[0] == '$' {
		before := block.PrecendingCharacter()
		if unicode.IsLetter(before) || unicode.IsDigit(before) || before == '\\' || bytes.IndexByte(tex, '`') >= 0 {
			return nil
		}
		tight := !isSpace(tex[0]) && !isSpace(tex[len(tex)-1])
		if len(opener) == 1 && (!tight || len(after) > 0 && (after[0] == '$' || isWord(after[0]))) {
			return nil
		}
	}
	block.Advance(len(opener) + end + len(closer))
	return &formula{tex: bytes.TrimSpace(tex), wide: opener[0] == '$' && len(opener) == 2 || closer[len(closer)-1] == ']'}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func isWord(c byte) bool { return unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) }

// delimiters returns the delimiters of the formula at the start of s, or nil.
func delimiters(s []byte) (opener, closer []byte) {
	for _, d := range [][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}} {
		if bytes.HasPrefix(s, []byte(d[0])) {
			return []byte(d[0]), []byte(d[1])
		}
	}
	return nil, nil
}

// unescaped returns the index of closer in s without a backslash before it, or -1.
func unescaped(s, closer []byte) int {
	if !bytes.Contains(s, closer) {
		return -1 // much faster than the loop, which many openers would repeat
	}
	for i := 0; i+len(closer) <= len(s); i++ {
		if bytes.HasPrefix(s[i:], closer) {
			return i
		}
		if s[i] == '\\' {
			i++
		}
	}
	return -1
}

// mathBlockParser finds $$…$$ and \[…\] on lines of their own.
type mathBlockParser struct{}

// Trigger returns the first characters of a block.
func (mathBlockParser) Trigger() []byte { return []byte{'$', '\\'} }

// Open begins a block if it ends before a blank line and only punctuation follows it.
func (mathBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, at := reader.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 {
		return nil, parser.NoChildren
	}
	opener, closer := delimiters(line[pos:])
	if len(opener) != 2 || opener[1] == '(' {
		return nil, parser.NoChildren
	}
	from := at.Stop - len(line) + pos + len(opener)
	ahead := reader.Source()[from:]
	ahead = ahead[:min(len(ahead), mostBlock)]
	if blank := bytes.Index(ahead, []byte("\n\n")); blank >= 0 {
		ahead = ahead[:blank]
	}
	end := unescaped(ahead, closer)
	if end < 0 || len(bytes.TrimSpace(ahead[:end])) == 0 {
		return nil, parser.NoChildren
	}
	behind, _, _ := bytes.Cut(ahead[end+len(closer):], []byte("\n"))
	if len(bytes.Trim(behind, " \t\r.,;:!?")) > 0 {
		return nil, parser.NoChildren
	}
	n := &formulaBlock{closer: closer}
	n.take(line[pos+len(opener):], from, at.Stop)
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

// take adds a line up to the end of the block.
func (f *formulaBlock) take(line []byte, from, to int) {
	if end := unescaped(line, f.closer); end >= 0 {
		f.closed, to = true, from+end
	}
	f.Lines().Append(text.NewSegment(from, to))
}

// Continue parses the next line.
func (mathBlockParser) Continue(n ast.Node, reader text.Reader, _ parser.Context) parser.State {
	f := n.(*formulaBlock)
	line, at := reader.PeekLine()
	if f.closed || util.IsBlank(line) {
		return parser.Close
	}
	f.take(line, at.Stop-len(line), at.Stop)
	reader.AdvanceToEOL()
	if f.closed {
		return parser.Close
	}
	return parser.Continue | parser.NoChildren
}

// Close does nothing.
func (mathBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph reports true.
func (mathBlockParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine reports false: that is code.
func (mathBlockParser) CanAcceptIndentedLine() bool { return false }

// math renders a formula as its TeX, which the page's script typesets.
func (safely) math(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		f, class := n.(*formula), "math"
		if f.wide {
			class = "math wide"
		}
		_, _ = w.WriteString(`<span class="` + class + `">`)
		template.HTMLEscape(w, f.tex)
		_, err := w.WriteString("</span>")
		return ast.WalkContinue, err
	}
	return ast.WalkContinue, nil
}

func (safely) mathBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		tex := string(bytes.TrimSpace(n.Lines().Value(source)))
		_, err := w.WriteString(`<div class="math wide">` + template.HTMLEscapeString(tex) + "</div>\n")
		return ast.WalkContinue, err
	}
	return ast.WalkContinue, nil
}
