package document

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of documents, as shown to people and models.
const (
	PDF      = "pdf"
	DOCX     = "docx"
	PPTX     = "pptx"
	XLSX     = "xlsx"
	ODT      = "odt"
	ODS      = "ods"
	ODP      = "odp"
	EPUB     = "epub"
	HTML     = "html"
	CSV      = "csv"
	Markdown = "markdown"
	Text     = "text"
	Code     = "code"
	Mail     = "mail"
)

// names are the kinds of text files by their endings.
var names = map[string]string{".csv": CSV, ".tsv": CSV, ".md": Markdown, ".markdown": Markdown, ".html": HTML,
	".htm": HTML, ".xhtml": HTML, ".txt": Text, ".text": Text, ".log": Text, ".rst": Text, ".tex": Text, ".org": Text,
	".srt": Text, ".vtt": Text, ".ics": Text, ".vcf": Text, ".eml": Mail, ".mht": Mail,
	".mhtml": Mail}

// programs are the endings of source code.
var programs = []string{".go", ".py", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".java", ".kt", ".c", ".h", ".cc", ".cpp",
	".hpp", ".cs", ".rs", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".swift", ".scala", ".sh", ".bash", ".zsh",
	".fish",
	".ps1", ".sql", ".css", ".scss", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml",
	".svg",
	".diff", ".patch", ".proto", ".tf", ".nix", ".hs", ".ml", ".ex", ".exs", ".erl", ".clj", ".dart", ".vue",
	".svelte",
	".asm", ".s", ".zig", ".bat", ".cmake", ".gradle", ".properties", ".env"}

// Kind returns the kind of document of a file, by its content first and then by its name
// and type; empty: it is not supported.
func Kind(name, media string, data []byte) string {
	if len(data) == 0 {
		return ""
	}
	head := data[:min(len(data), 1024)]
	switch {
	case bytes.Contains(head, []byte("%PDF-")):
		return PDF
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return zipped(data)
	case bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0")):
		return container(name, data)
	}
	seen := http.DetectContentType(data)
	if wide(data) == nil && (!strings.HasPrefix(seen, "text/") || !textual(data)) {
		return ""
	}
	ending := strings.ToLower(path.Ext(name))
	if k := names[ending]; k != "" {
		return k
	}
	if slices.Contains(programs, ending) {
		return Code
	}
	return byType(media, seen)
}

// byType returns the kind of a text without a known ending, by its stated type and its content's.
func byType(media, seen string) string {
	base, _, _ := mime.ParseMediaType(media)
	switch {
	case base == "text/csv" || base == "text/tab-separated-values":
		return CSV
	case base == "message/rfc822" || base == "multipart/related":
		return Mail
	case base == "text/markdown":
		return Markdown
	case strings.HasPrefix(seen, "text/html") || base == "text/html" || base == "application/xhtml+xml":
		return HTML
	case strings.HasPrefix(seen, "text/xml"), base == "application/json", strings.HasSuffix(base, "+json"),
		base == "application/xml":
		return Code
	}
	return Text
}

// zipped returns the kind of a zipped file, by its parts.
func zipped(data []byte) string {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return broken(data)
	}
	parts := map[string]string{"word/document.xml": DOCX, "ppt/presentation.xml": PPTX, "xl/workbook.xml": XLSX}
	for _, f := range z.File[:min(len(z.File), 200)] {
		switch {
		case f.Name == "mimetype" && f.UncompressedSize64 < 200:
			return ofMimetype(f)
		case parts[f.Name] != "":
			return parts[f.Name]
		}
	}
	return ofMain(data)
}

// ofMain returns the kind of an office document whose main part has an unusual name, by the type of that part.
func ofMain(data []byte) (kind string) {
	a, err := openArchive(data)
	if err != nil {
		return ""
	}
	a.left = 1 << 20
	main, err := a.main("")
	if err != nil || main == "" {
		return ""
	}
	_ = a.begun("[Content_Types].xml", func(e xml.StartElement) { // what was read counts
		if attribute(e, "PartName") != "/"+main {
			return
		}
		for name, k := range map[string]string{"wordprocessingml": DOCX, "presentationml": PPTX,
			"spreadsheetml": XLSX} {
			if strings.Contains(attribute(e, "ContentType"), name) {
				kind = k
			}
		}
	})
	return kind
}

// mimetypes are the types that zipped files state, by their kinds.
var mimetypes = map[string]string{ODT: "application/vnd.oasis.opendocument.text",
	ODS: "application/vnd.oasis.opendocument.spreadsheet", ODP: "application/vnd.oasis.opendocument.presentation",
	EPUB: "application/epub+zip"}

// broken returns the kind of a zipped file without its list of parts, by the names in its bytes.
func broken(data []byte) string {
	parts := map[string]string{DOCX: "word/document.xml", PPTX: "ppt/slides/", XLSX: "xl/worksheets/"}
	maps.Copy(parts, mimetypes)
	for kind, part := range parts {
		if bytes.Contains(data, []byte(part)) {
			return kind
		}
	}
	return ""
}

func ofMimetype(f *zip.File) string {
	r, err := f.Open()
	if err != nil {
		return ""
	}
	defer r.Close()
	said, err := io.ReadAll(io.LimitReader(r, 200))
	for kind, mimetype := range mimetypes {
		if err == nil && strings.TrimSuffix(strings.TrimSpace(string(said)), "-template") == mimetype {
			return kind
		}
	}
	return ""
}

// container returns the kind of an office document with a password, which is wrapped in
// the container of older formats. Those formats themselves are not supported.
func container(name string, data []byte) string {
	if !bytes.Contains(data, utf16("EncryptedPackage")) {
		return ""
	}
	office := map[string]string{".xlsx": XLSX, ".xlsm": XLSX, ".pptx": PPTX, ".pptm": PPTX}
	return cmp.Or(office[strings.ToLower(path.Ext(name))], DOCX)
}

func utf16(s string) []byte {
	out := make([]byte, 0, 2*len(s))
	for _, c := range []byte(s) {
		out = append(out, c, 0)
	}
	return out
}

// textual reports whether data is text in a supported encoding: UTF-8, UTF-16 with a mark, or one with single bytes.
func textual(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return true
	}
	head := data[:min(len(data), 64<<10)]
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	odd := 0
	for _, c := range head {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1B {
			odd++
		}
	}
	return odd*100 <= len(head) || utf8.Valid(head) && odd*20 <= len(head)
}
