package storetest

import (
	"context"
	"strings"

	"github.com/everthread/everthread/core"
)

// testWindowBegun checks that Begun gets the turn that Append returns if its whole window is in memory, and no other.
func testWindowBegun(b *bench) {
	var begun *core.Turn
	begin := func(change func(*core.Append), texts ...string) (*core.Turn, error) {
		a := b.batch(true, texts...)
		a.Begun = func(t *core.Turn) { begun = t }
		change(&a)
		begun = nil
		out, err := b.Append(b.ctx, a)
		return out.Turn, err
	}
	say := func(text string) *core.Turn {
		t, err := begin(func(*core.Append) {}, text)
		b.must(err)
		return t
	}
	t := say("first")
	equal(b, "begun without an epoch", begun, nil)
	b.epochFrom(t, "1")
	t = say("second")
	equal(b, "begun in a new epoch", begun == t, true)
	b.window(t)
	b.sent(b.answer(t, "2").Delivery)

	var early []string
	t, err := begin(func(a *core.Append) {
		a.Begun = func(t *core.Turn) {
			begun = t
			early, _ = b.window(t)
		}
	}, "third")
	b.must(err)
	equal(b, "the turn of Append", begun == t, true)
	equal(b, "window", strings.Join(early, ","), "first,1,second,2,third")
	b.sent(b.answer(t, "3").Delivery)

	t, err = begin(func(a *core.Append) {
		a.Messages[0].Attachments = []core.Attachment{{Kind: "voice", Ref: "r"}}
	}, "with a file")
	b.must(err)
	equal(b, "begun with an attachment", begun, nil)
	b.window(t)
	b.sent(b.answer(t, "4").Delivery)

	ctx, cancel := context.WithCancel(b.ctx)
	a := b.batch(true, "fifth")
	a.Begun = func(*core.Turn) { cancel() }
	out, err := b.Append(ctx, a)
	if err != nil {
		out = one(b, b.Append, a)
	}
	texts, _ := b.window(out.Turn)
	equal(b, "window after a cancelled commit", strings.Join(texts[len(texts)-2:], ","), "4,fifth")
}

// epochs checks the windows of turns that begin an epoch, and of those that follow.
func (k *known) epochs() {
	for _, c := range []core.WindowQuery{{Limit: 3}, {Limit: 4}, {Limit: 1000}, {Limit: 1000, Covered: 20}} {
		k.pass()
		t := k.warm.turn("begins an epoch")
		q := query()
		q.Limit, q.Covered = c.Limit, c.Covered
		w := k.compareAs(t, q, 9)
		r := k.warm.reply(t, "it does")
		r.Epoch = &core.Epoch{ID: t.ID, StartedAt: k.warm.now, Start: w.Messages[len(w.Messages)/2].Position, Edits: w.Edits,
			Budgets: "f", Cuts: map[core.MessageID]int{}}
		_, err := k.warm.Commit(k.ctx, r, nil)
		k.must(err)
		k.pass()
		t = k.warm.turn("is in it")
		k.compare(t, 0)
		k.commit(t, "it is")
	}
}
