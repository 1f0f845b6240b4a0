package document

import (
	"cmp"
	"encoding/xml"
	"errors"
	"math"
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
	o := open{sink: s, breaks: map[string]bool{}}
	if err := a.elements("content.xml", o.token); err != nil {
		return err
	}
	if err := o.flow("", o.text.take()); err != nil {
		return err
	}
	return o.flow("", listed("Comments", o.comments))
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
	cells  []string
	blank  int // pending empty cells
	slide  string
	again  int // repetitions of the row

	comment  []string // the texts of the current comment, with its author and date, or of the notes of a slide
	comments []string
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
		if o.comment != nil {
			o.comment = append(o.comment, strings.TrimSpace(string(e)))
		}
		if o.inside > 0 && o.quiet == 0 {
			o.text.add(strings.ReplaceAll(string(e), "\n", " "))
		}
	}
	return nil
}

func (o *open) begin(e xml.StartElement) error {
	switch e.Name.Local {
	case "style":
		o.style = attribute(e, "name")
	case "paragraph-properties":
		if attribute(e, "break-before") == "page" {
			o.breaks[o.style] = true
		}
	case "spreadsheet":
		o.calc = true
	case "annotation", "notes":
		o.quiet++
		o.comment = []string{}
	case "tracked-changes", "forms":
		o.quiet++
	case "page":
		o.slide = attribute(e, "name")
	case "p", "h":
		o.inside++
		if o.breaks[attribute(e, "style-name")] && o.text.table == 0 && o.quiet == 0 {
			return o.flow("", o.text.take())
		}
	case "s":
		n, _ := strconv.Atoi(attribute(e, "c"))
		o.text.add(strings.Repeat(" ", min(max(1, n), 80)))
	case "tab":
		o.text.add("\t")
	case "line-break":
		o.text.add("\n")
	case "table":
		o.text.table++
		if o.calc && o.text.table == 1 {
			o.sheet = &table{sink: o.sink, title: attribute(e, "name")}
		}
	case "table-row":
		o.again, _ = strconv.Atoi(attribute(e, "number-rows-repeated"))
	case "table-cell", "covered-table-cell":
		o.repeat, _ = strconv.Atoi(attribute(e, "number-columns-repeated"))
		o.value = cellValue(e)
	}
	return nil
}

func (o *open) end(name xml.Name) error {
	switch name.Local {
	case "annotation", "notes":
		o.quiet = max(0, o.quiet-1)
		said := strings.Join(strings.Fields(strings.Join(o.comment, " ")), " ")
		if o.comment = nil; name.Local == "annotation" {
			o.comments = append(o.comments, said)
		} else if said != "" { // of a slide
			o.text.add("\nNotes:\n" + said)
		}
	case "tracked-changes", "forms":
		o.quiet = max(0, o.quiet-1)
	case "p", "h":
		o.inside = max(0, o.inside-1)
		if o.quiet == 0 {
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

// endCell adds a cell with its repetitions.
func (o *open) endCell() {
	if o.text.table > 1 {
		o.text.cell.WriteByte(' ')
		return
	}
	text := strings.TrimSpace(o.text.cell.String())
	o.text.cell.Reset()
	if text != "" {
		text = cmp.Or(o.value, text)
	}
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
