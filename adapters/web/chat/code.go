package chat

import (
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

// Limits of highlighting one block of code, as crafted input may keep the patterns of a
// language busy for long.
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

// cell renders a table cell, aligned by a class.
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
