package storetest

import (
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func quoteCases() []testCase {
	return []testCase{
		{"a message is found by the id that its service gave it, and a part of an answer with it", testQuoted},
		{"a quote keeps its message, and loses its words with it", testQuoteRedacted},
		{"a quote names the same message after its user was merged", testQuoteMerged},
	}
}

func testQuoted(b *bench) {
	t := b.turn("mine")
	mine := b.native()
	d := b.answer(t, "first half", "goats").Delivery
	for n := range d.Parts {
		b.finish(d, n, store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: "n" + itoa(n)}})
	}
	for native, want := range map[string][2]string{
		mine: {"mine", ""}, "n0": {"first half goats", "first half"}, "n1": {"first half goats", "goats"},
	} {
		m, part, err := b.Quoted(b.ctx, b.user.ID, b.at.ID, native)
		b.must(err)
		equal(b, "quoted "+native, [2]string{m.Text, part}, want)
	}
	_, _, err := b.Quoted(b.ctx, b.user.ID, b.at.ID, "unknown")
	equal(b, "not found", errors.Is(err, core.ErrNotFound), true)
	other := b.identity(b.user.ID, "Ada", "other")
	_, _, err = b.Quoted(b.ctx, b.user.ID, other.ID, mine)
	equal(b, "not found through another identity", errors.Is(err, core.ErrNotFound), true)
}

// quotes appends and answers a message that quotes one, in other words than its own.
func (b *bench) quotes(id core.MessageID, text string) core.MessageID {
	b.t.Helper()
	a := b.batch(true, "about that")
	a.Messages[0].Quote = &core.Quote{NativeID: "x", Text: text, From: "Bob", Files: []int{1}, Message: id}
	out := one(b, b.Append, a)
	b.sent(b.answer(out.Turn, "yes").Delivery)
	return out.Messages[0]
}

func testQuoteRedacted(b *bench) {
	said, _ := b.exchange("my **secret** plan", "ok")
	quoting := b.quotes(said, "my secret plan")
	q := b.message(quoting).Quote
	equal(b, "quote", fmt.Sprintf("%+v", *q), fmt.Sprintf("%+v", core.Quote{NativeID: "x", Text: "my secret plan",
		From: "Bob", Files: []int{1}, Message: said}))
	b.effects(effect.Redact{Message: said, At: b.now})
	equal(b, "words", b.message(quoting).Quote.Text, "")
}

func testQuoteMerged(b *bench) {
	ada := b
	v := b.second("Vera", "222")
	v.now = ada.now
	said, _ := v.exchange("theirs", "ok")
	quoting := v.quotes(said, "theirs")
	ada.now = v.now
	ada.exchange("mine", "yours")
	ada.carryMerge(v.merge(ada.user.ID))
	moved := ada.message(quoting + 2)
	equal(b, "message", moved.Quote.Message, said+2)
	equal(b, "words", ada.message(moved.Quote.Message).Text, "theirs")
}
