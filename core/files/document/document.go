// Package document reads the files that users send: it extracts their text, page by
// page, and gives it to the model on demand.
//
// Readers run in a separate process, the same binary started again (Serve), with bounds on time, memory and output
// (Reader). A hostile file ends only that process. The text is its author's data, never an instruction.
package document

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Limits bound the reading of one file.
type Limits struct {
	Pages  int           `json:"pages"`
	Time   time.Duration `json:"time"`
	Memory int64         `json:"memory"` // bytes
}

// Bounds that no honest file exceeds.
const (
	maxInflated = 200 << 20 // bytes of a zipped file that are inflated, over all its parts
	maxParts    = 20_000    // parts of a zipped file
	maxPage     = 100_000   // bytes of text of a page
	maxText     = 16 << 20  // bytes of text of a file, over all pages
	maxDepth    = 500       // nested elements of a page
)

// Page is the text of one page, slide, sheet or chapter.
type Page struct {
	Number int    `json:"number"` // from 1
	Title  string `json:"title,omitempty"`
	Text   string `json:"text"`
}

// Fault is the reason why a file, or the rest of it, was not read.
type Fault struct {
	Problem core.DocumentProblem
	Err     error // for the log; may be nil
}

// Error returns the reason for the log.
func (f *Fault) Error() string {
	if f.Err == nil {
		return string(f.Problem)
	}
	return string(f.Problem) + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// fault returns an error as a Fault; an error that is none yet gets problem p.
func fault(p core.DocumentProblem, err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return &Fault{Problem: p, Err: err}
}

// errEnough ends the reading of a file that exceeds the limits of pages or text.
var errEnough = &Fault{Problem: core.DocumentLong}

// sink receives the pages of a file, within the limits.
type sink struct {
	limits  Limits
	put     func(Page) error
	pages   int
	bytes   int
	words   bool // some page has text
	guessed bool // the encoding is a guess
}

// page passes on the next page of the file.
func (s *sink) page(p Page) error {
	if s.pages >= s.limits.Pages || s.bytes >= maxText {
		return errEnough
	}
	s.pages++
	p.Number = s.pages
	p.Text = tidy(p.Text)
	if len(p.Text) > maxPage {
		p.Text = strings.ToValidUTF8(p.Text[:maxPage], "") + "\n[… the page goes on]"
	}
	p.Title = clip(tidy(p.Title), 200)
	s.bytes += len(p.Text)
	s.words = s.words || strings.TrimSpace(p.Text) != ""
	return s.put(p)
}

// flow passes on text without pages as pages of about pageSize bytes, cut after a line or word.
func (s *sink) flow(title, text string) error {
	text = tidy(text)
	for text != "" {
		n := cut(text)
		if err := s.page(Page{Title: title, Text: text[:n]}); err != nil {
			return err
		}
		text = strings.TrimLeft(text[n:], "\n")
	}
	return nil
}

// pageSize is the approximate size of a page of flowing text in bytes: 500 to 800 tokens.
const pageSize = 3000

// cut returns the end of the first page of s, which is valid UTF-8.
func cut(s string) int {
	if len(s) <= pageSize*5/4 {
		return len(s)
	}
	for _, end := range []string{"\n\n", "\n", ". ", " "} {
		if n := strings.LastIndex(s[:pageSize], end); n > pageSize/2 {
			return n + len(end)
		}
	}
	return len(clip(s, pageSize))
}

// clip shortens a text to n bytes, between characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

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
		return kind, fault(core.DocumentDamaged, err)
	}
	switch {
	case s.words && s.guessed:
		return kind, &Fault{Problem: core.DocumentGuessed}
	case s.words:
		return kind, nil
	case kind == PDF && s.pages > 0:
		return kind, &Fault{Problem: core.DocumentScanned}
	}
	return kind, &Fault{Problem: core.DocumentEmpty}
}

func readKind(ctx context.Context, kind string, src Source, data []byte, s *sink) error {
	zipped := map[string]func(*archive, *sink) error{DOCX: readDOCX, PPTX: readPPTX, ODT: readODF, ODS: readODF,
		ODP: readODF, EPUB: readEPUB}
	if read := zipped[kind]; read != nil {
		a, err := openArchive(data)
		if err != nil {
			return err
		}
		return read(a, s)
	}
	readers := map[string]func([]byte, *sink) error{XLSX: readXLSX, HTML: readHTML, CSV: readCSV,
		Markdown: readMarkdown,
		Text:     readText, Code: readText, Mail: readMail, PDF: func(data []byte, s *sink) error {
			return readPDF(ctx,
				data, src.Cache, s)
		}}
	if read := readers[kind]; read != nil {
		return read(data, s)
	}
	return &Fault{Problem: core.DocumentKind}
}
