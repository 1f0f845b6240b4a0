package storetest

import (
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func placeCases() []testCase {
	return []testCase{
		{"a turn is addressed to the place of its messages, and so are all parts of its answer", testPlace},
		{"messages of another place are a turn of their own", testPlaces},
		{"a turn that runs again keeps its place", testPlaceAgain},
		{"what was asked for at a place comes back there", testPlaceLater},
	}
}

// sayAt appends a message at a place; with claim, its turn is claimed in the same call.
func (b *bench) sayAt(place string, claim bool, text string) store.Appended {
	b.t.Helper()
	a := b.batch(claim, text)
	a.Events[0].Address.Place, a.Messages[0].Place = place, place
	return one(b, b.Append, a)
}

func testPlace(b *bench) {
	out := b.sayAt("topic 7", true, "hello")
	equal(b, "address of the turn", out.Turn.Address.Place, "topic 7")
	equal(b, "place of the message", b.message(out.Messages[0]).Place, "topic 7")
	first := b.answer(out.Turn, "one", "two").Delivery
	for _, p := range first.Parts {
		equal(b, "place of a part", p.Part.Place, "topic 7")
	}
	b.now = b.now.Add(time.Hour) // the process is gone
	equal(b, "place of a part that is sent later", b.takeDelivery().Parts[1].Part.Place, "topic 7")
}

func testPlaces(b *bench) {
	running := b.turn("first")
	b.sayAt("7", false, "a")
	b.sayAt("7", false, "b")
	b.sayAt("8", false, "c")
	b.say(false, "d")
	joined, err := b.JoinTurn(b.ctx, running, b.now)
	b.must(err)
	equal(b, "joined", joined, false)
	b.sent(b.answer(running, "x").Delivery)
	got := ""
	for range 3 {
		t := b.take()
		for _, id := range t.Inputs {
			got += t.Address.Place + b.message(id).Text
		}
		got += "|"
		b.sent(b.answer(t, "x").Delivery)
	}
	equal(b, "turns", got, "7a7b|8c|d|")
}

func testPlaceAgain(b *bench) {
	t := b.sayAt("7", true, "hello").Turn
	b.must(b.RetryTurn(b.ctx, t, b.now, "down"))
	again := b.take()
	equal(b, "address", again.Address.Place, "7")
	equal(b, "event", again.Event != "", true)
}

func testPlaceLater(b *bench) {
	out := b.sayAt("7", true, "remind me")
	asked := out.Messages[0]
	b.sent(b.answer(out.Turn, "ok").Delivery)
	r, k := b.remind("water the plants", "", asked), b.task("read the news", "", asked)
	plain := b.remind("the same", "", 0)
	b.now = b.now.Add(time.Hour)
	for _, c := range []struct {
		r     core.Plan
		place string
	}{{r, "7"}, {plain, ""}} {
		b.must(b.fire(c.r, time.Time{}))
		d := b.takeDelivery()
		equal(b, "place of "+c.r.Text, d.Parts[0].Part.Place, c.place)
		b.sent(d)
	}
	b.must(b.FirePlan(b.ctx, b.fires(k, time.Time{})))
	t := b.take()
	equal(b, "place of a task", t.Address.Place, "7")
	b.sent(b.answer(t, "done").Delivery)
}
