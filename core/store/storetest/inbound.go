package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func inboundCases() []testCase {
	return []testCase{
		{"Identify finds who is at an address and nobody else", testIdentify},
		{"a repeated event is dropped within a batch and across", testDedupe},
		{"inputs come directly before their reply, in order", testPositions},
		{"messages of another identity are not joined", testRuns},
		{"solo messages are never joined", testSolo},
		{"a later message pushes the debounced turn", testDebounce},
		{"one turn runs and at most one waits", testOneWaits},
		{"paused messages wait for Resume", testPaused},
		{"text that no engine stores is replaced", testNUL},
		{"an unknown identity stores nothing", testUnknownIdentity},
		{"a held event is released with its code and appended once", testHeld},
		{"a code replaces the oldest of its origin, and no other", testPushedOut},
		{"requests of groups keep no person out", testCodesOfGroups},
		{"a held message is edited and deleted by its author", testHeldChanged},
		{"a user is created together with an address", testUserAt},
		{"attachments get a job each and are recorded", testAttachments},
		{"a quick thread of another user does not wait", testOtherThread},
	}
}

func testIdentify(b *bench) {
	i, u, err := b.Identify(b.ctx, b.at.Address)
	b.must(err)
	equal(b, "identity", i.ID, b.at.ID)
	equal(b, "user", u.ID, b.user.ID)
	equal(b, "role", u.Role, core.RoleOwner)
	_, _, err = b.Identify(b.ctx, core.Address{Channel: "telegram", Account: "43", External: "111"})
	equal(b, "unknown", errors.Is(err, core.ErrNotFound), true)
}

func testDedupe(b *bench) {
	a := b.batch(false, "one", "two")
	a.Events, a.Messages = append(a.Events, a.Events[0]), append(a.Messages, a.Messages[0])
	out := one(b, b.Append, a)
	equal(b, "messages", len(out.Messages), 2)
	equal(b, "duplicates", out.Duplicates, 1)
	out = one(b, b.Append, a)
	equal(b, "messages again", len(out.Messages), 0)
	equal(b, "duplicates again", out.Duplicates, 3)
	b.wantTexts("one", "two")
	equal(b, "turn jobs", len(b.due(turns)), 1)
}

func testPositions(b *bench) {
	t := b.turn("a1")
	b.say(true, "b1")
	b.say(true, "b2")
	b.answer(t, "a2")
	second := b.take()
	equal(b, "inputs", len(second.Inputs), 2)
	b.answer(second, "b3")
	b.wantTexts("a1", "a2", "b1", "b2", "b3")
	w, err := b.Window(b.ctx, second, query())
	b.must(err)
	for n := 1; n < len(w.Messages); n++ {
		if w.Messages[n].Position <= w.Messages[n-1].Position {
			b.t.Errorf("position of %q is not after %q", w.Messages[n].Text, w.Messages[n-1].Text)
		}
	}
}

func testRuns(b *bench) {
	other := b.as(b.user, b.identity(b.user.ID, "Ada", "112"))
	b.say(false, "one", "two")
	other.say(false, "three")
	b.say(false, "four")
	for n, want := range []int{2, 1, 1} {
		t := b.take()
		equal(b, "inputs", len(t.Inputs), want)
		equal(b, "address", t.Address.External, []string{"111", "112", "111"}[n])
		out := b.answer(t, "ok")
		equal(b, "again", out.Again, n < 2)
		b.sent(out.Delivery)
	}
}

func testSolo(b *bench) {
	a := b.batch(false, "one", "two", "three")
	a.Messages[1].Solo = true
	one(b, b.Append, a)
	for range 3 {
		t := b.take()
		equal(b, "inputs", len(t.Inputs), 1)
		b.sent(b.answer(t, "ok").Delivery)
	}
	a = b.batch(true, "four", "five")
	a.Messages[0].Solo = true
	equal(b, "claimed together", one(b, b.Append, a).Turn == nil, true)
	equal(b, "inputs", len(b.take().Inputs), 1)
}

func testDebounce(b *bench) {
	for range 3 {
		a := b.batch(false, "hm")
		a.RunAt = b.now.Add(time.Second)
		one(b, b.Append, a)
		b.now = b.now.Add(700 * time.Millisecond)
		equal(b, "due", len(b.due(turns)), 0)
	}
	_, next, err := b.Due(b.ctx, []string{turns}, b.now, 10, store.Share{})
	b.must(err)
	equal(b, "next", next.Equal(b.now.Add(300*time.Millisecond)), true)
	b.now = b.now.Add(300 * time.Millisecond)
	equal(b, "inputs", len(b.take().Inputs), 3)
}

func testOneWaits(b *bench) {
	t := b.turn("one")
	for range 3 {
		equal(b, "claimed beside", b.say(true, "more").Turn == nil, true)
	}
	equal(b, "due", len(b.due(turns)), 0)
	out := b.answer(t, "ok")
	equal(b, "again", out.Again, true)
	equal(b, "inputs", len(b.take().Inputs), 3)
}

func testPaused(b *bench) {
	a := b.batch(true, "psst")
	a.Paused = true
	equal(b, "turn", one(b, b.Append, a).Turn == nil, true)
	equal(b, "due", len(b.due(turns)), 0)
	log, err := b.Backlog(b.ctx, b.user.ID, 0)
	b.must(err)
	equal(b, "pending", log.Pending, 1)
	b.effects(effect.Resume{At: b.now})
	b.answer(b.take(), "yes?")
	b.effects(effect.Resume{At: b.now})
	equal(b, "due after all is answered", len(b.due(turns)), 0)
}

func testNUL(b *bench) {
	b.say(false, "a\x00b", "bad \xff byte")
	got := b.texts()
	equal(b, "messages", len(got), 2)
	equal(b, "NUL", got[0], "a\uFFFDb")
	equal(b, "byte", got[1], "bad \uFFFD byte")
}

func testUnknownIdentity(b *bench) {
	a := b.batch(true, "hello")
	a.Identity = 9999
	_, err := b.Append(b.ctx, a)
	equal(b, "not found", errors.Is(err, core.ErrNotFound), true)
	a.Identity = b.at.ID
	equal(b, "afterwards", len(one(b, b.Append, a).Messages), 1)
}

// stranger returns an event from an address that belongs to no user.
func (b *bench) stranger(text string) core.Inbound {
	b.n++
	e, _ := b.inbound(text)
	e.Address.External = "999"
	return e
}

// testCodesOfGroups lets groups ask until no more may, and then people.
func testCodesOfGroups(b *bench) {
	for _, external := range []string{"g1", "g2", "g3", "p1", "p2", "p3"} {
		e := b.stranger("may I?")
		e.Address.External = external
		one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now, MaxCodes: 2,
			Code: &effect.Code{Kind: effect.CodePair, Hash: "hash of " + external, Hint: external, Address: e.Address,
				Group: external[0] == 'g', Created: b.now, Expires: b.now.Add(time.Hour)}})
	}
	codes, err := b.Codes(b.ctx, effect.CodePair, b.now)
	b.must(err)
	var got []string
	for _, c := range codes {
		got = append(got, c.Hint)
	}
	slices.Sort(got)
	equal(b, "codes", strings.Join(got, " "), "g1 g2 p1 p2")
}

func testPushedOut(b *bench) {
	hold := func(external, origin string) {
		b.t.Helper()
		b.now = b.now.Add(time.Second)
		e := b.stranger("may I?")
		e.Address.External = external
		one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now, MaxCodes: 6, Origin: origin, MaxOrigin: 2,
			Code: &effect.Code{Kind: effect.CodePair, Hash: "hash of " + external, Hint: external, Address: e.Address,
				Created: b.now, Expires: b.now.Add(time.Hour)}})
	}
	for _, external := range []string{"@a:honest.example", "111222", "@a:troll.example", "@b:troll.example",
		"@c:troll.example", "@d:troll.example", "@c:troll.example", "@b:x.troll.example"} {
		_, server, ok := strings.Cut(external, ":")
		if ok {
			server = ":" + server
		}
		hold(external, server)
	}
	codes, err := b.Codes(b.ctx, effect.CodePair, b.now)
	b.must(err)
	var got []string
	for _, c := range codes {
		got = append(got, c.Hint)
	}
	slices.Sort(got)
	equal(b, "codes", strings.Join(got, " "),
		"111222 @a:honest.example @b:x.troll.example @c:troll.example @d:troll.example")
}

func testHeld(b *bench) {
	code := effect.Code{Kind: effect.CodePair, Hash: "H1", Hint: "ABCD", Address: b.stranger("").Address, Name: "Grace",
		Created: b.now, Expires: b.now.Add(time.Hour)}
	first, second := b.stranger("may I?"), b.stranger("please")
	dup := one(b, b.Hold, store.Hold{Event: first, Keep: true, Code: &code, Now: b.now,
		Delivery: &core.NewDelivery{To: first.Address, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: "Your code is ABCD"}}}})
	equal(b, "duplicate", dup, false)
	equal(b, "repeat", one(b, b.Hold, store.Hold{Event: first, Keep: true, Now: b.now}), true)
	b.now = b.now.Add(time.Second)
	one(b, b.Hold, store.Hold{Event: second, Keep: true, Now: b.now})
	b.sent(b.takeDelivery())
	held, err := b.Approved(b.ctx, 10)
	b.must(err)
	equal(b, "approved yet", len(held), 0)

	out := b.effects(effect.Approve{CodeHash: "H1", At: b.now})
	equal(b, "released", len(out.Released), 2)
	equal(b, "first", out.Released[0].Text, "may I?")
	held, err = b.Approved(b.ctx, 10)
	b.must(err)
	equal(b, "approved", len(held), 2)
	i, u, err := b.Identify(b.ctx, first.Address)
	b.must(err)
	equal(b, "name", u.Name, "Grace")
	grace := b.as(u, i)
	a := grace.batch(true, "may I?", "please")
	a.Events = out.Released
	equal(b, "appended", len(one(b, b.Append, a).Messages), 2)
	equal(b, "appended again", one(b, b.Append, a).Duplicates, 2)
	held, err = b.Approved(b.ctx, 10)
	b.must(err)
	equal(b, "approved afterwards", len(held), 0)
	b.wantTexts()
}

func testHeldChanged(b *bench) {
	first, second := b.stranger("my xylophone"), b.stranger("my zither")
	for _, e := range []core.Inbound{first, second} {
		b.now = b.now.Add(time.Second)
		one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now})
	}
	edit, gone := b.stranger("my flute"), b.stranger("")
	edit.Kind, edit.Target = core.InEdit, first.NativeID
	gone.Kind, gone.Target = core.InRedaction, second.NativeID
	one(b, b.Hold, store.Hold{Event: edit, Now: b.now})
	one(b, b.Hold, store.Hold{Event: gone, Now: b.now})
	b.missing("xylophone")
	b.missing("zither")
	one(b, b.member, core.Identity{Name: "Grace", Address: first.Address, LastUsed: b.now})
	held, err := b.Approved(b.ctx, 10)
	b.must(err)
	if len(held) != 1 || held[0].Text != "my flute" {
		b.t.Errorf("got %+v, want the edited event", held)
	}
}

// member creates a member named after their identity.
func (b *bench) member(ctx context.Context, i core.Identity) (core.User, error) {
	return b.AddUserAt(ctx, core.User{Name: i.Name, Role: core.RoleMember, CreatedAt: b.now}, i)
}

func testUserAt(b *bench) {
	a := b.at.Address
	a.External = "777"
	u := one(b, b.member, core.Identity{Name: "Grace", Address: a, LastUsed: b.now})
	i, got, err := b.Identify(b.ctx, a)
	b.must(err)
	equal(b, "user", got.ID, u.ID)
	b.as(u, i).exchange("hello", "hi")
	before := one(b, func(ctx context.Context, _ int) ([]core.User, error) { return b.Users(ctx) }, 0)
	if _, err := b.member(b.ctx, core.Identity{Name: "Eve", Address: a, LastUsed: b.now}); !errors.Is(err,
		core.ErrExists) {
		b.t.Errorf("got %v, want ErrExists", err)
	}
	after := one(b, func(ctx context.Context, _ int) ([]core.User, error) { return b.Users(ctx) }, 0)
	equal(b, "users", len(after), len(before))
}

func testAttachments(b *bench) {
	a := b.batch(true, "[photo]")
	a.Messages[0].Attachments = []core.Attachment{{Kind: "photo", Ref: "r1"}, {Kind: "photo", Ref: "r2"}}
	out := one(b, b.Append, a)
	b.answer(out.Turn, "nice")
	second := b.turn("and?")
	epoch := &store.Epoch{ID: second.ID, Start: 1}
	r := b.reply(second, "yes")
	r.Epoch = epoch
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	third := b.turn("look again")
	read := func() core.Attachment {
		w, err := b.Window(b.ctx, third, query())
		b.must(err)
		return w.Messages[0].Attachments[1]
	}
	equal(b, "path before", read().Path, "")
	refs := b.due(core.QueueFetch + "telegram")
	equal(b, "jobs", len(refs), 2)
	for n, ref := range refs {
		j, err := b.Claim(b.ctx, ref, b.claim())
		b.must(err)
		f := store.Fetched{User: b.user.ID, Message: out.Messages[0], Index: n, Attachment: core.Attachment{Kind: "photo",
			Ref: "r", Path: "1/p.jpg"}, Lease: j.Lease}
		b.must(b.SetAttachment(b.ctx, f))
		err = b.SetAttachment(b.ctx, f)
		equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
	}
	equal(b, "path after, in the same epoch", read().Path, "1/p.jpg")
}

func testOtherThread(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	b.turn("slow")
	equal(b, "address", b.as(u, i).turn("quick").Address.External, "222")
}
