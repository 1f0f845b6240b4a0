package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func linkCases() []testCase {
	return []testCase{
		{"a stranger's address is linked by a code, once", testLinkStranger},
		{"a code is refused to its own address and to those of its user", testLinkOwn},
		{"a code used by another user requests a merge", testLinkUsed},
		{"a code ends when it is used, replaced or expired", testLinkOver},
		{"five wrong codes lock an address for an hour", testLinkLocked},
		{"a stranger's wrong code is counted once per event", testTryLink},
		{"an unlinked address belongs to nobody, and its history stays", testUnlink},
	}
}

// linkCode stores a link code of the bench's user.
func (b *bench) linkCode(hash string) {
	b.t.Helper()
	b.effects(effect.NewLink{Code: effect.Code{Hash: hash, Address: b.at.Address, Created: b.now,
		Expires: b.now.Add(10 * time.Minute)}})
}

func (b *bench) linkState(hash string, a core.Address, want store.LinkState) store.Link {
	b.t.Helper()
	l, err := b.LinkCode(b.ctx, hash, a, b.now)
	b.must(err)
	equal(b, "state of "+hash, l.State, want)
	return l
}

func address(external string) core.Address {
	return core.Address{Channel: "telegram", Account: "42", External: external}
}

func testLinkStranger(b *bench) {
	b.linkCode("A")
	e := b.stranger("before")
	e.Address = address("900")
	c := b.code("P")
	c.Address = e.Address
	one(b, b.Hold, store.Hold{Event: e, Keep: true, Code: &c, Now: b.now})
	l := b.linkState("A", e.Address, store.LinkValid)
	equal(b, "merge", l.Merge, false)
	use := b.stranger("")
	use.Address, use.Name, use.EventID = e.Address, "Ada", "use"
	b.must(b.UseLink(b.ctx, "A", store.Hold{Event: use, Now: b.now}))
	b.must(b.UseLink(b.ctx, "A", store.Hold{Event: use, Now: b.now})) // a repeated event
	_, _, err := b.Identify(b.ctx, e.Address)
	equal(b, "before the yes", errors.Is(err, core.ErrNotFound), true)
	subject := effect.LinkSubject{Hash: "A", Address: address("901"), Name: "Ada"}
	_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.AcceptLink{Subject: subject, At: b.now}}})
	equal(b, "another address", errors.Is(err, core.ErrRefused), true)
	subject.Address = e.Address
	b.effects(effect.AcceptLink{Subject: subject, At: b.now})
	i, u, err := b.Identify(b.ctx, e.Address)
	b.must(err)
	equal(b, "user", u.ID, b.user.ID)
	b.linkState("A", e.Address, store.LinkTaken)
	b.linkState("A", address("901"), store.LinkWrong)
	use.Address, use.EventID = address("901"), "use again"
	err = b.UseLink(b.ctx, "A", store.Hold{Event: use, Now: b.now})
	equal(b, "refused", errors.Is(err, core.ErrRefused), true)
	pending, err := b.Codes(b.ctx, effect.CodePair, b.now)
	b.must(err)
	equal(b, "requests to be let in", len(pending), 0)
	held, err := b.Approved(b.ctx, 10)
	b.must(err)
	equal(b, "held before", len(held), 1)
	equal(b, "thread", b.as(u, i).turn("hello").User, b.user.ID)
}

func testLinkOwn(b *bench) {
	b.linkCode("A")
	b.linkState("A", b.at.Address, store.LinkOwn)
	second := b.identity(b.user.ID, "Ada", "112")
	b.linkState("A", second.Address, store.LinkSame)
	for _, id := range []core.IdentityID{b.at.ID, second.ID} {
		_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
			Effects: []core.Effect{effect.UseLink{Hash: "A", Identity: id, At: b.now}}})
		equal(b, "refused", errors.Is(err, core.ErrRefused), true)
	}
	b.linkState("A", address("900"), store.LinkValid)
}

func testLinkUsed(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	b.linkCode("A")
	equal(b, "merge", b.linkState("A", i.Address, store.LinkValid).Merge, true)
	b.as(u, i).effects(effect.UseLink{Hash: "A", Identity: i.ID, At: b.now})
	equal(b, "whose", b.linkState("A", i.Address, store.LinkTaken).User, b.user.ID)
	b.linkState("A", address("900"), store.LinkWrong)
	list, err := b.Merges(b.ctx, 10)
	b.must(err)
	equal(b, "merges before the yes", len(list), 0)
	subject := effect.LinkSubject{Hash: "A", User: u.ID, Identity: i.ID, Address: i.Address}
	b.effects(effect.AcceptLink{Subject: subject, At: b.now})
	list, err = b.Merges(b.ctx, 10)
	b.must(err)
	equal(b, "merges", len(list), 1)
	equal(b, "from", list[0].From, u.ID)
}

func testLinkOver(b *bench) {
	b.linkCode("A")
	b.linkCode("B")
	b.linkState("A", address("900"), store.LinkWrong)
	b.linkState("B", address("900"), store.LinkValid)
	b.now = b.now.Add(10 * time.Minute)
	b.linkState("B", address("900"), store.LinkWrong)
	e := b.stranger("")
	e.Address = address("900")
	err := b.UseLink(b.ctx, "B", store.Hold{Event: e, Now: b.now})
	equal(b, "refused", errors.Is(err, core.ErrRefused), true)
}

func testLinkLocked(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	bob := b.as(u, i)
	b.linkCode("A")
	for n := range core.LinkTries {
		equal(b, "tries", b.linkState("X", i.Address, store.LinkWrong).Tries, n)
		bob.effects(effect.WrongLink{Address: i.Address, At: b.now})
	}
	locked := b.now.Add(time.Hour)
	equal(b, "until", b.linkState("A", i.Address, store.LinkLocked).Until, locked)
	_, err := b.Note(b.ctx, store.Note{User: u.ID, Now: b.now,
		Effects: []core.Effect{effect.UseLink{Hash: "A", Identity: i.ID, At: b.now}}})
	equal(b, "a right code", errors.Is(err, core.ErrRefused), true)
	b.now = b.now.Add(30 * time.Minute)
	bob.now = b.now
	bob.effects(effect.WrongLink{Address: i.Address, At: b.now})
	equal(b, "no longer than an hour", b.linkState("A", i.Address, store.LinkLocked).Until, locked)
	b.linkState("X", b.at.Address, store.LinkWrong)
	b.now = locked
	b.linkCode("B")
	equal(b, "tries after", b.linkState("B", i.Address, store.LinkValid).Tries, 0)
	b.sweep()
	equal(b, "swept", strings.Contains(Dump(b.t, b.DB()), "tries:"), false)
}

func testTryLink(b *bench) {
	e := b.stranger("/link WRONG")
	h := store.Hold{Event: e, Now: b.now, Delivery: &core.NewDelivery{To: e.Address, Kind: core.DeliverNotice,
		Parts: []core.Part{{Text: "wrong"}}}}
	b.must(b.TryLink(b.ctx, h))
	b.must(b.TryLink(b.ctx, h))
	equal(b, "tries", b.linkState("A", e.Address, store.LinkWrong).Tries, 1)
	equal(b, "answers", len(b.due(deliveries)), 1)
}

func testUnlink(b *bench) {
	q, a := b.exchange("one", "1")
	b.effects(effect.Unlink{Identity: b.at.ID, At: b.now})
	_, _, err := b.Identify(b.ctx, b.at.Address)
	equal(b, "no user", errors.Is(err, core.ErrNotFound), true)
	list, err := b.Identities(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "identities", len(list), 0)
	_, err = b.Append(b.ctx, b.batch(true, "lost?"))
	equal(b, "append", errors.Is(err, core.ErrNotFound), true)
	equal(b, "history", len(b.texts()), 2)
	equal(b, "identity", b.message(q).Identity, b.message(a).Identity)
	_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.Unlink{Identity: b.at.ID, At: b.now}}})
	equal(b, "again", errors.Is(err, core.ErrNotFound), true)
	u := one(b, b.AddUser, core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: b.now})
	b.identity(u.ID, "Bob", b.at.Address.External)
}
