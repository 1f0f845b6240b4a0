package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func clientCases() []testCase {
	return []testCase{
		{"a thread has one name, and a name one thread", testThreadNamed},
		{"a message goes to its own thread", testAppendThread},
		{"turns have the title that the person wrote", testOwnTitle},
		{"a missing thread takes no messages", testAppendNoThread},
		{"a request is kept with its message", testRequest},
		{"results of a client's tools wait for a turn and are answered", testToolInputs},
		{"results of a client's tools are no conversation of the day", testToolDay},
		{"messages and tool results are answered together", testToolAndWords},
		{"a failed turn makes results of a client's tools pending again", testToolFailed},
		{"a result of a client's tool is redacted like a message", testToolRedacted},
		{"a redaction empties the client's tool results for it", testRedactClient},
		{"a merge copies results of a client's tools", testToolMerge},
	}
}

// wantIn checks the texts of a thread.
func (b *bench) wantIn(thread core.ThreadID, want ...string) {
	b.t.Helper()
	h, err := b.History(b.ctx, b.user.ID, thread, 0, 1000)
	b.must(err)
	var got []string
	for _, m := range h {
		got = append(got, m.Text)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("thread %d: got %q, want %q", thread, got, want)
	}
}

// sayIn appends messages to a thread.
func (b *bench) sayIn(thread core.ThreadID, texts ...string) store.Appended {
	b.t.Helper()
	a := b.batch(false, texts...)
	a.Thread = thread
	return one(b, b.Append, a)
}

// results returns an Append of results of a client's tool.
func (b *bench) results(claim bool, texts ...string) store.Append {
	a := b.batch(claim, texts...)
	for i := range a.Messages {
		m := &a.Messages[i]
		m.Role, m.ToolCallID, m.ToolName = core.RoleTool, fmt.Sprintf("call%d", i+1), "weather"
	}
	return a
}

func testThreadNamed(b *bench) {
	h := b.named("client")
	equal(b, "thread", h, core.Thread{User: b.user.ID, ID: h.ID, Mode: core.ModeThread, Title: "client", CreatedAt: b.now})
	b.now = b.now.Add(time.Hour)
	equal(b, "again", b.named("client"), h)
	equal(b, "another", b.named("Client").ID != h.ID, true)
	u, i := b.person("Bob", core.RoleMember, "222")
	equal(b, "another user's", b.as(u, i).named("client").User, u.ID)
	for _, name := range []string{"", strings.Repeat("x", 201)} {
		_, err := b.ThreadNamed(b.ctx, b.user.ID, name, b.now)
		equal(b, "refused", err != nil, true)
	}
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "client", At: b.now},
		effect.OpenThread{Identity: b.at.ID, Title: "client", At: b.now})
	list, err := b.Threads(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "threads", len(list), 4)
	equal(b, "odd bytes", b.named("a\x00b\xff").ID, b.named("a\x00b\xff").ID)
}

func testAppendThread(b *bench) {
	b.exchange("here", "ok")
	h := b.named("client")
	a := b.batch(true, "there")
	a.Thread = h.ID
	before := b.Commits()
	t := one(b, b.Append, a).Turn
	equal(b, "commits", b.Commits()-before, 1)
	equal(b, "mode", t.Mode, core.ModeThread)
	equal(b, "segment", t.Segment, 0)
	equal(b, "address", t.Address, b.at.Address)
	second := b.turn("here again") // both threads are answered concurrently
	b.sent(b.answer(t, "yes").Delivery)
	_, err := b.Commit(b.ctx, b.reply(second, "sure"), nil)
	b.must(err)
	b.wantIn(h.ID, "there", "yes")
	b.wantTexts("here", "ok", "here again", "sure")
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
	a = b.batch(false, "to the continuous one")
	home, err := b.Thread(b.ctx, b.user.ID, 0)
	b.must(err)
	a.Thread = home.ID
	m := b.message(one(b, b.Append, a).Messages[0])
	equal(b, "thread", m.Thread, home.ID)
	equal(b, "in a day", m.Segment != 0, true)
}

func testOwnTitle(b *bench) {
	h := b.named("client")
	for _, want := range []string{"", "mine"} {
		a := b.batch(true, "claimed with its message")
		a.Thread = h.ID
		t := one(b, b.Append, a).Turn
		equal(b, "title", t.Title, want)
		b.sent(b.answer(t, "yes").Delivery)
		b.sayIn(h.ID, "claimed later")
		t, _, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), store.Budget{})
		b.must(err)
		equal(b, "title of a turn claimed later", t.Title, want)
		read, _, err := b.Turn(b.ctx, b.user.ID, t.ID)
		b.must(err)
		equal(b, "title of a turn that is read", read.Title, want)
		b.sent(b.answer(t, "yes").Delivery)
		b.effects(effect.RenameThread{Thread: h.ID, Title: "mine"})
	}
}

func testAppendNoThread(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	foreign := b.as(u, i).named("client")
	for range 3 {
		foreign = b.as(u, i).named("client " + itoa(int(foreign.ID)))
	}
	before := Dump(b.t, b.DB())
	a := b.batch(true, "lost?")
	a.Thread = foreign.ID
	_, err := b.Append(b.ctx, a)
	b.notFound("append", err)
	b.unchanged(before)
	a.Thread = 0
	equal(b, "offered again", len(one(b, b.Append, a).Messages), 1)
}

func testRequest(b *bench) {
	want := core.Request{Instructions: "Be brief.", Choice: "weather", MaxTokens: 7,
		Tools: []core.ToolSpec{{Name: "weather", Description: "It tells.",
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}}
	a := b.batch(true, "hello")
	a.Messages[0].Request = &want
	t := one(b, b.Append, a).Turn
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	for what, got := range map[string]core.Message{"read": b.message(t.Inputs[0]), "in a window": w.Messages[0]} {
		if got.Request == nil {
			b.t.Fatalf("%s: no request", what)
		}
		g, h := must2(json.Marshal(got.Request)), must2(json.Marshal(want))
		equal(b, what, string(g), string(h))
	}
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	b.missing("Be brief.")
}

func testToolInputs(b *bench) {
	b.exchange("how is the weather?", "")
	t := one(b, b.Append, b.results(true, "rain", "wind")).Turn
	if t == nil || len(t.Inputs) != 2 {
		b.t.Fatalf("got turn %+v", t)
	}
	m := b.message(t.Inputs[0])
	equal(b, "role", m.Role, core.RoleTool)
	equal(b, "call", m.ToolCallID+" "+m.ToolName, "call1 weather")
	equal(b, "position", m.Position > 0 && m.Turn == t.ID, true)
	b.sent(b.answer(t, "wet").Delivery)

	out := one(b, b.Append, b.results(false, "sun"))
	log, err := b.Backlog(b.ctx, b.user.ID, 0)
	b.must(err)
	equal(b, "backlog", log.Pending, 1)
	t = b.take()
	equal(b, "input", t.Inputs[0], out.Messages[0])
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	equal(b, "shown last", w.Messages[len(w.Messages)-1].Text, "sun")
	waiting := one(b, b.Append, b.results(false, "snow"))
	equal(b, "again", b.answer(t, "dry").Again, true)
	b.now = b.now.Add(time.Second)
	equal(b, "waiting message", b.take().Inputs[0], waiting.Messages[0])
	b.indexAll()
	for _, term := range []string{"rain", "sun", "snow"} {
		equal(b, "found "+term, len(b.find(core.DocMessage, term)), 0)
	}
}

func testToolDay(b *bench) {
	t := one(b, b.Append, b.results(true, "rain")).Turn
	equal(b, "opens the day", t.Segment, b.segment().ID)
	equal(b, "messages", b.segment().Messages, 0)
	b.sent(b.answer(t, "wet").Delivery)
	b.exchange("thanks", "yes")
	g := b.segment()
	equal(b, "messages", g.Messages, 3)
	equal(b, "since summary", g.SinceSummary, 3)
	b.finalSummary(g, "rain", nil, t.Inputs[0])
	one(b, b.Append, b.results(false, "late"))
	g = b.segment()
	equal(b, "stale", g.Stale, false)
	equal(b, "messages", g.Messages, 3)
	day, err := b.DayMessages(b.ctx, b.user.ID, g.ID, 0, 100)
	b.must(err)
	equal(b, "of the day", len(day), 5)
}

func testToolAndWords(b *bench) {
	a := b.results(true, "rain")
	words := b.batch(false, "and tell me more")
	more := b.results(false, "wind")
	for _, x := range []store.Append{words, more} {
		a.Events, a.Messages = append(a.Events, x.Events...), append(a.Messages, x.Messages...)
	}
	t := one(b, b.Append, a).Turn
	equal(b, "inputs", len(t.Inputs), 3)
	equal(b, "counted", b.segment().Messages, 1)
	b.effects(effect.Redact{Message: t.Inputs[1], At: b.now})
	b.sent(b.answer(t, "more").Delivery) // two inputs are left
	b.wantTexts("rain", "", "wind", "more")
	one(b, b.Append, b.results(false, "sun"))
	b.say(false, "hello?")
	equal(b, "inputs", len(b.take().Inputs), 2)
}

func testToolFailed(b *bench) {
	t := one(b, b.Append, b.results(true, "rain")).Turn
	_, err := b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	log, err := b.Backlog(b.ctx, b.user.ID, 0)
	b.must(err)
	equal(b, "backlog", log, store.Backlog{Pending: 1})
	b.effects(effect.RetryTurn{At: b.now})
	again := b.take()
	equal(b, "input", again.Inputs[0], t.Inputs[0])
	b.answer(again, "wet")
	b.wantTexts("rain", "wet")
}

func testToolRedacted(b *bench) {
	t := one(b, b.Append, b.results(true, "rain")).Turn
	b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, Step: 0, Index: 0, Tool: "search",
		Text: "rain everywhere"}))
	out := b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	equal(b, "asked to stop", slices.Contains(out.StopTurns, t.ID), true)
	got, err := b.Commit(b.ctx, b.reply(t, "rain, then"), nil)
	b.must(err)
	equal(b, "nothing is said", len(got.Messages), 0)
	b.missing("rain")
	id := one(b, b.Append, b.results(false, "snow")).Messages[0]
	b.effects(effect.Redact{Message: id, At: b.now})
	equal(b, "pending", b.take() == nil, true)
}

func testRedactClient(b *bench) {
	const word = "xylophone"
	t := b.turn("where is my "+word, "quickly")
	r := b.reply(t, "")
	r.Messages[0].ToolCalls = []core.ToolCall{{ID: "call1", Name: "find", Arguments: `{"q":"` + word + `"}`},
		{ID: "call2", Name: "wait", Arguments: `{}`}}
	r.Deliveries = nil
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	next := one(b, b.Append, b.results(true, word+" is in the attic", word+"s wait")).Turn
	b.sent(b.answer(next, "it is upstairs").Delivery)
	other := b.turn("hello")
	b.answer(other, "hi")
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	for _, m := range append(slices.Clone(next.Inputs), t.Inputs[0]) {
		equal(b, "emptied", strings.Contains(b.message(m).Text, word), false)
	}
	b.missing(word)
	b.wantTexts("", "quickly", "", "[deleted]", "[deleted]", "it is upstairs", "hello", "hi")
}

func testToolMerge(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("mine", "ok")
	answered := one(b, v.Append, v.results(true, "rain [#1]")).Turn
	v.sent(v.answer(answered, "wet").Delivery)
	running := one(b, v.Append, v.results(true, "wind")).Turn
	one(b, v.Append, v.results(false, "snow"))
	b.carryMerge(v.merge(b.user.ID))
	equal(b, "messages", b.segment().Messages, 3)
	b.now = b.now.Add(time.Second)
	got := b.take()
	equal(b, "message of the running turn", b.message(got.Inputs[0]).Text, "wind")
	equal(b, "inputs", len(got.Inputs), len(running.Inputs))
	b.sent(b.answer(got, "cold").Delivery)
	equal(b, "waiting message", b.message(b.take().Inputs[0]).Text, "snow")
}
