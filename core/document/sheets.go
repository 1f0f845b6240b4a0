package document

import (
	"bytes"
	"errors"

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
	for _, name := range book.GetSheetList() {
		if err := readSheet(book, name, s); err != nil {
			return err
		}
	}
	return nil
}

func readSheet(book *excelize.File, name string, s *sink) error {
	t := table{sink: s, title: name}
	rows, err := book.Rows(name)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return errors.Join(t.end(), err)
		}
		if err := t.add(cells[:min(len(cells), mostCells)]); err != nil {
			return err
		}
	}
	if err := rows.Error(); err != nil {
		return errors.Join(t.end(), err)
	}
	return t.end()
}
