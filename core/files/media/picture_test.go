package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// webp is a WebP image of one pixel.
const webp = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"

func TestKeepFile_onlyPicturesAreShown(t *testing.T) {
	t.Parallel()
	var jpg, moving bytes.Buffer
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black})
	must(jpeg.Encode(&jpg, one, nil))
	must(gif.Encode(&moving, one, nil))
	web, err := base64.StdEncoding.DecodeString(webp)
	must(err)
	huge := bytes.Clone(onePixel)
	binary.BigEndian.PutUint32(huge[16:], 60_000) // its width; the checksum no longer matches
	f := &Files{Dir: t.TempDir(), Max: 1 << 20, Now: func() time.Time { return time.Unix(0, 0) }}
	keep := func(said string, data []byte) (core.Attachment, error) {
		return f.KeepFile(t.Context(), core.ToolUse{User: 1}, 0, core.File{MIME: said, Alt: "draw: a thing", Data: data})
	}
	for want, data := range map[string][]byte{"image/png": onePixel, "image/jpeg": jpg.Bytes(),
		"image/gif": moving.Bytes(), "image/webp": web} {
		a, err := keep("image/tiff", data)
		if err != nil || a.MIME != want || a.Kind != "photo" || a.Alt != "draw: a thing" {
			t.Errorf("%s: %+v, %v", want, a, err)
		}
	}
	for what, c := range map[string]struct {
		said string
		data []byte
		want string
	}{
		"SVG":          {"image/svg+xml", []byte(`<svg><script>x()</script></svg>`), "no picture"},
		"SVG as PNG":   {"image/png", []byte(`<?xml version="1.0"?><svg/>`), "no picture"},
		"a page":       {"image/png", []byte("<!doctype html><html>"), "no picture"},
		"broken":       {"image/png", onePixel[:20], "cannot be read"},
		"another head": {"image/png", huge, "cannot be read"},
		"a bitmap":     {"image/bmp", []byte("BM0000000000"), "no picture"},
		"hidden":       {"application/octet-stream", onePixel[:20], "cannot be read"},
	} {
		if a, err := keep(c.said, c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", what, a, err)
		}
	}
	var large bytes.Buffer
	must(gif.Encode(&large, one, nil))
	b := large.Bytes()
	binary.LittleEndian.PutUint16(b[6:], 60_000)
	binary.LittleEndian.PutUint16(b[8:], 60_000)
	if _, err := keep("image/gif", b); err == nil || !strings.Contains(err.Error(), "too large: 60000 × 60000") {
		t.Errorf("a picture that expands: %v", err)
	}
	if a, err := keep("text/html", []byte("<p>a page</p>")); err != nil || a.Kind != "document" {
		t.Errorf("an HTML file: got %+v, %v", a, err)
	}
}
