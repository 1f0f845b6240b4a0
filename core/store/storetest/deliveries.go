package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func deliveryCases() []testCase {
	return []testCase{
		{"parts go out in order", testParts},
		{"a part found sending may have arrived", testUnknown},
		{"a part that may have arrived does not hold up the next", testUnknownThenMore},
		{"a repeated FinishPart affects no other part", testFinishAgain},
		{"a pending part is retried", testPendingPart},
		{"pacing postpones the next part", testPaced},
		{"a failed part ends its delivery", testFailedPart},
		{"deliveries of an address go first in, first out", testFIFO},
		{"addresses do not wait for each other", testAddresses},
		{"a lapsed delivery fences its old holder", testDeliveryFence},
	}
}

func (b *bench) finish(d *core.Delivery, n int, r store.PartResult) bool {
	b.t.Helper()
	more, err := b.FinishPart(b.ctx, d, n, r, b.now)
	b.must(err)
	return more
}

// state reads a delivery's state.
func (b *bench) state(id core.DeliveryID) core.DeliveryState {
	b.t.Helper()
	list, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 100})
	b.must(err)
	for _, d := range list {
		if d.ID == id {
			return d.State
		}
	}
	return "gone"
}

func testParts(b *bench) {
	d := b.answer(b.turn("go"), "1", "2", "3").Delivery
	equal(b, "key", d.Parts[1].Part.Key != d.Parts[0].Part.Key && d.Parts[0].Part.Key != "", true)
	for n := range 3 {
		equal(b, "state", d.Parts[n].State, core.DeliverySending)
		more := b.finish(d, n, store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: "n" + itoa(n)}})
		equal(b, "more", more, n < 2)
	}
	equal(b, "delivery", b.state(d.ID), core.DeliverySent)
	for n := range 3 {
		id, err := b.Referred(b.ctx, b.user.ID, b.at.ID, "n"+itoa(n))
		b.must(err)
		equal(b, "message", id, d.Message)
	}
}

// testFinishAgain repeats writes whose confirmation was lost.
func testFinishAgain(b *bench) {
	d := b.answer(b.turn("go"), "1", "2", "3").Delivery
	sent := store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: "n"}}
	for range 2 {
		equal(b, "more", b.finish(d, 0, sent), true)
	}
	equal(b, "more", b.finish(d, 1, sent), true)
	equal(b, "more", b.finish(d, 2, sent), false)
	equal(b, "delivery", b.state(d.ID), core.DeliverySent)
}

func testUnknown(b *bench) {
	key := b.answer(b.turn("go"), "1").Delivery.Parts[0].Part.Key
	for n := range 3 {
		b.now = b.now.Add(time.Hour)
		d := b.takeDelivery()
		equal(b, "state", d.Parts[0].State, core.DeliveryUnknown)
		equal(b, "repeats", d.Parts[0].Repeats, n)
		equal(b, "key", d.Parts[0].Part.Key, key)
		if n == 1 {
			equal(b, "more", b.finish(d, 0, store.PartResult{State: core.DeliveryUnknown, RetryAt: b.now.Add(time.Second),
				Error: "timeout"}), false)
		}
		if n == 2 {
			b.finish(d, 0, store.PartResult{State: core.DeliveryUnknown, Error: "gave up"})
			equal(b, "delivery", b.state(d.ID), core.DeliveryUnknown)
		}
	}
}

func testUnknownThenMore(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	equal(b, "more", b.finish(d, 0, store.PartResult{State: core.DeliveryUnknown, Error: "timeout"}), true)
	equal(b, "next", d.Parts[1].State, core.DeliverySending)
	b.finish(d, 1, store.PartResult{State: core.DeliverySent})
	equal(b, "delivery", b.state(d.ID), core.DeliveryUnknown)
}

func testPendingPart(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliverySent})
	equal(b, "more", b.finish(d, 1, store.PartResult{State: core.DeliveryPending, RetryAt: b.now.Add(time.Minute),
		Error: "429"}), false)
	equal(b, "due", len(b.due(deliveries)), 0)
	b.now = b.now.Add(time.Minute)
	d = b.takeDelivery()
	equal(b, "first", d.Parts[0].State, core.DeliverySent)
	equal(b, "second", d.Parts[1].State, core.DeliverySending)
	b.finish(d, 1, store.PartResult{State: core.DeliveryPending, Error: "again, at once"})
	b.sent(b.takeDelivery())
}

func testPaced(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	equal(b, "more", b.finish(d, 0, store.PartResult{State: core.DeliverySent, RetryAt: b.now.Add(time.Second)}), false)
	b.now = b.now.Add(time.Second)
	d = b.takeDelivery()
	equal(b, "next", d.Parts[1].State, core.DeliverySending)
	equal(b, "more", b.finish(d, 1, store.PartResult{State: core.DeliverySent, RetryAt: b.now.Add(time.Second)}), false)
	equal(b, "delivery", b.state(d.ID), core.DeliverySent)
}

func testFailedPart(b *bench) {
	d := b.answer(b.turn("go"), "1", "2", "3").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliverySent})
	equal(b, "more", b.finish(d, 1, store.PartResult{State: core.DeliveryFailed, Error: "bad request"}), false)
	equal(b, "delivery", b.state(d.ID), core.DeliveryFailed)
	b.must(b.Redeliver(b.ctx, b.user.ID, d.ID, b.now))
	again := b.takeDelivery()
	equal(b, "first", again.Parts[0].State, core.DeliverySent)
	equal(b, "second", again.Parts[1].State, core.DeliverySending)
	b.sent(again)
	equal(b, "delivery", b.state(d.ID), core.DeliverySent)
	err := b.Redeliver(b.ctx, b.user.ID, d.ID, b.now)
	equal(b, "a sent one", errors.Is(err, core.ErrNotFound), true)
}

func testFIFO(b *bench) {
	for n := range 4 {
		_, err := b.Commit(b.ctx, b.reply(b.turn("q"+itoa(n)), itoa(n)), nil)
		b.must(err)
	}
	for n := range 4 {
		d := b.takeDelivery()
		equal(b, "text", d.Parts[0].Part.Text, itoa(n))
		if n == 1 {
			b.finish(d, 0, store.PartResult{State: core.DeliveryPending, RetryAt: b.now.Add(time.Minute)})
			equal(b, "due while the head waits", len(b.due(deliveries)), 0)
			b.now = b.now.Add(time.Minute)
			d = b.takeDelivery()
		}
		b.sent(d)
	}
}

func testAddresses(b *bench) {
	other := b.as(b.user, b.identity(b.user.ID, "Ada", "112"))
	b.answer(b.turn("one"), "1")
	d := other.answer(other.turn("two"), "2").Delivery
	equal(b, "claimed", d != nil, true)
	equal(b, "delivering", other.delivering(), true)
	b.sent(d)
	equal(b, "delivering", other.delivering(), false)
}

// delivering reports whether a delivery to the identity's address is pending or in progress.
func (b *bench) delivering() bool {
	b.t.Helper()
	busy, err := b.Delivering(b.ctx, b.user.ID, b.at.Address)
	b.must(err)
	return busy
}

func testDeliveryFence(b *bench) {
	old := b.answer(b.turn("go"), "1").Delivery
	b.now = b.now.Add(time.Hour)
	fresh := b.takeDelivery()
	_, err := b.FinishPart(b.ctx, old, 0, store.PartResult{State: core.DeliverySent}, b.now)
	equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
	equal(b, "state", b.state(fresh.ID), core.DeliverySending)
	b.sent(fresh)
}

func troubleCases() []testCase {
	return []testCase{
		{"a blocked address parks and a message unparks, in order", testParked},
		{"SetBlocked parks and unparks", testSetBlocked},
		{"more than a page of parked deliveries is unparked", testManyParked},
		{"what is late expires", testExpired},
		{"Redeliver sends a parked and an expired delivery again", testRedeliver},
		{"all users' deliveries are those in trouble", testTrouble},
	}
}

// notice delivers a notice without a turn.
func (b *bench) notice(text string, expires time.Time) core.DeliveryID {
	b.t.Helper()
	one(b, b.Note, store.Note{User: b.user.ID, Now: b.now,
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: b.now}},
		Deliveries: []core.NewDelivery{{To: b.at.Address, Identity: b.at.ID, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: text}}, Expires: expires}}})
	list, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 1})
	b.must(err)
	return list[0].ID
}

func testParked(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliverySent})
	equal(b, "more", b.finish(d, 1, store.PartResult{State: core.DeliveryParked, Error: "blocked"}), false)
	second := b.notice("3", time.Time{})
	equal(b, "second", b.state(second), core.DeliveryParked)
	equal(b, "due", len(b.due(deliveries)), 0)
	out := b.say(true, "I am back")
	equal(b, "due before the reply", len(b.due(deliveries)), 0)
	reply := b.answer(out.Turn, "4").Delivery
	if reply == nil {
		b.t.Fatal("the reply was not claimed: another delivery is before it")
	}
	b.sent(reply)
	for _, want := range []string{"2", "3"} {
		d := b.takeDelivery()
		n := len(d.Parts) - 1
		equal(b, "text", d.Parts[n].Part.Text, want)
		b.finish(d, n, store.PartResult{State: core.DeliverySent})
	}
	b.sent(b.answer(b.turn("hm"), "5").Delivery)
	equal(b, "due again", len(b.due(deliveries)), 0)
}

func testSetBlocked(b *bench) {
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, true, b.now))
	list, err := b.Identities(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "blocked", list[0].Blocked, true)
	id := b.notice("hello", time.Time{})
	equal(b, "state", b.state(id), core.DeliveryParked)
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, false, b.now))
	equal(b, "state until they write", b.state(id), core.DeliveryParked)
	a := b.batch(false, "hm")
	a.Paused = true
	one(b, b.Append, a)
	equal(b, "state after they wrote while paused", b.state(id), core.DeliveryPending)
	b.sent(b.takeDelivery())
}

func testManyParked(b *bench) {
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, true, b.now))
	for range 120 {
		b.notice("hello", time.Time{})
	}
	b.sent(b.answer(b.turn("hm"), "yes").Delivery)
	list, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, States: []core.DeliveryState{core.DeliveryParked},
		Limit: 500})
	b.must(err)
	equal(b, "parked", len(list), 0)
}

func testExpired(b *bench) {
	late := b.notice("late", b.now.Add(time.Minute))
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, true, b.now))
	kept := b.notice("kept", b.now.Add(time.Hour))
	b.now = b.now.Add(2 * time.Minute)
	equal(b, "delivery", b.takeDelivery() == nil, true)
	equal(b, "state", b.state(late), core.DeliveryExpired)
	b.sweep()
	equal(b, "kept", b.state(kept), core.DeliveryParked)
	b.now = b.now.Add(2 * time.Hour)
	b.sweep()
	equal(b, "kept, later", b.state(kept), core.DeliveryExpired)
}

func testRedeliver(b *bench) {
	b.must(b.SetBlocked(b.ctx, b.user.ID, b.at.ID, true, b.now))
	id := b.notice("hello", b.now.Add(time.Minute))
	b.now = b.now.Add(time.Hour)
	b.sweep()
	equal(b, "state", b.state(id), core.DeliveryExpired)
	b.must(b.Redeliver(b.ctx, b.user.ID, id, b.now))
	d := b.takeDelivery()
	b.finish(d, 0, store.PartResult{State: core.DeliveryParked})
	b.must(b.Redeliver(b.ctx, b.user.ID, id, b.now))
	b.sent(b.takeDelivery())
	equal(b, "state", b.state(id), core.DeliverySent)
}

func testTrouble(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	for _, who := range []*bench{b, b.as(u, i)} {
		d := who.answer(who.turn("go"), "1").Delivery
		who.finish(d, 0, store.PartResult{State: core.DeliveryFailed, Error: "x"})
		who.exchange("fine", "ok")
	}
	for n, q := range []store.DeliveryQuery{
		{Limit: 10}, {Limit: 10, States: []core.DeliveryState{core.DeliveryFailed}},
		{Limit: 10, States: []core.DeliveryState{core.DeliveryFailed, core.DeliverySent}},
	} {
		list, err := b.Deliveries(b.ctx, q)
		b.must(err)
		equal(b, "all users' "+itoa(n), len(list), 2)
	}
	list, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 10})
	b.must(err)
	equal(b, "one user's", len(list), 2)
	equal(b, "newest first", list[0].ID > list[1].ID, true)
}
