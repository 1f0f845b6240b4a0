package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// replyWithNews commits a reply whose prompt reported all changes, and n in a note before its first
// input.
func (b *bench) replyWithNews(r store.Reply, n core.News) {
	b.t.Helper()
	w, err := b.Window(b.ctx, r.Turn, b.ongoing())
	b.must(err)
	r.Told = w.News
	if n.Text != "" {
		r.News = &store.TurnNews{Message: r.Turn.Inputs[0], News: n, Edits: w.Edits}
	}
	b.commit(r)
}

// commit stores a reply and sends it.
func (b *bench) commit(r store.Reply) {
	b.t.Helper()
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	if out.Delivery != nil {
		b.sent(out.Delivery)
	}
}

// wantNews checks the changes that a turn reads.
func (b *bench) wantNews(t *core.Turn, want string) {
	b.t.Helper()
	w, err := b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	var got []string
	for _, l := range w.Changes.Loops {
		got = append(got, string(l.State)+" "+l.Text)
	}
	for _, h := range w.Changes.Themes {
		got = append(got, fmt.Sprint(h.Slug, " ", h.Active))
	}
	if w.LastSummary != nil {
		got = append(got, w.Last.Day.Label+" "+w.LastSummary.Markdown)
	}
	if d := cmp.Diff(want, strings.Join(got, ", ")); d != "" || (w.News == w.Told) != (want == "") {
		b.t.Errorf("told up to %d of %d: %s", w.Told, w.News, d)
	}
}

func testNews(b *bench) {
	id := core.LoopID(one(b, b.NewID, b.user.ID))
	b.effects(effect.OpenLoop{Loop: core.Loop{ID: id, Text: "the door"}, At: b.now})
	t := b.turn("first")
	r := b.reply(t, "1")
	r.Epoch = &store.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Budgets: "f"}
	b.replyWithNews(r, core.News{})
	t = b.turn("second")
	b.wantNews(t, "")
	b.effects(effect.CloseLoop{Loop: id, At: b.now}, effect.OpenLoop{Loop: core.Loop{Text: "the window"}, At: b.now})
	item := b.item("likes herons", 0)
	b.wantNews(t, "open the window, closed the door, birds 1")
	b.commit(b.reply(t, "not told"))
	t = b.turn("third")
	b.wantNews(t, "open the window, closed the door, birds 1")
	b.effects(effect.ArchiveItem{Item: item, At: b.now})
	b.replyWithNews(b.reply(t, "told"), core.News{})
	t = b.turn("fourth")
	b.wantNews(t, "")
	r = b.reply(t, "failed")
	r.State, r.Error, r.Told, r.Messages[0].Kind = core.TurnFailed, "down", 99, core.KindNotice
	b.effects(effect.RestoreItem{Item: item, At: b.now}, effect.MentionLoop{Loop: id, At: b.now})
	b.commit(r)
	b.now = b.now.Add(time.Second)
	b.effects(effect.RetryTurn{At: b.now})
	b.wantNews(b.take(), "birds 1")
}

func testNoteOfTurn(b *bench) {
	b.epochFrom(b.turn("first"), "1")
	t := b.turn("one", "two")
	n := core.News{Text: "- Loop 1 is closed", Loops: []core.LoopID{1}, Segment: 4, Version: 2, Zone: "Europe/Paris"}
	b.replyWithNews(b.reply(t, "ok"), n)
	if d := cmp.Diff(&n, b.message(t.Inputs[0]).News); d != "" || b.message(t.Inputs[1]).News != nil {
		b.t.Error(d)
	}
	next := b.reply(b.turn("next"), "late")
	w, err := b.Window(b.ctx, next.Turn, b.ongoing())
	b.must(err)
	if w.Messages[2].News == nil || w.Messages[2].News.Text != n.Text {
		b.t.Errorf("the window contains %+v", w.Messages[2])
	}
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	if d := cmp.Diff(&core.News{Zone: n.Zone}, b.message(t.Inputs[0]).News); d != "" {
		b.t.Error(d)
	}
	next.News = &store.TurnNews{Message: next.Turn.Inputs[0], News: n, Edits: w.Edits}
	b.commit(next)
	if d := cmp.Diff(&core.News{Zone: n.Zone}, b.message(next.Turn.Inputs[0]).News); d != "" {
		b.t.Errorf("no redaction since the prompt was built: %s", d)
	}
	gone := b.reply(b.turn("gone"), "too late")
	b.effects(effect.Redact{Message: gone.Turn.Inputs[0], At: b.now})
	gone.News, gone.Told = &store.TurnNews{Message: gone.Turn.Inputs[0], News: n}, 99
	b.commit(gone)
	if m := b.message(gone.Turn.Inputs[0]); m.News != nil {
		b.t.Errorf("news before a redacted message: %+v", m.News)
	}
}

func testNewsOfDay(b *bench) {
	q, a := b.exchange("one", "1")
	yesterday := b.segment()
	b.now = b.now.Add(24 * time.Hour)
	t := b.turn("first")
	r := b.reply(t, "1")
	r.Epoch = &store.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Budgets: "f",
		Head: []store.HeadPart{{Name: "last", Segment: yesterday.ID}}}
	b.replyWithNews(r, core.News{})
	q2, a2 := b.exchange("two", "2")
	b.summary(b.segment(), false, "today", q2, a2)
	t = b.turn("second")
	b.wantNews(t, "")
	b.summary(yesterday, true, "yesterday", q, a)
	b.wantNews(t, "2026-11-19 yesterday")
	b.replyWithNews(b.reply(t, "well"), core.News{Text: "yesterday", Segment: yesterday.ID, Version: 1})
	b.wantNews(b.turn("third"), "")
}

// testClosedLoopStays checks that a repeated summary does not reopen a closed loop, and that a new
// message does.
func testClosedLoopStays(b *bench) {
	q, _ := b.exchange("the door is broken", "oh")
	open := func(q core.MessageID) []core.Loop {
		b.t.Helper()
		p := b.put(b.segment(), false, "s", q)
		p.SameLoop, p.Loops = sameLoop, []store.NamedLoop{{Text: "the door", Sources: []core.MessageID{q}}}
		b.must(b.PutSummary(b.ctx, p))
		b.now = b.now.Add(time.Minute)
		loops, err := b.Loops(b.ctx, b.user.ID, 10)
		b.must(err)
		return loops
	}
	loops := open(q)
	equal(b, "open", len(loops), 1)
	b.effects(effect.CloseLoop{Loop: loops[0].ID, At: b.now})
	equal(b, "open though it was closed", len(open(q)), 0)
	again, _ := b.exchange("the door is broken again", "oh")
	equal(b, "open, as it was spoken of again", len(open(again)), 1)
}
