package storetest

import (
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// inGroup returns the bench of a new group.
func (b *bench) inGroup() *bench {
	b.t.Helper()
	at := core.Address{Channel: "telegram", Account: "42", External: "-100"}
	u, err := b.AddUserAt(b.ctx, core.User{Name: "Family", Role: core.RoleGroup, CreatedAt: b.now},
		core.Identity{Address: at, Name: "Family", LastUsed: b.now})
	b.must(err)
	i, _, err := b.Identify(b.ctx, at)
	b.must(err)
	return b.as(u, i)
}

// heard appends a member's message that nobody is to answer, or one that a turn answers.
func (b *bench) heard(key, name, text string, addressed bool) store.Appended {
	b.t.Helper()
	a := b.batch(addressed, text)
	a.Messages[0].Speaker = &core.Speaker{Key: key, Name: name, Native: a.Events[0].NativeID}
	a.Heard = !addressed
	return one(b, b.Append, a)
}

// testGroups checks that messages of a group keep who wrote them, and that only those that are to be answered get a turn,
// which reads the others before it.
func testGroups(b *bench) {
	g := b.inGroup()
	g.heard("7", "Ann", "the pizza is at seven", false)
	g.heard("8", "Bo", "salad", false)
	equal(b, "turns of what nobody answers", len(g.due(core.QueueTurn)), 0)
	out := g.heard("7", "Anna", "who brings what?", true)
	if out.Turn == nil {
		b.t.Fatalf("got %+v", out)
	}
	equal(b, "the answer replies to", out.Turn.Reply != "", true)
	ms, _, err := b.Timeline(b.ctx, store.TimelineQuery{User: g.user.ID, Limit: 9})
	b.must(err)
	equal(b, "messages", len(ms), 3)
	for n, want := range []string{"1 Ann", "2 Bo", "1 Anna"} {
		equal(b, "who said it", ms[n].Speaker.String(), want)
		equal(b, "in order", n == 0 || ms[n].Position > ms[n-1].Position, true)
	}
	number, last, err := b.Speaker(b.ctx, g.user.ID, "7")
	b.must(err)
	equal(b, "number", number, 1)
	equal(b, "newest", last, ms[2].ID)
	if _, _, err := b.Speaker(b.ctx, b.user.ID, "7"); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("a person has speakers: %v", err)
	}
	all, err := b.Groups(b.ctx)
	b.must(err)
	equal(b, "groups", len(all) == 1 && all[0].ID == g.user.ID, true)
	day, err := b.Day(b.ctx, g.user.ID, dayOf(b.now).Label)
	b.must(err)
	equal(b, "messages of the day", day.Messages, 3)
}

// testGroupEdits checks that an edit by which a message addresses the assistant makes it wait for a turn, once, and only
// while its day lasts.
func testGroupEdits(b *bench) {
	g := b.inGroup()
	g.heard("7", "Ann", "first", false)
	g.heard("7", "Ann", "second", false)
	ms, _, err := b.Timeline(b.ctx, store.TimelineQuery{User: g.user.ID, Limit: 9})
	b.must(err)
	asks := func(m core.Message, waits bool) {
		b.t.Helper()
		b.must(b.Edit(b.ctx, g.user.ID, g.at.ID, core.Inbound{Address: g.at.Address, EventID: "edit-" + itoa(int(m.ID)), Kind: core.InEdit,
			Target: m.Speaker.Native, Text: m.Text}, core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: m.Text,
			Tokens: 7, Asks: true}, g.now))
		equal(b, "waits", g.message(m.ID).Position == 0, waits)
	}
	asks(ms[0], true)
	equal(b, "turns", len(g.due(core.QueueTurn)), 1)
	day := g.segment()
	g.now = day.Day.Finalize
	b.must(b.FailSummary(b.ctx, store.FailedSummary{User: g.user.ID, Segment: day.ID, Lease: g.summaryJob(day), Cause: "down",
		Since: g.now, RetryAt: day.Day.Post, Post: core.PostDue, Now: g.now}))
	asks(ms[1], false)
}

// testGroupNames checks that the names of members of a group tell them apart, whatever they call themselves.
func testGroupNames(b *bench) {
	g := b.inGroup()
	for n, c := range []struct{ key, name, want string }{
		{"7", "Bo", "1 Bo"}, {"8", "Bo", "2 Bo (2)"}, {"7", "Bo", "1 Bo (1)"}, {"9", "Bo (1)", "3 Bo (1) (3)"},
		{"8", "Cy", "2 Cy"}, {"7", "Bo", "1 Bo"},
	} {
		out := g.heard(c.key, c.name, fmt.Sprint("text ", n), false)
		ms, err := b.Messages(b.ctx, g.user.ID, out.Messages)
		b.must(err)
		equal(b, "who said it", ms[0].Speaker.String(), c.want)
	}
}

// testGroupWall checks that a group gets nothing that belongs to persons: no other address, no merge, no memory, no
// standing instruction, and no way to sign in.
func testGroupWall(b *bench) {
	g := b.inGroup()
	refused := func(what string, err error) {
		b.t.Helper()
		if !errors.Is(err, core.ErrRefused) {
			b.t.Errorf("%s: %v", what, err)
		}
	}
	_, err := b.AddIdentity(b.ctx, core.Identity{User: g.user.ID, Address: core.Address{Channel: "telegram", External: "9"}})
	refused("another address", err)
	refused("an address of a person", b.MoveIdentity(b.ctx, b.at, g.user.ID))
	refused("its address to a person", b.MoveIdentity(b.ctx, g.at, b.user.ID))
	for _, m := range []store.Merge{{From: g.user.ID, Into: b.user.ID}, {From: b.user.ID, Into: g.user.ID}} {
		_, err = b.Ask(b.ctx, m)
		refused("a merge", err)
	}
	for what, e := range map[string]core.Effect{
		"memory":      effect.AddItem{Item: core.Item{Content: "a secret", Type: core.ItemFact}, At: b.now},
		"instruction": effect.AddInstruction{Instruction: core.Instruction{Text: "be kind"}, Digest: "d", At: b.now},
		"link code":   effect.NewLink{Code: effect.Code{Hash: "L", Created: b.now, Expires: b.now.Add(1e12)}},
		"web link":    effect.NewWebLink{Code: effect.Code{Hash: "W", Created: b.now, Expires: b.now.Add(1e12)}},
		"unlink":      effect.Unlink{Identity: g.at.ID, At: b.now},
	} {
		_, err := b.Note(b.ctx, store.Note{User: g.user.ID, Now: b.now, Effects: []core.Effect{e}})
		refused(what, err)
	}
	_, err = b.AddAPIKey(b.ctx, core.APIKey{User: g.user.ID, Name: "x", Hash: "H", CreatedAt: b.now})
	refused("a key", err)

	code := effect.Code{Kind: effect.CodePair, Hash: trust.CodeHash("GROUP"), Hint: "GROUP", Group: true, Name: "Team",
		Address: core.Address{Channel: "telegram", Account: "42", External: "-200"}, Created: b.now, Expires: b.now.Add(1e12)}
	b.must(b.PutCode(b.ctx, code))
	approve := func(to core.UserID) error {
		_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
			Effects: []core.Effect{effect.Approve{CodeHash: code.Hash, User: to, At: b.now}}})
		return err
	}
	refused("a group's address for a person", approve(b.user.ID))
	b.must(approve(0))
	_, made, err := b.Identify(b.ctx, code.Address)
	b.must(err)
	equal(b, "an approved group", made.Role, core.RoleGroup)
	equal(b, "its posts", made.Settings.Summaries, "off")
}
