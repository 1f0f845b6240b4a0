package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func contextWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func noteCases() []testCase {
	return []testCase{
		{"a note stores its command, answer and delivery once", testNote},
		{"a note happens once per user and key", testOnce},
		{"a repeated event does not use up a once-note", testOnceDuplicate},
		{"an effect that fails undoes the note", func(b *bench) {
			before := Dump(b.t, b.DB())
			e, m := b.inbound("/close 77")
			_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID, Event: &e, Command: &m, Now: b.now,
				Effects: []core.Effect{effect.SetName{Name: "X"}, effect.CloseLoop{Loop: 77, At: b.now}}})
			equal(b, "not found", errors.Is(err, core.ErrNotFound), true)
			b.unchanged(before)
		}},
		{"a note of another thread stands there", func(b *bench) {
			b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
			list, err := b.Threads(b.ctx, b.user.ID, 1)
			b.must(err)
			one(b, b.Note, store.Note{User: b.user.ID, Thread: list[0].ID, Now: b.now,
				Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "here", SentAt: b.now}}})
			b.wantTexts()
			h, err := b.History(b.ctx, b.user.ID, list[0].ID, 0, 10)
			b.must(err)
			equal(b, "text", h[0].Text, "here")
		}},
		{"notices that may quote what is redacted are emptied", testRedactNotices},
		{"what was redacted is not undelivered", testRedactUndelivered},
	}
}

// testRedactNotices checks which notices since a redacted message are emptied: answers that show stored things, and
// those with words of what is removed.
func testRedactNotices(b *bench) {
	b.notice("before: the zebra sleeps in the shed", time.Time{})
	b.sent(b.takeDelivery())
	id, _ := b.exchange("Tell nobody that the Zebra sleeps in the shed, and my PIN", "ok")
	short, _ := b.exchange("hunter2", "ok")
	b.effects(effect.OpenLoop{Loop: core.Loop{Text: "who feeds striped horses on Sundays?", Sources: []core.MessageID{id}},
		At: b.now})
	notices := []struct {
		answers, text string
		gone          bool
	}{
		{"/search shed", "found something", true},
		{"/day 2026-11-16", "you talked about an animal", true},
		{"/summary", "- an animal (#1)", true},
		{"/loops", "- something is open", true},
		{"/usage", "Today: 1,000 tokens", false},
		{"/remember tea", "Noted: tea", false},
		{"/always short", "From now on: short", false},
		{"", "Your time zone is Europe/Paris", false},
		{"", "The language model's server refused the request", false},
		{"", "The zebra, the shed", false},
		{"", "didn't arrive: “Tell nobody that the zebra…”", true},
		{"", "(not sent: THE ZEBRA SLEEPS IN a box)", true},
		{"", "Undone: who feeds striped horses on Sundays?", true},
		{"/done 7", "Closed: who feeds striped horses…", true},
		{"", "the password hunter2!", true},
		{"", "hunter22 is another", false},
	}
	for _, n := range notices {
		note := b.noteOf(nil, n.text, "")
		note.Messages[0].Answers = n.answers
		one(b, b.Note, note)
		b.sent(b.takeDelivery())
	}
	b.effects(effect.Redact{Message: id, At: b.now}, effect.Redact{Message: short, At: b.now})
	var left []string
	for _, n := range notices {
		if !n.gone {
			left = append(left, n.text)
		}
	}
	h, err := b.History(b.ctx, b.user.ID, 0, 0, 100)
	b.must(err)
	var got []string
	for _, m := range h {
		if m.Kind == core.KindNotice && !m.Redacted {
			got = append(got, m.Text)
		}
	}
	want := append([]string{"before: the zebra sleeps in the shed"}, left...)
	equal(b, "notices", strings.Join(got, "\n"), strings.Join(want, "\n"))
	for _, text := range []string{"hunter2!", "zebra sleeps in a box", "striped horses"} {
		b.missing(text)
	}
}

// testRedactUndelivered checks that deliveries in trouble are not listed, nor sent again, once their words were deleted.
func testRedactUndelivered(b *bench) {
	failed := func(text string) core.DeliveryID {
		id := b.notice(text, time.Time{})
		b.finish(b.takeDelivery(), 0, store.PartResult{State: core.DeliveryFailed, Error: "no such chat"})
		return id
	}
	id, _ := b.exchange("zebra crossing", "ok")
	gone, other := failed("about a zebra crossing"), failed("about the weather")
	pending := b.notice("a zebra crossing again", time.Time{})
	b.effects(effect.Redact{Message: id, At: b.now})
	if d := b.takeDelivery(); d != nil {
		b.t.Errorf("%d is sent", d.ID)
	}
	for _, q := range []store.DeliveryQuery{{Limit: 10, States: []core.DeliveryState{core.DeliveryFailed}}, {Limit: 10},
		{User: b.user.ID, Limit: 10, States: []core.DeliveryState{core.DeliveryFailed, core.DeliveryParked}}} {
		all, err := b.Deliveries(b.ctx, q)
		b.must(err)
		if len(all) != 1 || all[0].ID != other {
			b.t.Errorf("%+v lists %+v", q, all)
		}
	}
	for _, d := range []core.DeliveryID{gone, pending} {
		b.notFound("a delivery without words", b.Redeliver(b.ctx, b.user.ID, d, b.now))
	}
	b.must(b.Redeliver(b.ctx, b.user.ID, other, b.now))
}

func (b *bench) noteOf(e *core.Inbound, text, once string) store.Note {
	n := store.Note{User: b.user.ID, Identity: b.at.ID, Event: e, Now: b.now, Once: once,
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: b.now}},
		Deliveries: []core.NewDelivery{{To: b.at.Address, Identity: b.at.ID, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: text}}}}}
	if e != nil {
		n.Command = &core.NewMessage{Role: core.RoleUser, Kind: core.KindCommand, Text: e.Text, SentAt: b.now}
	}
	return n
}

func testNote(b *bench) {
	e, _ := b.inbound("/help")
	n := b.noteOf(&e, "help yourself", "")
	out := one(b, b.Note, n)
	equal(b, "messages", len(out.Messages), 1)
	equal(b, "repeat", one(b, b.Note, n).Duplicate, true)
	b.wantTexts("/help", "help yourself")
	d := b.takeDelivery()
	equal(b, "message", d.Message, out.Messages[0])
	b.sent(d)
	equal(b, "due", len(b.due(deliveries)), 0)
	days, err := b.Days(b.ctx, b.user.ID, "", 10)
	b.must(err)
	equal(b, "days opened by a command", len(days), 0)
}

func testOnce(b *bench) {
	e, _ := b.inbound("/a")
	equal(b, "first", one(b, b.Note, b.noteOf(&e, "told", "k")).Duplicate, false)
	e, _ = b.inbound("/b")
	equal(b, "second", one(b, b.Note, b.noteOf(&e, "told", "k")).Duplicate, true)
	equal(b, "other key", one(b, b.Note, b.noteOf(nil, "told", "l")).Duplicate, false)
	u, i := b.person("Bob", core.RoleMember, "222")
	other := b.as(u, i)
	equal(b, "other user", one(b, other.Note, other.noteOf(nil, "told", "k")).Duplicate, false)
	b.wantTexts("/a", "told", "told")
}

func testOnceDuplicate(b *bench) {
	e, _ := b.inbound("/a")
	one(b, b.Note, b.noteOf(&e, "first", ""))
	equal(b, "repeated event", one(b, b.Note, b.noteOf(&e, "once", "k")).Duplicate, true)
	equal(b, "said later", one(b, b.Note, b.noteOf(nil, "once", "k")).Duplicate, false)
}

func peopleCases() []testCase {
	return []testCase{
		{"there is one owner", func(b *bench) {
			_, err := b.AddUser(b.ctx, core.User{Name: "Eve", Role: core.RoleOwner, CreatedAt: b.now})
			equal(b, "exists", errors.Is(err, core.ErrExists), true)
		}},
		{"an address is somebody's", func(b *bench) {
			u := one(b, b.AddUser, core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: b.now})
			_, err := b.AddIdentity(b.ctx, core.Identity{User: u.ID, Address: b.at.Address, LastUsed: b.now})
			equal(b, "exists", errors.Is(err, core.ErrExists), true)
		}},
		{"an address moves to another user", func(b *bench) {
			u := one(b, b.AddUser, core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: b.now})
			b.must(b.MoveIdentity(b.ctx, b.at, u.ID))
			i, who, err := b.Identify(b.ctx, b.at.Address)
			b.must(err)
			equal(b, "user", who.ID, u.ID)
			b.must(b.MoveIdentity(b.ctx, i, b.user.ID))
			equal(b, "gone", errors.Is(b.MoveIdentity(b.ctx, i, b.user.ID), core.ErrNotFound), true)
		}},
		{"users and identities are listed", testPeople},
		{"users are found by name, in any case, and by id", testFindUsers},
		{"a code is used once and not after its end", testCodes},
		{"an owner code replaces the previous one", testOwnerCode},
		{"Approve attaches an address to a user who is there", testApproveExisting},
		{"Approve refuses a code that is not valid", testApproveWrong},
		{"Deny drops what the address wrote", testDeny},
		{"a deleted user is gone, others stay", testDelete},
	}
}

func testPeople(b *bench) {
	u, _ := b.person("Bob", core.RoleMember, "222")
	b.now = b.now.Add(time.Minute)
	second := b.identity(b.user.ID, "Ada", "112")
	all, err := b.Users(b.ctx)
	b.must(err)
	equal(b, "users", len(all), 2)
	equal(b, "second", all[1].ID, u.ID)
	ids, err := b.Identities(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "last used first", ids[0].ID, second.ID)
	_, err = b.User(b.ctx, 0)
	equal(b, "strangers are no user", errors.Is(err, core.ErrNotFound), true)
	th, err := b.Thread(b.ctx, u.ID, 0)
	b.must(err)
	equal(b, "mode", th.Mode, core.ModeContinuous)
}

func testFindUsers(b *bench) {
	ada := b.user.ID
	bob, _ := b.person("Bob", core.RoleMember, "222")
	sebo, _ := b.person("Şebo Öz", core.RoleMember, "333")
	for _, c := range []struct {
		words         string
		offset, limit int
		total         int
		want          []core.UserID
	}{
		{"", 0, 50, 3, []core.UserID{ada, bob.ID, sebo.ID}},
		{"", 1, 1, 3, []core.UserID{bob.ID}},
		{"", 3, 50, 3, nil},
		{"BO", 0, 50, 2, []core.UserID{bob.ID, sebo.ID}},
		{"bo", 1, 50, 2, []core.UserID{sebo.ID}},
		{"bo", 2, 50, 2, nil},
		{"şEBO öz", 0, 50, 1, []core.UserID{sebo.ID}},
		{fmt.Sprint(bob.ID), 0, 50, 1, []core.UserID{bob.ID}},
		{fmt.Sprint("#", bob.ID), 0, 50, 1, []core.UserID{bob.ID}},
		{"nobody", 0, 50, 0, nil},
	} {
		users, total, err := b.FindUsers(b.ctx, c.words, c.offset, c.limit)
		b.must(err)
		var got []core.UserID
		for _, u := range users {
			got = append(got, u.ID)
		}
		equal(b, fmt.Sprintf("%q from %d", c.words, c.offset), fmt.Sprint(got, total), fmt.Sprint(c.want, c.total))
	}
}

func (b *bench) code(hash string) effect.Code {
	return effect.Code{Kind: effect.CodePair, Hash: hash, Hint: hash, Address: core.Address{Channel: "telegram", Account: "42",
		External: "999"}, Name: "Grace", Created: b.now, Expires: b.now.Add(time.Hour)}
}

func testCodes(b *bench) {
	b.must(b.PutCode(b.ctx, b.code("A")))
	b.must(b.PutCode(b.ctx, b.code("B")))
	list, err := b.Codes(b.ctx, effect.CodePair, b.now)
	b.must(err)
	equal(b, "codes", len(list), 2)
	_, err = b.UseCode(b.ctx, effect.CodeOwner, "A", b.now)
	equal(b, "other kind", errors.Is(err, core.ErrRefused), true)
	c, err := b.UseCode(b.ctx, effect.CodePair, "A", b.now)
	b.must(err)
	equal(b, "name", c.Name, "Grace")
	_, err = b.UseCode(b.ctx, effect.CodePair, "A", b.now)
	equal(b, "twice", errors.Is(err, core.ErrRefused), true)
	b.now = b.now.Add(time.Hour)
	_, err = b.UseCode(b.ctx, effect.CodePair, "B", b.now)
	equal(b, "after its end", errors.Is(err, core.ErrRefused), true)
	list, err = b.Codes(b.ctx, effect.CodePair, b.now)
	b.must(err)
	equal(b, "valid", len(list), 0)
	b.sweep()
	equal(b, "swept", strings.Contains(Dump(b.t, b.DB()), "codes:"), false)
}

func testOwnerCode(b *bench) {
	for _, hash := range []string{"A", "B"} {
		b.must(b.PutCode(b.ctx, effect.Code{Kind: effect.CodeOwner, Hash: hash, Created: b.now}))
	}
	list, err := b.Codes(b.ctx, effect.CodeOwner, b.now.Add(time.Hour))
	b.must(err)
	equal(b, "codes", len(list), 1)
	equal(b, "newest", list[0].Hash, "B")
}

func testApproveExisting(b *bench) {
	u, _ := b.person("Bob", core.RoleMember, "222")
	for n, who := range []core.UserID{u.ID, b.user.ID} {
		c := b.code("A")
		c.Address.External = itoa(990 + n)
		b.must(b.PutCode(b.ctx, c))
		b.effects(effect.Approve{CodeHash: "A", User: who, At: b.now})
		i, _, err := b.Identify(b.ctx, c.Address)
		b.must(err)
		equal(b, "user", i.User, who)
		equal(b, "message", b.as(core.User{ID: who}, i).turn("hi").User, who)
	}
}

func testApproveWrong(b *bench) {
	b.must(b.PutCode(b.ctx, b.code("A")))
	before := Dump(b.t, b.DB())
	for _, e := range []effect.Approve{{CodeHash: "B", At: b.now}, {CodeHash: "A", At: b.now.Add(2 * time.Hour)}} {
		_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Effects: []core.Effect{e}, Now: b.now})
		equal(b, "refused", errors.Is(err, core.ErrRefused), true)
	}
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID,
		Effects: []core.Effect{effect.Approve{CodeHash: "A", User: 777, At: b.now}}, Now: b.now})
	equal(b, "no such user", errors.Is(err, core.ErrNotFound), true)
	b.unchanged(before)
}

func testDeny(b *bench) {
	c := b.code("A")
	e := b.stranger("umbrella")
	one(b, b.Hold, store.Hold{Event: e, Keep: true, Code: &c, Now: b.now})
	b.effects(effect.Deny{CodeHash: "A", At: b.now})
	b.missing("umbrella")
	equal(b, "held again", one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now}), true)
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Effects: []core.Effect{effect.Deny{CodeHash: "A", At: b.now}},
		Now: b.now})
	equal(b, "refused", errors.Is(err, core.ErrRefused), true)
}

func testDelete(b *bench) {
	_, err := b.DeleteUser(b.ctx, b.user.ID)
	equal(b, "the owner", errors.Is(err, core.ErrRefused), true)
	b.exchange("mine", "yours")
	c := b.code("A")
	c.Address.External = "222"
	e := b.stranger("platypus")
	e.Address.External = "222"
	one(b, b.Hold, store.Hold{Event: e, Keep: true, Code: &c, Now: b.now, Delivery: &core.NewDelivery{To: e.Address,
		Kind: core.DeliverNotice, Parts: []core.Part{{Text: "platypus?"}}}})
	u, i := b.person("Platypus", core.RoleMember, "222")
	other := b.as(u, i)
	a := other.batch(true, "I am a platypus")
	a.Messages[0].Attachments = []core.Attachment{{Kind: "photo", Path: "2/platypus.jpg"}}
	other.answer(one(b, other.Append, a).Turn, "a platypus!")
	files, err := b.DeleteUser(b.ctx, u.ID)
	b.must(err)
	equal(b, "files", strings.Join(files, " "), "2/platypus.jpg 2")
	b.missing("platypus")
	_, err = b.User(b.ctx, u.ID)
	equal(b, "gone", errors.Is(err, core.ErrNotFound), true)
	_, err = other.Append(b.ctx, other.batch(true, "hello?"))
	equal(b, "append", errors.Is(err, core.ErrNotFound), true)
	b.wantTexts("mine", "yours")
	next := one(b, b.AddUser, core.User{Name: "Next", Role: core.RoleMember, CreatedAt: b.now})
	equal(b, "an id is not used again", next.ID > u.ID, true)
}

func keepCases() []testCase {
	return []testCase{
		{"a lease has one holder and its fence grows with each change", testLease},
		{"a shared rate is the limiter of one process", testRates},
		{"a journal is replayed and ends with its turn", testJournal},
		{"a call that may change something is known to later turns for its message", testEarlierCalls},
		{"Sweep drops raw payloads and keeps the rest", testSweep},
		{"Ping answers", func(b *bench) { b.must(b.Ping(b.ctx)) }},
		{"a cancelled call writes nothing", testCancelled},
	}
}

func testLease(b *bench) {
	until := b.now.Add(15 * time.Second)
	acquire := func(worker string, wantFence int64, wantHeld bool) {
		b.t.Helper()
		fence, held, err := b.Acquire(b.ctx, "poll", worker, b.now, until)
		b.must(err)
		equal(b, worker+" holds", held, wantHeld)
		if held {
			equal(b, worker+"'s fence", fence, wantFence)
		}
	}
	acquire("a", 1, true)
	acquire("b", 0, false)
	acquire("a", 1, true)
	b.now = until
	until = b.now.Add(15 * time.Second)
	acquire("b", 2, true)
	acquire("a", 0, false)
	b.must(b.Release(b.ctx, "poll", "a"))
	acquire("a", 0, false)
	b.must(b.Release(b.ctx, "poll", "b"))
	acquire("a", 3, true)
}

// limiter is the leaky bucket of one process: the time of its next free slot.
type limiter struct{ next time.Time }

func (l *limiter) take(every time.Duration, burst int, now time.Time) time.Duration {
	slot := now.Add(-every * time.Duration(burst-1))
	if l.next.After(slot) {
		slot = l.next
	}
	l.next = slot.Add(every)
	return max(0, slot.Sub(now))
}

func (l *limiter) push(until time.Time) {
	if l.next.Before(until) {
		l.next = until
	}
}

func testRates(b *bench) {
	var l limiter
	every := time.Second / 30
	for n := range 60 {
		switch {
		case n%13 == 5:
			until := b.now.Add(time.Duration(n) * 20 * time.Millisecond)
			l.push(until)
			b.must(b.Push(b.ctx, "k", until))
		case n%7 == 3:
			b.now = b.now.Add(time.Duration(n) * 10 * time.Millisecond)
		}
		got, err := b.Take(b.ctx, "k", every, 3, b.now)
		b.must(err)
		if want := l.take(every, 3, b.now); (got - want).Abs() > time.Millisecond {
			b.t.Fatalf("take %d: got %s, want %s", n, got, want)
		}
	}
	b.must(b.Push(b.ctx, "fresh", b.now.Add(time.Second)))
	got, err := b.Take(b.ctx, "fresh", every, 3, b.now)
	b.must(err)
	equal(b, "after a push", got, time.Second)
	b.now = b.now.Add(time.Hour)
	b.sweep()
	equal(b, "swept", strings.Contains(Dump(b.t, b.DB()), "rates:"), false)
}

func testJournal(b *bench) {
	t := b.turn("go")
	_, ok, err := b.Lookup(b.ctx, b.user.ID, t.ID, 0, 0)
	b.must(err)
	equal(b, "before", ok, false)
	b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, Step: 0, Index: 0, Tool: "weather", Text: "rain"}))
	b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, Step: 0, Index: 1, Tool: "weather", Text: "sun"}))
	text, ok, err := b.Lookup(b.ctx, b.user.ID, t.ID, 0, 1)
	b.must(err)
	equal(b, "found", ok, true)
	equal(b, "text", text, "sun")
	b.answer(t, "ok")
	_, ok, err = b.Lookup(b.ctx, b.user.ID, t.ID, 0, 0)
	b.must(err)
	equal(b, "after the turn", ok, false)
}

func testEarlierCalls(b *bench) {
	t := b.turn("pay ann")
	call := store.CallRecord{Turn: t.ID, Step: 1, Tool: "pay", Text: "paid", At: b.now, Changes: true}
	b.must(b.Record(b.ctx, b.user.ID, call))
	b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, Step: 2, Tool: "weather", Text: "rain", At: b.now}))
	earlier := func(turn core.TurnID, want int, inputs ...core.MessageID) {
		b.t.Helper()
		got, err := b.Earlier(b.ctx, b.user.ID, turn, inputs)
		b.must(err)
		equal(b, "earlier calls", len(got), want)
		if want > 0 {
			equal(b, "the call", got[0].Tool+": "+got[0].Text, "pay: paid")
		}
	}
	earlier(t.ID, 0, t.Inputs...) // its own
	b.answer(t, "done")
	_, ok, err := b.Lookup(b.ctx, b.user.ID, t.ID, 2, 0)
	b.must(err)
	equal(b, "what only read, after the turn", ok, false)
	earlier(t.ID+1000, 1, t.Inputs...)
	other := b.turn("pay ben")
	earlier(other.ID, 0, other.Inputs...)
	earlier(other.ID, 1, append(other.Inputs, t.Inputs...)...)
	b.effects(effect.Redact{Message: t.Inputs[0], At: b.now})
	earlier(other.ID, 0, t.Inputs...)
	call.Turn = other.ID
	b.must(b.Record(b.ctx, b.user.ID, call))
	b.answer(other, "done")
	b.now = b.now.Add(2 * time.Hour)
	b.sweep()
	earlier(other.ID+1000, 0, other.Inputs...)
}

// sweep removes raw payloads older than an hour, and returns the number.
func (b *bench) sweep() int {
	b.t.Helper()
	n, err := b.Sweep(b.ctx, b.now.Add(-time.Hour), b.now)
	b.must(err)
	return n
}

func testSweep(b *bench) {
	b.exchange("one", "1")
	b.must(b.edit(b.native(), "e1", "one"))
	e := b.stranger("held")
	one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now})
	b.now = b.now.Add(2 * time.Hour)
	equal(b, "rows before the end of the day", b.sweep(), 2)
	equal(b, "rows again", b.sweep(), 0)
	b.now = b.now.AddDate(0, 0, 1)
	equal(b, "rows after the end of the day", b.sweep(), 1)
	equal(b, "rows again", b.sweep(), 0)
	late := b.batch(false, "late")
	late.Messages[0].Day = dayOf(b.now.AddDate(0, 0, -1))
	one(b, b.Append, late)
	b.now = b.now.Add(2 * time.Hour)
	equal(b, "rows of a day that was swept", b.sweep(), 1)
	b.wantTexts("one", "1", "late")
	held, err := b.Approved(b.ctx, 10)
	b.must(err)
	equal(b, "held", len(held), 0)
	equal(b, "held again", one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now}), true)
}

func testCancelled(b *bench) {
	ctx, cancel := contextWithCancel(b.t)
	cancel()
	before := Dump(b.t, b.DB())
	_, err := b.Append(ctx, b.batch(true, "hello"))
	equal(b, "cancelled", errors.Is(err, context.Canceled), true)
	b.unchanged(before)
	b.turn("again")
}
