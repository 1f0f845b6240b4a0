package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/everthread/everthread/core"
)

// prose extracts text from the XML of office programs: a line for each paragraph or table row.
type prose struct {
	out   strings.Builder
	cell  strings.Builder
	cells []string
	table int // depth
	size  int
	text  bool // within a text element
	again int  // depth of drawings repeated for older programs
}

// token reads a token of the elements that Word and slides share: texts, paragraphs and tables.
func (p *prose) token(t xml.Token) {
	switch e := t.(type) {
	case xml.StartElement:
		switch e.Name.Local {
		case "t":
			p.text = true
		case "br":
			p.add("\n")
		case "tbl":
			p.table++
		case "Fallback":
			p.again++
		}
	case xml.EndElement:
		switch e.Name.Local {
		case "Fallback":
			p.again = max(0, p.again-1)
		case "t":
			p.text = false
		case "p":
			p.endParagraph()
		case "tc":
			p.endCell()
		case "tr":
			p.endRow()
		case "tbl":
			p.table = max(0, p.table-1)
		}
	case xml.CharData:
		if p.text && p.again == 0 {
			p.add(string(e))
		}
	}
}

// add adds text to the current cell or paragraph.
func (p *prose) add(text string) {
	if p.size += len(text); p.size > maxText {
		return
	}
	if p.table > 0 {
		p.cell.WriteString(text)
		return
	}
	p.out.WriteString(text)
}

// endParagraph ends a paragraph; those of a cell stay on one line.
func (p *prose) endParagraph() {
	if p.table > 0 {
		p.cell.WriteByte(' ')
		return
	}
	p.out.WriteByte('\n')
}

func (p *prose) endCell() {
	if p.table > 1 {
		p.cell.WriteByte(' ')
		return
	}
	p.cells = append(p.cells, p.cell.String())
	p.cell.Reset()
}

func (p *prose) endRow() {
	if p.table > 1 {
		return
	}
	p.out.WriteString(row(p.cells) + "\n")
	p.cells = nil
}

// take returns the text since the last call.
func (p *prose) take() string {
	out := p.out.String()
	p.out.Reset()
	return out
}

// readDOCX reads a Word document. Its pages are those of the last rendering before it was
// saved, or else of about pageSize.
func readDOCX(a *archive, s *sink) error {
	w := word{sink: s}
	if err := a.elements("word/document.xml", w.token); err != nil {
		return err
	}
	if err := w.turn(); err != nil {
		return err
	}
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		text, err := w.apart(a, notes)
		if err == nil {
			err = s.flow("Notes", text)
		}
		if err != nil {
			return err
		}
	}
	text, err := w.apart(a, "word/comments.xml")
	if err == nil {
		err = s.flow("Comments", text)
	}
	if err != nil {
		return err
	}
	return w.margins(a)
}

// apart returns the text of a part beside the document; empty: there is none.
func (w *word) apart(a *archive, name string) (string, error) {
	w.text = prose{}
	if err := a.elements(name, w.token); err != nil && !errors.Is(err, errPart) {
		return "", err
	}
	return strings.TrimSpace(w.text.take()), nil
}

var margin = regexp.MustCompile(`^word/(header|footer)\d*\.xml$`)

// margins reads the headers and footers, each different one once.
func (w *word) margins(a *archive) error {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if !margin.MatchString(name) {
			continue
		}
		text, err := w.apart(a, name)
		if err != nil {
			return err
		}
		if text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return w.flow("Headers and footers", strings.Join(all, "\n"))
}

// word reads a Word document.
type word struct {
	*sink
	text    prose
	deleted int // depth of tracked deletions
}

// token reads a token of the document.
func (w *word) token(t xml.Token) error {
	switch e := t.(type) {
	case xml.StartElement:
		switch e.Name.Local {
		case "tab":
			w.text.add("\t")
		case "cr":
			w.text.add("\n")
		case "br":
			if attribute(e, "type") == "page" {
				return w.turn()
			}
		case "lastRenderedPageBreak":
			return w.turn()
		case "comment":
			w.text.add(attribute(e, "author") + ": ")
		case "del", "moveFrom":
			w.deleted++
		}
	case xml.EndElement:
		if e.Name.Local == "del" || e.Name.Local == "moveFrom" {
			w.deleted = max(0, w.deleted-1)
		}
	case xml.CharData:
		if w.deleted > 0 {
			return nil
		}
	}
	w.text.token(t)
	return nil
}

// turn ends the page, unless it is empty or within a table.
func (w *word) turn() error {
	if w.text.table > 0 || strings.TrimSpace(w.text.out.String()) == "" {
		return nil
	}
	return w.flow("", w.text.take())
}

// readPPTX reads the slides of a presentation in their order, with their notes.
func readPPTX(a *archive, s *sink) error {
	named, err := a.relations("ppt/presentation.xml")
	if err != nil {
		return err
	}
	var slides []string
	err = a.begun("ppt/presentation.xml", func(e xml.StartElement) {
		for _, x := range e.Attr {
			if e.Name.Local == "sldId" && x.Name.Local == "id" && x.Name.Space != "" {
				slides = append(slides, named[x.Value])
			}
		}
	})
	if err != nil {
		return err
	}
	for _, name := range slides {
		if err := readSlide(a, name, s); err != nil {
			return err
		}
	}
	return nil
}

func readSlide(a *archive, name string, s *sink) error {
	text, err := drawn(a, name)
	if err != nil {
		return err
	}
	named, err := a.relations(name)
	if err != nil && !errors.Is(err, errPart) {
		return err
	}
	for _, kind := range []struct{ folder, title string }{{"notesSlides/", "Notes"}, {"comments/", "Comments"}} {
		for _, id := range slices.Sorted(maps.Keys(named)) {
			if !strings.Contains(named[id], kind.folder) {
				continue
			}
			more, err := drawn(a, named[id])
			if err != nil {
				return err
			}
			if strings.TrimSpace(more) != "" {
				text += fmt.Sprintf("\n%s:\n%s", kind.title, more)
			}
		}
	}
	title, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return s.page(Page{Title: clip(title, 120), Text: text})
}

// drawn returns the text of a slide, of its notes or comments.
func drawn(a *archive, name string) (string, error) {
	var p prose
	err := a.elements(name, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "text" { // of a comment
			p.text = true
		} else if e, ok := t.(xml.EndElement); ok && e.Name.Local == "text" {
			p.text = false
			p.endParagraph()
		}
		p.token(t)
		return nil
	})
	return p.take(), err
}

// readXLSX reads the sheets of a workbook, with cells as displayed.
func readXLSX(data []byte, s *sink) error {
	a, err := openArchive(data)
	if err != nil {
		return err
	}
	for _, f := range a.files { // the stated sizes; the library counts the real ones
		if a.left -= int64(min(f.UncompressedSize64, maxInflated+1)); a.left < 0 {
			return &Fault{Problem: core.DocumentBomb}
		}
	}
	book, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipSizeLimit: maxInflated,
		UnzipXMLSizeLimit: 16 << 20})
	switch {
	case errors.Is(err, excelize.ErrWorkbookPassword), errors.Is(err, excelize.ErrWorkbookFileFormat):
		return fault(core.DocumentEncrypted, err)
	case err != nil:
		return err
	}
	defer func() { _ = book.Close() }() // its files are in the process's temporary folder
	for _, name := range book.GetSheetList() {
		if err := readSheet(book, name, s); err != nil {
			return err
		}
	}
	return nil
}

func readSheet(book *excelize.File, name string, s *sink) error {
	t := table{sink: s, title: name}
	if seen, err := book.GetSheetVisible(name); err == nil && !seen {
		t.title += " (hidden)"
	}
	rows, err := book.Rows(name)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	values, err := book.Rows(name)
	if err != nil {
		return err
	}
	defer func() { _ = values.Close() }()
	for rows.Next() && values.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return errors.Join(t.end(), err)
		}
		raw, err := values.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return errors.Join(t.end(), err)
		}
		for i, value := range raw[:min(len(raw), len(cells))] {
			cells[i] = unambiguous(cells[i], value, since1904(book))
		}
		if err := t.add(cells[:min(len(cells), mostCells)]); err != nil {
			return err
		}
	}
	if err := rows.Error(); err != nil {
		return errors.Join(t.end(), err)
	}
	if err := t.end(); err != nil {
		return err
	}
	return s.flow(t.title, listed("Comments", cellComments(book, name)))
}

// since1904 reports whether the dates of a workbook count from 1904.
func since1904(book *excelize.File) bool {
	p, err := book.GetWorkbookProps()
	return err == nil && p.Date1904 != nil && *p.Date1904
}

var (
	dateShown = regexp.MustCompile(`^[^\d:]*\d{1,4}[-./ ]+(?:\d{1,2}|\p{L}+\.?)[-./, ]+\d{1,4}`)
	thousands = regexp.MustCompile(`(\d),(\d{3})\b`)
)

// unambiguous returns a displayed cell in a form that has one meaning everywhere: dates by ISO 8601, numbers without
// signs between the thousands.
func unambiguous(shown, value string, since1904 bool) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || shown == value {
		return shown
	}
	if dateShown.MatchString(shown) {
		if at, err := excelize.ExcelDateToTime(n, since1904); err == nil {
			return isoDate(at.Format("2006-01-02T15:04:05"))
		}
	}
	for thousands.MatchString(shown) {
		shown = thousands.ReplaceAllString(shown, "$1$2")
	}
	return shown
}

// isoDate returns a date, with its time of day unless that is midnight.
func isoDate(s string) string {
	date, clock, _ := strings.Cut(s, "T")
	if strings.Trim(clock, "0:.") == "" {
		return date
	}
	return date + " " + strings.TrimSuffix(clock, ":00")
}

// cellComments returns the comments of a sheet, each with its cell.
func cellComments(book *excelize.File, sheet string) []string {
	all, err := book.GetComments(sheet)
	if err != nil { // the cells were read
		return nil
	}
	var out []string
	for _, c := range all {
		text := c.Text
		for _, run := range c.Paragraph {
			text += run.Text
		}
		if said := comment(c.Author, text); said != "" {
			out = append(out, c.Cell+", "+said)
		}
	}
	return out
}
