package markup

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Lenient extends a Markdown parser to what models and people write: only ~~ strikes out, signs within numbers, formulas
// and names are no markup, those beside words without spaces are, and so are the tags <b>, <i>, <s> and <code>. Link
// definitions that nothing uses stay text. It includes links and task lists.
type Lenient struct{}

// Extend adds the parsers.
func (Lenient) Extend(m goldmark.Markdown) {
	for _, e := range []goldmark.Extender{extension.Strikethrough, extension.Linkify, extension.TaskList} {
		e.Extend(m)
	}
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(signs{}, 400)),
		parser.WithASTTransformers(util.Prioritized(tags{}, 100), util.Prioritized(definitions{}, 110)))
}

// tags makes markup of pairs of tags.
type tags struct{}

// made returns the markup for a tag.
func made(name string) ast.Node {
	switch name {
	case "b", "strong":
		return ast.NewEmphasis(2)
	case "i", "em":
		return ast.NewEmphasis(1)
	case "s", "del", "strike":
		return east.NewStrikethrough()
	case "code":
		return ast.NewCodeSpan()
	}
	return nil
}

// Transform replaces the pairs of each block.
func (tags) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var first []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Kind() == ast.KindRawHTML {
			if p := n.Parent(); len(first) == 0 || first[len(first)-1] != p {
				first = append(first, p)
			}
		}
		return ast.WalkContinue, nil
	}) // it returns no error
	for _, parent := range slices.Compact(first) {
		pairTags(parent, reader.Source())
	}
}

// pairTags moves what stands between two tags into their markup. Tags without a partner stay text.
func pairTags(parent ast.Node, src []byte) {
	type opened struct {
		name string
		at   ast.Node
	}
	var open []opened
	for n := parent.FirstChild(); n != nil; {
		next := n.NextSibling()
		if raw, ok := n.(*ast.RawHTML); ok {
			tag := strings.ToLower(strings.Trim(string(raw.Segments.Value(src)), "<> "))
			name, closes := strings.CutPrefix(tag, "/")
			i := slices.IndexFunc(open, func(o opened) bool { return o.name == name })
			switch {
			case made(name) == nil:
			case !closes && i < 0:
				open = append(open, opened{name, n})
			case closes && i >= 0 && (name != "code" || onlyText(open[i].at, n)): // code holds nothing else
				wrap(parent, open[i].at, n, made(name))
				open = open[:i]
			}
		}
		n = next
	}
}

// onlyText reports whether there is nothing but text between two nodes.
func onlyText(from, to ast.Node) bool {
	for n := from.NextSibling(); n != to; n = n.NextSibling() {
		if n.Kind() != ast.KindText {
			return false
		}
	}
	return true
}

// wrap replaces two tags, and what stands between them, by markup.
func wrap(parent, from, to, with ast.Node) {
	parent.InsertBefore(parent, from, with)
	for n := from.NextSibling(); n != to; {
		next := n.NextSibling()
		with.AppendChild(with, n)
		n = next
	}
	parent.RemoveChild(parent, from)
	parent.RemoveChild(parent, to)
}
