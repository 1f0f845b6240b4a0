package document

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core/store"
)

// fuzzed reads an input in this process, and checks the result.
func fuzzed(t *testing.T, name string, data []byte) {
	l := Limits{Pages: 20, Time: time.Second, Memory: 256 << 20}
	n := 0
	kind, err := read(t.Context(), Source{Name: name}, data, l, func(p Page) error {
		if n++; p.Number != n || n > l.Pages {
			t.Errorf("page %d is number %d of at most %d", p.Number, n, l.Pages)
		}
		if !utf8.ValidString(p.Text+p.Title) || len(p.Text) > maxPage+100 || strings.ContainsRune(p.Text, 0) {
			t.Errorf("page %d is not storable text", n)
		}
		return nil
	})
	var f *Fault
	if err != nil && !errors.As(err, &f) {
		t.Errorf("%s: %v is no fault of a file", kind, err)
	}
	if f != nil && strings.Contains(f.Error(), "panicked") && kind != XLSX { // a library reads it
		t.Errorf("%s: %v", kind, f)
	}
}

// FuzzTexts reads texts of every kind, chosen by file name.
func FuzzTexts(f *testing.F) {
	for _, seed := range []string{"a,b\n\"c;d\",e", "# one\n```\n# two\n", "<p>a<table><tr><td>b<script>x</script>",
		"\xff\xfea\x00",
		"caf\xe9", "\"", "<title>", strings.Repeat("x", 9000), "a\tb\nc\td",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\n\na\n--b\nContent-Type: message/rfc822\n\nSubject: " +
			"=?x?\n\nb"} {
		for i := range 7 {
			f.Add(i, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		names := []string{"a.txt", "a.md", "a.csv", "a.html", "a.go", "a", "a.eml"}
		fuzzed(t, names[uint(kind)%uint(len(names))], data) //nolint:gosec // any number will do
	})
}

// FuzzParts reads zipped documents of every kind with fuzzed parts.
func FuzzParts(f *testing.F) {
	for i, seed := range []string{`<w:p><w:r><w:t>a</w:t><w:br w:type="page"/></w:r></w:p><w:tbl><w:tr><w:tc>` +
		`<w:p/></w:tc></w:tr></w:tbl>`,
		`<office:spreadsheet><table:table table:name="S"><table:table-row table:number-rows-repeated="9">` +
			`<table:table-cell><text:p>x`,
		`<p:sld><a:tbl><a:tr><a:tc><a:p><a:t>x</a:t></a:p></a:tc></a:tr></a:tbl></p:sld>`, `<html><body><h1>x</h1>`,
		`<draw:page draw:name="a"><text:p>b<text:s text:c="99999999999"/></text:p></draw:page>`} {
		f.Add(i, seed)
	}
	f.Fuzz(func(t *testing.T, kind int, part string) {
		parts := [][]string{{"word/document.xml", part},
			{"mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml", part},
			{"ppt/presentation.xml", `<p:sldId id="1" r:id="r"/>` + part, "ppt/_rels/presentation.xml.rels",
				`<Relationship Id="r" Target="slides/s.xml"/>`, "ppt/slides/s.xml", part,
				"ppt/slides/_rels/s.xml.rels", part},
			{"mimetype", "application/epub+zip", "META-INF/container.xml", `<rootfile full-path="b.opf"/>`, "b.opf",
				`<item id="a" href="a.html"/><itemref idref="a"/>` + part, "a.html", part},
			{"mimetype", "application/vnd.oasis.opendocument.text", "content.xml", part, "META-INF/manifest.xml",
				part}}
		fuzzed(t, "a", zipOf(t, parts[uint(kind)%uint(len(parts))]...)) //nolint:gosec // any number will do
	})
}

// FuzzFiles reads files with changed bytes. PDF is read by a library in separate memory.
func FuzzFiles(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if filepath.Ext(name) == ".pdf" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if Kind("a", "", data) != PDF {
			fuzzed(t, "a", data)
		}
	})
}

// FuzzFileRef checks that references to attachments survive a round trip.
func FuzzFileRef(f *testing.F) {
	f.Add("12.2")
	f.Add("#1")
	f.Fuzz(func(t *testing.T, s string) {
		ref, ok := store.ParseFileRef(s)
		if again, same := store.ParseFileRef(ref.String()); ok && (!same || again != ref) {
			t.Errorf("%q is %v and then %v", s, ref, again)
		}
	})
}
