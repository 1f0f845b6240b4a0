package web

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// content is what a page of HTML says.
type content struct {
	title, date, text string
	scripts           bool // it has scripts
	paid              bool // it says that not everybody may read all of it
}

// mostNodes bounds pages of which more than the bare text is read.
const mostNodes = 60_000

// extract returns the main text of a page, as Markdown: that of its article, as readability finds it, or if that leaves
// out much of the page, as of a forum or of a table, all of its text without what surrounds every page of the site.
func extract(source string, at *url.URL) content {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil { // nested too deeply
		return bare(source)
	}
	var c content
	nodes := 0
	for n := range doc.Descendants() {
		nodes++
		c.scripts = c.scripts || n.DataAtom == atom.Script
		c.paid = c.paid || n.DataAtom == atom.Script && n.FirstChild != nil && notFree.MatchString(n.FirstChild.Data)
	}
	c.title = words(first(doc, func(n *html.Node) bool { return n.DataAtom == atom.Title }))
	if nodes > mostNodes {
		c.text = bare(source).text
		return c
	}
	remove(doc, unseen)
	whole := main(copied(doc))
	strip(whole)
	chosen := whole
	parser := readability.NewParser()
	if a, err := parser.ParseAndMutate(doc, at); err == nil {
		c.title, c.date = cmp.Or(strings.TrimSpace(a.Title()), c.title), published(a)
		if a.Node != nil && !discussion(whole) {
			strip(a.Node)
			if enough(a.Node, whole) {
				chosen = a.Node
			}
		}
	}
	heading := headingOf(whole)
	c.text = markdown(chosen, at)
	if heading != "" && !strings.Contains(c.text, heading) && heading != c.title {
		c.text = "# " + heading + "\n\n" + c.text
	}
	return c
}

// headingOf returns the first heading of a page, which readability takes for its title.
func headingOf(n *html.Node) string {
	return words(first(n, func(n *html.Node) bool { return n.DataAtom == atom.H1 }))
}

// contribution is the name of what one of many people wrote.
var contribution = regexp.MustCompile(`(?i)^(?:post|comment|reply|message|answer)`)

// discussion reports whether most of a page's text is by several people, each with a name that readability leaves out.
func discussion(n *html.Node) bool {
	parts, share := 0, 0
	of, _ := measure(n)
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && contribution.MatchString(attribute(d, "class")) {
			own, _ := measure(d)
			parts, share = parts+1, share+own
		}
	}
	return parts >= 3 && share*10 >= of*6
}

// notFree is what a page of schema.org says that only subscribers may read.
var notFree = regexp.MustCompile(`(?i)"isAccessibleForFree"\s*:\s*"?false`)

func published(a readability.Article) string {
	t, err := a.PublishedTime()
	if err != nil {
		if t, err = a.ModifiedTime(); err != nil {
			return ""
		}
	}
	return t.Format(time.DateOnly)
}

// bare returns all text of a page, whatever its form.
func bare(source string) content {
	var c content
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(source))
	hidden := ""
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		name, _ := z.TagName()
		switch tag := string(name); {
		case kind == html.StartTagToken && hidden == "" && (tag == "script" || tag == "style" || tag == "template"):
			hidden, c.scripts = tag, c.scripts || tag == "script"
		case kind == html.EndTagToken && tag == hidden:
			hidden = ""
		case kind == html.TextToken && hidden == "" && b.Len() < longestText:
			b.Write(z.Text())
			b.WriteByte(' ')
		}
	}
	c.text = strings.Join(strings.Fields(html.UnescapeString(b.String())), " ")
	return c
}

// missing says why a page has no text to read; nil: it has.
func (c content) missing() error {
	n := utf8.RuneCountInString(c.text)
	switch consent := len(aboutCookies.FindAllString(c.text, -1)); {
	case n < longWall && consent >= 3 && consent*runesForEach > n:
		return errors.New("the page shows nothing but a question about cookies, which is not answered in the person's place; look for another page")
	case n < shortText && c.scripts:
		return errors.New("the page is made by scripts in the browser, and without them it has next to no text; look for another page")
	case !strings.ContainsFunc(c.text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return errors.New("the page has no text")
	}
	return nil
}

// Sizes in characters: of a text that is no page, of a notice about cookies, and of that for each mention of them.
const (
	shortText    = 120
	longWall     = 3000
	runesForEach = 150
)

// aboutCookies are words of such notices.
var aboutCookies = regexp.MustCompile(`(?i)cookie|consent|einwillig|zustimm|partner|privacy|datenschutz|confidentialité`)

// enough reports whether an article holds most of a page's own text.
func enough(article, whole *html.Node) bool {
	own, linked := measure(article)
	all, others := measure(whole)
	return float64(own+linked/4) >= leastShare*float64(all+others/4)
}

// leastShare is the part of a page's text that its article holds.
const leastShare = 0.85

// measure counts the characters of a text, outside of links and in them.
func measure(n *html.Node) (own, linked int) {
	for d := range n.Descendants() {
		if d.Type != html.TextNode {
			continue
		}
		size := utf8.RuneCountInString(strings.Join(strings.Fields(d.Data), " "))
		if within(d, n, atom.A) {
			linked += size
		} else {
			own += size
		}
	}
	return own, linked
}

// markdown returns a page's text as Markdown, with whole addresses in links.
func markdown(n *html.Node, at *url.URL) string {
	for _, link := range all(n, func(n *html.Node) bool { return n.DataAtom == atom.A }) {
		to, err := at.Parse(attribute(link, "href"))
		if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == at.Host && to.Path == at.Path && to.RawQuery == at.RawQuery {
			link.DataAtom, link.Data, link.Attr = atom.Span, "span", nil
			continue
		}
		link.Attr = []html.Attribute{{Key: "href", Val: to.String()}}
	}
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithHeaderPromotion(true))))
	out, err := c.ConvertNode(n)
	if err != nil {
		return words(n)
	}
	return strings.TrimSpace(gaps.ReplaceAllString(string(out), "\n\n"))
}

// gaps are lines without text.
var gaps = regexp.MustCompile(`\n(?:[ \t]*\n){2,}`)
