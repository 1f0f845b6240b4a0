package document

import (
	"context"
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
)

// reserved is the memory of reading besides that of PDFium.
const reserved = 96 << 20

// Source describes a file to read.
type Source struct {
	Name  string `json:"name"`
	Media string `json:"media"` // the sender's content type
	Cache string `json:"cache"` // the folder for the machine code of PDFium
}

// read extracts the text of a file and passes it to put, page by page. Its errors are
// Faults, even if a reader panics; earlier pages remain valid.
func read(ctx context.Context, src Source, data []byte, l Limits, put func(Page) error) (kind string, err error) {
	s := &sink{limits: l, put: put}
	defer func() {
		if p := recover(); p != nil {
			err = &Fault{Problem: core.DocumentDamaged, Err: fmt.Errorf("the reader panicked: %v", p)}
		}
	}()
	kind = Kind(src.Name, src.Media, data)
	if err = readKind(ctx, kind, src, data, s); err != nil {
		var bad *Fault
		if !errors.As(err, &bad) {
			err = fault(core.DocumentDamaged, err)
		}
		return kind, err
	}
	switch {
	case s.words:
		return kind, nil
	case kind == PDF && s.pages > 0:
		return kind, &Fault{Problem: core.DocumentScanned}
	}
	return kind, &Fault{Problem: core.DocumentEmpty}
}

func readKind(ctx context.Context, kind string, src Source, data []byte, s *sink) error {
	switch kind {
	case PDF:
		return readPDF(ctx, data, src.Cache, s)
	case DOCX:
		return readDOCX(data, s)
	case PPTX:
		return readPPTX(data, s)
	case XLSX:
		return readXLSX(data, s)
	case ODT, ODS, ODP:
		return readODF(data, s)
	case EPUB:
		return readEPUB(data, s)
	case HTML:
		return readHTML(data, s)
	case CSV:
		return readCSV(data, s)
	case Markdown:
		return readMarkdown(data, s)
	case Text, Code:
		return readText(data, s)
	}
	return &Fault{Problem: core.DocumentKind}
}
