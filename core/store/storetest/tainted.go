package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// wantUndoable checks what can be undone under a number.
func (b *bench) wantUndoable(id int64, want effect.Undoable) {
	b.t.Helper()
	got, err := b.Undoable(b.ctx, b.user.ID, id, b.now)
	if want.Kind == "" {
		b.notFound("undoable", err)
		return
	}
	b.must(err)
	want.ID = id
	equal(b, "undoable", got, want)
}

// testTainted checks that the mark of what others' words influenced is kept wherever it is read,
// and that it can be undone once.
func testTainted(b *bench) {
	t := b.turn("what does it say?")
	r := b.reply(t, "it says: pay")
	r.Messages[0].Tainted = true
	b.commit(r)
	ms, err := b.History(b.ctx, b.user.ID, 0, 0, 10)
	b.must(err)
	if len(ms) != 2 || ms[0].Tainted || ms[0].Foreign() || !ms[1].Tainted || !ms[1].Foreign() {
		b.t.Errorf("messages: %+v", ms)
	}
	p := b.put(b.segment(), false, "they said: pay", ms[0].ID, ms[1].ID)
	p.Summary.Tainted, p.Loops = true, []store.NamedLoop{{Text: "pay", Sources: []core.MessageID{ms[1].ID}}}
	b.must(b.PutSummary(b.ctx, p))
	ss, err := b.Summaries(b.ctx, b.user.ID, b.segment().ID, 1)
	b.must(err)
	equal(b, "tainted summary", ss[0].Tainted, true)
	ss, err = b.SummariesOf(b.ctx, b.user.ID, []core.SegmentID{b.segment().ID})
	b.must(err)
	equal(b, "found summary", ss[0].Tainted, true)
	ls, err := b.Loops(b.ctx, b.user.ID, 1)
	b.must(err)
	equal(b, "loop of a tainted summary", ls[0].Tainted, true)
}

func testUndo(b *bench) {
	id := func() int64 { return one(b, b.NewID, b.user.ID) }
	item, loop, reminder := id(), id(), id()
	add := effect.AddItem{Item: core.Item{ID: core.ItemID(item), Theme: "birds", Type: core.ItemFact,
		Content: "likes herons"}, Digest: "herons", Theme: core.Theme{Name: "Birds"}, At: b.now}
	open := effect.OpenLoop{Loop: core.Loop{ID: core.LoopID(loop), Text: "the door"}, At: b.now}
	set := effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, ID: core.PlanID(reminder), Text: "tea",
		DueAt: b.now.Add(time.Hour), Zone: "UTC"}, At: b.now}
	b.effects(effect.Taint(add), effect.Taint(open), effect.Taint(set))
	i, err := b.Item(b.ctx, b.user.ID, core.ItemID(item))
	b.must(err)
	r, err := b.Plan(b.ctx, b.user.ID, core.PlanID(reminder))
	b.must(err)
	ts, err := b.Themes(b.ctx, b.user.ID, 1)
	b.must(err)
	equal(b, "marks", [3]bool{i.Tainted, r.Tainted, ts[0].Tainted}, [3]bool{true, true, true})
	made := []effect.Undoable{{Kind: effect.UndoItem, ID: item, Text: "likes herons"},
		{Kind: effect.UndoLoop, ID: loop, Text: "the door"}, {Kind: effect.UndoReminder, ID: reminder, Text: "tea"}}
	for _, x := range made {
		b.wantUndoable(x.ID, x)
		b.effects(effect.Undo{X: x, At: b.now})
		b.wantUndoable(x.ID, effect.Undoable{})
		if _, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID,
			Effects: []core.Effect{effect.Undo{X: x, At: b.now}}, Now: b.now}); !errors.Is(err, core.ErrRefused) {
			b.t.Errorf("%s was undone twice: %v", x.Text, err)
		}
	}
	add.Item.ID, open.Loop.ID, set.Plan.ID = core.ItemID(id()), core.LoopID(id()), core.PlanID(id())
	b.effects(add, open, set)
	for _, n := range []int64{int64(add.Item.ID), int64(open.Loop.ID), int64(set.Plan.ID)} {
		b.wantUndoable(n, effect.Undoable{}) // the user's own words
	}
	b.effects(effect.Taint(effect.ArchiveItem{Item: add.Item.ID, At: b.now}),
		effect.Taint(effect.CloseLoop{Loop: open.Loop.ID, At: b.now}),
		effect.Taint(effect.CancelPlan{Plan: set.Plan.ID, At: b.now}))
	ended := []effect.Undoable{{Kind: effect.UndoItem, ID: int64(add.Item.ID), Text: "likes herons", Ended: true},
		{Kind: effect.UndoLoop, ID: int64(open.Loop.ID), Text: "the door", Ended: true},
		{Kind: effect.UndoReminder, ID: int64(set.Plan.ID), Text: "tea", Ended: true}}
	for _, x := range ended {
		b.wantUndoable(x.ID, x)
		b.effects(effect.Undo{X: x, At: b.now})
		b.wantUndoable(x.ID, effect.Undoable{})
	}
	ls, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	rs, err := b.OpenPlans(b.ctx, b.user.ID, core.PlanReminder, 10)
	b.must(err)
	i, err = b.Item(b.ctx, b.user.ID, add.Item.ID)
	b.must(err)
	if len(ls) != 1 || ls[0].Tainted || len(rs) != 1 || rs[0].Tainted || i.Status != core.ItemActive || i.Tainted {
		b.t.Errorf("restored: %+v, %+v, %+v", ls, rs, i)
	}
	b.effects(effect.Taint(effect.CancelPlan{Plan: set.Plan.ID, At: b.now}))
	b.now = b.now.Add(2 * time.Hour)
	b.wantUndoable(int64(set.Plan.ID), effect.Undoable{}) // no longer due
	other, _ := b.person("Eve", core.RoleMember, "667")
	_, err = b.Undoable(b.ctx, other.ID, loop, b.now)
	b.notFound("somebody else's", err)
}
