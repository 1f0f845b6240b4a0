package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/everthread/everthread/core"
)

// readHTML reads the visible text of a web page.
func readHTML(data []byte, s *sink) error {
	title, text, err := webText(s.decoded(data, "text/html"))
	if err != nil {
		return err
	}
	return s.flow(title, text)
}

// unseen are elements whose content is not shown.
var unseen = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true,
	atom.Iframe: true, atom.Object: true, atom.Svg: true, atom.Head: true, atom.Select: true, atom.Textarea: true,
	atom.Title: true}

// blocks are elements on their own lines.
var blocks = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Ul: true,
	atom.Ol: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	atom.Table: true, atom.Tr: true, atom.Section: true, atom.Article: true, atom.Header: true, atom.Footer: true,
	atom.Blockquote: true, atom.Pre: true, atom.Hr: true, atom.Dt: true, atom.Dd: true, atom.Figcaption: true,
	atom.Main: true, atom.Nav: true, atom.Aside: true}

// web extracts text from tokens of HTML: deep nesting costs nothing.
type web struct {
	out    strings.Builder
	title  strings.Builder
	hidden []atom.Atom // open elements that are not shown
	named  bool        // within the title
	cells  int         // of the row so far
	gap    bool        // white space is pending
}

func webText(source string) (title, text string, err error) {
	z := html.NewTokenizer(bytes.NewReader([]byte(source)))
	z.SetMaxBuf(4 << 20)
	w := &web{}
	for w.out.Len() <= maxText {
		kind := z.Next()
		if kind == html.ErrorToken && !errors.Is(z.Err(), io.EOF) {
			return "", "", z.Err()
		}
		if kind == html.ErrorToken {
			break
		}
		w.token(kind, z.Token())
	}
	return strings.TrimSpace(w.title.String()), w.out.String(), nil
}

func (w *web) token(kind html.TokenType, t html.Token) {
	switch kind {
	case html.TextToken:
		w.text(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		w.named = t.DataAtom == atom.Title
		if unseen[t.DataAtom] && kind == html.StartTagToken && len(w.hidden) < maxDepth {
			w.hidden = append(w.hidden, t.DataAtom)
		}
		w.begin(t)
	case html.EndTagToken:
		w.named = false
		for i := len(w.hidden) - 1; i >= 0; i-- {
			if w.hidden[i] == t.DataAtom {
				w.hidden = w.hidden[:i]
				break
			}
		}
		if t.DataAtom == atom.Tr {
			w.cells = 0
		}
		if blocks[t.DataAtom] && t.DataAtom != atom.Br {
			w.line()
		}
	case html.ErrorToken, html.CommentToken, html.DoctypeToken:
	}
}

func (w *web) begin(t html.Token) {
	if len(w.hidden) > 0 {
		return
	}
	switch {
	case t.DataAtom == atom.Td || t.DataAtom == atom.Th:
		if w.cells > 0 {
			w.out.WriteString(" | ")
		}
		w.cells++
		w.gap = false
	case w.cells > 0 && t.DataAtom != atom.Tr && t.DataAtom != atom.Table: // a cell stays on its line
		w.gap = true
	case blocks[t.DataAtom]:
		w.line()
		if t.DataAtom == atom.Tr {
			w.cells = 0
		}
		if t.DataAtom == atom.Li {
			w.out.WriteString("- ")
		}
	case t.DataAtom == atom.Img:
		for _, a := range t.Attr {
			if a.Key == "alt" && strings.TrimSpace(a.Val) != "" {
				w.text("[" + a.Val + "]")
			}
		}
	}
}

// line begins a line, unless one has just begun.
func (w *web) line() {
	if w.gap = w.cells > 0; w.gap {
		return
	}
	if s := w.out.String(); s != "" && s[len(s)-1] != '\n' {
		w.out.WriteByte('\n')
	}
}

func (w *web) text(data string) {
	if w.named {
		w.title.WriteString(data)
	}
	if len(w.hidden) > 0 {
		return
	}
	words := strings.Fields(data)
	if len(words) == 0 {
		w.gap = w.gap || data != ""
		return
	}
	if w.gap || data[0] == ' ' || data[0] == '\n' || data[0] == '\t' {
		if s := w.out.String(); s != "" && s[len(s)-1] != '\n' && s[len(s)-1] != ' ' {
			w.out.WriteByte(' ')
		}
	}
	w.out.WriteString(strings.Join(words, " "))
	last := data[len(data)-1]
	w.gap = last == ' ' || last == '\n' || last == '\t'
}

// maxChapter bounds a chapter of a book, in bytes.
const maxChapter = 8 << 20

// readEPUB reads the chapters of a book in reading order.
func readEPUB(a *archive, s *sink) error {
	if a.files["META-INF/rights.xml"] != nil { // the shop's copy protection
		return &Fault{Problem: core.DocumentEncrypted}
	}
	chapters, err := spine(a)
	if err != nil {
		return err
	}
	for _, name := range chapters {
		data, err := a.bytes(name, maxChapter)
		if errors.Is(err, errPart) {
			continue
		}
		if err != nil {
			return err
		}
		title, text, err := webText(s.decoded(data, "text/html"))
		if err != nil {
			return err
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); len(first) <= 100 { // its heading
			title = first
		}
		if err := s.flow(title, text); err != nil {
			return err
		}
	}
	return nil
}

// spine returns the files of the chapters.
func spine(a *archive) ([]string, error) {
	root := ""
	err := a.begun("META-INF/container.xml", func(e xml.StartElement) {
		if e.Name.Local == "rootfile" && root == "" {
			root = attribute(e, "full-path")
		}
	})
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	var out []string
	err = a.begun(root, func(e xml.StartElement) {
		switch e.Name.Local {
		case "item":
			if href, err := url.PathUnescape(attribute(e, "href")); err == nil {
				files[attribute(e, "id")] = path.Join(path.Dir(root), href)
			}
		case "itemref":
			if name := files[attribute(e, "idref")]; name != "" && len(out) < maxParts {
				out = append(out, name)
			}
		}
	})
	return out, err
}
