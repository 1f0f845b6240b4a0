package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// Bounds of a conversion, whose page may be made to be expensive.
const (
	mostConversions = 4
	conversionTime  = 5 * time.Second
)

// files are the content types that the reader of documents reads.
var files = []string{"application/pdf", "application/epub+zip", "application/msword", "application/rtf"}

// file reports whether a body is a document, by what the site says.
func (b *body) file() bool {
	return slices.Contains(files, b.media) || strings.HasPrefix(b.media, "application/vnd.")
}

// kind returns the content type by what the site says, or, if it says nothing of use, by the data.
func (b *body) kind() string {
	guess, _, _ := strings.Cut(http.DetectContentType(b.data), ";")
	switch {
	case guess == "application/pdf":
		return guess
	case b.media == "" || b.media == "application/octet-stream" || b.media == "binary/octet-stream":
		return guess
	}
	return b.media
}

// convert turns what a site sent into text.
func (v visit) convert(ctx context.Context, b *body) (*page, error) {
	kind := b.kind()
	p := &page{address: b.at.String(), title: b.name}
	if b.partial {
		p.note = "The page is larger; only its beginning was read."
	}
	switch {
	case len(bytes.TrimSpace(b.data)) == 0:
		return nil, errors.New("the page is empty")
	case b.file() || kind == "application/pdf":
		return v.document(ctx, b, kind, p)
	case kind == "text/html" || kind == "application/xhtml+xml":
		return v.article(ctx, b, p)
	case textual(kind):
		p.text = strings.TrimSpace(decoded(b.data, b.header))
		if strings.ContainsRune(p.text, 0) {
			return nil, errors.New("the page holds no text")
		}
		return p, nil
	}
	return nil, fmt.Errorf("this is no page of text but %s, which cannot be read", kind)
}

// textual reports whether content of a type is read as it is.
func textual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		slices.Contains([]string{"application/json", "application/xml", "application/yaml", "application/x-yaml",
			"application/toml", "application/javascript", "application/x-ndjson", "application/csv", "application/sql"}, kind)
}

// decoded returns text in UTF-8.
func decoded(data []byte, contentType string) string {
	r, err := charset.NewReader(bytes.NewReader(data), contentType)
	if err == nil {
		if out, err := io.ReadAll(r); err == nil {
			data = out
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\ufffd")
}

// document reads a PDF or an office document.
func (v visit) document(ctx context.Context, b *body, kind string, p *page) (*page, error) {
	if v.Documents == nil {
		return nil, errors.New("this is a document, and no reader of documents is set up")
	}
	if b.partial {
		return nil, fmt.Errorf("the document has more than %d MB, which is too large to read", v.MaxFile>>20)
	}
	pages, err := v.Documents.Pages(ctx, b.name, kind, b.data)
	if len(pages) == 0 && err != nil {
		return nil, err
	}
	if err != nil {
		p.note = err.Error()
	}
	var text strings.Builder
	for i, s := range pages {
		fmt.Fprintf(&text, "[page %d]\n%s\n\n", i+1, s)
	}
	p.text = strings.TrimSpace(text.String())
	return p, nil
}

// article reads HTML. A page whose conversion takes too long goes on to occupy its slot, and is read as bare text.
func (v visit) article(ctx context.Context, b *body, p *page) (*page, error) {
	source := decoded(b.data, b.header)
	select {
	case v.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, errors.New("too many pages are being read just now; try again")
	}
	done := make(chan content, 1)
	go func() {
		defer func() { <-v.slots }()
		defer func() {
			if recover() != nil {
				done <- bare(source)
			}
		}()
		done <- extract(source, b.at)
	}()
	late := time.NewTimer(conversionTime)
	defer late.Stop()
	var c content
	select {
	case c = <-done:
	case <-late.C:
		c = bare(source)
	case <-ctx.Done():
		return nil, errors.New("the page could not be read in time")
	}
	if err := c.missing(); err != nil {
		return nil, err
	}
	p.title, p.date, p.text = c.title, c.date, c.text
	if c.paid {
		p.note = strings.TrimSpace(p.note + " The page says that all of it is only for those who pay or sign in.")
	}
	return p, nil
}
