package document

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
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
	atom.Title: true, atom.Rp: true}

// blocks are elements on their own lines.
var blocks = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Ul: true,
	atom.Ol: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	atom.Table: true, atom.Tr: true, atom.Section: true, atom.Article: true, atom.Header: true, atom.Footer: true,
	atom.Blockquote: true, atom.Pre: true, atom.Hr: true, atom.Dt: true, atom.Dd: true, atom.Figcaption: true,
	atom.Main: true, atom.Nav: true, atom.Aside: true}

// web extracts text from tokens of HTML: deep nesting costs nothing.
type web struct {
	out      strings.Builder
	title    strings.Builder
	hidden   []atom.Atom // open elements that are not shown
	named    bool        // within the title
	cells    int         // of the row so far
	gap      bool        // white space is pending
	heights  []script    // of the raised and lowered texts around
	struck   int         // depth of struck-out texts
	striking bool        // a mark is open
	verbatim int         // depth of preformatted texts
	lists    []numbered  // around
	link     *link       // nil outside
	reading  bool        // within how a word is read
}

// numbered is a list: the type of its numbers, and the last one.
type numbered struct {
	format string // empty: it has none
	last   int
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
		if len(w.hidden) == 0 {
			w.begin(t)
			w.open(t)
		}
	case html.EndTagToken:
		w.named = false
		for i := len(w.hidden) - 1; i >= 0; i-- {
			if w.hidden[i] == t.DataAtom {
				w.hidden = w.hidden[:i]
				break
			}
		}
		if t.DataAtom == atom.Tr || t.DataAtom == atom.Table {
			w.cells = 0
		}
		w.close(t.DataAtom)
		if blocks[t.DataAtom] && t.DataAtom != atom.Br {
			w.line()
		}
	case html.ErrorToken, html.CommentToken, html.DoctypeToken:
	}
}

// begin begins a block, a cell or a picture.
func (w *web) begin(t html.Token) {
	switch {
	case t.DataAtom == atom.Td || t.DataAtom == atom.Th:
		w.endStrike()
		if w.cells > 0 {
			w.out.WriteString(" | ")
		} else {
			w.line()
		}
		w.cells++
		w.gap = false
	case t.DataAtom == atom.Table: // one within a cell has lines of its own
		w.cells = 0
		w.line()
	case w.cells > 0 && t.DataAtom != atom.Tr: // a cell stays on its line
		w.gap = w.gap || blocks[t.DataAtom]
	case blocks[t.DataAtom]:
		w.line()
		if t.DataAtom == atom.Tr {
			w.cells = 0
		}
		if t.DataAtom == atom.Br && w.verbatim > 0 {
			w.out.WriteByte('\n')
		}
	}
	switch {
	case t.DataAtom == atom.Li && w.cells == 0:
		w.out.WriteString(w.item(t))
	case t.DataAtom == atom.Img && strings.TrimSpace(value(t, "alt")) != "":
		w.text("[" + value(t, "alt") + "]")
	}
}

// value returns an attribute of an element, empty if it has none.
func value(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// open begins an element that changes what its words mean.
func (w *web) open(t html.Token) {
	switch t.DataAtom {
	case atom.Sup, atom.Sub:
		if len(w.heights) < maxDepth {
			w.heights = append(w.heights, map[atom.Atom]script{atom.Sup: raised, atom.Sub: lowered}[t.DataAtom])
		}
	case atom.S, atom.Del, atom.Strike:
		w.struck++
	case atom.Pre:
		w.verbatim++
	case atom.Ol:
		start, err := strconv.Atoi(value(t, "start"))
		if err != nil {
			start = 1
		}
		w.nest(numbered{map[string]string{"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman",
			"I": "upperRoman",
			"":  "decimal", "1": "decimal"}[value(t, "type")], start - 1})
	case atom.Ul:
		w.nest(numbered{})
	case atom.A:
		w.link = &link{value(t, "href"), w.out.Len()}
	case atom.Rt:
		w.endReading()
		w.reading = true
		w.out.WriteByte('(')
	case atom.Rb:
		w.endReading()
	}
}

// close ends such an element.
func (w *web) close(name atom.Atom) {
	switch name {
	case atom.Sup, atom.Sub:
		w.heights = w.heights[:max(0, len(w.heights)-1)]
	case atom.S, atom.Del, atom.Strike:
		if w.struck = max(0, w.struck-1); w.struck == 0 {
			w.endStrike()
		}
	case atom.Pre:
		w.verbatim = max(0, w.verbatim-1)
	case atom.Ol, atom.Ul:
		w.lists = w.lists[:max(0, len(w.lists)-1)]
	case atom.A:
		if w.link != nil {
			w.out.WriteString(address(w.out.String()[w.link.at:], w.link.target))
		}
		w.link = nil
	case atom.Rt, atom.Ruby:
		w.endReading()
	}
}

func (w *web) endReading() {
	if w.reading {
		w.out.WriteByte(')')
	}
	w.reading = false
}

func (w *web) nest(l numbered) {
	if len(w.lists) < maxDepth {
		w.lists = append(w.lists, l)
	}
}

// item returns what stands before the next item of a list.
func (w *web) item(t html.Token) string {
	if len(w.lists) == 0 || w.lists[len(w.lists)-1].format == "" {
		return "- "
	}
	l := &w.lists[len(w.lists)-1]
	l.last++
	if n, err := strconv.Atoi(value(t, "value")); err == nil {
		l.last = n
	}
	return numeral(l.format, l.last) + ". "
}

// line begins a line, unless one has just begun.
func (w *web) line() {
	w.endStrike()
	if w.gap = w.cells > 0; w.gap {
		return
	}
	if s := w.out.String(); s != "" && s[len(s)-1] != '\n' {
		w.out.WriteByte('\n')
	}
}

func (w *web) endStrike() {
	if w.striking {
		w.out.WriteString("~~")
	}
	w.striking = false
}

func (w *web) text(data string) {
	if w.named {
		w.title.WriteString(data)
	}
	if len(w.hidden) > 0 {
		return
	}
	words := strings.Fields(data)
	if len(words) == 0 && w.verbatim == 0 {
		w.gap = w.gap || data != ""
		return
	}
	if w.verbatim > 0 && w.cells == 0 {
		w.out.WriteString(data)
		return
	}
	if w.gap || data[0] == ' ' || data[0] == '\n' || data[0] == '\t' {
		if s := w.out.String(); s != "" && s[len(s)-1] != '\n' && s[len(s)-1] != ' ' {
			w.out.WriteByte(' ')
		}
	}
	if w.struck > 0 && !w.striking {
		w.striking = true
		w.out.WriteString("~~")
	}
	height := script(0)
	if n := len(w.heights); n > 0 {
		height = w.heights[n-1]
	}
	w.out.WriteString(scripted(strings.Join(words, " "), height))
	last := data[len(data)-1]
	w.gap = last == ' ' || last == '\n' || last == '\t'
}
