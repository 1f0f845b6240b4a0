// Package document reads the files that people send: it takes the text out of them, page
// by page, and gives it to the model on demand.
//
// Readers run in a process of their own, the same binary started again (Serve), with a
// bound on time, memory and output (Reader). A hostile file ends that process and nothing
// else. The text is its author's data, never an instruction.
package document

import (
	"errors"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Limits bound how a file is read.
type Limits struct {
	Pages  int           `json:"pages"`  // that are read of a file
	Time   time.Duration `json:"time"`   // a file takes at most
	Memory int64         `json:"memory"` // bytes that reading a file takes at most
}

// Bounds that no file has a reason to pass.
const (
	// maxInflated is how many bytes of a zipped file are inflated, over all its parts.
	maxInflated = 200 << 20
	// maxParts is how many parts a zipped file has at most.
	maxParts = 20_000
	// maxPage is how many bytes of text a page keeps.
	maxPage = 100_000
	// maxText is how many bytes of text a file keeps, over all pages.
	maxText = 16 << 20
	// maxDepth is how deep elements of a page nest.
	maxDepth = 500
)

// Page is the text of one page, slide, sheet or chapter.
type Page struct {
	Number int    `json:"number"` // from 1
	Title  string `json:"title,omitempty"`
	Text   string `json:"text"`
}

// Fault is why a file, or the rest of it, was not read.
type Fault struct {
	Problem core.DocumentProblem
	Err     error // for the log; may be nil
}

// Error says it for the log.
func (f *Fault) Error() string {
	if f.Err == nil {
		return string(f.Problem)
	}
	return string(f.Problem) + ": " + f.Err.Error()
}

// Unwrap returns what it was.
func (f *Fault) Unwrap() error { return f.Err }

// fault is an error as a Fault; one that is none yet has the problem given.
func fault(p core.DocumentProblem, err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Problem: p, Err: err}
}

// errEnough ends a file whose pages or text are as many as are read.
var errEnough = &Fault{Problem: core.DocumentLong}

// sink takes the pages of a file, within the limits.
type sink struct {
	limits Limits
	put    func(Page) error
	pages  int
	bytes  int
	words  bool // some page has text
}

// page hands a page on that has a number of its own in the file.
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

// flow hands on text that has no pages of its own, as pages of about pageSize bytes
// that end with a line, or else a word.
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

// pageSize is about how many bytes a page of flowing text has: 500 to 800 tokens.
const pageSize = 3000

// cut returns where the first page of a text ends.
func cut(text string) int {
	if len(text) <= pageSize*5/4 {
		return len(text)
	}
	for _, end := range []string{"\n\n", "\n", ". ", " "} {
		if n := strings.LastIndex(text[:pageSize], end); n > pageSize/2 {
			return n + len(end)
		}
	}
	n := pageSize
	for n > 0 && text[n]&0xC0 == 0x80 { // within a character
		n--
	}
	if n == 0 {
		return pageSize
	}
	return n
}

// clip shortens a text to n bytes, at a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
