package web

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// remove takes the nodes below n away that are as asked.
func remove(n *html.Node, is func(*html.Node) bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if is(c) {
			n.RemoveChild(c)
		} else {
			remove(c, is)
		}
		c = next
	}
}

// copied returns a copy of a node with all below it.
func copied(n *html.Node) *html.Node {
	out := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: slices.Clone(n.Attr)}
	for c := range n.ChildNodes() {
		out.AppendChild(copied(c))
	}
	return out
}

// hiding is a style that hides its element.
var hiding = regexp.MustCompile(`(?i)(display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em)?\s*(?:;|$)|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$))`)

// unseen reports whether a person with a browser does not see a node, or sees no text of it.
func unseen(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas, atom.Img,
		atom.Picture, atom.Video, atom.Audio, atom.Map, atom.Button, atom.Input, atom.Select, atom.Textarea, atom.Dialog:
		return true
	case atom.Script: // readability reads what these say of the page
		return attribute(n, "type") != "application/ld+json"
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "hidden", a.Key == "aria-hidden" && a.Val == "true", a.Key == "style" && hiding.MatchString(a.Val):
			return true
		}
	}
	return false
}

// main returns the part of a page that it calls its main one, if it is most of the page, else its body.
func main(doc *html.Node) *html.Node {
	body := first(doc, func(n *html.Node) bool { return n.DataAtom == atom.Body })
	if body == nil {
		return doc
	}
	parts := all(body, func(n *html.Node) bool {
		return n.DataAtom == atom.Main || attribute(n, "role") == "main"
	})
	if len(parts) != 1 {
		return body
	}
	own, _ := measure(parts[0])
	if of, _ := measure(body); own*2 < of {
		return body
	}
	return parts[0]
}

// surrounds are the names of what stands around the text of every page of a site.
var surrounds = regexp.MustCompile(`(?i)(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|side|breadcrumbs?|cookies?|consent|gdpr|banner|share|sharing|social|newsletter|subscribe|promo|advert|advertisement|ads?|sponsored|related|recommend|recommended|recommendations|footer|toolbar|pagination|pager|skip|popup|modal|signup|signin|login|masthead)(?:$|[\s_-])`)

// mostOfPage is the share of a page that is never taken for its surroundings, in percent.
const mostOfPage = 40

// strip takes away what surrounds the text of a page.
func strip(n *html.Node) {
	own, linked := measure(n)
	total := own + linked
	remove(n, func(c *html.Node) bool {
		if c.Type != html.ElementNode || c.DataAtom == atom.Body || c.DataAtom == atom.Main {
			return false
		}
		var around bool
		switch c.DataAtom {
		case atom.Script:
			return true
		case atom.Nav, atom.Footer, atom.Form:
			around = true
		case atom.Header, atom.Aside: // those of an article belong to it
			around = !within(c, n.Parent, atom.Article) && first(c, func(d *html.Node) bool { return d.DataAtom == atom.H1 }) == nil
		default:
			name := attribute(c, "class") + " " + attribute(c, "id")
			around = surrounds.MatchString(name) || slices.Contains([]string{"navigation", "banner", "contentinfo",
				"complementary", "search", "menu", "dialog", "alertdialog"}, attribute(c, "role")) || listOfLinks(c)
		}
		if !around {
			return false
		}
		own, linked := measure(c)
		return (own+linked)*100 <= mostOfPage*total
	})
}

// listOfLinks reports whether a list only leads elsewhere.
func listOfLinks(n *html.Node) bool {
	if n.DataAtom != atom.Ul && n.DataAtom != atom.Ol {
		return false
	}
	own, linked := measure(n)
	links := len(all(n, func(n *html.Node) bool { return n.DataAtom == atom.A }))
	return links >= 3 && own*5 < linked && linked/links < 60
}

// clean returns a text for a result, without characters that only change how it looks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u00ad' || r >= '\u200b' && r <= '\u200f' && r != '\u200d' && r != '\u200c' || r >= 0xe0000 && r <= 0xe007f {
			return -1
		}
		return r
	}, s)
}
