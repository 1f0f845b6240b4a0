package document

import (
	"bytes"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/everthread/everthread/core"
)

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
	if err := unambiguousDates(book); err != nil {
		return err
	}
	for _, name := range book.GetSheetList() {
		if err := readSheet(book, name, s); err != nil {
			return err
		}
	}
	a.left = maxInflated
	return readDrawings(a, s)
}

var (
	drawing = regexp.MustCompile(`^xl/(?:drawings/drawing|charts/chart|diagrams/data)\d*\.xml$`)
	linking = regexp.MustCompile(`^xl/worksheets/[^/]+\.xml$`)
)

// readDrawings reads what lies above the cells of a workbook: text boxes, charts and diagrams; and where its links lead.
func readDrawings(a *archive, s *sink) error {
	var texts, links []string
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		text, err := "", error(nil)
		switch {
		case linking.MatchString(name):
			var named map[string]string
			if named, err = a.relations(name); errors.Is(err, errPart) {
				continue
			}
			for _, id := range slices.Sorted(maps.Keys(named)) {
				links = append(links, strings.Trim(address("", named[id]), " ()"))
			}
		case !drawing.MatchString(name):
		case strings.HasPrefix(name, "xl/charts/"):
			text, err = a.chart(name)
		default:
			text, err = drawn(a, name, nil)
		}
		if err != nil {
			return err
		}
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	if err := s.flow("Drawings", strings.Join(texts, "\n")); err != nil {
		return err
	}
	return s.flow("", listed("Links", links))
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
			cells[i] = unambiguous(cells[i], value)
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

// The formats by which dates are shown: with the time of day, and without a day.
const isoTime, isoMonth = `yyyy-mm-dd"T"hh:mm:ss`, `yyyy-mm`

// unambiguousDates replaces all formats of dates by those of ISO 8601.
func unambiguousDates(book *excelize.File) error {
	if book.Styles == nil || book.Styles.CellXfs == nil {
		return nil
	}
	custom := map[int]string{}
	if book.Styles.NumFmts != nil {
		for _, f := range book.Styles.NumFmts.NumFmt {
			custom[f.NumFmtID] = f.FormatCode
		}
	}
	ids := map[string]*int{}
	for i, xf := range book.Styles.CellXfs.Xf { // those before new ones
		if xf.NumFmtID == nil {
			continue
		}
		code, ok := custom[*xf.NumFmtID]
		if !ok {
			code = builtinDates(*xf.NumFmtID)
		}
		iso := isoFormat(code)
		if iso == "" {
			continue
		}
		if ids[iso] == nil {
			style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &iso})
			if err != nil {
				return err
			}
			ids[iso] = book.Styles.CellXfs.Xf[style].NumFmtID
		}
		book.Styles.CellXfs.Xf[i].NumFmtID = ids[iso]
	}
	return nil
}

// builtinDates returns a format like that of a number's built-in one, if that is of dates in any language.
func builtinDates(id int) string {
	switch {
	case id == 17:
		return "mmm-yy"
	case id >= 14 && id <= 16, id == 22, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id == 57, id == 58:
		return "d-m-yy"
	}
	return ""
}

// literal matches the parts of a format that are shown as they are, or are conditions, colours and languages.
var literal = regexp.MustCompile(`"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]?`)

// isoFormat returns the format by ISO 8601 instead of one of dates; empty: it shows no date, or only a part of one.
func isoFormat(code string) string {
	code, _, _ = strings.Cut(strings.ToLower(literal.ReplaceAllString(code, "")), ";")
	switch {
	case code == "general" || code == "standard":
		return ""
	case strings.Contains(code, "d"):
		return isoTime
	case strings.Contains(code, "y") && strings.Contains(code, "m"):
		return isoMonth
	}
	return ""
}

var (
	isoShown  = regexp.MustCompile(`^\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d$`)
	thousands = regexp.MustCompile(`(\d),(\d{3})\b`)
)

// unambiguous returns a displayed cell in a form that has one meaning everywhere: dates by ISO 8601, numbers without
// signs between the thousands.
func unambiguous(shown, value string) string {
	if _, err := strconv.ParseFloat(value, 64); err != nil || shown == value {
		return shown
	}
	if isoShown.MatchString(shown) {
		return isoDate(shown)
	}
	for thousands.MatchString(shown) {
		shown = thousands.ReplaceAllString(shown, "$1$2")
	}
	return strings.TrimSpace(shown)
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
