package document

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// TestReader_signsAndForms: what Word has instead of letters is read too.
func TestReader_signsAndForms(t *testing.T) {
	t.Parallel()
	sym := func(font, code string) string {
		return `<w:r><w:sym w:font="` + font + `" w:char="` + code + `"/></w:r>`
	}
	field := func(form string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"><w:ffData>` + form +
			`</w:ffData></w:fldChar></w:r><w:r><w:instrText>FORM</w:instrText></w:r>` +
			`<w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	choices := `<w:listEntry w:val="France"/><w:listEntry w:val="Spain"/>`
	const ruby = `<w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r>` +
		`</w:rubyBase></w:ruby>`
	testWritten(t, []written{
		{"a.docx", docx(t, "<w:p><w:r><w:t>555</w:t><w:noBreakHyphen/><w:t>1234</w:t></w:r></w:p><w:p>"+
			sym("Wingdings", "F0FE")+
			sym("Wingdings", "F0A8")+sym("Symbol", "F061")+sym("Symbol", "F0A3")+sym("MS Gothic", "2612")+
			sym("Wingdings", "F021")+"</w:p>"),
			"555-1234\n☑☐α≤☒[symbol]"},
		{"b.docx", docx(t, "<w:p>"+run("", "Paid: ")+field(`<w:checkBox><w:default w:val="0"/><w:checked/>`+
			`</w:checkBox>`)+
			run("", " Sent: ")+field(`<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>`)+
			run("", " Late: ")+field(`<w:checkBox><w:default w:val="1"/></w:checkBox>`)+"</w:p><w:p>"+
			run("", "Country: ")+field(`<w:ddList><w:result w:val="1"/>`+choices+`</w:ddList>`)+
			run("", " or ")+field(`<w:ddList>`+choices+`</w:ddList>`)+"</w:p>"),
			"Paid: ☑ Sent: ☐ Late: ☑\nCountry: Spain or France"},
		{"c.docx", docx(t, "<w:p>"+run("", "in ")+ruby+run("", "へ")+"</w:p>"), "in 東京(とうきょう)へ"},
		{"a.html", []byte("<p><ruby>東京<rt>とうきょう</ruby>へ <ruby>本<rp>(</rp><rt>ほん</rt><rp>)</rp></ruby>"),
			"東京(とうきょう)へ 本(ほん)"},
		{"a.odt", odt(t, `<text:p><text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>`+
			`とうきょう</text:ruby-text></text:ruby>へ</text:p>`),
			"東京(とうきょう)へ"},
	})
}

// TestReader_numbersOfParagraphs: the numbers that a program sets are read too.
func TestReader_numbersOfParagraphs(t *testing.T) {
	t.Parallel()
	const numbering = `<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt ` +
		`w:val="decimal"/>` +
		`<w:pStyle w:val="Heading1"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:numFmt ` +
		`w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>` +
		`</w:abstractNum><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/>` +
		`<w:lvlText w:val="x"/></w:lvl></w:abstractNum>` +
		`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/>` +
		`</w:num>` +
		`<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>` +
		`</w:lvlOverride></w:num>`
	const styles = `<w:style w:styleId="Heading1"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>` +
		`<w:style w:styleId="Clause"><w:basedOn w:val="Heading1"/></w:style>`
	in := func(properties, text string) string {
		return "<w:p><w:pPr>" + properties + "</w:pPr>" + run("", text) + "</w:p>"
	}
	step := func(number, text string) string {
		return "<a:p><a:pPr>" + number + "</a:pPr><a:r><a:t>" + text + "</a:t></a:r></a:p>"
	}
	const odfLists = `<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:n` +
		`um-format="1" style:num-suffix="."/>` +
		`<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" ` +
		`text:display-levels="2"/></text:list-style>` +
		`<text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style>` +
		`<text:list text:style-name="L"><text:list-item><text:p>Rent</text:p><text:list><text:list-item><text:p>` +
		`due</text:p><text:p>more</text:p>` +
		`</text:list-item><text:list-item><text:p>paid</text:p></text:list-item></text:list></text:list-item>` +
		`</text:list><text:p>see</text:p>` +
		`<text:list text:style-name="L" text:continue-numbering="true"><text:list-item><text:h>Term</text:h>` +
		`</text:list-item></text:list>` +
		`<text:list text:style-name="B"><text:list-item><text:p>dash</text:p></text:list-item></text:list>` +
		`<text:list text:style-name="L"><text:list-item><text:p>again</text:p></text:list-item></text:list>`
	num := func(id, level string) string {
		return `<w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + id + `"/></w:numPr>`
	}
	testWritten(t, []written{
		{"a.docx", docx(t, in(num("1", "0"), "Rent")+in(num("1", "1"), "due")+in(num("1", "1"), "paid")+in("",
			"see clause 2")+
			in(`<w:pStyle w:val="Heading1"/>`, "Term")+in(`<w:pStyle w:val="Clause"/>`, "End")+in(num("1", "1"),
			"early")+
			in(num("2", "0"), "item")+in(num("3", "0"), "again")+in(`<w:pStyle w:val="Clause"/>`+num("0", "0"),
			"none"),
			"word/numbering.xml", numbering, "word/styles.xml", styles),
			"1. Rent\n1.a) due\n1.b) paid\nsee clause 2\n2. Term\n3. End\n3.a) early\n- item\n1. again\nnone"},
		{"a.odt", odt(t, odfLists), "1. Rent\n1.a) due\nmore\n1.b) paid\nsee\n2. Term\n- dash\n1. again"},
		{"a.pptx", zipOf(t, "ppt/presentation.xml", `<p:sldId r:id="a" xmlns:r="x"/>`,
			"ppt/_rels/presentation.xml.rels",
			`<Relationship Id="a" Target="slides/s.xml"/>`, "ppt/slides/s.xml",
			step(`<a:buAutoNum type="arabicPeriod" startAt="3"/>`, "a")+
				step(`<a:buAutoNum type="arabicPeriod" startAt="3"/>`, "b")+step("", "c")+
				step(`<a:buAutoNum type="alphaLcParenR"/>`, "d")),
			"3. a\n4. b\nc\na. d"},
		{"b.docx", docx(t, in(num("99999999999999999999", "-4"), "a"), "word/numbering.xml", numbering), "a"},
		{"a.html", []byte(`<ol start=3><li>a<ul><li>x</ul><li>b<li value=9>c</ol><ol type=a><li>d</ol><ul><li>` +
			`e</ul><ol type=I><li>f<li>g</ol>`),
			"3. a\n- x\n4. b\n9. c\na. d\n- e\nI. f\nII. g"},
	})
}

// TestReader_partsOfParts: diagrams, charts, formulas and documents within documents are read, or said to be there.
func TestReader_partsOfParts(t *testing.T) {
	t.Parallel()
	const chart = `<c:chart><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:tx><c:v>` +
		`2025</c:v></c:tx><c:cat><c:v>Q1</c:v>` +
		`<c:v>Q2</c:v></c:cat><c:val><c:v>5</c:v><c:v>7</c:v></c:val></c:ser></c:chart>`
	const diagram = `<dgm:pt><a:p><a:t>Plan</a:t></a:p></dgm:pt><dgm:pt><a:p><a:t>Do</a:t></a:p></dgm:pt>` +
		`<dgm:pt><a:p/></dgm:pt>`
	const rels = `<Relationship Id="d" Target="diagrams/d.xml"/><Relationship Id="c" Target="charts/c.xml"/>` +
		`<Relationship Id="h" Target="h.html"/><Relationship Id="r" Target="r.rtf"/>`
	m := func(name, inner string) string { return "<m:" + name + ">" + inner + "</m:" + name + ">" }
	s := func(text string) string { return "<m:r><m:t>" + text + "</m:t></m:r>" }
	formula := m("oMath", m("f", m("num", s("a"))+m("den", s("b")))+s("·")+m("sSup", m("e", s("x"))+m("sup",
		s("2")))+s("=")+
		m("rad", m("deg", s("3"))+m("e", s("y")))+m("d", m("e", m("f", m("num", s("a+1"))+m("den", s("2"))))))
	testWritten(t, []written{
		{"a.docx", docx(t, `<w:p><w:r><dgm:relIds r:dm="d"/></w:r></w:p><w:p><w:r><c:chart r:id="c"/></w:r>`+
			`</w:p><w:altChunk r:id="h"/>`+
			`<w:altChunk r:id="r"/><w:p><w:r><dgm:relIds r:dm="x"/></w:r></w:p><w:p><w:r><o:OLEObject/></w:r></w:p>`,
			"word/_rels/document.xml.rels", rels, "word/diagrams/d.xml", diagram, "word/charts/c.xml", chart,
			"word/h.html", "<html><p>from <b>HTML</b></p></html>", "word/r.rtf", `{\rtf1 x}`),
			"[diagram: Plan; Do]\n\n[chart: Sales; 2025: Q1 = 5, Q2 = 7]\n\nfrom HTML\n\n[an embedded document " +
				"that is not read]\n" +
				"[diagram that is not read]\n\n[an embedded file that is not read]"},
		{"b.docx", docx(t, "<w:p>"+run("", "so ")+formula+run("", " holds")+"</w:p>"),
			"so a/b·x^2=√[3](y)((a+1)/2) holds"},
		{"a.pptx", zipOf(t, "ppt/presentation.xml", `<p:sldId r:id="a" xmlns:r="x"/>`,
			"ppt/_rels/presentation.xml.rels",
			`<Relationship Id="a" Target="slides/s.xml"/>`, "ppt/slides/s.xml",
			`<a:p><a:t>T</a:t></a:p><c:chart r:id="c"/><dgm:relIds r:dm="d"/>`,
			"ppt/slides/_rels/s.xml.rels", rels, "ppt/slides/charts/c.xml", chart, "ppt/slides/diagrams/d.xml",
			diagram),
			"T\n[chart: Sales; 2025: Q1 = 5, Q2 = 7]\n[diagram: Plan; Do]"},
		{"a.odt", odt(t, `<text:p>so <draw:object xlink:href="./Object 1"/></text:p>`, "Object 1/content.xml",
			`<math><mi>a</mi><annotation>a over b</annotation></math>`), "so [object: a over b]"},
		{"a.html", []byte("<p>x<pre>\nif a:\n    b\n\n\tc</pre><p>y<table><tr><td>a<table><tr><td>in<td>" +
			"1</table><td>b</table>" +
			"<table><tr><td>c<td>d<br>e</table>"), "x\n\nif a:\n    b\n\n\tc\ny\na\nin | 1\nb\nc | d e"},
	})
}

// TestReader_drawingsOfASheet: text boxes, charts and links of a workbook are read after its cells.
func TestReader_drawingsOfASheet(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	for _, err := range []error{book.SetCellValue("Sheet1", "A1", "pay"),
		book.SetCellHyperLink("Sheet1", "A1", "https://pay.example/7", "External"),
		book.AddShape("Sheet1", &excelize.Shape{Cell: "C1", Type: "rect",
			Paragraph: []excelize.RichTextRun{{Text: "boxed"}}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var xlsx bytes.Buffer
	if _, err := book.WriteTo(&xlsx); err != nil {
		t.Fatal(err)
	}
	testWritten(t, []written{{"a.xlsx", xlsx.Bytes(), "pay|boxed|Links:\n- https://pay.example/7"}})
}

// TestReader_addresses: the address behind a link stands after its words, if they do not say it.
func TestReader_addresses(t *testing.T) {
	t.Parallel()
	const rels = `<Relationship Id="p" Target="https://pay.example/7" TargetMode="External"/><Relationship ` +
		`Id="m" Target="mailto:a@b.example?subject=x" TargetMode="External"/>`
	link := pdfWith("Pay here", `/Subtype/Link/Rect[45 695 150 715]/A<</S/URI/URI(https://pay.example/7)>>`,
		`/Subtype/Link/A<</S/GoTo/D[3 0 R/Fit]>>`)
	testWritten(t, []written{
		{"a.docx", docx(t, `<w:p><w:hyperlink r:id="p">`+run("", "Pay here")+`</w:hyperlink>`+run("", " or ")+
			`<w:hyperlink r:id="m">`+run("", "write")+
			`</w:hyperlink>, <w:hyperlink w:anchor="x">`+run("", "below")+
			`</w:hyperlink></w:p><w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r>`+
			`<w:instrText> HYPERLINK "https://f.example" </w:instrText></w:r><w:r><w:fldChar `+
			`w:fldCharType="separate"/></w:r>`+run("", "field")+
			`<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p><w:p><w:fldSimple w:instr='HYPERLINK `+
			`"https://s.example"'>`+run("", "s.example")+`</w:fldSimple></w:p>`,
			"word/_rels/document.xml.rels", rels), "Pay here (https://pay.example/7) or write " +
			"(a@b.example)below\nfield (https://f.example)\ns.example"},
		{"a.odt", odt(t, `<text:p><text:a xlink:href="https://pay.example/7">Pay here</text:a> or <text:a xlin`+
			`k:href="#x">below</text:a></text:p>`),
			"Pay here (https://pay.example/7) or below"},
		{"a.pptx", zipOf(t, "ppt/presentation.xml", `<p:sldId r:id="a" xmlns:r="x"/>`,
			"ppt/_rels/presentation.xml.rels",
			`<Relationship Id="a" Target="slides/s.xml"/>`, "ppt/slides/s.xml",
			`<a:p><a:r><a:rPr><a:hlinkClick r:id="p"/></a:rPr><a:t>Pay</a:t></a:r>`+
				`<a:r><a:t> now</a:t></a:r></a:p>`, "ppt/slides/_rels/s.xml.rels", rels),
			"Pay (https://pay.example/7) now"},
		{"a.html", []byte(`<p><a href="https://pay.example/7">Pay <b>here</b></a>, <a href="/x">home</a>, <a ` +
			`href="https://a.example/">a.example</a>` +
			`, <a href="tel:+49301">call</a> <a href="javascript:x()">no</a>`),
			"Pay here (https://pay.example/7), home, a.example, call (+49301) no"},
		{"a.pdf", link, "Pay here\n\nLinks:\n- Pay here (https://pay.example/7)"},
	})
}

// TestReader_mainParts: the main part of an office document may have any name.
func TestReader_mainParts(t *testing.T) {
	t.Parallel()
	named := func(main, kind string, more ...string) []byte {
		return zipOf(t, append([]string{"_rels/.rels", `<Relationship Type="http://x/officeDocument" Target="/` +
			main + `"/>`,
			"[Content_Types].xml", `<Override PartName="/` + main +
				`" ContentType="application/vnd.openxmlformats-officedocument.` + kind + `.main+xml"/>`},
			more...)...)
	}
	testWritten(t, []written{
		{"a.docx", named("word/document2.xml", "wordprocessingml.document", "word/document2.xml",
			"<w:p><w:t>a</w:t><w:footnoteReference w:id='1'/></w:p>",
			"word/footnotes2.xml", "<w:footnote w:id='1'><w:p><w:t>n</w:t></w:p></w:footnote>"), "a[1]|[1] n"},
		{"a", named("ppt/show.xml", "presentationml.presentation", "ppt/show.xml", `<p:sldId r:id="a" xmlns:r="x"/>`,
			"ppt/_rels/show.xml.rels",
			`<Relationship Id="a" Target="slides/s.xml"/>`, "ppt/slides/s.xml", "<a:p><a:t>s</a:t></a:p>"), "s"},
		{"b", named("x/y.xml", "wordprocessingml.document", "x/y.xml", "<w:p><w:t>b</w:t></w:p>"), "b"},
		{"c", zipOf(t, "_rels/.rels", "<broken", "x", ""), ""},
	})
}

// TestReader_mails: a mail is its headers and its text.
func TestReader_mails(t *testing.T) {
	t.Parallel()
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	const head = "From: =?utf-8?B?SsO2cmc=?= <j@x.example>\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\nContent-Type: "
	alternative := "multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; " +
		"charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		encoded("Hallo Ann,\nbis Mai") + "\r\n--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: " +
		"base64\r\n\r\n" + encoded("<p>Hallo") + "\r\n--b--\r\n"
	const top = "From: Jörg <j@x.example>\nSubject: Grüße\n\n"
	testWritten(t, []written{
		{"a.eml", []byte(head + alternative), top + "Hallo Ann,\nbis Mai"},
		{"b.eml", []byte(head + "multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: " + alternative +
			"\r\n--m\r\nContent-Type: application/pdf; name=a.pdf\r\n" +
			"Content-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--m--"), top +
			"Hallo Ann,\nbis Mai\n\n[attached, not read: a.pdf]"},
		{"c.eml", []byte(head + "text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-prin" +
			"table\r\n\r\n<meta charset=iso-8859-1><p>Gr=FC=DFe"),
			top + "Grüße"},
		{"d.mht", []byte(head + "multipart/related; boundary=m\r\n\r\n--m\r\nContent-Type: text/html; " +
			"charset=utf-8\r\n\r\n<p>Page</p>\r\n--m\r\n" +
			"Content-Type: text/css\r\n\r\np{}\r\n--m\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: " +
			"base64\r\n\r\nAAAA\r\n--m--"), top + "Page"},
		{"e.eml", []byte("no mail"), "no mail"},
		{"f.eml", []byte(head + "multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: message/rfc822\r\n\r\n" +
			head + "text/plain\r\n\r\nin"), top + top + "in"},
		{"g.eml", []byte(strings.Repeat(head+"message/rfc822\r\n\r\n", 2)), top + top[:len(top)-2]},
	})
}
