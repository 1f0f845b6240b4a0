package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// docx returns a Word document of a body, and more parts.
func docx(t testing.TB, body string, more ...string) []byte {
	return zipOf(t, append([]string{"word/document.xml", body}, more...)...)
}

// odt returns an OpenDocument text of a content, and more parts.
func odt(t testing.TB, content string, more ...string) []byte {
	return zipOf(t, append([]string{"mimetype", mimetypes[ODT], "content.xml", content}, more...)...)
}

// run returns a run of Word with properties.
func run(properties, text string) string {
	return "<w:r><w:rPr>" + properties + "</w:rPr><w:t>" + text + "</w:t></w:r>"
}

type written struct {
	name string
	data []byte
	want string
}

func testWritten(t *testing.T, cases []written) {
	t.Helper()
	r := reader(t, nil)
	for _, c := range cases {
		if got := strings.Join(readFile(t, r, c.name, c.data).texts(), "|"); got != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestReader_formatsOfNumbers: only a format of dates makes a date.
func TestReader_formatsOfNumbers(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	var want []string
	for i, c := range []struct {
		value  any
		format string
		want   string
	}{
		{123456789, "000-00-0000", "123-45-6789"},
		{612345678, `00\ 00\ 00\ 00\ 00`, "06 12 34 56 78"},
		{0.5, "# ?/?", "0 1/2"}, {2.75, "# ??/??", "2 3/4"},
		{45, "0000-00-00", "0000-00-45"}, {1234, "00-00/00", "00-12/34"},
		{12, `0 "days"`, "12 days"}, {1234567, "#,##0", "1234567"},
		{45355, "[$-407]d. mmmm yyyy", "2024-03-04"}, {45355.5, "yy/m/d h:mm", "2024-03-04 12:00"},
		{45355, "mmm yy", "2024-03"}, {45355, "d/m", "2024-03-04"}, {0.25, "[h]:mm", "6:00"},
	} {
		cell := fmt.Sprintf("A%d", i+1)
		id, err := book.NewStyle(&excelize.Style{CustomNumFmt: &c.format})
		for _, e := range []error{err, book.SetCellValue("Sheet1", cell, c.value), book.SetCellStyle("Sheet1", cell,
			cell, id)} {
			if e != nil {
				t.Fatal(e)
			}
		}
		want = append(want, c.want)
	}
	var xlsx bytes.Buffer
	if _, err := book.WriteTo(&xlsx); err != nil {
		t.Fatal(err)
	}
	cell := func(value, shown string) string {
		return `<table:table-row><table:table-cell office:value-type="float" office:value="` + value + `"><text:p>` +
			shown +
			`</text:p></table:table-cell></table:table-row>`
	}
	ods := zipOf(t, "mimetype", mimetypes[ODS], "content.xml", `<office:spreadsheet><table:table table:name="S">`+
		cell("123456789", "123-45-6789")+cell("1067", "01067")+cell("0.5", "1/2")+cell("1234.5", "1.234,5")+
		`</table:table></office:spreadsheet>`)
	testWritten(t, []written{{"a.xlsx", xlsx.Bytes(), strings.Join(want, "\n")},
		{"a.ods", ods, "123-45-6789\n01067\n1/2\n1234.5"}})
}

// TestReader_separators: the rows decide what stands between their cells.
func TestReader_separators(t *testing.T) {
	t.Parallel()
	var all []written
	for data, want := range map[string]string{
		"Girokonto\n\nBuchungstag;Empfänger;Betrag (EUR)\n02.11.2026;Stadtwerke;-112,50": "Girokonto\nBuchun" +
			"gstag | Empfänger | " +
			"Betrag (EUR)\n02.11.2026 | Stadtwerke | -112,50",
		"Datum;Betrag, EUR\n02.11.2026;-112,50\n03.11.2026;7,00": "Datum | Betrag, EUR\n02.11.2026 | -112," +
			"50\n03.11.2026 | 7,00",
		"Name, Vorname, Titel;Betrag\nMay, Ann, Dr.;5,00": "Name, Vorname, Titel | Betrag\nMay, Ann, Dr. " +
			"| 5,00",
		"sep=;\na;b\n1,5;2":           "a | b\n1,5 | 2",
		"sep=,\r\na;b,c\r\n1;2,3\r\n": "a;b | c\n1;2 | 3",
		"a,b,c\n1,x;y,3\n2,z,4":       "a | b | c\n1 | x;y | 3\n2 | z | 4",
		"a\tb, c\n1\t2,5":             "a | b, c\n1 | 2,5",
		"a|b\n1|2":                    "a | b\n1 | 2",
		"1,5;2,5\n3,5;4,5":            "1,5 | 2,5\n3,5 | 4,5",
		"name\nAnn":                   "name\nAnn",
		"a,b\n\"x;y;\nz\",2\n":        "a | b\nx;y; z | 2",
	} {
		all = append(all, written{"a.csv", []byte(data), want})
	}
	testWritten(t, all)
	long := "Account 7\n\nday;sum\n" + strings.Repeat("1;2,50\n", 1000)
	if g := readFile(t, reader(t, nil), "a.csv", []byte(long)); !strings.HasPrefix(g.pages[1].Text,
		"day | sum\n1 | 2,50") {
		t.Errorf("a later page begins with %.40q", g.pages[1].Text)
	}
}

// TestReader_heightsAndStrikes: raised digits join no number, and struck-out text is marked.
func TestReader_heightsAndStrikes(t *testing.T) {
	t.Parallel()
	const up, down = `<w:vertAlign w:val="superscript"/>`, `<w:vertAlign w:val="subscript"/>`
	styles := `<style:style style:name="U"><style:text-properties style:text-position="super 58%"/></style:style>` +
		`<style:style style:name="D"><style:text-properties style:text-position="-33% 58%"/></style:style>` +
		`<style:style style:name="S"><style:text-properties style:text-line-through-style="solid"/></style:style>`
	span := func(style, text string) string {
		return `<text:span text:style-name="` + style + `">` + text + `</text:span>`
	}
	slide := func(text string) []byte {
		return zipOf(t, "ppt/presentation.xml", `<p:sldId r:id="a" xmlns:r="x"/>`, "ppt/_rels/presentation.xml.rels",
			`<Relationship Id="a" Target="slides/s.xml"/>`, "ppt/slides/s.xml", text)
	}
	testWritten(t, []written{
		{"a.docx", docx(t, "<w:p>"+run("", "10")+run(up, "6")+run("", " cells, H")+run(down, "2")+run("", "O, 2")+
			run(up, "k+1")+
			run("", ", 5")+run(up, "th")+run("", ", x")+run(up, "k")+"</w:p>"), "10⁶ cells, H₂O, 2^(k+1), 5th, x^k"},
		{"b.docx", docx(t, "<w:p>"+run("", "Price ")+run("<w:strike/>", "100 ")+run("<w:dstrike/>", "EUR ")+
			run(`<w:strike w:val="0"/>`, "80")+
			"</w:p><w:p>"+run("<w:strike/>", "gone")+"</w:p><w:p>"+run("", "x")+"</w:p>"),
			"Price ~~100 EUR~~ 80\n~~gone~~\nx"},
		{"c.docx", docx(t, "<w:p>"+run(`<w:rStyle w:val="Up"/>`, "2")+"</w:p>", "word/styles.xml",
			`<w:style w:type="character" w:styleId="Up"><w:rPr>`+up+`</w:rPr></w:style>`), "²"},
		{"a.pptx", slide(`<a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>-3</a:t></a:r><a:r>` +
			`<a:rPr strike="sngStrike"/>` +
			`<a:t> old</a:t></a:r><a:r><a:rPr strike="noStrike"/><a:t> new</a:t></a:r></a:p>`), "10⁻³ ~~old~~ new"},
		{"a.odt", odt(t, styles+"<text:p>10"+span("U", "6")+" H"+span("D", "2")+"O "+span("S", "100")+
			" 80</text:p>"), "10⁶ H₂O ~~100~~ 80"},
		{"a.html", []byte("<p>x<sup>2</sup>, H<sub>2</sub>O, 900<sup><a href='#n'>1</a></sup>, 1<sup>er</sup>, " +
			"7<sup>[3]</sup>" +
			"<p>Price <s>100</s> 80 <del>a <b>b</b></del>c<table><tr><td><strike>1</strike><td>10<sup>6</sup>" +
			"</table>"),
			"x², H₂O, 900¹, 1er, 7[3]\nPrice ~~100~~ 80 ~~a b~~c\n~~1~~ | 10⁶"},
		{"a.pdf", pdfOf(1, func(int) string {
			return "The rent is 900) Tj /F 7 Tf 4 Ts (1) Tj /F 12 Tf 0 Ts ( and 10) Tj /F 7 Tf 5 Ts (-12) Tj /F " +
				"12 Tf 0 Ts (, H) Tj " +
				"/F 7 Tf -3 Ts (2) Tj /F 12 Tf 0 Ts (O, 5) Tj /F 8 Tf (5) Tj /F 12 Tf ( 42"
		}), "The rent is 900¹ and 10⁻¹², H₂O, 55 42"},
	})
}

// TestReader_notesKeepTheirPlace: notes and comments say where they belong, and do not break the sentence.
func TestReader_notesKeepTheirPlace(t *testing.T) {
	t.Parallel()
	testWritten(t, []written{
		{"a.docx", docx(t, `<w:p>`+run("", "Rent is 900")+`<w:r><w:rPr><w:vertAlign w:val="superscript"/>`+
			`</w:rPr><w:footnoteReference w:id="2"/></w:r>`+
			run("", ", due monthly")+`<w:r><w:footnoteReference w:id="3"/></w:r><w:r><w:endnoteReference `+
			`w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>`,
			"word/footnotes.xml", `<w:footnote w:id="2"><w:p><w:r><w:t>without heating</w:t></w:r></w:p>`+
				`</w:footnote>`+
				`<w:footnote w:id="3"><w:p><w:r><w:t>on the 3rd</w:t></w:r></w:p></w:footnote>`,
			"word/endnotes.xml", `<w:endnote w:id="2"><w:p><w:r><w:t>end</w:t></w:r></w:p></w:endnote>`,
			"word/comments.xml", `<w:comment w:id="0" w:author="Ann"><w:p><w:t>net?</w:t></w:p></w:comment>`),
			"Rent is 900[1], due monthly[2][i][comment 1]|[i] end\n[1] without heating\n[2] on the 3rd|[comment " +
				"1] Ann: net?"},
		{"a.odt", odt(t, `<text:p>The rent is 900<text:note><text:note-citation>1</text:note-citation><text:n`+
			`ote-body><text:p>without `+
			`hea<text:span>ting</text:span></text:p></text:note-body></text:note> euros<office:annotation>`+
			`<dc:creator>Ann</dc:creator>`+
			`<text:p>net?</text:p></office:annotation> a month.</text:p>`),
			"The rent is 900[1] euros[comment 1] a month.|[1] without heating|Comments:\n- [comment 1] Ann net?"},
		{"b.odt", odt(t, `<text:p>body</text:p>`, "styles.xml",
			`<style:master-page><style:header><text:p>Draft 3</text:p></style:header>`+
				`<style:footer><text:p>Secret</text:p></style:footer><style:header-left><text:p>Draft 3</text:p>`+
				`</style:header-left></style:master-page>`),
			"body|Draft 3\nSecret"},
	})
}
