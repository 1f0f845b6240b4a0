package document

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/internal/fulltest"
)

// asked is a question with the file and page of its answer.
type asked struct {
	question, file string
	page           int
}

// corpus generates documents of ten kinds whose pages mention the same things and places, and
// questions that only one page answers.
type corpus struct {
	rand *rand.Rand
	used map[string]bool
	asks []asked
}

var (
	things = strings.Fields("boiler pump lease roof garden kitchen lift cellar window heating invoice contract insurance " +
		"printer bicycle harvest piano bridge library orchard")
	places = strings.Fields("Lyon Bergen Porto Graz Utrecht Leeds Turin Odense Ghent Malaga Krakow Tartu Galway Nantes " +
		"Bremen Siena Uppsala Basel Zagreb Namur")
	people = strings.Fields("Aurélie Jonas Mette Piotr Chiara Owen Saskia Bruno Ilse Rafael")
	filler = strings.Fields("the work was done as agreed and nobody had questions about it so that everything could go on " +
		"while others waited for papers which came later than planned but in good order for all sides of this matter")
)

// fact returns a sentence for a page, and records a question that it answers.
func (c *corpus) fact(file string, page int) string {
	for {
		thing, place := things[c.rand.IntN(len(things))], places[c.rand.IntN(len(places))]
		who := people[c.rand.IntN(len(people))]
		if c.used[thing+place] {
			continue
		}
		c.used[thing+place] = true
		c.asks = append(c.asks, asked{[]string{fmt.Sprintf("How much did the %s in %s cost?", thing, place),
			fmt.Sprintf("who looked after the %s at %s", thing, place),
			fmt.Sprintf("%s %s price", place, thing)}[c.rand.IntN(3)], file, page})
		return fmt.Sprintf("The %s in %s costs %d euro and is looked after by %s.", thing, place, 100+c.rand.IntN(9000), who)
	}
}

// words returns filler sentences.
func (c *corpus) words(n int) string {
	var out []string
	for range n {
		out = append(out, filler[c.rand.IntN(len(filler))])
	}
	return strings.Join(out, " ") + "."
}

// pages returns the pages of a document, some with a fact.
func (c *corpus) pages(file string) []string {
	out := make([]string, 4)
	first := c.rand.IntN(4)
	for i := range out {
		out[i] = c.words(60)
		if i == first || i == (first+2)%4 {
			out[i] += " " + c.fact(file, i+1) + " " + c.words(40)
		}
	}
	return out
}

// write returns a document of a kind, with pages as its reader returns them.
func (c *corpus) write(t *testing.T, kind, name string) []byte {
	pages := c.pages(name)
	join := func(before, after string) string {
		var b strings.Builder
		for _, p := range pages {
			b.WriteString(before + p + after)
		}
		return b.String()
	}
	switch kind {
	case "pdf":
		return pdfOf(len(pages), func(n int) string { return strings.ReplaceAll(pages[n-1], "é", "\\351") })
	case "docx":
		return zipOf(t, "word/document.xml", "<w:document>"+join("<w:p><w:t>", `</w:t><w:br w:type="page"/></w:p>`)+
			"</w:document>")
	case "odt":
		return zipOf(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml",
			`<o><style:style style:name="B"><style:paragraph-properties fo:break-before="page"/></style:style>`+
				join(`<text:p text:style-name="B">`, "</text:p>")+"</o>")
	case "epub":
		parts := []string{"mimetype", "application/epub+zip", "META-INF/container.xml", `<c><rootfile full-path="b.opf"/></c>`}
		var items, spine string
		for i, p := range pages {
			items += fmt.Sprintf(`<item id="i%d" href="%d.xhtml"/>`, i, i)
			spine += fmt.Sprintf(`<itemref idref="i%d"/>`, i)
			parts = append(parts, fmt.Sprintf("%d.xhtml", i), "<html><body><p>"+p+"</p></body></html>")
		}
		return zipOf(t, append(parts, "b.opf", "<package>"+items+spine+"</package>")...)
	case "pptx":
		parts := []string{}
		var list, targets string
		for i, p := range pages {
			list += fmt.Sprintf(`<p:sldId id="%d" r:id="r%d"/>`, i, i)
			targets += fmt.Sprintf(`<Relationship Id="r%d" Target="slides/s%d.xml"/>`, i, i)
			parts = append(parts, fmt.Sprintf("ppt/slides/s%d.xml", i), "<p:sld><a:p><a:t>"+p+"</a:t></a:p></p:sld>")
		}
		return zipOf(t, append([]string{"ppt/presentation.xml", "<p>" + list + "</p>", "ppt/_rels/presentation.xml.rels",
			"<Relationships>" + targets + "</Relationships>"}, parts...)...)
	case "xlsx":
		return workbook(t, pages)
	}
	// The other kinds are paged by length: filler makes each page full.
	var b strings.Builder
	for i, p := range pages {
		text := p + " " + c.words(600)
		text = text[:strings.LastIndex(text[:2700], " ")]
		switch kind {
		case "html":
			fmt.Fprintf(&b, "<p>%s</p>", text)
		case "md":
			fmt.Fprintf(&b, "# Part %d\n%s\n\n", i+1, text)
		case "csv":
			fmt.Fprintf(&b, "%d,\"%s\"\n", i, text)
		default:
			b.WriteString(text + "\n\n")
		}
	}
	return []byte(b.String())
}

// workbook returns a workbook with a sheet for each page.
func workbook(t *testing.T, pages []string) []byte {
	book := excelize.NewFile()
	defer book.Close()
	for i, p := range pages {
		sheet := fmt.Sprintf("Part %d", i+1)
		if _, err := book.NewSheet(sheet); err != nil {
			t.Fatal(err)
		}
		for n, sentence := range strings.SplitAfter(p, ". ") {
			if err := book.SetCellStr(sheet, fmt.Sprintf("A%d", n+1), sentence); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := book.DeleteSheet("Sheet1"); err != nil {
		t.Fatal(err)
	}
	b, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPage_rightOneIsFound asks questions about documents of ten kinds: for 95 of 100 the answering
// page is among the first five hits.
func TestPage_rightOneIsFound(t *testing.T) {
	t.Parallel()
	c := &corpus{rand: rand.New(rand.NewPCG(7, 7)), used: map[string]bool{}}
	analyzer, err := recall.NewAnalyzer([]string{"en"})
	if err != nil {
		t.Fatal(err)
	}
	st := sqlitetest.Open(t, t.TempDir())
	st.Analyze(analyzer)
	r := reader(t, nil)
	kinds := []string{"pdf", "docx", "pptx", "xlsx", "odt", "epub", "html", "csv", "md", "txt"}
	for n := range fulltest.Size(len(kinds), 100) {
		name := fmt.Sprintf("file-%d.%s", n, kinds[n%len(kinds)])
		g := readFile(t, r, name, c.write(t, kinds[n%len(kinds)], name))
		if len(g.pages) != 4 || g.problem != "" {
			t.Fatalf("%s has %d pages: %q", name, len(g.pages), g.problem)
		}
		keep(t, st, name, g)
	}
	s := &recall.Searcher{Store: st, Days: st, Plain: st, Files: st, Analyzer: analyzer, Tokens: words{},
		Settings: recall.Default(), Log: zap.NewNop()}
	right := 0
	for _, a := range c.asks {
		found, err := s.Search(t.Context(), search.Query{User: 1, Query: a.question, Limit: 5, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			if h.Kind == core.DocFile && h.Page.Name == a.file && h.Page.Number == a.page {
				right++
				v := search.Result{Hits: []search.Hit{h}}.View(time.UTC).Results[0]
				if v.Page != a.page || v.Name != a.file || v.Attachment == "" || v.Message == 0 || !v.Foreign || v.Snippet == "" {
					t.Errorf("%+v does not say where it is", v)
				}
			}
		}
	}
	t.Logf("%d of %d questions found their page", right, len(c.asks))
	if right*100 < 95*len(c.asks) {
		t.Errorf("the right page was found for %d of %d questions", right, len(c.asks))
	}
}

var noon = time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)

// keep stores the pages of a file as a message of the first user.
func keep(t *testing.T, st store.Store, name string, g got) {
	t.Helper()
	ctx := t.Context()
	at := core.Address{Channel: "telegram", Account: "1", External: "1"}
	if _, err := st.AddUserAt(ctx, core.User{Name: "Ada", Role: core.RoleMember, CreatedAt: noon},
		core.Identity{Address: at, LastUsed: noon}); err != nil && !errors.Is(err, core.ErrExists) {
		t.Fatal(err)
	}
	i, u, err := st.Identify(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	day := noon.Truncate(24 * time.Hour)
	out, err := st.Append(ctx, store.Append{User: u.ID, Identity: i.ID, Now: noon, RunAt: noon,
		Events: []core.Inbound{{Address: at, EventID: name, NativeID: name, Kind: core.InMessage}},
		Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat, Text: "[document]", SentAt: noon,
			Day: core.Day{Label: "2026-11-19", Zone: "UTC", Start: day, End: day.AddDate(0, 0, 1)},
			Attachments: []core.Attachment{{Kind: "document", Name: name, Path: name,
				Document: &core.Document{Kind: g.kind, State: core.DocumentReading}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	refs, _, err := st.Due(ctx, []string{core.QueueDocument}, noon, 1, store.Share{})
	if err != nil || len(refs) != 1 {
		t.Fatalf("%d documents to be read: %v", len(refs), err)
	}
	j, err := st.Claim(ctx, refs[0], store.Claim{Worker: "w", Now: noon, Until: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	put := store.PutFilePages{User: u.ID, File: store.FileRef{Message: out.Messages[0]}, First: true, Lease: j.Lease,
		Now: noon}
	for _, p := range g.pages {
		put.Pages = append(put.Pages, store.FilePage{Number: p.Number, Name: name, Kind: g.kind, Title: p.Title, Text: p.Text,
			Tokens: words{}.Count(p.Text)})
	}
	err = errors.Join(st.PutFilePages(ctx, put), st.SetAttachment(ctx, store.Fetched{User: u.ID, Message: out.Messages[0],
		Attachment: core.Attachment{Kind: "document", Name: name}, Lease: j.Lease}))
	if err != nil {
		t.Fatal(err)
	}
}
