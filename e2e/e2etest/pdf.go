//go:build e2e

package e2etest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core/files/document"
)

// machineCode is compiled from PDFium once for all tests of a package.
var machineCode sync.Once

// ReadsPDF provides a town with the compiled PDF reader of its program, which on a busy
// machine takes longer to compile than a turn waits for a document.
func (w *Town) ReadsPDF(t *testing.T) {
	t.Helper()
	shared := filepath.Join(filepath.Dir(Program), "pdfium")
	pdf, err := os.ReadFile("../../core/files/document/testdata/lease-chromium.pdf")
	Must(t, err)
	machineCode.Do(func() {
		r := document.Reader{Command: []string{Program, "read-document"}, Cache: shared,
			Limits: document.Limits{Pages: 9, Time: time.Minute, Memory: 256 << 20}}
		_, err := r.Read(t.Context(), document.Source{Name: "lease.pdf", Media: "application/pdf"}, pdf,
			func(document.Page) error { return nil })
		Must(t, err)
	})
	cache := filepath.Join(w.Dir, "cache")
	Must(t, os.MkdirAll(cache, 0o700))
	Must(t, os.Symlink(shared, filepath.Join(cache, "pdfium")))
}
