package web

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func lastRune(s string) (rune, int) { return utf8.DecodeLastRuneInString(s) }

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return n.Type == html.ElementNode && slices.Contains(strings.Fields(attribute(n, "class")), class)
}

// first returns the first node below n, or n, that is as asked; nil: none is, or n is nil.
func first(n *html.Node, is func(*html.Node) bool) *html.Node {
	if n == nil || is(n) {
		return n
	}
	for d := range n.Descendants() {
		if is(d) {
			return d
		}
	}
	return nil
}

// all returns the nodes below n that are as asked.
func all(n *html.Node, is func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		if is(d) {
			out = append(out, d)
		}
	}
	return out
}

// words returns the text below a node in one line; of nil, none.
func words(n *html.Node) string {
	var b strings.Builder
	if n != nil {
		say(&b, n)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func say(b *strings.Builder, n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
	case slices.Contains(silent(), n.DataAtom):
		return
	}
	apart := n.Type == html.ElementNode && !slices.Contains(inline(), n.DataAtom)
	if apart {
		b.WriteByte(' ')
	}
	for c := range n.ChildNodes() {
		say(b, c)
	}
	if apart {
		b.WriteByte(' ')
	}
}

// silent lists elements whose text nobody reads.
func silent() []atom.Atom {
	return []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head}
}

// inline lists elements that do not end a word.
func inline() []atom.Atom {
	return []atom.Atom{atom.A, atom.Abbr, atom.B, atom.Code, atom.Em, atom.Font, atom.I, atom.Mark, atom.Q, atom.S,
		atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.U, atom.Wbr}
}

// within reports whether a node lies in one of some elements below top.
func within(n, top *html.Node, elements ...atom.Atom) bool {
	for p := n.Parent; p != nil && p != top; p = p.Parent {
		if slices.Contains(elements, p.DataAtom) {
			return true
		}
	}
	return false
}
