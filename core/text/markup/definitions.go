package markup

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// definitions makes text of the link definitions that show nowhere: those that nothing uses, that repeat a label, or
// whose target no client opens, as in [Ann]: yes.
type definitions struct{}

// Transform replaces them by paragraphs.
func (definitions) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var defined []*ast.LinkReferenceDefinition
	used := map[string]bool{}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.LinkReferenceDefinition:
			defined = append(defined, n)
		case *ast.Link:
			if n.Reference != nil {
				used[util.ToLinkReference(n.Reference.Value)] = true
				bracketed(n)
			}
		case *ast.Image:
			if n.Reference != nil {
				used[util.ToLinkReference(n.Reference.Value)] = true
			}
		}
		return ast.WalkContinue, nil
	}) // it returns no error
	for _, d := range defined {
		label := util.ToLinkReference(d.Label)
		if used[label] && linkable(string(d.Destination)) {
			used[label] = false // the first one counts
			continue
		}
		p, next := spelled(d, reader.Source()), d.NextSibling()
		d.Parent().ReplaceChild(d.Parent(), d, p)
		if rest, ok := next.(*ast.Paragraph); ok && p.Lines().At(p.Lines().Len()-1).Stop+1 >= rest.Lines().At(0).Start {
			rest.SetBlankPreviousLines(false)
		}
	}
}

// bracketed keeps the brackets of a citation such as 900[1], so that its number joins no other.
func bracketed(n *ast.Link) {
	if n.Reference.Type == ast.ReferenceLinkShortcut && strings.Trim(string(n.Reference.Value), "0123456789") == "" {
		n.InsertBefore(n, n.FirstChild(), ast.NewString([]byte("[")))
		n.AppendChild(n, ast.NewString([]byte("]")))
	}
}

// spelled returns a definition as a paragraph of its lines, in which the target is a link.
func spelled(d *ast.LinkReferenceDefinition, src []byte) *ast.Paragraph {
	p := ast.NewParagraph()
	p.SetBlankPreviousLines(d.HasBlankPreviousLines())
	p.SetLines(d.Lines())
	for i := range d.Lines().Len() {
		line := d.Lines().At(i)
		line = line.TrimRightSpace(src)
		if at := bytes.Index(line.Value(src), d.Destination); at > 0 && strings.Contains(string(d.Destination), "://") {
			p.AppendChild(p, ast.NewTextSegment(line.WithStop(line.Start+at)))
			target := text.NewSegment(line.Start+at, line.Start+at+len(d.Destination))
			p.AppendChild(p, ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(target)))
			line = line.WithStart(target.Stop)
		}
		last := ast.NewTextSegment(line)
		last.SetSoftLineBreak(i+1 < d.Lines().Len())
		p.AppendChild(p, last)
	}
	return p
}
