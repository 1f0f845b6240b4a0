package markup

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Lenient extends a Markdown parser to what models and people write: only ~~ strikes out, signs within numbers, formulas
// and names are no markup, and the tags <b>, <i>, <s> and <code> are. It includes links and task lists.
type Lenient struct{}

// Extend adds the parsers.
func (Lenient) Extend(m goldmark.Markdown) {
	for _, e := range []goldmark.Extender{extension.Strikethrough, extension.Linkify, extension.TaskList} {
		e.Extend(m)
	}
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(signs{}, 400)),
		parser.WithASTTransformers(util.Prioritized(tags{}, 100)))
}

// signs keeps runs of delimiters that are not meant as markup.
type signs struct{}

// Trigger returns the delimiters.
func (signs) Trigger() []byte { return []byte("~*_") }

// dunder matches a name of Python that is followed by a call or an attribute.
var dunder = regexp.MustCompile(`^__[a-z][a-z0-9_]*__[.(]\w*`)

// Parse returns a run as text, or nil.
func (signs) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	n := len(line) - len(strings.TrimLeft(string(line), string(line[:1])))
	after, _ := utf8.DecodeRune(line[n:])
	literal := false
	switch line[0] {
	case '~':
		literal = n != 2
	case '*': // 2*3*4, (a)*(b)*(c), x**2
		operand := plain(before) || before == ')'
		literal = operand && (n == 1 && (plain(after) || after == '(') || n == 2 && after >= '0' && after <= '9')
	case '_':
		if name := dunder.Find(line); name != nil {
			n, literal = len(name), true
		}
	}
	if !literal {
		return nil
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}

// plain reports whether r is a letter or digit of ASCII. Languages without spaces mark up parts of words.
func plain(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
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

// tight matches a heading of level 2 or more without the space; #word is a hashtag.
var tight = regexp.MustCompile(`^( {0,3}#{2,6})([\p{L}\p{N}*])`)

// Mend corrects Markdown whose meaning is clear but that the standard reads otherwise: a block of Markdown with fences of
// its own, and headings without a space. Its time is linear in len(md).
func Mend(md string) string {
	if !strings.Contains(md, "#") && !strings.Contains(md, "```") && !strings.Contains(md, "~~~") {
		return md
	}
	lines := strings.SplitAfter(md, "\n")
	fence, closed := "", true
	for i, line := range lines {
		bare := strings.TrimSuffix(line, "\n")
		if m := marker(bare); m != "" && fence == "" && closed && ofMarkdown(bare, m) {
			var end, longest int
			if end, longest, closed = nested(lines[i+1:], m); closed && longest >= len(m) {
				more := strings.Repeat(m[:1], longest+1-len(m))
				lines[i] = strings.Replace(line, m, m+more, 1)
				lines[i+1+end] = strings.Replace(lines[i+1+end], m, m+more, 1)
				bare = strings.TrimSuffix(lines[i], "\n")
			}
		} else if fence == "" && m == "" {
			lines[i] = tight.ReplaceAllString(line, "$1 $2")
		}
		fence = fenceAfter(fence, bare)
	}
	return strings.Join(lines, "")
}

func ofMarkdown(line, m string) bool {
	info := strings.ToLower(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), m[:1])))
	return info == "markdown" || info == "md"
}

// nested returns the line that ends a block that m begins, and the longest fence within it; false: none ends it. A fence
// with the name of a language begins an inner block.
func nested(lines []string, m string) (end, longest int, ok bool) {
	inner := ""
	for i, line := range lines {
		bare := strings.TrimSuffix(line, "\n")
		fence := marker(bare)
		switch {
		case fence == "" || fence[0] != m[0]:
		case inner != "":
			if fenceAfter(inner, bare) == "" {
				inner = ""
			}
		case strings.TrimSpace(bare) != fence:
			inner, longest = bare, max(longest, len(fence))
		case len(fence) >= len(m):
			return i, longest, true
		}
	}
	return 0, 0, false
}
