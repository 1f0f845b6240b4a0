package chat

import (
	"bytes"
	"errors"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core/text/markup"
)

// markdown renders the Markdown of people and models as HTML with goldmark, and always
// sanitises the result with bluemonday. It is safe for concurrent use.
type markdown struct {
	plain goldmark.Markdown // for messages
	own   goldmark.Markdown // for the gateway's own texts, where \[ is a bracket and not a formula
	refs  goldmark.Markdown // for summaries, where [#123] is a link
	clean *bluemonday.Policy
}

func newMarkdown() *markdown {
	refs := util.Prioritized(refParser{}, 50)
	formulas := []parser.Option{parser.WithInlineParsers(util.Prioritized(mathParser{}, 60)),
		parser.WithBlockParsers(util.Prioritized(mathBlockParser{}, 650))}
	return &markdown{plain: newGoldmark(formulas...), own: newGoldmark(),
		refs: newGoldmark(append(formulas, parser.WithInlineParsers(refs))...), clean: policy()}
}

func newGoldmark(more ...parser.Option) goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(markup.Lenient{}, extension.Table),
		goldmark.WithParserOptions(more...),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safely{}, 1))),
	)
}

// policy returns the elements and attributes allowed in the HTML of a message.
func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li",
		"h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^ref$`)).OnElements("a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(?:box|math|math wide|[a-z])$`)).OnElements("span")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(?:codeblock|math wide)$`)).OnElements("div")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language$`)).OnElements("p")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(?:right|middle)$`)).OnElements("th", "td")
	p.AllowURLSchemes(schemes()...)
	p.AllowRelativeURLs(true) // for refs; safely renders no other relative link
	p.RequireNoFollowOnFullyQualifiedLinks(true)
	p.RequireNoReferrerOnFullyQualifiedLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	p.RequireParseableURLs(true)
	return p
}

func schemes() []string { return []string{"http", "https", "mailto", "tel"} }

// Limits of goldmark's input. A text beyond them is shown verbatim.
const (
	maxMarkdown = 200_000 // bytes
	maxMarks    = 400     // nesting characters in one line
	maxLists    = 40      // lists and quotes that begin in one line
)

// message returns the HTML of a message.
func (m *markdown) message(md string) template.HTML { return m.html(m.plain, md) }

// notice returns the HTML of the gateway's own text.
func (m *markdown) notice(md string) template.HTML { return m.html(m.own, md) }

// summary returns the HTML of a summary, with links to the messages it refers to.
func (m *markdown) summary(md string) template.HTML { return m.html(m.refs, md) }

func (m *markdown) html(with goldmark.Markdown, md string) template.HTML {
	md = markup.Mend(strings.ReplaceAll(strings.ToValidUTF8(md, "\uFFFD"), "\x00", "\uFFFD"))
	tables, links := markup.Grows(md)
	if len(md) > maxMarkdown || tables || links || nests(md) {
		return verbatim(md)
	}
	b := bounded{most: outputBase + outputTimes*len(md)}
	if err := with.Convert([]byte(md), &b); err != nil {
		return verbatim(md)
	}
	return template.HTML(m.clean.SanitizeBytes(b.Bytes()))
}

// Limit of the HTML of a message: outputBase bytes and outputTimes the message's length.
// A message with more is shown verbatim.
const outputBase, outputTimes = 64 << 10, 16

// bounded is a buffer of at most most bytes.
type bounded struct {
	bytes.Buffer
	most int
}

var errTooLarge = errors.New("the HTML is too large")

// Write appends p, or returns errTooLarge if it does not fit.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}

func verbatim(md string) template.HTML {
	return template.HTML("<pre>" + template.HTMLEscapeString(md) + "</pre>")
}

// nests reports whether a line has so many nesting characters that parsing it would take long.
func nests(md string) bool {
	for line := range strings.Lines(md) {
		marks := 0
		for _, sign := range "[*_>|`<~(" {
			marks += strings.Count(line, string(sign))
		}
		lists := line[:len(line)-len(strings.TrimLeft(line, "0123456789.)-+*> \t"))]
		if marks > maxMarks || len(strings.Fields(lists)) > maxLists {
			return true
		}
	}
	return false
}

// safely replaces goldmark's unsafe renderers: it renders raw HTML as text, images as links, headings below those of
// the page, and only links with a known scheme. Code and tables get classes instead of styles.
type safely struct{}

// RegisterFuncs registers the renderers in place of goldmark's own.
func (s safely) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, s.rawHTML)
	r.Register(ast.KindHTMLBlock, s.htmlBlock)
	r.Register(ast.KindImage, s.image)
	r.Register(ast.KindLink, s.link)
	r.Register(ast.KindAutoLink, s.autoLink)
	r.Register(ast.KindHeading, s.heading)
	r.Register(ast.KindFencedCodeBlock, s.code)
	r.Register(ast.KindCodeBlock, s.code)
	r.Register(extast.KindTaskCheckBox, once(box))
	r.Register(extast.KindTableCell, s.cell)
	r.Register(kindRef, once(writeRef))
	r.Register(kindMath, once(writeMath))
	r.Register(kindMathBlock, once(writeMathBlock))
}

// once returns a renderer that writes when a node begins. The buffer keeps the first error.
func once(write func(w util.BufWriter, source []byte, n ast.Node)) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			write(w, source, n)
		}
		return ast.WalkContinue, nil
	}
}

func (safely) rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		template.HTMLEscape(w, n.(*ast.RawHTML).Segments.Value(source))
	}
	return ast.WalkSkipChildren, nil
}

func (safely) htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	b := n.(*ast.HTMLBlock)
	lines := b.Lines()
	_, _ = w.WriteString("<p>")
	for i := range lines.Len() {
		at := lines.At(i)
		template.HTMLEscape(w, bytes.TrimRight(at.Value(source), "\n"))
		_, _ = w.WriteString("<br>")
	}
	if b.HasClosure() {
		template.HTMLEscape(w, b.ClosureLine.Value(source))
	}
	_, _ = w.WriteString("</p>\n")
	return ast.WalkSkipChildren, nil
}

func (s safely) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	return s.anchor(w, string(n.(*ast.Link).Destination), entering)
}

// image renders an image as a link: a message must not make the browser fetch anything from elsewhere.
func (s safely) image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	dest := string(n.(*ast.Image).Destination)
	if entering && n.FirstChild() == nil {
		_, err := s.anchor(w, dest, true)
		template.HTMLEscape(w, []byte(dest))
		return ast.WalkContinue, err
	}
	return s.anchor(w, dest, entering)
}

func (s safely) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	l := n.(*ast.AutoLink)
	dest := string(l.URL(source))
	if l.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(dest), "mailto:") {
		dest = "mailto:" + dest
	}
	_, _ = s.anchor(w, dest, true)
	template.HTMLEscape(w, l.Label(source))
	return s.anchor(w, dest, false)
}

// anchor begins or ends a link if its scheme is known.
func (safely) anchor(w util.BufWriter, dest string, entering bool) (ast.WalkStatus, error) {
	u, err := url.Parse(strings.TrimSpace(dest))
	if err != nil || !slices.Contains(schemes(), strings.ToLower(u.Scheme)) {
		return ast.WalkContinue, nil
	}
	text := `<a href="` + template.HTMLEscapeString(string(util.URLEscape([]byte(dest), true))) + `">`
	if !entering {
		text = "</a>"
	}
	_, err = w.WriteString(text)
	return ast.WalkContinue, err
}

func (safely) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + strconv.Itoa(min(max(n.(*ast.Heading).Level+1, 3), 6)) + ">"
	text := "<" + tag
	if !entering {
		text = "</" + tag + "\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

func writeRef(w util.BufWriter, _ []byte, n ast.Node) {
	_, _ = w.WriteString(strings.Join(web.Each(n.(*ref).to, func(to note) string {
		return `<a class="ref" href="/m/` + to.id + `">[` + strconv.Itoa(to.note) + `]</a>`
	}), " "))
}

var kindRef = ast.NewNodeKind("Ref")

// ref is a reference to messages, such as [#12, #13].
type ref struct {
	ast.BaseInline
	to []note
}

// note is a message that a text refers to, and its footnote number.
type note struct {
	id   string
	note int
}

func (*ref) Kind() ast.NodeKind { return kindRef }

func (r *ref) Dump(source []byte, level int) { ast.DumpHelper(r, source, level, nil, nil) }

var refPattern = regexp.MustCompile(`^\[#([1-9][0-9]{0,17}(?:, ?#[1-9][0-9]{0,17}){0,50})\](?:[^(]|$)`)

// notesKey is the key of a text's footnote numbers. The library counts its keys in a
// variable that every parse reads, so a key is made before anything runs.
var notesKey = parser.NewContextKey()

// refParser parses references. They are numbered like footnotes, in the order in which a
// text first refers to each message.
type refParser struct{}

func (refParser) Trigger() []byte { return []byte{'['} }

// Parse parses a reference.
func (refParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	m := refPattern.FindSubmatch(line)
	if m == nil {
		return nil
	}
	block.Advance(len("[#]") + len(m[1]))
	notes := pc.ComputeIfAbsent(notesKey, func() any { return map[string]int{} }).(map[string]int)
	var to []note
	for id := range strings.SplitSeq(string(m[1]), ",") {
		id = strings.TrimLeft(id, " #")
		if notes[id] == 0 {
			notes[id] = len(notes) + 1
		}
		to = append(to, note{id, notes[id]})
	}
	return &ref{to: to}
}
