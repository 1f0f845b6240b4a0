package document

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

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
		page := pdfPage{p, doc.Document, at, ""}
		if text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: at}); err == nil { // else it is broken
			page.text = text.TextPage
		}
		text := unligated.Replace(page.words()) + "\n\n" + page.annotated()
		_, _ = p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: page.text}) // the process ends soon
		if err := s.page(Page{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// pdfPage is a page of a PDF.
type pdfPage struct {
	pdfium.Pdfium
	doc  references.FPDF_DOCUMENT
	page requests.Page
	text references.FPDF_TEXTPAGE
}

// words returns the text of a page, with raised and lowered digits as such. A broken page has none.
func (p *pdfPage) words() string {
	got, err := p.GetPageText(&requests.GetPageText{Page: p.page})
	if err != nil {
		return ""
	}
	text := []rune(got.Text)
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: p.text})
	if err != nil || count.Count != len(text) { // it has characters without a place
		return got.Text
	}
	var out strings.Builder
	height, base := script(0), 0
	for i, r := range text {
		if height != 0 && (r == '\r' || r == '\n') && p.resumes(text, base, i) {
			continue
		}
		joins := i > 0 && !unicode.IsSpace(text[i-1]) && (r >= '0' && r <= '9' || strings.ContainsRune("+-−", r))
		if !joins {
			height = 0
		} else if change, same := p.height(i-1, i); !same {
			height, base = change, i-1
		}
		out.WriteString(scripted(string(r), height))
	}
	return out.String()
}

// resumes reports whether a line goes on after the end of one at i, at the height of the character base: PDFium ends it
// at a raised one.
func (p *pdfPage) resumes(text []rune, base, i int) bool {
	for i < len(text) && (text[i] == '\r' || text[i] == '\n') {
		i++
	}
	_, same := p.height(base, i)
	return i < len(text) && same
}

// height returns how a character stands beside one before it, and whether it is on the same height.
func (p *pdfPage) height(base, i int) (s script, same bool) {
	before, err := p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: p.text, Index: base})
	if err != nil {
		return 0, true
	}
	box, err := p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: p.text, Index: i})
	if err != nil {
		return 0, true
	}
	size := before.Rect.Top - before.Rect.Bottom
	above, below := box.Rect.Bottom-before.Rect.Bottom, before.Rect.Top-box.Rect.Top
	switch {
	case box.Rect.Top-box.Rect.Bottom > size*0.9:
		return 0, above < size*0.1 && above > -size*0.1
	case above > size*0.2:
		return raised, false
	case above < -size*0.02 && below > size*0.2:
		return lowered, false
	}
	return 0, false
}

// annotated returns what lies above the text of a page: the values of its form fields, its comments, and where its links
// lead. A broken one is left out.
func (p *pdfPage) annotated() string {
	count, err := p.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: p.page})
	if err != nil {
		return ""
	}
	var comments, links []string
	form := false
	for i := range count.Count {
		a, err := p.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: p.page, Index: i})
		if err != nil {
			continue
		}
		kind, err := p.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a.Annotation})
		switch {
		case err != nil:
		case kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_WIDGET:
			form = true
		case kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_LINK:
			if to := p.link(a.Annotation); !slices.Contains(links, to) {
				links = append(links, to)
			}
		case kind.Subtype != enums.FPDF_ANNOT_SUBTYPE_POPUP:
			comments = append(comments, comment(p.annotation(a.Annotation, "T"), p.annotation(a.Annotation,
				"Contents")))
		}
		_, _ = p.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: a.Annotation}) // the process ends soon
	}
	out := listed("Comments", comments) + listed("Links", links)
	if form {
		out = listed("Form fields", p.fields()) + out
	}
	return out
}

// link returns the words of a link with its target; empty: they say it, or it leads nowhere outside.
func (p *pdfPage) link(a references.FPDF_ANNOTATION) string {
	link, err := p.FPDFAnnot_GetLink(&requests.FPDFAnnot_GetLink{Annotation: a})
	if err != nil {
		return ""
	}
	action, err := p.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: link.Link})
	if err != nil || action.Action == nil {
		return ""
	}
	uri, err := p.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: p.doc, Action: *action.Action})
	if err != nil || uri.URIPath == nil {
		return ""
	}
	words := ""
	if at, err := p.FPDFAnnot_GetRect(&requests.FPDFAnnot_GetRect{Annotation: a}); err == nil {
		got, err := p.FPDFText_GetBoundedText(&requests.FPDFText_GetBoundedText{TextPage: p.text,
			Left: float64(at.Rect.Left),
			Top:  float64(at.Rect.Top), Right: float64(at.Rect.Right), Bottom: float64(at.Rect.Bottom)})
		if err == nil {
			words = strings.Join(strings.Fields(unligated.Replace(got.Text)), " ")
		}
	}
	if to := address(words, *uri.URIPath); to != "" {
		return strings.TrimSpace(words + to)
	}
	return ""
}

func (p *pdfPage) annotation(a references.FPDF_ANNOTATION, key string) string {
	got, err := p.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{Annotation: a, Key: key})
	if err != nil {
		return ""
	}
	return got.Value
}

// fields returns the filled fields of a page's form, and its boxes.
func (p *pdfPage) fields() []string {
	form, err := p.GetForm(&requests.GetForm{Page: p.page})
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
