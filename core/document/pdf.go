package document

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/everthread/everthread/core"
)

// wasmPage is the size of a WebAssembly memory page.
const wasmPage = 64 << 10

// openPDFium starts PDFium, which is WebAssembly: it has bounded memory, and neither files nor a network. Its machine
// code is cached in the folder cache for other processes; empty: nowhere.
func openPDFium(ctx context.Context, cache string, memory int64) (pdfium.Pool, error) {
	pages := uint32(min(max(memory, 64<<20)/wasmPage, 65536)) //nolint:gosec // it is bounded
	c := wazero.NewRuntimeConfig().WithMemoryLimitPages(pages).WithCloseOnContextDone(false).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	if cache != "" {
		kept, err := wazero.NewCompilationCacheWithDir(cache)
		if err != nil {
			return nil, err
		}
		c = c.WithCompilationCache(kept)
	}
	return webassembly.Init(webassembly.Config{Context: ctx, MinIdle: 1, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: c,
		FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard})
}

func readPDF(ctx context.Context, data []byte, cache string, s *sink) error {
	pool, err := openPDFium(ctx, cache, s.limits.Memory-reserved)
	if err != nil {
		return fault(core.DocumentUnread, err)
	}
	defer func() { _ = pool.Close() }() // the process ends with it
	p, err := pool.GetInstance(s.limits.Time)
	if err != nil {
		return fault(core.DocumentUnread, err)
	}
	defer func() { _ = p.Close() }()
	doc, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		if errors.Is(err, pdferrors.ErrPassword) || errors.Is(err, pdferrors.ErrSecurity) {
			return fault(core.DocumentEncrypted, err)
		}
		return err
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return err
	}
	for i := range count.PageCount {
		text, err := p.GetPageText(&requests.GetPageText{Page: requests.Page{
			ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}})
		page := Page{}
		if err == nil { // else only that page is broken
			page.Text = strings.ReplaceAll(text.Text, "\x00", "")
		}
		if err := s.page(page); err != nil {
			return err
		}
	}
	return nil
}
