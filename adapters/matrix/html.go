package matrix

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// linked returns the body of a message. If its HTML says more, such as addresses behind words, it returns that as
// Markdown. A command stays as it is typed.
func linked(f map[string]json.RawMessage, body string) string {
	source := text(f["formatted_body"])
	if source == "" || text(f["format"]) != "org.matrix.custom.html" || strings.HasPrefix(body, "/") ||
		strings.HasPrefix(body, "!") {
		return body
	}
	w := htmlText{body: body}
	for z := html.NewTokenizer(strings.NewReader(source)); z.Next() != html.ErrorToken; {
		w.token(z.Token())
	}
	w.close(0)
	if !w.more {
		return body
	}
	return strings.TrimSpace(w.out.String())
}

// htmlText turns the HTML of a message into Markdown, token by token.
type htmlText struct {
	body   string
	more   bool // it says something that body does not
	hidden int  // depth of elements that are left out
	quotes int  // depth of block quotes
	fresh  bool // a line begins before the next words
	marked bool // the line has the mark of its item, and no words yet
	cells  int  // of the row
	lists  []list
	pre    *block // of code; nil: none
	ends   []string
	out    strings.Builder
}

// list is an open list: the number of its next item, and what its lists within are indented by.
type list struct {
	next   int // 0: without numbers
	indent string
}

// block is an open block of code.
type block struct {
	language, fence string // no fence: it has no words yet
}

func (w *htmlText) write(s string) {
	if w.hidden > 0 || s == "" || w.fresh && strings.TrimSpace(s) == "" {
		return
	}
	if w.fresh {
		w.newline()
	}
	w.fresh, w.marked = false, false
	w.out.WriteString(s)
}

func (w *htmlText) newline() {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	w.out.WriteString(strings.Repeat("> ", w.quotes))
}

// marksOf are elements that change what their words say, by the mark around them; begins are marks before their words.
var (
	marksOf = map[string]string{"del": "~~", "s": "~~", "strike": "~~", "code": "`"}
	begins  = map[string]string{"sup": "^", "sub": "_", "h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ",
		"h5": "##### ", "h6": "###### "}
)

// lines are elements that begin a line.
var lines = []string{"p", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "br", "hr", "pre",
	"blockquote"}

// empty are elements without an end.
var empty = []string{"br", "hr", "img"}

// deepest bounds the nesting of elements that are read.
const deepest = 100

// longestFence bounds the backticks before code.
const longestFence = 32

func (w *htmlText) token(t html.Token) {
	switch t.Type {
	case html.TextToken:
		if w.pre != nil {
			w.code(t.Data)
			return
		}
		w.write(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		w.begin(t)
	case html.EndTagToken:
		w.end(t.Data)
	}
}

// code writes words of a block of code.
func (w *htmlText) code(s string) {
	if w.hidden > 0 || s == "" {
		return
	}
	if w.pre.fence == "" {
		w.pre.fence = "```"
		for len(w.pre.fence) < longestFence && strings.Contains(s, w.pre.fence) {
			w.pre.fence += "`"
		}
		w.fresh = true
		w.write(w.pre.fence + w.pre.language)
		w.newline()
	}
	w.out.WriteString(strings.ReplaceAll(s, "\n", "\n"+strings.Repeat("> ", w.quotes)))
}

func (w *htmlText) begin(t html.Token) {
	if slices.Contains(lines, t.Data) && !w.marked {
		w.fresh = true
	}
	switch t.Data {
	case "img":
		w.write(cmp.Or(attribute(t, "alt"), attribute(t, "title")))
	case "hr":
		w.write("---")
		w.fresh = true
	case "td", "th":
		if w.cells++; w.cells > 1 {
			w.write(" | ")
		}
	case "tr":
		w.cells = 0
	case "li":
		w.item()
	}
	if t.Type == html.SelfClosingTagToken || slices.Contains(empty, t.Data) || len(w.ends) > deepest {
		return
	}
	before, after := w.mark(t)
	w.write(before)
	w.ends = append(w.ends, t.Data+"\x00"+after)
	w.open(t)
}

// open follows elements that change how those within them are written.
func (w *htmlText) open(t html.Token) {
	switch t.Data {
	case "mx-reply":
		w.hidden++
	case "blockquote":
		w.quotes++
	case "ul":
		w.lists = append(w.lists, list{indent: "  "})
	case "ol":
		first, err := strconv.Atoi(attribute(t, "start"))
		if err != nil || first < 1 || first > 1<<30 {
			first = 1
		}
		w.lists = append(w.lists, list{first, "   "})
	case "pre":
		w.pre = &block{}
	case "code":
		if w.pre != nil {
			w.pre.language, _ = strings.CutPrefix(strings.Join(strings.Fields(attribute(t, "class")), " "), "language-")
		}
	}
}

// item writes the mark of an item of a list.
func (w *htmlText) item() {
	mark, indent := "- ", ""
	w.fresh = true
	if n := len(w.lists) - 1; n >= 0 {
		for _, l := range w.lists[:n] {
			indent += l.indent
		}
		if l := &w.lists[n]; l.next > 0 {
			mark = strconv.Itoa(l.next) + ". "
			l.next++
		}
	}
	w.write(indent + mark)
	w.marked = true
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// mark returns what stands around the words of an element.
func (w *htmlText) mark(t html.Token) (before, after string) {
	has := func(name string) bool {
		return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == name })
	}
	switch {
	case t.Data == "a" && w.hidden == 0 && has("href"):
		address := attribute(t, "href")
		w.more = w.more || !strings.Contains(w.body, address)
		return "[", "](" + address + ")"
	case has("data-mx-spoiler"):
		w.more = true
		return "||", "||"
	case t.Data == "code" && w.pre != nil:
		return "", ""
	case begins[t.Data] != "":
		return begins[t.Data], ""
	}
	mark := marksOf[t.Data]
	if strings.HasPrefix(mark, "~") && w.hidden == 0 && !strings.Contains(w.body, "~") {
		w.more = true
	}
	return mark, mark
}

// end closes an element, and those within it that were left open.
func (w *htmlText) end(name string) {
	i := len(w.ends) - 1
	for i >= 0 && !strings.HasPrefix(w.ends[i], name+"\x00") {
		i--
	}
	if i < 0 {
		return
	}
	w.close(i)
}

// close closes the elements from the i-th on.
func (w *htmlText) close(i int) {
	for n := len(w.ends) - 1; n >= i; n-- {
		name, after, _ := strings.Cut(w.ends[n], "\x00")
		w.write(after)
		switch name {
		case "mx-reply":
			w.hidden--
		case "blockquote":
			w.quotes--
		case "ul", "ol":
			w.lists = w.lists[:len(w.lists)-1]
		case "pre":
			w.endCode()
		}
		w.fresh = w.fresh || slices.Contains(lines, name)
	}
	w.ends = w.ends[:i]
}

// endCode ends a block of code.
func (w *htmlText) endCode() {
	if w.pre != nil && w.pre.fence != "" {
		if !strings.HasSuffix(w.out.String(), "\n") {
			w.newline()
		}
		w.out.WriteString(w.pre.fence)
	}
	w.pre = nil
}
