package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// hold holds events of the bench's user, as the gateway does during a move.
func (b *bench) hold(events ...core.Inbound) {
	b.t.Helper()
	for _, e := range events {
		one(b, b.Hold, core.Hold{Event: e, Keep: true, Now: b.now})
	}
}

// admitHeld receives the held events, and returns their texts in order.
func (b *bench) admitHeld(who *bench) (texts []string) {
	b.t.Helper()
	held, err := b.Approved(b.ctx, 100)
	b.must(err)
	for _, e := range held {
		a := who.batch(false, e.Text)
		a.Events[0] = e
		texts = append(texts, e.Text)
		one(b, who.Append, a)
	}
	return texts
}

func testMoveHeld(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("before", "ok")
	v.exchange("before, too", "ok")
	id := v.merge(b.user.ID)
	b.carryMove(id, "copy")
	v.now = b.now
	first := v.batch(false, "one", "two", "three")
	v.hold(first.Events...)
	b.carryMove(id, core.MoveTold)
	who := v.holder()
	last := who.batch(true, "four")
	_, err := who.Append(b.ctx, last)
	equal(b, "a new message waits", isMoving(err), true)
	_, err = who.Note(b.ctx, core.Note{User: who.user.ID, Identity: who.at.ID, Event: &last.Events[0], Now: b.now})
	equal(b, "a command waits", isMoving(err), true)
	who.hold(last.Events[0])
	b.exchange("elsewhere", "at once")
	equal(b, "order", fmt.Sprint(b.admitHeld(who)), "[one two three four]")
	b.carryMove(id)
	equal(b, "after it", one(b, who.Append, who.batch(false, "five")).Duplicates, 0)
	var got []string
	for _, text := range who.texts() {
		if slices.Contains([]string{"one", "two", "three", "four", "five"}, text) {
			got = append(got, text)
		}
	}
	equal(b, "transcript", fmt.Sprint(got), "[one two three four five]")
}

func testMoveGone(b *bench) {
	v := b.second("Vera", "222")
	v.identity(v.user.ID, "Vera", "223")
	merge := v.merge(b.user.ID)
	split := v.split(v.at)
	b.must(second(b.DeleteUser(b.ctx, v.user.ID)))
	for _, id := range []core.MoveID{merge, split} {
		m := b.carryMove(id)
		equal(b, "phase", m.Phase, core.MoveDone)
	}
	equal(b, "users", len(must2(b.Users(b.ctx))), 1)
	x := b.second("Xavier", "444")
	id := x.merge(b.user.ID)
	for _, phase := range []core.MovePhase{"room", "copy", core.MoveTold, "clean", "let"} {
		b.carryMove(id, phase)
		for _, u := range []core.UserID{x.user.ID, b.user.ID} {
			_, err := b.DeleteUser(b.ctx, u)
			equal(b, fmt.Sprint(u, " stays in ", phase), err != nil, true)
		}
	}
	b.carryMove(id)
	into, err := b.Became(b.ctx, x.user.ID)
	b.must(err)
	equal(b, "became", into, b.user.ID)
	for _, u := range []core.UserID{b.user.ID, v.user.ID, 99} {
		_, err := b.Became(b.ctx, u)
		equal(b, fmt.Sprint(u, " became nobody else"), errors.Is(err, core.ErrNotFound), true)
	}
}

func testMoveAsked(b *bench) {
	b.identity(b.user.ID, "Ada", "114")
	v := b.second("Vera", "222")
	p := v.through("223")
	v.exchange("at home", "ok")
	p.now = v.now.Add(time.Second)
	p.exchange("on the phone", "ok")
	b.now = p.now
	merge, split := v.merge(b.user.ID), p.split(p.at)
	b.carryMove(merge)
	b.carryMove(split)
	equal(b, "user of the phone", p.holder().user.ID != b.user.ID, true)
	equal(b, "user of the home", v.holder().user.ID, b.user.ID)
	p.holder().wantTexts("on the phone", "ok")
	b.wantTexts("at home", "ok")
}

func testMoveReminders(b *bench) {
	p := b.through("113")
	b.exchange("home", "ok")
	p.now = b.now.Add(time.Second)
	q, _ := p.exchange("phone", "ok")
	p.remind("call", "", q)
	b.now = p.now.Add(2 * time.Hour)
	id := b.split(p.at)
	b.carryMove(id, "switch")
	list, err := b.DueReminders(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "due while it is moved", len(list), 0)
	b.carryMove(id)
	list, err = b.DueReminders(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "due after it", len(list), 1)
	equal(b, "whose", list[0].User, p.holder().user.ID)
}

// sendFile sends a stored file as the bench's user.
func (b *bench) sendFile(path string) {
	a := b.batch(true, "a file")
	a.Messages[0].Attachments = []core.Attachment{{Kind: "photo", Path: path}}
	b.sent(b.answer(one(b, b.Append, a).Turn, "thanks").Delivery)
}

func testMoveFolders(b *bench) {
	y, z := b.second("Yves", "444"), b.second("Zoe", "555")
	b.carryMove(y.merge(z.user.ID))
	gone, err := b.DeleteUser(b.ctx, z.user.ID)
	b.must(err)
	equal(b, "folders of all that they were", fmt.Sprint(gone), fmt.Sprintf("[%d %d]", z.user.ID, y.user.ID))
	v, x := b.second("Vera", "222"), b.second("Xavier", "333")
	folder := func(u *bench) string { return fmt.Sprint(int64(u.user.ID)) }
	x.sendFile(folder(x) + "/1.jpg")
	x.now = x.now.Add(time.Second)
	v.now = x.now
	b.now = v.now
	v.sendFile(folder(v) + "/1.jpg")
	b.carryMove(x.merge(v.user.ID))
	x.holder().sendFile(folder(v) + "/2.jpg")
	b.carryMove(v.split(x.holder().at))
	other := x.holder()
	files, err := b.DeleteUser(b.ctx, v.user.ID)
	b.must(err)
	equal(b, "only their file goes", fmt.Sprint(files), fmt.Sprintf("[%s/1.jpg]", folder(v)))
	files, err = b.DeleteUser(b.ctx, other.user.ID)
	b.must(err)
	equal(b, "all that is left goes", fmt.Sprint(files), fmt.Sprintf("[%[1]s/1.jpg %[2]s/2.jpg %[3]s %[1]s %[2]s]",
		folder(x), folder(v), folder(other)))
}

func testMoveEdits(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("mine", "ok")
	v.now = b.now
	v.exchange("herons", "ok")
	edited := v.native()
	v.now = v.now.Add(time.Second)
	q, _ := v.exchange("secret", "ok")
	redacted := v.native()
	b.now = v.now
	id := v.merge(b.user.ID)
	b.carryMove(id, "copy")
	e := core.Inbound{Address: v.at.Address, EventID: "edit", Kind: core.InEdit, Target: edited, Text: "geese"}
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: "geese", SentAt: b.now, Day: dayOf(b.now)}
	err := b.Edit(b.ctx, v.user.ID, v.at.ID, e, m, b.now)
	equal(b, "an edit waits", isMoving(err), true)
	redact := core.Note{User: v.user.ID, Identity: v.at.ID, Now: b.now,
		Effects: []core.Effect{core.Redact{Message: q, At: b.now}}}
	_, err = b.Note(b.ctx, redact)
	equal(b, "a redaction waits", isMoving(err), true)
	b.carryMove(id)
	who := v.holder()
	b.must(b.Edit(b.ctx, who.user.ID, who.at.ID, e, m, b.now))
	n, err := b.Referred(b.ctx, who.user.ID, who.at.ID, redacted)
	b.must(err)
	who.effects(core.Redact{Message: n, At: b.now})
	who.wantTexts("mine", "ok", "geese", "ok", "", "ok")
	b.missing("secret")
}
