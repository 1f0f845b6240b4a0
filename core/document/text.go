package document

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/everthread/everthread/core"
)

// decoded returns a text of any encoding in UTF-8.
func decoded(data []byte, media string) string {
	r, err := charset.NewReader(bytes.NewReader(data), media)
	if err == nil {
		var out []byte
		if out, err = io.ReadAll(io.LimitReader(r, maxText+1)); err == nil {
			return string(out)
		}
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// readText reads plain text.
func readText(data []byte, s *sink) error { return s.flow("", decoded(data, "text/plain")) }

// readMarkdown reads Markdown unchanged, as many sections on a page as fit. The title of
// a page is its first heading.
func readMarkdown(data []byte, s *sink) error {
	var page strings.Builder
	title, next := "", ""
	flush := func() error {
		err := s.flow(title, page.String())
		page.Reset()
		title = next
		return err
	}
	fenced := false
	for line := range strings.Lines(decoded(data, "text/plain")) {
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(line, "#") {
			next = strings.TrimSpace(strings.TrimLeft(line, "#"))
			if page.Len() > pageSize/3 {
				if err := flush(); err != nil {
					return err
				}
			}
			if page.Len() == 0 {
				title = next
			}
		}
		page.WriteString(line)
	}
	return flush()
}

// readCSV reads a table, with its first row at the top of each page.
func readCSV(data []byte, s *sink) error {
	text := decoded(data, "text/plain")
	first, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	for _, comma := range []rune{'\t', ';'} {
		if strings.Count(first, string(comma)) > strings.Count(first, string(r.Comma)) {
			r.Comma = comma
		}
	}
	t := table{sink: s}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t.end()
		}
		if err != nil { // it is no table
			if t.rows == 0 {
				return readText(data, s)
			}
			return errors.Join(t.end(), fault(core.DocumentDamaged, err))
		}
		if err = t.add(cells); err != nil {
			return err
		}
	}
}

// table puts the rows of a sheet on pages, each below the first row.
type table struct {
	*sink
	title string
	head  string
	body  strings.Builder
	rows  int // in all
}

// add adds a row.
func (t *table) add(cells []string) error {
	line := row(cells)
	if line == "" {
		return nil
	}
	t.rows++
	if t.rows == 1 {
		t.head = clip(line, pageSize/4)
	}
	if t.body.Len() > 0 && t.body.Len()+len(line) > pageSize {
		if err := t.flush(); err != nil {
			return err
		}
		t.body.WriteString(t.head + "\n")
	}
	t.body.WriteString(line + "\n")
	return nil
}

func (t *table) flush() error {
	err := t.flow(t.title, t.body.String())
	t.body.Reset()
	return err
}

// end passes on the last page. A sheet without rows is an empty page.
func (t *table) end() error {
	if t.rows == 0 && t.title != "" {
		return t.page(Page{Title: t.title})
	}
	return t.flush()
}
