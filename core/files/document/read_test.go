package document

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestMain also runs as the reading process, for which Reader starts the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "read-document" {
		os.Exit(Serve(os.Stdin, os.Stdout))
	}
	os.Exit(func() int {
		// Compiling takes seconds, so a plain run keeps the code for the next one.
		if user, err := os.UserCacheDir(); err == nil && !fulltest.Asked() {
			machineCode = filepath.Join(user, "everthread", "test-pdfium")
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "everthread-pdfium-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		machineCode = dir
		return m.Run()
	}())
}

// machineCode is the folder of PDFium's machine code, shared by all tests.
var machineCode string

func reader(t testing.TB, change func(*Limits)) *Reader {
	t.Helper()
	l := Limits{Pages: 500, Time: 30 * time.Second, Memory: 256 << 20}
	if change != nil {
		change(&l)
	}
	return &Reader{Command: []string{os.Args[0], "read-document"}, Cache: machineCode, Limits: l}
}

// got is the result of reading a file.
type got struct {
	kind    string
	pages   []Page
	problem core.DocumentProblem
}

func readFile(t testing.TB, r *Reader, name string, data []byte) got {
	t.Helper()
	var g got
	kind, err := r.Read(t.Context(), Source{Name: name}, data, func(p Page) error {
		g.pages = append(g.pages, p)
		return nil
	})
	g.kind = kind
	var f *Fault
	if errors.As(err, &f) {
		g.problem = f.Problem
		t.Logf("%s: %v", name, f)
	} else if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return g
}

func (g got) texts() []string {
	var out []string
	for _, p := range g.pages {
		out = append(out, p.Text)
	}
	return out
}

// TestReaders reads files written by other programs.
func TestReaders(t *testing.T) {
	t.Parallel()
	r := reader(t, nil)
	lease := []string{"Anna Müller", "Rent", "three months’ notice"}
	for _, c := range []struct {
		file, kind string
		pages      int
		want       []string // each on the page of its number if there are as many pages
		problem    core.DocumentProblem
	}{
		{"lease-chromium.pdf", PDF, 3, lease, ""},
		{"lease-office.pdf", PDF, 3, lease, ""},
		{"lease-ghostscript.pdf", PDF, 3, lease, ""},
		{"lease-protected.pdf", PDF, 3, lease, ""},
		{"paper-latex.pdf", PDF, 2, []string{"The affluent office filters fluid", "B 37"}, ""},
		{"lease-scanned.pdf", PDF, 3, nil, core.DocumentScanned},
		{"lease-locked.pdf", PDF, 0, nil, core.DocumentEncrypted},
		{"lease-broken.pdf", PDF, 0, nil, core.DocumentDamaged},
		{"lease.docx", DOCX, 3, lease, ""},
		{"lease.odt", ODT, 3, lease, ""},
		{"prices.xlsx", XLSX, 1, []string{"Part | Price | Since\nValve 3/4 | 12.5"}, ""},
		{"prices.ods", ODS, 1, []string{"Pump \"Quiet\" | 249"}, ""},
		{"talk.pptx", PPTX, 2, []string{"Harvest of the year", "Pears: 96 crates"}, ""},
		{"talk.odp", ODP, 2, []string{"Harvest of the year", "Pears: 96 crates"}, ""},
		{"book.epub", EPUB, 2, []string{"Nobody had climbed", "The keeper was called Aurélie."}, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			g := readFile(t, r, c.file, data)
			if g.kind != c.kind || len(g.pages) != c.pages || g.problem != c.problem {
				t.Errorf("%s of %d pages, problem %q; want %s of %d, %q\n%q", g.kind, len(g.pages), g.problem, c.kind,
					c.pages, c.problem, g.texts())
			}
			for i, want := range c.want {
				if i < len(g.pages) && !strings.Contains(g.pages[i].Text, want) {
					t.Errorf("page %d: %q lacks %q", i+1, g.pages[i].Text, want)
				}
			}
		})
	}
}

// TestReader_tablesKeepTheirRows reads tables of each kind that can contain any.
func TestReader_tablesKeepTheirRows(t *testing.T) {
	t.Parallel()
	r := reader(t, nil)
	for file, want := range map[string]string{"lease.docx": "Heating | 85", "lease.odt": "Heating | 85",
		"prices.xlsx": "Größe M | 8", "prices.ods": "Größe M | 8", "lease-chromium.pdf": "Heating 85"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(readFile(t, r, file, data).texts(), "\n"); !strings.Contains(all, want) {
			t.Errorf("%s lacks the row %q:\n%s", file, want, all)
		}
	}
}

// TestTexts reads text files.
func TestTexts(t *testing.T) {
	t.Parallel()
	r := reader(t, nil)
	long := strings.Repeat("A sentence of the book. ", 1000)
	for _, c := range []struct {
		name, data, kind, want string
		pages                  int
	}{
		{"notes.txt", "\uFEFFone\r\n\r\n\r\ntwo  \r\n", Text, "one\n\ntwo", 1},
		{"latin.txt", "caf\xe9 cr\xe8me", Text, "café crème", 1},
		{"sixteen.txt", "\xff\xfea\x00b\x00", Text, "ab", 1},
		{"main.go", "package main\n\nfunc main() {}\n", Code, "package main\n\nfunc main() {}", 1},
		{"readme.md", "# One\ntext\n```\n# no heading\n```\n", Markdown, "# One\ntext\n```\n# no heading\n```", 1},
		{"a.csv", "name;price\n\"Bolt; big\";3\n", CSV, "name | price\nBolt; big | 3", 1},
		{"page.html", "<title>T</title><script>alert(1)</script><style>p{}</style><p>One<b>two</b> three<table>" +
			"<tr><td>a<td>b</tr></table><img alt='a dog'>", HTML, "Onetwo three\na | b\n[a dog]", 1},
		{"nothing", "", "", "", 0},
		{"x.bin", "\x00\x01\x02", "", "", 0},
		{"wrong.pdf", "<html><body><p>not a PDF", HTML, "not a PDF", 1},
		{"wrong.docx", "just words", Text, "just words", 1},
		{"line.txt", strings.Repeat("x", 9_500), Text, strings.Repeat("x", pageSize), 3},
		{"book.txt", long, Text, strings.TrimSpace(long[:24*125]), 8},
		{"marks.txt", "a\u202Eb\u200Bc\fd", Text, "abc d", 1},
	} {
		g := readFile(t, r, c.name, []byte(c.data))
		if g.kind != c.kind || len(g.pages) != c.pages {
			t.Errorf("%s: %s of %d pages, want %s of %d: %q", c.name, g.kind, len(g.pages), c.kind, c.pages, g.texts())
			continue
		}
		if c.pages > 0 && g.pages[0].Text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, g.pages[0].Text, c.want)
		}
	}
}

// zipOf returns a zip file with parts, given as pairs of name and content.
func zipOf(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err == nil {
			_, err = w.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfOf returns a PDF with the given number of pages, each with its own word.
func pdfOf(pages int, content func(page int) string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(body string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	b.WriteString("%PDF-1.4\n")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object(fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", pages, kids.String()))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	for i := range pages {
		text := "BT /F 12 Tf 20 700 Td (" + content(i+1) + ") Tj ET"
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>",
			len(at)+2))
		object(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

// hostile is a file that does harm to careless readers, and how its reading ends.
type hostile struct {
	name    string
	data    []byte
	problem core.DocumentProblem
	pages   int // at most
}

// TestReader_hostileFiles checks that each hostile file ends with its own problem, and that the next file
// is still read.
func TestReader_hostileFiles(t *testing.T) {
	t.Parallel()
	large := fulltest.Size(1, 10)
	const cell = `<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell></table:table-row>`
	ods := []string{"mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml",
		`<o><office:spreadsheet><table:table table:name="S">` + strings.Repeat(cell, 100) + `</table:table></office:spreadsheet></o>`}
	testHostile(t, []hostile{
		{"repeated.ods", zipOf(t, ods...), core.DocumentLong, 500},
		{"deep.docx", zipOf(t, "word/document.xml", strings.Repeat("<w:tbl>", 10_000*large)), core.DocumentDamaged, 0},
		{"laughs.docx", zipOf(t, "word/document.xml", `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:p><w:t>&b;</w:t></w:p>`),
			"", 1},
		{"cut.docx", zipOf(t, "word/document.xml", strings.Repeat("words ", 5000))[:200], core.DocumentDamaged, 0},
		{"cut.epub", zipOf(t, "mimetype", "application/epub+zip"), core.DocumentDamaged, 0},
		{"locked.docx", append([]byte("\xD0\xCF\x11\xE0"), utf16("EncryptedPackage")...), core.DocumentEncrypted, 0},
		{"old.doc", []byte("\xD0\xCF\x11\xE0 an old document of Word"), core.DocumentKind, 0},
		{"line.pdf", pdfOf(1, func(int) string { return strings.Repeat("endless", 30_000*large) }), "", 1},
		{"script.pdf", bytes.Replace(pdfOf(1, func(int) string { return "harmless" }), []byte("/Type/Catalog"),
			[]byte("/Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>"), 1), "", 1},
		{"nested.html", []byte(strings.Repeat("<div><table><tr><td>", 50_000*large) + "end"), "", 500},
	})
}

// TestReader_hugeFiles checks files that are large or become large.
func TestReader_hugeFiles(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	zeros := strings.Repeat("0", 64<<20)
	bomb := []string{"xl/workbook.xml", "<workbook/>"}
	for i := range 4 {
		bomb = append(bomb, fmt.Sprintf("xl/media/%d", i), zeros)
	}
	testHostile(t, []hostile{
		{"bomb.xlsx", zipOf(t, bomb...), core.DocumentBomb, 0},
		{"long.pdf", pdfOf(10_000, func(p int) string { return fmt.Sprint("page number ", p) }), core.DocumentLong, 500},
		{"commas.csv", []byte(strings.Repeat(",", 15<<20)), core.DocumentLarge, 0},
		{"open.html", []byte("<html><a " + strings.Repeat("x", 10<<20)), core.DocumentDamaged, 0},
	})
}

func testHostile(t *testing.T, files []hostile) {
	r := reader(t, func(l *Limits) { l.Time = 20 * time.Second })
	for _, c := range files {
		t.Run(c.name, func(t *testing.T) {
			g := readFile(t, r, c.name, c.data)
			if g.problem != c.problem || len(g.pages) > c.pages {
				t.Errorf("problem %q and %d pages; want %q and at most %d", g.problem, len(g.pages), c.problem, c.pages)
			}
		})
	}
	if g := readFile(t, r, "next.txt", []byte("still here")); len(g.pages) != 1 {
		t.Errorf("the next file is not read: %+v", g)
	}
}

// TestOpen_bombs checks files of a few kilobytes that expand to hundreds of megabytes of text.
func TestOpen_bombs(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	r := reader(t, func(l *Limits) { l.Time = 20 * time.Second })
	for text, want := range map[string]core.DocumentProblem{
		strings.Repeat("<w:p></w:p>"+strings.Repeat("0", 1<<10), 230<<10): core.DocumentBomb,
		"<w:p><w:t>" + strings.Repeat("0", 256<<20):                       core.DocumentLarge,
	} {
		g := readFile(t, r, "bomb.docx", zipOf(t, "word/document.xml", text))
		if g.problem != want || len(g.pages) != 0 {
			t.Errorf("problem %q and %d pages; want %q and none", g.problem, len(g.pages), want)
		}
	}
}

// TestSearch_limits checks that reading ends when a file takes too much time or memory.
func TestSearch_limits(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("word ", fulltest.Size(1000, 5000))
	many := pdfOf(2000, func(int) string { return page })
	slow := reader(t, func(l *Limits) { l.Time, l.Pages = 300*time.Millisecond, 2000 })
	if err := slow.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if g := readFile(t, slow, "slow.pdf", many); g.problem != core.DocumentSlow {
		t.Errorf("a slow file: %q", g.problem)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	small := reader(t, func(l *Limits) { l.Memory = 32 << 20 })
	if g := readFile(t, small, "large.txt", []byte(strings.Repeat("words ", 3<<20))); g.problem != core.DocumentLarge {
		t.Errorf("a large file: %q of %d pages", g.problem, len(g.pages))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader(t, nil).Read(ctx, Source{Name: "a.txt"}, []byte("a"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("of an ended context: %v", err)
	}
}

// TestReader_processThatCannotStart checks that this is not reported as a problem of the file.
func TestReader_processThatCannotStart(t *testing.T) {
	t.Parallel()
	r := reader(t, nil)
	r.Command = []string{filepath.Join(t.TempDir(), "missing")}
	if g := readFile(t, r, "a.txt", []byte("a")); g.problem != core.DocumentUnread {
		t.Errorf("got %q", g.problem)
	}
}
