package storetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func answerCases() []testCase {
	return []testCase{
		{"a message is answered again, and the earlier answer can be chosen", testRegenerate},
		{"a message resent with another text is answered as it is now", testResend},
		{"only the newest turn can be regenerated", testRegenerateRefused},
		{"a replaced answer is redacted with its message", testForgetAnswers},
		{"an answer with tools is replaced and restored as a whole", testRegenerateTools},
		{"answers to a partly redacted question cannot be chosen", testForgetPartOfQuestion},
	}
}

// again regenerates the reply to a message and returns the claimed turn.
func (b *bench) again(id core.MessageID, text *string) *core.Turn {
	b.t.Helper()
	b.now = b.now.Add(time.Minute)
	b.effects(effect.Regenerate{Message: id, Text: text, At: b.now})
	return b.take()
}

// answered returns the only message with more than one answer.
func (b *bench) answered() effect.Answered {
	b.t.Helper()
	all, err := b.Answers(b.ctx, b.user.ID, b.newest())
	b.must(err)
	if len(all) != 1 {
		b.t.Fatalf("%d messages have more than one answer, want 1", len(all))
	}
	return all[0]
}

// wantSaid checks the texts of the chat messages, in order of time.
func (b *bench) wantSaid(want ...string) {
	b.t.Helper()
	ms, _, err := b.Timeline(b.ctx, store.TimelineQuery{User: b.user.ID, Limit: 100})
	b.must(err)
	core.InTime(ms)
	var got []string
	for _, m := range ms {
		if m.Kind == core.KindChat {
			got = append(got, m.Text)
		}
	}
	equal(b, "said", strings.Join(got, " / "), strings.Join(want, " / "))
}

// shown lists the timeline's texts; all includes the answers that were not chosen.
func (b *bench) shown(all bool) (texts []string) {
	b.t.Helper()
	ms, _, err := b.Timeline(b.ctx, store.TimelineQuery{User: b.user.ID, Answers: all, Limit: 100})
	b.must(err)
	for _, m := range ms {
		texts = append(texts, m.Text)
	}
	return texts
}

func testRegenerate(b *bench) {
	b.exchange("before", "fine")
	question, early := b.exchange("a riddle?", "an aardvark")
	g := b.segment()
	b.finalSummary(g, "They talked of an aardvark", nil, question, early)
	b.indexAll()
	first := b.message(question).Turn
	t := b.again(question, nil)
	equal(b, "inputs", slices.Equal(t.Inputs, []core.MessageID{question}), true)
	equal(b, "read by", b.answered().Chosen, t.ID)
	b.sent(b.answer(t, "a badger").Delivery)
	second := t.ID
	b.wantSaid("before", "fine", "a riddle?", "a badger")
	equal(b, "shown", strings.Join(b.shown(false), " / "), "before / fine / a riddle? / They talked of an aardvark / a badger")
	equal(b, "all", strings.Join(b.shown(true), " / "), "before / fine / a riddle? / an aardvark / They talked of an aardvark / a badger")
	equal(b, "kind", b.message(early).Kind, core.KindAnswer)
	b.wantFound("the earlier one", core.DocMessage, "aardvark")
	equal(b, "stale", b.segment().Stale, true)
	a := b.answered()
	equal(b, "turns", slices.Equal(a.Turns, []core.TurnID{first, second}), true)
	equal(b, "chosen", a.Chosen, second)
	equal(b, "of message", a.Message, question)

	b.exchange("and then?", "nothing")
	b.effects(effect.ChooseAnswer{Message: question, Turn: first, At: b.now})
	b.wantSaid("before", "fine", "a riddle?", "an aardvark", "and then?", "nothing")
	b.wantFound("the chosen one", core.DocMessage, "aardvark", int64(early))
	b.wantFound("the other one", core.DocMessage, "badger")
	equal(b, "now chosen", b.answered().Chosen, first)
	before := Dump(b.t, b.DB())
	for _, turn := range []core.TurnID{first, 4711} {
		_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID,
			Effects: []core.Effect{effect.ChooseAnswer{Message: question, Turn: turn, At: b.now}}, Now: b.now})
		b.notFound("choose what is not there", err)
	}
	b.unchanged(before)
	b.effects(effect.ChooseAnswer{Message: question, Turn: second, At: b.now})
	b.wantSaid("before", "fine", "a riddle?", "a badger", "and then?", "nothing")
}

func testResend(b *bench) {
	question, _ := b.exchange("a ridle?", "an aardvark")
	text := "a riddle?"
	b.sent(b.answer(b.again(question, &text), "a badger").Delivery)
	b.wantSaid("a riddle?", "a badger")
	revisions, err := b.Revisions(b.ctx, b.user.ID, question)
	b.must(err)
	equal(b, "revisions", len(revisions), 1)
	equal(b, "earlier text", revisions[0].Text, "a ridle?")
	equal(b, "shown in place", strings.Join(b.shown(false), " / "), "a riddle? / a badger")
}

func testRegenerateRefused(b *bench) {
	old, answer := b.exchange("one", "1")
	running := b.turn("two")
	refused := func(what string, id core.MessageID, want error) {
		b.t.Helper()
		before := Dump(b.t, b.DB())
		_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID,
			Effects: []core.Effect{effect.Regenerate{Message: id, At: b.now}}, Now: b.now})
		if !errors.Is(err, want) {
			b.t.Errorf("%s: got %v, want %v", what, err, want)
		}
		b.unchanged(before)
	}
	refused("a turn that runs", running.Inputs[0], core.ErrRefused)
	refused("behind a turn that runs", old, core.ErrRefused)
	b.sent(b.answer(running, "2").Delivery)
	refused("an earlier turn", old, core.ErrRefused)
	refused("an answer", answer, core.ErrNotFound)
	refused("nothing", 4711, core.ErrNotFound)
	b.say(false, "three")
	refused("before what waits", running.Inputs[0], core.ErrRefused)
}

func testForgetAnswers(b *bench) {
	question, _ := b.exchange("about the xylophone?", "the xylophone is red")
	out := b.answer(b.again(question, nil), "the xylophone is blue")
	b.sent(out.Delivery)
	b.effects(effect.Redact{Message: question, At: b.now}, effect.Redact{Message: out.Messages[0], At: b.now})
	b.missing("xylophone")
}

func testRegenerateTools(b *bench) {
	t := b.turn("look it up")
	question := t.Inputs[0]
	r := b.reply(t, "found")
	r.Messages = append([]core.NewMessage{
		{Role: core.RoleAssistant, Kind: core.KindChat, SentAt: b.now,
			ToolCalls: []core.ToolCall{{ID: "c1", Name: "search", Arguments: "{}"}}},
		{Role: core.RoleTool, Kind: core.KindChat, Text: "a result", ToolCallID: "c1", ToolName: "search", SentAt: b.now},
	}, r.Messages...)
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	b.sent(b.answer(b.again(question, nil), "not found").Delivery)
	b.wantSaid("look it up", "not found")
	b.effects(effect.ChooseAnswer{Message: question, Turn: t.ID, At: b.now})
	b.wantSaid("look it up", "", "a result", "found")
	next := b.turn("thanks")
	b.sent(b.answer(next, "welcome").Delivery)
	b.wantSaid("look it up", "", "a result", "found", "thanks", "welcome")
}

func testForgetPartOfQuestion(b *bench) {
	t := b.turn("about the xylophone,", "is it red?")
	b.sent(b.answer(t, "yes").Delivery)
	b.sent(b.answer(b.again(t.Inputs[1], nil), "no").Delivery)
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	all, err := b.Answers(b.ctx, b.user.ID, b.newest())
	b.must(err)
	equal(b, "messages with answers to choose from", len(all), 0)
	_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID,
		Effects: []core.Effect{effect.ChooseAnswer{Message: t.Inputs[1], Turn: t.ID, At: b.now}}, Now: b.now})
	b.notFound("choose what was forgotten", err)
	b.wantSaid("", "is it red?", "no")
}
