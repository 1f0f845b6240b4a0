package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// pdfWith returns a PDF of one page with a line of text, and annotations. The reader repairs its missing table.
func pdfWith(line string, annotations ...string) []byte {
	var b bytes.Buffer
	var kids, widgets []string
	for i, a := range annotations {
		ref := fmt.Sprintf("%d 0 R", 10+i)
		kids = append(kids, ref)
		if strings.Contains(a, "/Widget") {
			widgets = append(widgets, ref)
		}
	}
	text := "BT /F1 12 Tf 50 700 Td (" + line + ") Tj ET"
	b.WriteString("%PDF-1.7\n")
	fmt.Fprintf(&b, "1 0 obj<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[%s]/DR<</Font<</F1 4 0 R>>>>/DA(/F1 12 Tf 0 g)>>>>endobj\n",
		strings.Join(widgets, " "))
	b.WriteString("2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n")
	fmt.Fprintf(&b, "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F1 4 0 R>>>>"+
		"/Annots[%s]>>endobj\n", strings.Join(kids, " "))
	b.WriteString("4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n")
	fmt.Fprintf(&b, "5 0 obj<</Length %d>>stream\n%s\nendstream endobj\n", len(text), text)
	for i, a := range annotations {
		fmt.Fprintf(&b, "%d 0 obj<</Type/Annot/Rect[150 695 350 715]/F 4/P 3 0 R%s>>endobj\n", 10+i, a)
	}
	b.WriteString("trailer<</Root 1 0 R>>\n%%EOF\n")
	return b.Bytes()
}

// TestReader_layersOfAPDF: values of forms and comments are text too.
func TestReader_layersOfAPDF(t *testing.T) {
	t.Parallel()
	r := reader(t, nil)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"text field": {pdfWith("Name:", "/Subtype/Widget/FT/Tx/T(name)/V(Kestrel Example)/DA(/F1 12 Tf 0 g)"),
			"Name:\n\nForm fields:\n- name: Kestrel Example"},
		"described field": {pdfWith("Name:", "/Subtype/Widget/FT/Tx/T(f1)/TU(Full name)/V(Aur\\351lie)/DA(/F1 12 Tf 0 g)",
			"/Subtype/Widget/FT/Tx/T(f2)/DA(/F1 12 Tf 0 g)"), "Name:\n\nForm fields:\n- Full name: Aurélie"},
		"boxes": {pdfWith("I agree", "/Subtype/Widget/FT/Btn/T(agree)/V/Yes/AS/Yes/AP<</N<</Yes 5 0 R/Off 5 0 R>>>>",
			"/Subtype/Widget/FT/Btn/T(mail)/V/Off/AS/Off/AP<</N<</Yes 5 0 R/Off 5 0 R>>>>"),
			"I agree\n\nForm fields:\n- agree: yes\n- mail: no"},
		"choice": {pdfWith("Size", "/Subtype/Widget/FT/Ch/Ff 131072/T(size)/Opt[(S)(M)(L)]/V(M)/DA(/F1 12 Tf 0 g)"),
			"Size\n\nForm fields:\n- size: M"},
		"note": {pdfWith("price 5", "/Subtype/Text/T(Ann)/Contents(please change the price)"),
			"price 5\n\nComments:\n- Ann: please change the price"},
		"typewriter": {pdfWith("invoice", "/Subtype/FreeText/Contents(paid 12 May)/DA(/F1 12 Tf)"), "invoice\n\nComments:\n- paid 12 May"},
		"marked":     {pdfWith("invoice", "/Subtype/Highlight/Contents(why?)", "/Subtype/Link/Contents(no)"), "invoice\n\nComments:\n- why?"},
		"nothing":    {pdfWith("plain"), "plain"},
	} {
		g := readFile(t, r, "a.pdf", c.data)
		if g.kind != PDF || len(g.pages) != 1 || g.pages[0].Text != c.want {
			t.Errorf("%s: %s %q, problem %q, want %q", name, g.kind, g.texts(), g.problem, c.want)
		}
	}
}

// TestReader_layersOfOffice: comments, notes, text boxes, headers, footers and hidden sheets are text too.
func TestReader_layersOfOffice(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	_, err := book.NewSheet("Old")
	for _, e := range []error{err, book.SetCellValue("Sheet1", "A1", "Price"), book.SetCellValue("Old", "A1", 4),
		book.SetSheetVisible("Old", false),
		book.AddComment("Sheet1", excelize.Comment{Cell: "A1", Author: "Ann",
			Paragraph: []excelize.RichTextRun{{Text: "net?"}}})} {
		if e != nil {
			t.Fatal(e)
		}
	}
	var xlsx bytes.Buffer
	if _, err := book.WriteTo(&xlsx); err != nil {
		t.Fatal(err)
	}
	const box = `<mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Choice>` +
		`<mc:Fallback><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent>`
	docx := zipOf(t, "word/document.xml", "<w:p><w:r><w:t>body</w:t></w:r></w:p><w:p><w:r>"+box+"</w:r></w:p>",
		"word/footnotes.xml", "<w:p><w:t>foot</w:t></w:p>",
		"word/comments.xml", `<w:comment w:author="Ann"><w:p><w:t>why?</w:t></w:p></w:comment><w:comment w:author="Bob"><w:p><w:t>so</w:t></w:p></w:comment>`,
		"word/header1.xml", "<w:p><w:t>Draft 3</w:t></w:p>", "word/header2.xml", "<w:p><w:t>Draft 3</w:t></w:p>",
		"word/footer1.xml", "<w:p><w:t>Secret</w:t></w:p>")
	pptx := zipOf(t, "ppt/presentation.xml", `<p:sldId r:id="a" xmlns:r="x"/>`,
		"ppt/_rels/presentation.xml.rels", `<Relationship Id="a" Target="slides/s.xml"/>`,
		"ppt/slides/s.xml", "<a:p><a:t>Title</a:t></a:p>", "ppt/slides/_rels/s.xml.rels",
		`<Relationship Id="c" Target="../comments/c.xml"/><Relationship Id="n" Target="../notesSlides/n.xml"/>`,
		"ppt/notesSlides/n.xml", "<a:p><a:t>say hello</a:t></a:p>", "ppt/comments/c.xml", "<p:cm><p:text>shorter</p:text></p:cm>")
	odt := zipOf(t, "mimetype", mimetypes[ODT], "content.xml", `<office:text><text:p>a<office:annotation><dc:creator>Ann</dc:creator>`+
		`<text:p>why?</text:p></office:annotation>b</text:p></office:text>`)
	odp := zipOf(t, "mimetype", mimetypes[ODP], "content.xml", `<draw:page draw:name="s"><text:p>Title</text:p><presentation:notes>`+
		`<text:p>say hello</text:p></presentation:notes></draw:page>`)
	r := reader(t, nil)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a.docx", docx, "body\nboxed|foot|Ann: why?\nBob: so|Secret\nDraft 3"},
		{"a.xlsx", xlsx.Bytes(), "Price|Comments:\n- A1, Ann: net?|4"},
		{"a.pptx", pptx, "Title\n\nNotes:\nsay hello\n\nComments:\nshorter"},
		{"a.odp", odp, "Title\n\nNotes:\nsay hello"},
		{"a.odt", odt, "a[comment 1]b|Comments:\n- [comment 1] Ann why?"},
	} {
		g := readFile(t, r, c.name, c.data)
		if got := strings.Join(g.texts(), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if last := g.pages[len(g.pages)-1]; c.name == "a.xlsx" && last.Title != "Old (hidden)" {
			t.Errorf("the hidden sheet is titled %q", last.Title)
		}
	}
}

// TestReader_cellsHaveOneMeaning: dates are by ISO 8601, and numbers have a decimal point only.
func TestReader_cellsHaveOneMeaning(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	march := time.Date(2024, 3, 4, 0, 0, 0, 0, time.UTC)
	format := func(s string) *excelize.Style { return &excelize.Style{CustomNumFmt: &s} }
	for i, c := range []struct {
		value any
		style *excelize.Style
	}{
		{march, &excelize.Style{NumFmt: 14}}, {march, format("dd/mm/yyyy")}, {march, format("d. mmm yy")},
		{march.Add(15*time.Hour + 30*time.Minute), format("mm/dd/yy h:mm")}, {1234567.5, &excelize.Style{NumFmt: 4}},
		{0.125, &excelize.Style{NumFmt: 10}}, {1234, format(`"$"#,##0`)}, {12.5, nil}, {"1,234", nil}, {0.5, format("h:mm")},
	} {
		cell, err := excelize.CoordinatesToCellName(i+1, 1)
		if err == nil {
			err = book.SetCellValue("Sheet1", cell, c.value)
		}
		if c.style != nil && err == nil {
			var id int
			if id, err = book.NewStyle(c.style); err == nil {
				err = book.SetCellStyle("Sheet1", cell, cell, id)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var xlsx bytes.Buffer
	if _, err := book.WriteTo(&xlsx); err != nil {
		t.Fatal(err)
	}
	ods := zipOf(t, "mimetype", mimetypes[ODS], "content.xml", `<office:spreadsheet><table:table table:name="S"><table:table-row>`+
		`<table:table-cell office:value-type="date" office:date-value="2024-03-04"><text:p>04.03.24</text:p></table:table-cell>`+
		`<table:table-cell office:value-type="float" office:value="1234.5"><text:p>1.234,5</text:p></table:table-cell>`+
		`<table:table-cell office:value-type="percentage" office:value="0.125"><text:p>12,50 %</text:p></table:table-cell>`+
		`<table:table-cell office:value-type="currency" office:currency="EUR" office:value="5"><text:p>5,00 €</text:p></table:table-cell>`+
		`<table:table-cell><text:p>1,2</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`)
	r := reader(t, nil)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a.xlsx": {xlsx.Bytes(), "2024-03-04 | 2024-03-04 | 2024-03-04 | 2024-03-04 15:30 | 1234567.50 | 12.50% | $1234 | " +
			"12.5 | 1,234 | 12:00"},
		"a.ods": {ods, "2024-03-04 | 1234.5 | 12.5% | 5 EUR | 1,2"},
	} {
		if got := strings.Join(readFile(t, r, name, c.data).texts(), ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
