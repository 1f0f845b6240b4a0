package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

func splitCases() []testCase {
	return []testCase{
		{"a split moves everything that came through an identity", testSplit},
		{"a merge and a split restore the same conversations", testMergeSplit},
		{"running turns continue after a split", testSplitRunning},
		{"a split of an unlinked address does nothing", testSplitGone},
		{"a move continues after a crash in any step", testMoveCrash},
		{"held events are received before new ones", testMoveHeld},
		{"a user to be moved may have been deleted", testMoveGone},
		{"moves requested meanwhile belong to the target user", testMoveAsked},
		{"reminders of a moving user do not fire", testMoveReminders},
		{"a folder stays while another user has files in it", testMoveFolders},
		{"an edit and a redaction come after the move", testMoveEdits},
	}
}

// split requests the split of an identity.
func (b *bench) split(i core.Identity) core.MoveID {
	b.t.Helper()
	b.effects(core.Split{Identity: i.ID, At: b.now})
	list, err := b.Moves(b.ctx, 10)
	b.must(err)
	return list[len(list)-1].ID
}

// through returns the bench with another identity of the same user.
func (b *bench) through(external string) *bench {
	return b.as(b.user, b.identity(b.user.ID, "Phone", external))
}

// holder returns the bench of the user to whom the bench's address belongs now.
func (b *bench) holder() *bench {
	b.t.Helper()
	i, u, err := b.Identify(b.ctx, b.at.Address)
	b.must(err)
	return b.as(u, i)
}

func testSplit(b *bench) {
	p := b.through("113")
	b.exchange("at home", "yes")
	p.now = b.now.Add(time.Second)
	q, a := p.exchange("on the phone", "oh")
	b.now = p.now.Add(time.Second)
	b.exchange("at home again", "welcome")
	b.summary(b.segment(), false, "both", q, a)
	item := p.item("phones ring", q)
	b.item("homes do not", 0)
	reminder := p.remind("call", "", q)
	b.effects(core.OpenLoop{Loop: core.Loop{Text: "the phone", Sources: []core.MessageID{q}}, At: b.now},
		core.OpenLoop{Loop: core.Loop{Text: "both", Sources: []core.MessageID{1, q}}, At: b.now})
	b.intoWindow()
	p.now = b.now
	b.carryMove(b.split(p.at))
	n := p.holder()
	equal(b, "another user", n.user.ID != b.user.ID, true)
	n.wantTexts("on the phone", "oh")
	b.wantTexts("at home", "yes", "at home again", "welcome", "")
	equal(b, "number", n.message(q).Text, "on the phone")
	day, err := n.Day(b.ctx, n.user.ID, dayOf(b.now).Label)
	b.must(err)
	equal(b, "messages", day.Messages, 2)
	mine := b.segment()
	equal(b, "messages left", mine.Messages, 4)
	equal(b, "hidden until rewritten", mine.Hidden && mine.Stale, true)
	_, err = n.Item(b.ctx, n.user.ID, item)
	b.must(err)
	_, err = b.Item(b.ctx, b.user.ID, item)
	equal(b, "item", errors.Is(err, core.ErrNotFound), true)
	_, err = n.Reminder(b.ctx, n.user.ID, reminder.ID)
	b.must(err)
	_, err = b.Reminder(b.ctx, b.user.ID, reminder.ID)
	equal(b, "reminder", errors.Is(err, core.ErrNotFound), true)
	b.splitLoops(n)
	b.indexAll()
	equal(b, "found here", len(b.find(core.DocMessage, "phone")), 0)
	equal(b, "found there", len(n.find(core.DocMessage, "phone")), 1)
	got, err := n.Referred(b.ctx, n.user.ID, n.at.ID, p.native())
	b.must(err)
	equal(b, "referred", got, q)
	b.exchange("here", "1")
	n.now = b.now
	n.exchange("there", "2")
}

func (b *bench) splitLoops(n *bench) {
	b.t.Helper()
	here, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	there, err := n.Loops(n.ctx, n.user.ID, 10)
	b.must(err)
	equal(b, "loops", fmt.Sprint(len(here), len(there)), "1 1")
	equal(b, "sources", fmt.Sprint(here[0].Sources), "[1]")
}

func testMergeSplit(b *bench) {
	v := b.second("Vera", "222")
	for n := range 20 {
		who := b
		if n%2 == 1 {
			who = v
		}
		who.now = start().Add(time.Duration(n) * 5 * time.Hour)
		who.exchange(fmt.Sprint("ask ", n), fmt.Sprint("hear ", n))
	}
	b.now = v.now
	mine, hers := b.texts(), v.texts()
	b.carryMove(v.merge(b.user.ID))
	back := v.holder()
	b.carryMove(b.split(back.at))
	b.wantTexts(mine...)
	v.holder().wantTexts(hers...)
}

func testSplitRunning(b *bench) {
	p := b.through("113")
	b.exchange("before", "ok")
	p.now = b.now.Add(time.Second)
	t := p.turn("phone?")
	b.must(p.Record(b.ctx, b.user.ID, core.CallRecord{Turn: t.ID, Step: 0, Index: 0, Tool: "tool", Text: "called"}))
	b.now = p.now
	b.say(false, "home?")
	b.carryMove(b.split(p.at))
	n := p.holder()
	n.now = b.now.Add(time.Second)
	b.now = n.now
	for _, ref := range b.due(turns) {
		got, _, err := b.ClaimTurn(b.ctx, ref, b.claim(), core.Budget{})
		b.must(err)
		if got.User == n.user.ID {
			_, ok, err := n.Lookup(b.ctx, n.user.ID, got.ID, 0, 0)
			b.must(err)
			equal(b, "tool call", ok, true)
		}
		b.sent(b.answer(got, "answer").Delivery)
	}
	n.wantTexts("phone?", "answer")
	b.wantTexts("before", "ok", "home?", "answer")
}

func testSplitGone(b *bench) {
	p := b.through("113")
	id := b.split(p.at)
	b.effects(core.Unlink{Identity: p.at.ID, At: b.now})
	b.carryMove(id)
	equal(b, "users", len(must2(b.Users(b.ctx))), 1)
}

// testMoveCrash runs a merge and a split in two alternating processes, each of which dies after its
// step.
func testMoveCrash(b *bench) {
	v, _ := b.second("Vera", "222").victim()
	b.exchange("mine", "yours")
	b.now = v.now
	second := b.open()
	for _, id := range []core.MoveID{v.merge(b.user.ID), 0} {
		if id == 0 {
			id = b.split(v.holder().at)
		}
		for n := 0; ; n++ {
			s := b.Store
			if n%2 == 1 {
				s = second
			}
			m, wait, err := s.Carry(b.ctx, id, b.now)
			b.must(err)
			b.now = b.now.Add(wait)
			if n%4 == 0 {
				Check(b.t, b.DB())
			}
			if m.Phase == core.MoveTold {
				b.must(s.Told(b.ctx, id))
			}
			if m.Phase == core.MoveDone {
				break
			}
		}
	}
	all := b.texts()
	for _, want := range []string{"mine", "yours"} {
		equal(b, want, slices.Contains(all, want), true)
	}
	equal(b, "split", slices.Contains(v.holder().texts(), "secret"), true)
}
