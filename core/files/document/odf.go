package document

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// readODF reads an OpenDocument text, spreadsheet or presentation.
func readODF(a *archive, s *sink) error {
	locked := false
	err := a.begun("META-INF/manifest.xml", func(e xml.StartElement) {
		locked = locked || e.Name.Local == "encryption-data"
	})
	if err != nil && !errors.Is(err, errPart) {
		return err
	}
	if locked {
		return &Fault{Problem: core.DocumentEncrypted}
	}
	o := open{sink: s, archive: a, breaks: map[string]bool{}, looks: map[string]look{},
		lists: outlines{kinds: map[string]*[levels]level{}, counts: map[string][levels]int{}}}
	if err := o.readStyles(); err != nil && !errors.Is(err, errPart) {
		return err
	}
	if err := a.elements("content.xml", o.token); err != nil {
		return err
	}
	if err := o.flow("", o.text.take()); err != nil {
		return err
	}
	if err := o.flow("Notes", strings.Join(o.notes, "\n")); err != nil {
		return err
	}
	if err := o.flow("", listed("Comments", o.comments)); err != nil {
		return err
	}
	if o.calc { // every sheet has some, which say nothing
		return nil
	}
	return o.flow("Headers and footers", strings.Join(o.margins, "\n"))
}

// readStyles reads the styles of a document, and its headers and footers, each different one once.
func (o *open) readStyles() error {
	names := []string{"header", "footer", "header-left", "footer-left", "header-first", "footer-first"}
	inside := false
	return o.archive.elements("styles.xml", func(t xml.Token) error {
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Space == "style" && slices.Contains(names, e.Name.Local) {
				inside = true
			}
			if !inside && e.Name.Space != "style" && !strings.HasPrefix(e.Name.Local, "list-") {
				return nil
			}
		case xml.EndElement:
			if e.Name.Space == "style" && slices.Contains(names, e.Name.Local) {
				inside = false
				if text := strings.TrimSpace(o.text.take()); text != "" && !slices.Contains(o.margins, text) {
					o.margins = append(o.margins, text)
				}
			}
		}
		if !inside && !isStart(t) {
			return nil
		}
		return o.token(t)
	})
}

func isStart(t xml.Token) bool {
	_, ok := t.(xml.StartElement)
	return ok
}

// open reads an OpenDocument file.
type open struct {
	*sink
	text   prose
	sheet  *table          // of a spreadsheet; nil outside
	breaks map[string]bool // styles with a page break before
	style  string
	calc   bool   // a spreadsheet
	inside int    // depth of paragraphs and headings
	quiet  int    // depth of annotations and tracked deletions
	repeat int    // of the cell
	value  string // of the cell, where its text depends on a language
	float  bool   // the cell is a plain number
	cells  []string
	blank  int // pending empty cells
	slide  string
	again  int // repetitions of the row

	comment  *strings.Builder // the current comment with its author and date, or note; nil outside
	comments []string
	notes    []string
	margins  []string // headers and footers
	marks    string   // of the comments of the cell

	archive *archive
	lists   outlines
	looks   map[string]look // of styles
	outer   []look          // of the spans around
	links   []link
	ruby    strings.Builder
}

// Bounds of repeated cells and rows, which may fill a sheet to its end.
const (
	mostCells = 1000
	mostRows  = 50
)

// token takes one token of the document.
func (o *open) token(t xml.Token) error {
	switch e := t.(type) {
	case xml.StartElement:
		return o.begin(e)
	case xml.EndElement:
		return o.end(e.Name)
	case xml.CharData:
		if o.inside > 0 || o.comment != nil {
			o.add(strings.ReplaceAll(string(e), "\n", " "))
		}
	}
	return nil
}

// add adds words to the comment or note, or else to the text.
func (o *open) add(text string) {
	switch {
	case o.comment != nil && o.comment.Len() < maxText:
		o.comment.WriteString(text)
	case o.quiet == 0:
		o.text.add(text)
	}
}

func (o *open) begin(e xml.StartElement) error {
	if o.quiet == 0 {
		o.lists.begin(e)
	}
	switch e.Name.Local {
	case "style":
		o.style = attribute(e, "name")
	case "default-style", "list-style", "outline-style":
		o.style = ""
	case "paragraph-properties":
		if attribute(e, "break-before") == "page" {
			o.breaks[o.style] = true
		}
	case "spreadsheet":
		o.calc = true
	case "text-properties":
		o.setLook(e)
	case "annotation", "notes", "note":
		o.quiet++
		o.comment = &strings.Builder{}
	case "tracked-changes", "forms":
		o.quiet++
	case "page":
		o.slide = attribute(e, "name")
	case "p", "h":
		if o.inside++; o.quiet == 0 {
			o.text.look = o.looks[attribute(e, "style-name")]
		}
		if o.breaks[attribute(e, "style-name")] && o.text.table == 0 && o.quiet == 0 {
			if err := o.flow("", o.text.take()); err != nil {
				return err
			}
		}
		if o.quiet == 0 {
			o.text.add(o.lists.take())
		}
	case "s":
		n, _ := strconv.Atoi(attribute(e, "c"))
		o.add(strings.Repeat(" ", min(max(1, n), 80)))
	case "tab":
		o.add("\t")
	case "line-break":
		o.add("\n")
	case "table":
		o.text.table++
		if o.calc && o.text.table == 1 {
			o.sheet = &table{sink: o.sink, title: attribute(e, "name")}
		}
	case "table-row":
		o.again, _ = strconv.Atoi(attribute(e, "number-rows-repeated"))
	case "table-cell", "covered-table-cell":
		o.repeat, _ = strconv.Atoi(attribute(e, "number-columns-repeated"))
		o.value, o.float = cellValue(e), attribute(e, "value-type") == "float"
	default:
		return o.within(e)
	}
	return nil
}

// within begins an element within a paragraph.
func (o *open) within(e xml.StartElement) error {
	switch e.Name.Local {
	case "span":
		o.outer = append(o.outer, o.text.look)
		l := o.looks[attribute(e, "style-name")]
		o.text.look = look{cmp.Or(l.script, o.text.look.script), l.struck || o.text.look.struck}
	case "a":
		o.links = append(o.links, link{attribute(e, "href"), o.text.to().Len()})
	case "ruby-text":
		o.ruby.Reset()
		o.text.aside = &o.ruby
		o.inside++
	case "object":
		return o.object(attribute(e, "href"))
	}
	return nil
}

func (o *open) end(name xml.Name) error {
	if o.quiet == 0 {
		o.lists.end(name.Local)
	}
	switch name.Local {
	case "annotation", "notes", "note":
		o.quiet = max(0, o.quiet-1)
		o.endComment(name.Local)
	case "creator", "date", "note-citation":
		if o.comment != nil {
			o.comment.WriteByte(' ')
		}
	case "span":
		if n := len(o.outer) - 1; n >= 0 {
			o.text.look, o.outer = o.outer[n], o.outer[:n]
		}
	case "a":
		if n := len(o.links) - 1; n >= 0 {
			o.add(address(o.text.since(o.links[n].at), o.links[n].target))
			o.links = o.links[:n]
		}
	case "ruby-text":
		o.text.aside, o.inside = nil, max(0, o.inside-1)
		if o.ruby.Len() > 0 {
			o.add("(" + o.ruby.String() + ")")
		}
	case "tracked-changes", "forms":
		o.quiet = max(0, o.quiet-1)
	case "p", "h":
		o.inside = max(0, o.inside-1)
		switch {
		case o.comment != nil:
			o.comment.WriteByte(' ')
		case o.quiet == 0:
			o.text.look = look{}
			o.text.endParagraph()
		}
	case "table-cell", "covered-table-cell":
		o.endCell()
	case "table-row":
		return o.endRow()
	case "table":
		o.text.table = max(0, o.text.table-1)
		if o.sheet != nil && o.text.table == 0 {
			sheet := o.sheet
			o.sheet = nil
			return sheet.end()
		}
	case "page":
		if name.Space == "draw" {
			return o.page(Page{Title: o.slide, Text: o.text.take()})
		}
	}
	return nil
}

// endComment ends a comment or a note. Its mark stays where it stands.
func (o *open) endComment(kind string) {
	if o.comment == nil {
		return
	}
	said := strings.Join(strings.Fields(o.comment.String()), " ")
	switch o.comment = nil; {
	case said == "":
	case kind == "note": // it begins with its number
		number, words, _ := strings.Cut(said, " ")
		o.notes = append(o.notes, "["+number+"] "+words)
		o.add("[" + number + "]")
	case kind == "notes": // of a slide
		o.add("\nNotes:\n" + said)
	default:
		mark := fmt.Sprintf("[comment %d]", len(o.comments)+1)
		o.comments = append(o.comments, mark+" "+said)
		if o.calc {
			o.marks += mark
		} else {
			o.add(mark)
		}
	}
}

// setLook reads how texts of a style stand on their line.
func (o *open) setLook(e xml.StartElement) {
	l := look{}
	height, _, _ := strings.Cut(strings.TrimSpace(attribute(e, "text-position")), " ")
	switch percent := strings.TrimSuffix(height, "%"); {
	case height == "super" || strings.Trim(percent, "0123456789.") == "" && strings.Trim(percent, "0.") != "":
		l.script = raised
	case height == "sub" || strings.HasPrefix(height, "-"):
		l.script = lowered
	}
	line := cmp.Or(attribute(e, "text-line-through-style"), attribute(e, "text-line-through-type"))
	l.struck = line != "" && line != "none"
	o.looks[o.style] = l
}

// object reads the words of a formula or chart within the document.
func (o *open) object(href string) error {
	if !strings.HasPrefix(href, "./") && !strings.HasPrefix(href, "Object") {
		return nil
	}
	var words []string
	depth := 0
	err := o.archive.elements(href+"/content.xml", func(t xml.Token) error {
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local == "p" || e.Name.Local == "annotation" {
				depth++
			}
		case xml.EndElement:
			if e.Name.Local == "p" || e.Name.Local == "annotation" {
				depth = max(0, depth-1)
			}
		case xml.CharData:
			if said := strings.TrimSpace(string(e)); depth > 0 && said != "" {
				words = append(words, said)
			}
		}
		return nil
	})
	text := labelled("object", words)
	if err != nil {
		if text, err = unread("object", err); err != nil {
			return err
		}
	}
	if o.text.add(text); o.inside == 0 {
		o.text.endParagraph()
	}
	return nil
}

// cellValue returns the value of a cell in a form that has one meaning everywhere; empty: its text is that.
func cellValue(e xml.StartElement) string {
	value := attribute(e, "value")
	switch n, err := strconv.ParseFloat(value, 64); attribute(e, "value-type") {
	case "date":
		return isoDate(attribute(e, "date-value"))
	case "float":
		return value
	case "percentage":
		if err == nil {
			return strconv.FormatFloat(math.Round(n*1e8)/1e6, 'f', -1, 64) + "%"
		}
	case "currency":
		return strings.TrimSpace(value + " " + attribute(e, "currency"))
	}
	return ""
}

// coded matches the text of a number whose format has its own meaning: 00123, 123-45-6789.
var coded = regexp.MustCompile(`^0\d|\d[-/]\d`)

// endCell adds a cell with its repetitions.
func (o *open) endCell() {
	if o.text.table > 1 {
		o.text.cell.WriteByte(' ')
		return
	}
	text := strings.TrimSpace(o.text.cell.String())
	o.text.cell.Reset()
	if text != "" && (!o.float || !coded.MatchString(text)) {
		text = cmp.Or(o.value, text)
	}
	text += o.marks
	o.marks = ""
	n := min(max(1, o.repeat), mostCells)
	o.repeat = 0
	if text == "" {
		o.blank += n
		return
	}
	for ; o.blank > 0 && len(o.cells) < mostCells; o.blank-- {
		o.cells = append(o.cells, "")
	}
	for ; n > 0 && len(o.cells) < mostCells; n-- {
		o.cells = append(o.cells, text)
	}
}

func (o *open) endRow() error {
	if o.text.table > 1 {
		return nil
	}
	cells := o.cells
	o.cells, o.blank = nil, 0
	switch {
	case len(cells) == 0:
		return nil
	case o.sheet == nil:
		o.text.out.WriteString(row(cells) + "\n")
		return nil
	}
	for range min(max(1, o.again), mostRows) {
		if err := o.sheet.add(append([]string(nil), cells...)); err != nil {
			return err
		}
	}
	return nil
}
