package chat

import (
	"bytes"
	"html/template"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/everthread/everthread/adapters/web"
)

// Code of one block is coloured up to this size, and as long as the time lasts: the
// patterns of languages may take long for what somebody made to that end.
const (
	mostColoured = 64 << 10
	colourTime   = 250 * time.Millisecond
)

// shades are the kinds of words that have a colour, by the class that names it.
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

// shade is the class of a kind of words; empty: it has no colour of its own.
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
	var text bytes.Buffer
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		text.Write(at.Value(source))
	}
	name, lexer := "", chroma.Lexer(nil)
	if block, ok := n.(*ast.FencedCodeBlock); ok {
		name = web.Short(string(block.Language(source)), 40)
	}
	if name != "" {
		lexer = lexers.Get(name)
		if lexer != nil {
			name = lexer.Config().Name
		}
		_, _ = w.WriteString(`<div class="codeblock"><p class="language">` + template.HTMLEscapeString(name) + "</p>")
	}
	_, _ = w.WriteString("<pre><code>" + coloured(lexer, text.String()) + "</code></pre>")
	if name != "" {
		_, _ = w.WriteString("</div>")
	}
	_, err := w.WriteString("\n")
	return ast.WalkSkipChildren, err
}

// coloured is code as HTML, in which words have classes. It has none if the language
// is not known, or if that would take too much.
func coloured(lexer chroma.Lexer, code string) string {
	plain := template.HTMLEscapeString(code)
	if _, ok := lexer.(*chroma.RegexLexer); !ok || len(code) > mostColoured {
		return plain // others read all at once, however long that takes
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

// box is the box of a task.
func (safely) box(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	sign := "☐"
	if n.(*extast.TaskCheckBox).IsChecked {
		sign = "☑"
	}
	if entering {
		_, err := w.WriteString(`<span class="box">` + sign + "</span> ")
		return ast.WalkContinue, err
	}
	return ast.WalkContinue, nil
}

// cell is a cell of a table, aligned by a class.
func (safely) cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == extast.KindTableHeader {
		tag = "th"
	}
	if !entering {
		_, err := w.WriteString("</" + tag + ">\n")
		return ast.WalkContinue, err
	}
	_, _ = w.WriteString("<" + tag)
	switch n.(*extast.TableCell).Alignment {
	case extast.AlignRight:
		_, _ = w.WriteString(` class="right"`)
	case extast.AlignCenter:
		_, _ = w.WriteString(` class="middle"`)
	}
	_, err := w.WriteString(">")
	return ast.WalkContinue, err
}
