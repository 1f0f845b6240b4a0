package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// readDOCX reads a Word document. Its pages are those of the last rendering before it was
// saved, or else of about pageSize.
func readDOCX(a *archive, s *sink) error {
	main, err := a.main("word/document.xml")
	if err != nil {
		return err
	}
	w := word{sink: s, archive: a, marks: map[string]string{}, counts: map[string]int{}}
	if w.lists, err = readLists(a); err != nil {
		return err
	}
	if err := w.read(main); err != nil {
		return err
	}
	if err := w.turn(); err != nil {
		return err
	}
	for _, beside := range []struct{ title, names string }{{"Notes", "footnotes|endnotes"}, {"Comments", "comments"},
		{"Headers and footers", "header|footer"}} {
		if err := w.apart(beside.title, regexp.MustCompile(`^word/(`+beside.names+`)\d*\.xml$`)); err != nil {
			return err
		}
	}
	return nil
}

// word reads a Word document.
type word struct {
	*sink
	archive *archive
	lists   *lists
	named   map[string]string // the relations of the part
	text    prose
	deleted int               // depth of tracked deletions
	former  int               // depth of properties before a tracked change
	item    item              // the paragraph as one of a list
	links   []link            // open
	fields  []link            // open
	form    *form             // the field of a form; nil outside
	ruby    strings.Builder   // how the words that follow are read
	marks   map[string]string // of notes and comments, by their kinds and ids
	counts  map[string]int    // of marks, by kinds
}

// link is a link or a field: its target or instruction, and where its words begin.
type link struct {
	target string
	at     int
}

// form is a field of a form.
type form struct {
	box, checked bool
	choices      []string
	chosen       int
}

// read reads a part.
func (w *word) read(name string) (err error) {
	if w.named, err = w.archive.relations(name); err != nil && !errors.Is(err, errPart) {
		return err
	}
	w.text, w.links, w.fields = prose{}, nil, nil
	return w.archive.elements(name, w.token)
}

// apart reads the parts beside the document, each different one once.
func (w *word) apart(title string, names *regexp.Regexp) error {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(w.archive.files)) {
		if !names.MatchString(name) {
			continue
		}
		if err := w.read(name); err != nil {
			return err
		}
		if text := strings.TrimSpace(w.text.take()); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return w.flow(title, strings.Join(all, "\n"))
}

// token reads a token of the document.
func (w *word) token(t xml.Token) error {
	switch e := t.(type) {
	case xml.StartElement:
		switch e.Name.Local {
		case "br":
			if attribute(e, "type") == "page" {
				return w.turn()
			}
		case "lastRenderedPageBreak":
			return w.turn()
		}
		w.property(e)
		w.formField(e)
		if err := w.text.inset(w.archive, w.named, e); err != nil {
			return err
		}
		w.begin(e)
		return nil
	case xml.EndElement:
		w.end(e.Name.Local)
	case xml.CharData:
		if w.deleted > 0 {
			return nil
		}
		if n := len(w.fields) - 1; n >= 0 && w.fields[n].at < 0 && !w.text.text {
			w.fields[n].target += string(e)
		}
	}
	w.text.token(t)
	return nil
}

// begin reads the beginning of an element that has words of its own.
func (w *word) begin(e xml.StartElement) {
	switch e.Name.Local {
	case "tab":
		w.add("\t")
	case "cr":
		w.add("\n")
	case "noBreakHyphen":
		w.add("-")
	case "sym":
		w.add(symbol(attribute(e, "font"), attribute(e, "char")))
	case "footnoteReference", "endnoteReference", "commentReference":
		w.add(w.mark(strings.TrimSuffix(e.Name.Local, "Reference"), attribute(e, "id")))
	case "footnote", "endnote", "comment":
		if mark := w.marks[e.Name.Local+attribute(e, "id")]; mark != "" {
			w.add(mark + " ")
		}
		if e.Name.Local == "comment" {
			w.add(attribute(e, "author") + ": ")
		}
	case "del", "moveFrom":
		w.deleted++
	case "hyperlink":
		w.links = append(w.links, link{w.named[attribute(e, "id")], w.text.to().Len()})
	case "fldSimple":
		w.links = append(w.links, link{instructed(attribute(e, "instr")), w.text.to().Len()})
	case "fldChar":
		w.field(attribute(e, "fldCharType"))
	case "rt":
		w.ruby.Reset()
		w.text.aside = &w.ruby
	}
}

func (w *word) end(name string) {
	switch name {
	case "del", "moveFrom":
		w.deleted = max(0, w.deleted-1)
	case "rPrChange", "pPrChange":
		w.former = max(0, w.former-1)
	case "pPr":
		w.text.look = look{} // that was of the mark of the paragraph
		if w.former == 0 {
			w.add(w.lists.label(w.item))
		}
	case "p":
		w.item = item{}
	case "hyperlink", "fldSimple":
		if n := len(w.links) - 1; n >= 0 {
			w.add(address(w.text.since(w.links[n].at), w.links[n].target))
			w.links = w.links[:n]
		}
	case "ffData":
		if w.form != nil {
			w.add(w.form.value())
		}
		w.form = nil
	case "rt":
		w.text.aside = nil
	case "rubyBase":
		if w.ruby.Len() > 0 {
			w.add("(" + w.ruby.String() + ")")
		}
	}
}

// add adds words, unless they are deleted.
func (w *word) add(text string) {
	if w.deleted == 0 && w.text.again == 0 && text != "" {
		w.text.add(text)
	}
}

// mark returns the mark of a note or comment where a text refers to it.
func (w *word) mark(kind, id string) string {
	if w.marks[kind+id] == "" {
		w.counts[kind]++
		n := w.counts[kind]
		w.marks[kind+id] = map[string]string{"footnote": fmt.Sprintf("[%d]", n), "endnote": "[" +
			numeral("lowerRoman", n) + "]",
			"comment": fmt.Sprintf("[comment %d]", n)}[kind]
	}
	return w.marks[kind+id]
}

// property reads a property of a paragraph or of a run.
func (w *word) property(e xml.StartElement) {
	switch name := e.Name.Local; {
	case name == "rPrChange" || name == "pPrChange":
		w.former++
	case w.former > 0 || e.Name.Space == "m":
	case name == "pStyle":
		w.item.style = attribute(e, "val")
	case name == "numId":
		w.item.list = attribute(e, "val")
	case name == "ilvl":
		w.item.level = attribute(e, "val")
	case name == "rStyle":
		if l, ok := w.lists.looks[attribute(e, "val")]; ok {
			w.text.look = l
		}
	default:
		w.text.look.set(e)
	}
}

// set takes on a property of a run.
func (l *look) set(e xml.StartElement) {
	switch e.Name.Local {
	case "vertAlign":
		l.script = map[string]script{"superscript": raised, "subscript": lowered}[attribute(e, "val")]
	case "strike", "dstrike":
		l.struck = on(e)
	}
}

// on reports whether a property holds.
func on(e xml.StartElement) bool {
	return !slices.Contains([]string{"0", "false", "off", "none"}, attribute(e, "val"))
}

// formField reads the description of a field of a form.
func (w *word) formField(e xml.StartElement) {
	if e.Name.Local == "checkBox" || e.Name.Local == "ddList" {
		w.form = &form{box: e.Name.Local == "checkBox"}
	}
	if w.form == nil {
		return
	}
	switch e.Name.Local {
	case "default", "checked":
		w.form.checked = on(e)
		w.form.chosen = count(attribute(e, "val"))
	case "result":
		w.form.chosen = count(attribute(e, "val"))
	case "listEntry":
		w.form.choices = append(w.form.choices, attribute(e, "val"))
	}
}

// value returns what a person chose.
func (f *form) value() string {
	switch {
	case f.box && f.checked:
		return "☑"
	case f.box:
		return "☐"
	case f.chosen < len(f.choices):
		return f.choices[f.chosen]
	}
	return ""
}

// field reads the beginning, the middle or the end of a field.
func (w *word) field(kind string) {
	n := len(w.fields) - 1
	switch {
	case kind == "begin":
		w.fields = append(w.fields, link{at: -1})
	case n < 0:
	case kind == "separate":
		w.fields[n].at = w.text.to().Len()
	case kind == "end":
		if f := w.fields[n]; f.at >= 0 {
			w.add(address(w.text.since(f.at), instructed(f.target)))
		}
		w.fields = w.fields[:n]
	}
}

var instruction = regexp.MustCompile(`HYPERLINK\s+"([^"]+)"`)

// instructed returns the target of a field that is a link.
func instructed(code string) string {
	if m := instruction.FindStringSubmatch(code); m != nil {
		return m[1]
	}
	return ""
}

// turn ends the page, unless it is empty or within a table.
func (w *word) turn() error {
	if w.text.table > 0 || strings.TrimSpace(w.text.out.String()) == "" {
		return nil
	}
	return w.flow("", w.text.take())
}
