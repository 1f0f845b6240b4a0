package document

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
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
		at := requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}
		text, err := p.GetPageText(&requests.GetPageText{Page: at})
		page := Page{}
		if err == nil { // else only that page is broken
			page.Text = unligated.Replace(text.Text)
		}
		page.Text += "\n\n" + annotated(p, at)
		if err := s.page(page); err != nil {
			return err
		}
	}
	return nil
}

// annotated returns what lies above the text of a page: the values of its form fields, and its comments. A broken one is
// left out.
func annotated(p pdfium.Pdfium, page requests.Page) string {
	count, err := p.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: page})
	if err != nil {
		return ""
	}
	var comments []string
	form := false
	for i := range count.Count {
		a, err := p.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: page, Index: i})
		if err != nil {
			continue
		}
		kind, err := p.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a.Annotation})
		switch {
		case err != nil:
		case kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_WIDGET:
			form = true
		case kind.Subtype != enums.FPDF_ANNOT_SUBTYPE_LINK && kind.Subtype != enums.FPDF_ANNOT_SUBTYPE_POPUP:
			comments = append(comments, comment(annotation(p, a.Annotation, "T"), annotation(p, a.Annotation, "Contents")))
		}
		_, _ = p.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: a.Annotation}) // the process ends soon
	}
	out := listed("Comments", comments)
	if form {
		out = listed("Form fields", fields(p, page)) + out
	}
	return out
}

func annotation(p pdfium.Pdfium, a references.FPDF_ANNOTATION, key string) string {
	got, err := p.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{Annotation: a, Key: key})
	if err != nil {
		return ""
	}
	return got.Value
}

// fields returns the filled fields of a page's form, and its boxes.
func fields(p pdfium.Pdfium, page requests.Page) []string {
	form, err := p.GetForm(&requests.GetForm{Page: page})
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range form.Fields {
		value := strings.Join(f.Values, ", ")
		switch {
		case f.Type == enums.FPDF_FORMFIELD_TYPE_PUSHBUTTON:
			continue
		case f.Type == enums.FPDF_FORMFIELD_TYPE_CHECKBOX && f.IsChecked != nil:
			value = map[bool]string{true: "yes", false: "no"}[*f.IsChecked]
		case f.Value != nil:
			value = *f.Value
		}
		if strings.TrimSpace(value) != "" {
			out = append(out, cmp.Or(f.ToolTip, f.Name, "?")+": "+value)
		}
	}
	return out
}
