package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func documentCases() []testCase {
	return []testCase{
		{"a document is read once after it arrives, and its pages are found", testDocument},
		{"pages of an earlier attempt are removed", testDocumentAgain},
		{"a redaction removes the text of the message's files", testDocumentForgotten},
		{"a document that was shown unread begins a new epoch when it is read", testDocumentLate},
		{"pages have vectors of their own", testDocumentVectors},
		{"another version of the analyzer indexes pages again", testDocumentReindexed},
		{"a merge copies pages, which are found", testDocumentMerged},
		{"pages of another user are not found", testDocumentForeign},
		{"pages of plain threads are kept but not indexed", testDocumentPlain},
	}
}

// sendDocument sends, as the bench's user, a stored file that is still to be read.
func (b *bench) sendDocument(text string) (core.MessageID, *core.Turn) {
	b.t.Helper()
	a := b.batch(true, text)
	a.Messages[0].Attachments = []core.Attachment{{Kind: "photo", Path: "1/p.jpg"}, {Kind: "document", Name: "lease.pdf",
		Path: "1/a.pdf", Document: &core.Document{Kind: "pdf", State: core.DocumentReading}}}
	out := one(b, b.Append, a)
	return out.Messages[0], out.Turn
}

// reading claims the job that reads the next document.
func (b *bench) reading() *store.Job {
	b.t.Helper()
	refs := b.due(core.QueueDocument)
	if len(refs) == 0 {
		b.t.Fatal("no document is waiting to be read")
	}
	j, err := b.Claim(b.ctx, refs[0], b.claim())
	b.must(err)
	return j
}

// readDocument stores pages with these texts and ends the job.
func (b *bench) readDocument(j *store.Job, texts ...string) store.PutFilePages {
	b.t.Helper()
	p := store.PutFilePages{User: b.user.ID, File: store.FileRef{Message: core.MessageID(j.Ref), Part: 1}, First: true,
		Config: config, Lease: j.Lease, Now: b.now}
	for i, text := range texts {
		p.Pages = append(p.Pages, store.FilePage{Number: i + 1, Name: "lease.pdf", Kind: "pdf", Title: "T",
			Text: text, Tokens: 3})
	}
	b.must(b.PutFilePages(b.ctx, p))
	b.must(b.SetAttachment(b.ctx, store.Fetched{User: b.user.ID, Message: core.MessageID(j.Ref), Index: 1, Lease: j.Lease,
		Attachment: core.Attachment{Kind: "document", Name: "lease.pdf", Path: "1/a.pdf",
			Document: &core.Document{Kind: "pdf", State: core.DocumentRead, Pages: len(texts), Preview: "preview"}}}))
	return p
}

// pagesIn returns the numbers and texts of a file's pages.
func (b *bench) pagesIn(m core.MessageID) string {
	b.t.Helper()
	list, err := b.FilePages(b.ctx, b.user.ID, store.FileRef{Message: m, Part: 1}, 1, 100)
	b.must(err)
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%d %s", p.Number, p.Text))
	}
	return strings.Join(out, ", ")
}

func testDocument(b *bench) {
	m, t := b.sendDocument("what is the deposit?")
	equal(b, "any before", one(b, b.HasFilePages, b.user.ID), false)
	j := b.reading()
	equal(b, "of which message", j.Ref, int64(m))
	equal(b, "of which part", string(j.Payload), "1")
	p := b.readDocument(j, "the heron", "the wren")
	equal(b, "jobs after it", len(b.due(core.QueueDocument)), 0)
	equal(b, "pages", b.pagesIn(m), "1 the heron, 2 the wren")
	equal(b, "any", one(b, b.HasFilePages, b.user.ID), true)
	list, err := b.FilePages(b.ctx, b.user.ID, p.File, 2, 2)
	b.must(err)
	b.wantFound("a word of a page", core.DocFile, "wren", list[0].ID)
	equal(b, "by the name of the file", len(b.find(core.DocFile, "lease.pdf")), 2)
	got, err := b.FilePagesOf(b.ctx, b.user.ID, []int64{list[0].ID, 999_999})
	b.must(err)
	equal(b, "by its id", fmt.Sprint(got), fmt.Sprint(list))
	equal(b, "preview", b.message(m).Attachments[1].Document.Preview, "preview")
	if err := b.PutFilePages(b.ctx, p); !errors.Is(err, core.ErrFenced) {
		b.t.Errorf("after the job: %v", err)
	}
	b.sent(b.answer(t, "1,450").Delivery)
}

func testDocumentAgain(b *bench) {
	m, _ := b.sendDocument("read")
	j := b.reading()
	p := store.PutFilePages{User: b.user.ID, File: store.FileRef{Message: m, Part: 1}, First: true, Lease: j.Lease,
		Now:   b.now,
		Pages: []store.FilePage{{Number: 1, Text: "heron"}, {Number: 2, Text: "wren"}}}
	b.must(b.PutFilePages(b.ctx, p))
	b.readDocument(j, "owl")
	equal(b, "pages", b.pagesIn(m), "1 owl")
	b.wantFound("what was there", core.DocFile, "heron")
}

func testDocumentForgotten(b *bench) {
	const word = "xylophone"
	m, t := b.sendDocument("read")
	b.readDocument(b.reading(), "the "+word, "more")
	b.answer(t, "yes")
	read := b.turn("what does it say?")
	r := b.reply(read, "it says so")
	call := core.ToolCall{ID: "c1", Name: "file_read", Arguments: fmt.Sprintf(`{"attachment":"%d.2"}`, m)}
	r.Messages = slices.Concat([]core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat,
		ToolCalls: []core.ToolCall{call}, SentAt: b.now}, {Role: core.RoleTool, Kind: core.KindChat,
		ToolCallID: "c1", ToolName: "file_read", SentAt: b.now,
		Text: fmt.Sprintf(`{"message_id":%d,"text":"the %s"}`, m, word)}}, r.Messages)
	b.commit(r)
	b.effects(effect.Redact{Message: m, At: b.now})
	equal(b, "pages", b.pagesIn(m), "")
	b.wantFound("its words", core.DocFile, word)
	equal(b, "waiting for vectors", len(b.pending()), 0)
	b.missing(word)
	gone, turn := b.sendDocument("another")
	j := b.reading()
	b.effects(effect.Redact{Message: gone, At: b.now})
	err := b.PutFilePages(b.ctx, store.PutFilePages{User: b.user.ID, File: store.FileRef{Message: gone, Part: 1},
		Lease: j.Lease, Pages: []store.FilePage{{Number: 1, Text: word}}, Now: b.now})
	equal(b, "of a message that is gone", errors.Is(err, core.ErrNotFound), true)
	equal(b, "a turn", turn != nil, true)
}

func testDocumentLate(b *bench) {
	m, t := b.sendDocument("what is it?")
	b.sent(b.answer(t, "it is still being read").Delivery)
	before := b.edits(b.message(m).Segment)
	b.readDocument(b.reading(), "the heron")
	equal(b, "a new epoch", b.edits(b.message(m).Segment) > before, true)
	b.sendDocument("and this?")
	before = b.edits(b.message(m).Segment)
	b.readDocument(b.reading(), "the wren")
	equal(b, "none for a turn that waited", b.edits(b.message(m).Segment), before)
}

func testDocumentVectors(b *bench) {
	b.sendDocument("read")
	b.readDocument(b.reading(), "the heron", "")
	equal(b, "due", len(b.due(core.QueueEmbed)), 1)
	list := b.pending()
	equal(b, "waiting", len(list), 1)
	equal(b, "text", list[0].Text, "lease.pdf\nT\nthe heron")
	b.put1(list[0], vector(3))
	near := b.nearest(core.VectorFile, vector(3))
	equal(b, "near", len(near) == 1 && near[0].ID == list[0].ID, true)
	n, err := b.Reembed(b.ctx, b.user.ID, config, true, b.now)
	b.must(err)
	equal(b, "all", n >= 1, true)
}

func testDocumentReindexed(b *bench) {
	b.sendDocument("read")
	var texts []string
	for i := range 120 {
		texts = append(texts, fmt.Sprintf("watching herons %d", i))
	}
	b.readDocument(b.reading(), texts...)
	b.indexAll()
	equal(b, "first version", len(b.find(core.DocFile, "watching")), 120)
	other := b.as(b.user, b.at)
	newer := b.open()
	newer.Analyze(words{"2"})
	other.Store = newer
	other.indexAll()
	equal(b, "second version", len(other.find(core.DocFile, "watch")), 120)
	equal(b, "first version's terms", len(other.find(core.DocFile, "watching")), 0)
}

func testDocumentMerged(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("mine", "ok")
	m, t := v.sendDocument("hers")
	v.readDocument(v.reading(), "the heron", "the wren")
	v.put1(v.pending()[0], vector(3))
	v.sent(v.answer(t, "ok").Delivery)
	late, t2 := v.sendDocument("to be read after")
	v.sent(v.answer(t2, "later").Delivery)
	b.carryMerge(v.merge(b.user.ID))
	const shift = 2
	equal(b, "pages", b.pagesIn(m+shift), "1 the heron, 2 the wren")
	equal(b, "found", len(b.find(core.DocFile, "heron")), 1)
	equal(b, "near", len(b.nearest(core.VectorFile, vector(3))), 1)
	j := b.reading()
	equal(b, "waiting document", j.Ref, int64(late+shift))
	b.readDocument(j, "the owl")
	equal(b, "read after it", b.pagesIn(late+shift), "1 the owl")
	b.gone(v.user.ID)
}

func testDocumentForeign(b *bench) {
	b = b.second("Vera", "222")
	m, _ := b.sendDocument("secret")
	j := b.reading()
	p := b.readDocument(j, "the secret")
	ids := b.find(core.DocFile, "secret")
	o := b.second("Mallory", "666")
	equal(b, "any", one(o, o.HasFilePages, o.user.ID), false)
	equal(b, "by number", o.pagesIn(m), "")
	got, err := o.FilePagesOf(o.ctx, o.user.ID, ids)
	b.must(err)
	equal(b, "by id", len(got), 0)
	equal(b, "found", len(o.find(core.DocFile, "secret")), 0)
	p.User = o.user.ID
	equal(b, "written", o.PutFilePages(o.ctx, p) != nil, true)
	b.must(second(b.DeleteUser(b.ctx, b.user.ID)))
	b.gone(b.user.ID)
}

func testDocumentPlain(b *bench) {
	thread, err := b.ThreadNamed(b.ctx, b.user.ID, "notes", b.now)
	b.must(err)
	a := b.batch(true, "read")
	a.Thread = thread.ID
	a.Messages[0].Attachments = []core.Attachment{{}, {Kind: "document", Path: "1/a.pdf",
		Document: &core.Document{Kind: "pdf", State: core.DocumentReading}}}
	m := one(b, b.Append, a).Messages[0]
	b.readDocument(b.reading(), "the heron")
	equal(b, "pages", b.pagesIn(m), "1 the heron")
	b.wantFound("in the index", core.DocFile, "heron")
	equal(b, "waiting for vectors", len(b.pending()), 0)
}
