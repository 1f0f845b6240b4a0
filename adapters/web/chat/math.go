package chat

import (
	"bytes"
	"html/template"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/everthread/everthread/adapters/web"
)

// Largest formula, in bytes, within a line and as a block.
const mostInLine, mostBlock = 1000, 4000

var kindMath = ast.NewNodeKind("Math")

var kindMathBlock = ast.NewNodeKind("MathBlock")

// formula is mathematics within a line, as TeX.
type formula struct {
	ast.BaseInline
	tex  []byte
	wide bool // shown on a line of its own, like a block
}

func (*formula) Kind() ast.NodeKind { return kindMath }

func (f *formula) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// formulaBlock is mathematics on lines of its own, as TeX.
type formulaBlock struct {
	ast.BaseBlock
	closer []byte
	closed bool
}

func (*formulaBlock) Kind() ast.NodeKind { return kindMathBlock }

// IsRaw reports true: nothing within it is Markdown.
func (*formulaBlock) IsRaw() bool { return true }

func (f *formulaBlock) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// mathParser finds $…$, $$…$$, \(…\) and \[…\] within a line.
type mathParser struct{}

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

func (mathBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph reports true.
func (mathBlockParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine reports false: that is code.
func (mathBlockParser) CanAcceptIndentedLine() bool { return false }

// writeMath renders a formula as its TeX, which the page's script typesets.
func writeMath(w util.BufWriter, _ []byte, n ast.Node) {
	f, class := n.(*formula), "math"
	if f.wide {
		class = "math wide"
	}
	_, _ = w.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(string(f.tex)) + "</span>")
}

func writeMathBlock(w util.BufWriter, source []byte, n ast.Node) {
	tex := string(bytes.TrimSpace(n.Lines().Value(source)))
	_, _ = w.WriteString(`<div class="math wide">` + template.HTMLEscapeString(tex) + "</div>\n")
}

// Limits of highlighting one block of code, as crafted input may keep the patterns of a language busy for long.
const (
	mostColoured = 64 << 10 // bytes
	colourTime   = 250 * time.Millisecond
)

// shades are the CSS classes of the kinds of tokens.
var shades = []struct {
	class string
	kinds []chroma.TokenType
}{
	{"c", []chroma.TokenType{chroma.Comment}},
	{"s", []chroma.TokenType{chroma.LiteralString}},
	{"n", []chroma.TokenType{chroma.LiteralNumber, chroma.KeywordConstant}},
	{"t", []chroma.TokenType{chroma.KeywordType, chroma.NameClass, chroma.NameBuiltin}},
	{"k", []chroma.TokenType{chroma.Keyword, chroma.OperatorWord, chroma.NameTag}},
	{"f", []chroma.TokenType{chroma.NameFunction, chroma.NameAttribute, chroma.NameDecorator}},
	{"d", []chroma.TokenType{chroma.GenericDeleted}},
	{"i", []chroma.TokenType{chroma.GenericInserted}},
}

// shade returns the CSS class of a kind of token, or "".
func shade(kind chroma.TokenType) string {
	for _, s := range shades {
		for _, k := range s.kinds {
			if kind == k || k == k.Category() && kind.InCategory(k) || k == k.SubCategory() && kind.InSubCategory(k) {
				return s.class
			}
		}
	}
	return ""
}

// code renders a block of code below the name of its language.
func (safely) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	name, lexer := "", chroma.Lexer(nil)
	if block, ok := n.(*ast.FencedCodeBlock); ok {
		name = web.Short(string(block.Language(source)), 40)
	}
	if name != "" {
		if lexer = lexers.Get(name); lexer != nil {
			name = lexer.Config().Name
		}
		_, _ = w.WriteString(`<div class="codeblock"><p class="language">` + template.HTMLEscapeString(name) + "</p>")
	}
	_, _ = w.WriteString("<pre><code>" + coloured(lexer, string(n.Lines().Value(source))) + "</code></pre>")
	if name != "" {
		_, _ = w.WriteString("</div>")
	}
	_, err := w.WriteString("\n")
	return ast.WalkSkipChildren, err
}

// coloured returns code as HTML with a class for each kind of token. It leaves the
// classes out if the language is unknown or highlighting exceeds a limit.
func coloured(lexer chroma.Lexer, code string) string {
	plain := template.HTMLEscapeString(code)
	if _, ok := lexer.(*chroma.RegexLexer); !ok || len(code) > mostColoured {
		return plain // other lexers read all of the code first, however long that takes
	}
	next, err := lexer.Tokenise(nil, code)
	if err != nil {
		return plain
	}
	var out, run strings.Builder
	class, end := "", time.Now().Add(colourTime)
	flush := func() {
		if text := template.HTMLEscapeString(run.String()); class != "" && text != "" {
			out.WriteString(`<span class="` + class + `">` + text + "</span>")
		} else {
			out.WriteString(text)
		}
		run.Reset()
	}
	read := 0
	for token := next(); token != chroma.EOF; token = next() {
		if time.Now().After(end) {
			return plain
		}
		if c := shade(token.Type); c != class && strings.TrimSpace(token.Value) != "" {
			flush()
			class = c
		}
		run.WriteString(token.Value)
		read += len(token.Value)
	}
	flush()
	if read < len(code) { // a pattern took too long
		return plain
	}
	return out.String()
}

// box renders the check box of a task list.
func box(w util.BufWriter, _ []byte, n ast.Node) {
	sign := "☐"
	if n.(*extast.TaskCheckBox).IsChecked {
		sign = "☑"
	}
	_, _ = w.WriteString(`<span class="box">` + sign + "</span> ")
}

// cell renders a table cell, aligned by a class.
func (safely) cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == extast.KindTableHeader {
		tag = "th"
	}
	class := map[extast.Alignment]string{extast.AlignRight: ` class="right"`, extast.AlignCenter: ` class="middle"`}
	text := "<" + tag + class[n.(*extast.TableCell).Alignment] + ">"
	if !entering {
		text = "</" + tag + ">\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}
