package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func pageCases() []testCase {
	return []testCase{
		{"pages come before the messages in a window", testPages},
		{"a continued epoch has the pages of its head", testPagesOfEpoch},
		{"only the newest requested pages are read", testManyPages},
		{"an edit makes its page stale until it is made again", testPageEdited},
		{"a redaction removes the message from pages", testPageRedacted},
		{"pages of messages changed meanwhile are not stored", testPageChanged},
		{"the newest messages stay as they are", testRawFrom},
		{"a continued prompt sees a compression", testCompressed},
		{"repetition is found among one's own messages only", testPrinted},
		{"what is brought from elsewhere makes later pages again", testPagesImport},
		{"a merge makes pages again", testPagesMerge},
	}
}

// compressing claims a compression job of the bench's user.
func (b *bench) compressing() core.Lease {
	b.t.Helper()
	b.must(b.Enqueue(b.ctx, store.NewJob{User: b.user.ID, Queue: core.QueueCompress, Key: core.CompressKey,
		Ref: int64(b.continuous()), RunAt: b.now, Unique: true}))
	j, err := b.Claim(b.ctx, b.only(core.QueueCompress), b.claim())
	b.must(err)
	return j.Lease
}

func (b *bench) continuous() core.ThreadID {
	b.t.Helper()
	t, err := b.Thread(b.ctx, b.user.ID, 0)
	b.must(err)
	return t.ID
}

// pageOf returns a page of some messages, with a form for each tier.
func (b *bench) pageOf(text string, ids ...core.MessageID) store.Page {
	b.t.Helper()
	first, last := b.message(ids[0]), b.message(ids[len(ids)-1])
	p := store.Page{User: b.user.ID, Thread: first.Thread, Segment: first.Segment,
		Start: first.Position, End: last.Position, First: slices.Min(ids), Last: slices.Max(ids), Messages: len(ids),
		Original: 30, Tier: store.TierOlder}
	for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
		p.Forms[tier] = store.PageForm{Text: fmt.Sprintf("%s %d", text, tier), Tokens: 12 / int(tier), UserTokens: 2, Raw: 1,
			Summarized: 1, References: 1, Omitted: 1}
	}
	return p
}

// putPages stores pages and ends the job.
func (b *bench) putPages(p store.PutPages) {
	b.t.Helper()
	lease := b.compressing()
	list := b.pageList()
	p.User, p.Thread, p.Lease, p.Edits, p.Now, p.Done = b.user.ID, b.continuous(), lease, list.Edits, b.now, true
	b.must(b.PutPages(b.ctx, p))
}

func (b *bench) pages() []store.Page {
	b.t.Helper()
	return b.pageList().Pages
}

func (b *bench) pageList() store.PageList {
	b.t.Helper()
	list, err := b.Pages(b.ctx, b.user.ID, b.continuous())
	b.must(err)
	return list
}

// longWindow reads a new epoch's window of the next turn, and returns the texts of its pages and
// messages.
func (b *bench) longWindow(tokens int) (pages, messages []string, w store.Window) {
	b.t.Helper()
	t := b.turn("now")
	q := query()
	q.Pages = tokens
	w, err := b.Window(b.ctx, t, q)
	b.must(err)
	for _, p := range w.Pages {
		pages = append(pages, p.Forms[p.Tier].Text)
	}
	for _, m := range w.Messages {
		messages = append(messages, m.Text)
	}
	return pages, messages, w
}

func wantList(b *bench, what string, got []string, want ...string) {
	b.t.Helper()
	if !slices.Equal(got, want) {
		b.t.Errorf("got %s %q, want %q", what, got, want)
	}
}

func testPages(b *bench) {
	u1, a1 := b.exchange("one", "first")
	u2, a2 := b.exchange("two", "second")
	b.exchange("three", "third")
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("p1", u1, a1), b.pageOf("p2", u2, a2)}})
	equal(b, "jobs", len(b.due(core.QueueCompress)), 0)
	all := b.pages()
	equal(b, "pages", len(all), 2)
	equal(b, "form", all[0].Forms[store.TierPoints], store.PageForm{Tokens: 6, UserTokens: 2, Raw: 1, Summarized: 1,
		References: 1, Omitted: 1})
	b.putPages(store.PutPages{Tiers: map[store.PageID]store.Tier{all[0].ID: store.TierKernel}})
	pages, messages, w := b.longWindow(1000)
	wantList(b, "pages", pages, "p1 4", "p2 1")
	equal(b, "first", w.Pages[0].First, u1)
	equal(b, "last", w.Pages[0].Last, a1)
	wantList(b, "messages", messages, "three", "third", "now")
	equal(b, "more", w.More, false)
	got, err := b.PageTexts(b.ctx, b.user.ID, []store.PageRef{{Page: all[1].ID, Tier: store.TierPoints},
		{Page: 999, Tier: 1}, {Page: all[0].ID, Tier: store.TierOlder}})
	b.must(err)
	equal(b, "found", len(got), 2)
	equal(b, "first text", got[0].Forms[got[0].Tier].Text, "p2 2")
	equal(b, "second text", got[1].Forms[got[1].Tier].Text, "p1 1")
	_, err = b.DeleteUser(b.ctx, b.second("Bob", "900").user.ID)
	b.must(err)
	equal(b, "pages after another left", len(b.pages()), 2)
}

func testPagesOfEpoch(b *bench) {
	u1, a1 := b.exchange("one", "first")
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("p1", u1, a1)}})
	t := b.turn("two")
	r := b.reply(t, "second")
	r.Epoch = &store.Epoch{ID: t.ID, Start: b.message(t.Inputs[0]).Position, Edits: 0, Budgets: "f", StartedAt: b.now,
		Head: []store.HeadPart{{Name: "history", Pages: []store.PageRef{{Page: b.pages()[0].ID, Tier: store.TierOlder}}}}}
	r.Compress = true
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	equal(b, "jobs", len(b.due(core.QueueCompress)), 1)
	b.putPages(store.PutPages{Tiers: map[store.PageID]store.Tier{b.pages()[0].ID: store.TierKernel}})
	for range 2 { // also in the turn after
		b.now = b.now.Add(time.Second)
		t := b.turn("three")
		w, err := b.Window(b.ctx, t, store.WindowQuery{Tokens: 1000, Limit: 100, Pages: 1000, Budgets: "f",
			Stale: b.now.Add(-time.Hour)})
		b.must(err)
		if len(w.Pages) != 1 || w.Pages[0].Tier != store.TierOlder || w.Pages[0].Forms[store.TierOlder].Text != "p1 1" {
			b.t.Errorf("got pages %+v", w.Pages)
		}
		b.sent(b.answer(t, "third").Delivery)
	}
}

func testManyPages(b *bench) {
	var all []store.Page
	for n := range 7 {
		u, a := b.exchange(fmt.Sprint("q", n), fmt.Sprint("a", n))
		all = append(all, b.pageOf(fmt.Sprint("p", n), u, a))
	}
	b.putPages(store.PutPages{Pages: all})
	pages, messages, w := b.longWindow(30)
	wantList(b, "pages", pages, "p4 1", "p5 1", "p6 1")
	wantList(b, "messages", messages, "now")
	equal(b, "older pages", w.PagesBefore, 4)
}

func testPageEdited(b *bench) {
	u1, a1 := b.exchange("one", "first")
	u2, a2 := b.exchange("two", "second")
	target := b.native()
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("secretive", u1, a1), b.pageOf("p2", u2, a2)}})
	b.must(b.edit(target, "e1", "two, no, three"))
	all := b.pages()
	equal(b, "first is stale", all[0].Stale, false)
	equal(b, "second is stale", all[1].Stale, true)
	equal(b, "its form", all[1].Forms[store.TierOlder], store.PageForm{})
	equal(b, "jobs", len(b.due(core.QueueCompress)), 1)
	pages, messages, _ := b.longWindow(1000)
	wantList(b, "pages", pages, "secretive 1", "")
	wantList(b, "messages", messages, "now")
	again := b.pageOf("p2 again", u2, a2)
	again.ID, again.Tier = all[1].ID, store.TierPoints
	lease := b.due(core.QueueCompress)
	equal(b, "one job", len(lease), 1)
	b.putPages(store.PutPages{Pages: []store.Page{again}})
	old := store.PageRef{Page: all[1].ID, Tier: store.TierOlder}
	all = b.pages()
	equal(b, "pages", len(all), 2)
	gone, err := b.PageTexts(b.ctx, b.user.ID, []store.PageRef{old})
	b.must(err)
	equal(b, "forms that an earlier prompt showed", len(gone), 0)
	equal(b, "stale", all[1].Stale, false)
	equal(b, "tier", all[1].Tier, store.TierPoints)
	equal(b, "jobs", len(b.due(core.QueueCompress)), 0)
}

func testPageRedacted(b *bench) {
	const word = "xylophone"
	u1, a1 := b.exchange("my "+word, "first")
	u2, a2 := b.exchange("the same again", "second")
	u3, a3 := b.exchange("else", "third")
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("my "+word, u1, a1), b.pageOf("as before, without "+word, u2, a2),
		b.pageOf("p3", u3, a3)},
		Prints:  []store.Printed{{Band: 7, Message: u1}, {Band: 8, Message: u2}},
		Repeats: map[core.MessageID][]core.MessageID{u2: {u1}}})
	b.effects(effect.Redact{Message: u1, At: b.now})
	b.missing(word)
	all := b.pages()
	equal(b, "stale", fmt.Sprint(all[0].Stale, all[1].Stale, all[2].Stale), "true true false")
	found, err := b.Printed(b.ctx, b.user.ID, []int64{7}, 100, 5)
	b.must(err)
	equal(b, "prints", len(found), 0)
	ms, err := b.Between(b.ctx, b.user.ID, b.continuous(), all[0].Start, all[0].End+1, 10)
	b.must(err)
	equal(b, "left of the page", len(ms), 1)
}

func testPageChanged(b *bench) {
	u1, a1 := b.exchange("one", "first")
	target := b.native()
	lease := b.compressing()
	list := b.pageList()
	p := store.PutPages{User: b.user.ID, Thread: b.continuous(), Lease: lease, Edits: list.Edits,
		Pages: []store.Page{b.pageOf("p1", u1, a1)}, Now: b.now}
	b.must(b.edit(target, "e1", "uno"))
	if err := b.PutPages(b.ctx, p); !errors.Is(err, core.ErrChanged) {
		b.t.Errorf("of changed messages: %v", err)
	}
	p.Edits++
	p.Lease.Attempt++
	if err := b.PutPages(b.ctx, p); !errors.Is(err, core.ErrFenced) {
		b.t.Errorf("with another lease: %v", err)
	}
	equal(b, "pages", len(b.pages()), 0)
	p.Lease = lease
	b.must(b.PutPages(b.ctx, p))
	equal(b, "pages", len(b.pages()), 1)
}

func testRawFrom(b *bench) {
	var ids []core.MessageID
	for n := range 150 {
		u, a := b.exchange(fmt.Sprint("q", n), fmt.Sprint("a", n))
		ids = append(ids, u, a)
	}
	each, ten := b.message(ids[0]).Tokens+4, 0
	for _, id := range ids[290:] {
		ten += b.message(id).Tokens + 4
	}
	from := func(tokens, users, answers int, most ...int) core.MessageID {
		b.t.Helper()
		at, err := b.RawFrom(b.ctx, b.user.ID, b.continuous(), store.RawQuery{Tokens: tokens, Users: users, Answers: answers,
			Most: append(most, 1<<40)[0]})
		b.must(err)
		for i, id := range ids {
			if at > 0 && b.message(id).Position == at {
				return core.MessageID(i)
			}
		}
		return -1
	}
	equal(b, "by tokens", from(ten, 1, 1), 290)
	equal(b, "by the user's", from(each, 20, 1), 260)
	equal(b, "by the assistant's", from(each, 1, 110), 81)
	equal(b, "of everything", from(1000*each, 1, 1), -1)
	equal(b, "at most", from(each, 20, 110, ten), 290)
	weight := func(from int64) int {
		b.t.Helper()
		n, err := b.Weight(b.ctx, b.user.ID, b.continuous(), from)
		b.must(err)
		return n
	}
	equal(b, "weight of ten", weight(b.message(ids[290]).Position), ten)
	equal(b, "weight of none", weight(1<<62), 0)
}

// testCompressed checks that a continuing prompt is told how much a new one would save.
func testCompressed(b *bench) {
	u1, a1 := b.exchange("one", "first")
	t := b.turn("two")
	r := b.reply(t, "second")
	r.Epoch = &store.Epoch{ID: t.ID, StartedAt: b.now, Start: 1, Budgets: "f",
		Head: []store.HeadPart{{Name: "instructions", Text: "Be kind", Tokens: 20},
			{Name: "history", Tokens: 100, Pages: []store.PageRef{{Page: 1, Tier: 1}}}, {Name: "loops", Tokens: 5}}}
	b.commit(r)
	equal(b, "tokens of the head", b.pageList().Head, 25)
	compressed := func() int64 {
		b.t.Helper()
		t := b.turn("now")
		w, err := b.Window(b.ctx, t, b.ongoing())
		b.must(err)
		b.commit(b.reply(t, "well"))
		return w.Compressed
	}
	equal(b, "before", compressed(), 0)
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("p1", u1, a1)}})
	equal(b, "without a difference", compressed(), 0)
	b.putPages(store.PutPages{Tiers: map[store.PageID]store.Tier{b.pages()[0].ID: store.TierLight}, Changed: true})
	equal(b, "after", compressed(), 1)
}

func testPrinted(b *bench) {
	u1, a1 := b.exchange("one", "first")
	u2, a2 := b.exchange("two", "second")
	prints := []store.Printed{{Band: -5, Message: u1, Piece: 2}, {Band: 1 << 62, Message: u1, Piece: 2},
		{Band: -5, Message: u2}}
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("p", u1, a2)}, Prints: append(prints, prints[0])})
	_ = a1
	found, err := b.Printed(b.ctx, b.user.ID, []int64{9, -5}, u2, 5)
	b.must(err)
	equal(b, "found", fmt.Sprint(found), fmt.Sprint(prints[:1]))
	found, err = b.Printed(b.ctx, b.user.ID, []int64{-5, 1 << 62}, u2+1, 5)
	b.must(err)
	equal(b, "found", len(found), 3)
	found, err = b.Printed(b.ctx, b.second("Bob", "900").user.ID, []int64{-5, 1 << 62}, 1000, 5)
	b.must(err)
	equal(b, "of another", len(found), 0)
}

func testPagesImport(b *bench) {
	b.bring(b.line(72*time.Hour, core.RoleUser, "long ago"), b.line(71*time.Hour, core.RoleAssistant, "so it was"))
	u1, a1 := b.exchange("one", "first")
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("old", b.numbered("long ago"), b.numbered("so it was")),
		b.pageOf("p1", u1, a1)}})
	edits := func() int64 { return b.pageList().Edits }
	before := edits()
	b.bring(b.line(24*time.Hour, core.RoleUser, "in between"))
	equal(b, "pages", len(b.pages()), 1)
	if edits() == before {
		b.t.Error("an epoch that shows the page continues")
	}
	before = edits()
	b.bring(b.line(24*time.Hour, core.RoleUser, "in between"))
	equal(b, "edits by nothing new", edits(), before)
}

// numbered returns the id of the message with a text.
func (b *bench) numbered(text string) (id core.MessageID) {
	b.t.Helper()
	b.must(b.DB().QueryRow(`SELECT id FROM messages WHERE user_id = $1 AND body = $2`, b.user.ID, text).Scan(&id))
	return id
}

func testPagesMerge(b *bench) {
	u1, a1 := b.exchange("one", "first")
	b.putPages(store.PutPages{Pages: []store.Page{b.pageOf("p1", u1, a1)}, Prints: []store.Printed{{Band: 7, Message: u1}}})
	other := b.second("Bob", "900")
	u2, a2 := other.exchange("two", "second")
	other.putPages(store.PutPages{Pages: []store.Page{other.pageOf("p2", u2, a2)},
		Repeats: map[core.MessageID][]core.MessageID{u2: {u2}}})
	b.carryMerge(other.merge(b.user.ID))
	equal(b, "pages", len(b.pages()), 0)
	for _, table := range []string{"pages", "page_forms", "prints", "repeats"} {
		var n int
		b.must(b.DB().QueryRow(`SELECT COUNT(*) FROM ` + table).Scan(&n))
		equal(b, table, n, 0)
	}
}
