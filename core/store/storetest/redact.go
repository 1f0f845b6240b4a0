package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func itoa(n int) string { return strconv.Itoa(n) }

func redactionCases() []testCase {
	return []testCase{
		{"a redaction during a turn is not undone by its reply", testRedactDuringTurn},
		{"a redaction removes every derived copy of a message", testRedact},
		{"a redaction of the only input stops its turn", testRedactRunning},
		{"a turn continues if some of its inputs are redacted", testRedactPartly},
		{"a waiting turn ends when all of its inputs are redacted", testRedactWaiting},
		{"redacted text is no longer sent", testRedactSending},
		{"a delivery without parts ends", testRedactAllParts},
		{"a redaction deletes in the app what was delivered, once", testRetract},
		{"a redaction deletes in the app what was on its way", testRetractSending},
		{"a redaction deletes nothing in the app of a person who cannot be reached, or if it is not to", testRetractNot},
		{"a deletion in the app survives a merge of the users", testRetractMerged},
		{"a redacted pending message starts no turn", testRedactPending},
		{"an edit does not bring a redacted message back", testEditRedacted},
		{"a redaction of another day leaves this one's summary", testRedactOtherDay},
		{"a redaction empties the posts that quote the message", testRedactPost},
	}
}

func testRedactPost(b *bench) {
	q, _ := b.exchange("the plumber comes on Tuesday morning", "noted")
	post := func(text string) core.MessageID {
		b.t.Helper()
		noted, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Messages: []core.NewMessage{
			{Role: core.RoleAssistant, Kind: core.KindDayPost, Text: text, SentAt: b.now}}})
		b.must(err)
		return noted.Messages[0]
	}
	quotes, other := post("## Today\n- Due today: the plumber comes on Tuesday"), post("## Today\n- Dentist")
	b.effects(effect.Redact{Message: q, At: b.now})
	equal(b, "the post that quotes it", b.message(quotes).Text, "")
	equal(b, "another", b.message(other).Text, "## Today\n- Dentist")
}

func testRedact(b *bench) {
	const word = "xylophone"
	t := b.turn("my secret is " + word)
	target := b.native()
	secret := t.Inputs[0]
	b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, Step: 0, Index: 0, Tool: "search",
		Text: "found " + word}))
	r := b.reply(t, "noted")
	r.Messages = append([]core.NewMessage{
		{Role: core.RoleAssistant, Kind: core.KindChat, SentAt: b.now,
			ToolCalls: []core.ToolCall{{ID: "c1", Name: "search", Arguments: `{"q":"` + word + `"}`}}},
		{Role: core.RoleTool, Kind: core.KindChat, Text: "found " + word, ToolCallID: "c1",
			ToolName: "search", SentAt: b.now},
	}, r.Messages...)
	r.Epoch = &store.Epoch{ID: t.ID, Start: 1}
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	b.must(b.edit(target, "e1", "my secret is a "+word))
	b.quoting(target, "my secret is a "+word)

	g := b.segment()
	b.finalSummary(g, "They own a "+word, []string{"tune the " + word}, secret)
	b.postOf(b.segment(), "Yesterday: "+word)
	loops, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "loops", len(loops), 1)
	b.headShowing(b.segment(), loops[0], word)
	if n := strings.Count(Dump(b.t, b.DB()), word); n < 10 {
		b.t.Fatalf("the word was in only %d places before, too few for this test", n)
	}

	b.effects(effect.Redact{Message: secret, At: b.now})
	b.missing(word)
	m := b.message(secret)
	equal(b, "redacted", m.Redacted, true)
	equal(b, "text", m.Text, "")
	g = b.segment()
	equal(b, "hidden", g.Hidden, true)
	equal(b, "stale", g.Stale, true)
	equal(b, "summary jobs", len(b.due(core.QueueSummarize)), 1)
	if n := b.message(b.newest()[1]).News; n == nil || n.Zone != "Europe/Paris" {
		b.t.Errorf("got news %+v, want the zone", n)
	}
	b.effects(effect.Redact{Message: secret, At: b.now})
}

// newest returns the ids of the user's messages, newest first.
func (b *bench) newest() (ids []core.MessageID) {
	b.t.Helper()
	all, err := b.History(b.ctx, b.user.ID, 0, 0, 50)
	b.must(err)
	for _, m := range slices.Backward(all) {
		if m.Role == core.RoleUser {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// quoting appends and answers a message that quotes another.
func (b *bench) quoting(target, text string) {
	b.t.Helper()
	a := b.batch(true, "about that")
	a.Messages[0].Quote = &core.Quote{NativeID: target, Text: text}
	a.Events[0].Raw = []byte(`{"quoted":"` + text + `"}`)
	b.sent(b.answer(one(b, b.Append, a).Turn, "yes").Delivery)
}

// headShowing runs a turn whose epoch shows a day's summary and a loop.
func (b *bench) headShowing(g core.Segment, l core.Loop, word string) {
	b.t.Helper()
	t := b.turn("go on")
	r := b.reply(t, "sure")
	r.Epoch = &store.Epoch{ID: t.ID, Start: 1, Head: []store.HeadPart{{Name: "last", Text: "They own a " + word,
		Segment: g.ID, Version: 1}, {Name: "loops", Text: "tune the " + word, Loops: []core.LoopID{l.ID}}}}
	b.replyWithNews(r, core.News{})
	b.replyWithNews(b.reply(b.turn("and"), "well"), core.News{Text: "tune the " + word, Loops: []core.LoopID{9999, l.ID},
		Zone: "Europe/Paris"})
	b.replyWithNews(b.reply(b.turn("on"), "well"), core.News{Text: "They own a " + word, Segment: g.ID})
}

func testRedactRunning(b *bench) {
	t := b.turn("oops")
	out := b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	equal(b, "asked", len(out.StopTurns) > 0, true)
	f, err := b.Flags(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "stop", f.Stop, true)
	_, err = b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnStopped, Now: b.now, Day: dayOf(b.now).Label}, nil)
	b.must(err)
}

func testRedactPartly(b *bench) {
	t := b.turn("one", "two")
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	f, err := b.Flags(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "flags", f, store.TurnFlags{Restart: 1})
	b.must(b.RetryTurn(b.ctx, t, b.now, "down"))
	again := b.take()
	equal(b, "turn", again.ID, t.ID)
	b.answer(again, "ok")
	b.wantTexts("", "two", "ok")
}

func testRedactWaiting(b *bench) {
	a := b.batch(true, "one")
	a.Budget = store.Budget{TokensPerDay: 1000, Reserve: 100, Day: dayOf(b.now).Label, NextDay: dayOf(b.now).End}
	t := one(b, b.Append, a).Turn
	b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Minute), "down"))
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	b.now = b.now.Add(time.Hour)
	equal(b, "turn", b.take() == nil, true)
	equal(b, "due", len(b.due(turns)), 0)
	_, reserved, err := b.UsageOf(b.ctx, b.user.ID, dayOf(start()).Label)
	b.must(err)
	equal(b, "reserved", reserved, 0)
}

func testRedactSending(b *bench) {
	out := b.answer(b.turn("tell me"), "first", "second", "third")
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now})
	more, err := b.FinishPart(b.ctx, out.Delivery, 0, store.PartResult{State: core.DeliverySent,
		Receipt: core.Receipt{NativeID: "n"}}, b.now)
	b.must(err)
	equal(b, "more", more, false)
	equal(b, "due", len(b.due(deliveries)), 0)
	b.missing("second", "third")
}

func testRedactAllParts(b *bench) {
	t := b.turn("tell me")
	out, err := b.Commit(b.ctx, b.reply(t, "first", "second"), nil)
	b.must(err)
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now})
	equal(b, "delivery", b.takeDelivery() == nil, true)
	equal(b, "due", len(b.due(deliveries)), 0)

	done := b.answer(b.turn("and now?"), "third")
	b.effects(effect.Redact{Message: done.Messages[0], At: b.now})
	b.now = b.now.Add(time.Hour)
	equal(b, "a part that was sending, found again", b.takeDelivery() == nil, true)
}

// retraction claims the delivery that deletes messages in the app, and checks which.
func (b *bench) retraction(want ...string) *core.Delivery {
	b.t.Helper()
	d := b.takeDelivery()
	if d == nil {
		b.t.Fatal("nothing is to be deleted")
		return nil
	}
	var got []string
	for _, p := range d.Parts {
		got = append(got, p.Part.Retracts)
	}
	equal(b, "kind", d.Kind, core.DeliverRetraction)
	equal(b, "address", d.To, b.at.Address)
	equal(b, "deleted", strings.Join(got, " "), strings.Join(want, " "))
	return d
}

// retracted confirms a deletion, which leaves nothing.
func (b *bench) retracted(d *core.Delivery) {
	b.t.Helper()
	for n := range d.Parts {
		more := b.finish(d, n, store.PartResult{State: core.DeliverySent})
		equal(b, "more", more, n+1 < len(d.Parts))
	}
	equal(b, "state", b.state(d.ID), core.DeliveryState("gone"))
	equal(b, "due", len(b.due(deliveries)), 0)
}

func testRetract(b *bench) {
	out := b.answer(b.turn("tell me"), "first", "second")
	d := out.Delivery
	for n, id := range []string{"a", "b"} {
		b.finish(d, n, store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: id}})
	}
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now, Retract: true}, effect.Redact{Message: 1, At: b.now})
	b.missing("second")
	b.retraction("a", "b") // of a process that dies
	b.now = b.now.Add(time.Hour)
	again := b.retraction("a", "b")
	equal(b, "state", again.Parts[0].State, core.DeliveryUnknown)
	b.must(b.edit(b.native(), "e1", "tell me more"))
	b.retracted(again)
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now, Retract: true})
	equal(b, "again", len(b.due(deliveries)), 0)
}

func testRetractSending(b *bench) {
	out := b.answer(b.turn("tell me"), "first", "second", "third")
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now, Retract: true})
	equal(b, "while it is sent", len(b.due(deliveries)), 0)
	b.finish(out.Delivery, 0, store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: "a"}})
	b.retracted(b.retraction("a"))

	out = b.answer(b.turn("and now?"), "fourth")
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now, Retract: true})
	b.finish(out.Delivery, 0, store.PartResult{State: core.DeliveryFailed, Error: "refused"})
	b.retracted(b.retraction(""))
}

func testRetractNot(b *bench) {
	_, plain := b.exchange("one", "1")
	_, away := b.exchange("two", "2")
	waiting, err := b.Commit(b.ctx, b.reply(b.turn("three"), "3"), nil)
	b.must(err)
	b.effects(effect.Redact{Message: waiting.Messages[0], At: b.now, Retract: true}, effect.Redact{Message: plain, At: b.now})
	equal(b, "one that nobody has", b.takeDelivery() == nil, true)
	equal(b, "due", len(b.due(deliveries)), 0)
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, true, b.now))
	b.effects(effect.Redact{Message: away, At: b.now, Retract: true})
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, false, b.now))
	equal(b, "one of a person who is away", len(b.due(deliveries)), 0)
}

func testRetractMerged(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("mine", "yours")
	out := v.answer(v.turn("go"), "hers")
	v.sent(out.Delivery)
	v.effects(effect.Redact{Message: out.Messages[0], At: v.now, Retract: true})
	b.now = v.now.Add(time.Minute)
	b.carryMerge(v.merge(b.user.ID))
	b.at = v.at
	b.retracted(b.retraction(fmt.Sprintf("n%d-0", out.Delivery.ID)))
}

func testRedactPending(b *bench) {
	id := b.say(false, "never mind").Messages[0]
	b.effects(effect.Redact{Message: id, At: b.now})
	equal(b, "turn", b.take() == nil, true)
	equal(b, "due", len(b.due(turns)), 0)
}

func testEditRedacted(b *bench) {
	id := b.say(false, "secret").Messages[0]
	b.effects(effect.Redact{Message: id, At: b.now})
	b.must(b.edit(b.native(), "e9", "secret again"))
	b.missing("secret")
}

func testRedactOtherDay(b *bench) {
	first, _ := b.exchange("one", "1")
	b.finalSummary(b.segment(), "monday", nil, first)
	b.now = b.now.Add(24 * time.Hour)
	second, _ := b.exchange("two", "2")
	b.effects(effect.Redact{Message: second, At: b.now})
	g, err := b.Day(b.ctx, b.user.ID, dayOf(start()).Label)
	b.must(err)
	equal(b, "hidden", fmt.Sprint(g.Hidden, g.Stale, g.SummaryVersion), "false false 1")
}

// testRedactDuringTurn redacts an input of a running turn, and a message that its prompt shows.
func testRedactDuringTurn(b *bench) {
	word := "xylophone"
	t := b.turn("an old " + word)
	old := t.Inputs[0]
	b.answer(t, "noted")
	b.finalSummary(b.segment(), "They own a "+word, nil, old)
	t = b.turn("and a new " + word)
	r := b.reply(t, "a new "+word+", then")
	r.Epoch = &store.Epoch{ID: t.ID, Start: 1, Head: []store.HeadPart{{Name: "today", Text: word, Segment: b.segment().ID}}}
	b.effects(effect.Redact{Message: old, At: b.now})
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	equal(b, "messages", len(out.Messages), 0)
	b.missing(word)
}
