package storetest

import (
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// subscribe signs the bench's user in, and has the browser notified.
func (b *bench) subscribe(hash string) store.Session {
	b.t.Helper()
	s := b.signIn(hash)
	s.Push = store.Subscription{Sealed: "sealed " + hash}
	b.must(b.Subscribe(b.ctx, s.User, s.ID, "", s.Push))
	return s
}

// ringing commits a reply that rings.
func (b *bench) ringing(question, answer string) core.MessageID {
	b.t.Helper()
	t := b.turn(question)
	r := b.reply(t, answer)
	r.Messages[len(r.Messages)-1].Rings = true
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	return out.Messages[len(out.Messages)-1]
}

func testRings(b *bench) {
	b.ringing("is anybody there?", "nobody")
	equal(b, "jobs without a subscription", len(b.due(core.QueuePush)), 0)
	phone, desk := b.subscribe("phone"), b.subscribe("desk")
	b.signIn("without")
	b.exchange("hello", "hello")
	equal(b, "jobs of a message that does not ring", len(b.due(core.QueuePush)), 0)
	m := b.ringing("what is for lunch?", "soup")
	keys := map[string]bool{}
	for _, ref := range b.due(core.QueuePush) {
		equal(b, "of which message", ref.Ref, int64(m))
		keys[ref.Key] = true
	}
	equal(b, "jobs", len(keys), 2)
	equal(b, "one for each", keys[core.PushKey(phone.ID)] && keys[core.PushKey(desk.ID)], true)
	b.now = b.now.Add(31 * 24 * time.Hour)
	before := len(b.due(core.QueuePush))
	b.ringing("and now?", "bread")
	equal(b, "jobs of expired sessions", len(b.due(core.QueuePush)), before)
}

func testSubscribe(b *bench) {
	s := b.subscribe("phone")
	read := func() store.Subscription {
		got, _, err := b.Session(b.ctx, "phone", b.now)
		b.must(err)
		return got.Push
	}
	equal(b, "stored", read(), s.Push)
	failed := store.Subscription{Sealed: s.Push.Sealed, Texts: true, FailedAt: b.now, Error: "too many"}
	b.notFound("another subscription", b.Subscribe(b.ctx, s.User, s.ID, "older", failed))
	equal(b, "after it", read(), s.Push)
	b.must(b.Subscribe(b.ctx, s.User, s.ID, s.Push.Sealed, failed))
	equal(b, "failed", read(), failed)
	all, failing, err := b.Subscriptions(b.ctx, b.now)
	b.must(err)
	equal(b, "all", all, 1)
	equal(b, "failing", failing, 1)
	b.must(b.Subscribe(b.ctx, s.User, s.ID, "", store.Subscription{}))
	equal(b, "ended", read(), store.Subscription{})
	b.must(b.EndSession(b.ctx, s.User, s.ID))
	b.notFound("a session that ended", b.Subscribe(b.ctx, s.User, s.ID, "", s.Push))
	all, _, err = b.Subscriptions(b.ctx, b.now)
	b.must(err)
	equal(b, "left", all, 0)
}

func testMergeRings(b *bench) {
	mine := b.subscribe("mine")
	v := b.second("Vera", "222")
	v.subscribe("hers")
	v.ringing("what is for lunch?", "soup")
	b.carryMerge(v.merge(b.user.ID))
	equal(b, "jobs", len(b.due(core.QueuePush)), 0)
	b.ringing("and now?", "bread")
	equal(b, "after it", b.only(core.QueuePush).Key, core.PushKey(mine.ID))
}
