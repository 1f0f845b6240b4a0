package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func mergeCases() []testCase {
	return []testCase{
		{"a merge copies everything under new ids", testMerge},
		{"a merge leaves others as they are", testMergeOthers},
		{"merged messages are in order of time", testMergeOrder},
		{"days of a merge are joined and both summaries are found", testMergeDays},
		{"the owner is the target user, whichever side asked", testMergeOwner},
		{"a running turn is answered once, after the merge", testMergeRunning},
		{"messages after the request for a merge are answered for both", testMergeAsked},
		{"a pause ends with a merge that is dropped", testMergeDropped},
		{"both may be running when a merge begins", testMergeBothRunning},
		{"deliveries in progress end under their key before the switch", testMergeSending},
		{"messages that arrive while a merge waits are kept for both", testMergeMeanwhile},
		{"two who link each other are merged once", testMergeMutual},
		{"random histories are merged in order", testMergeRandom},
		{"memory that both users have is not duplicated", testMergeMemory},
		{"two processes merge once", testMergeProcesses},
		{"a user to be merged may have been deleted", testMergeGone},
		{"merges requested meanwhile belong to the target user", testMergeChain},
		{"reminders of users who wait for a merge do not fire", testMergeReminders},
		{"files of merged users are deleted with the last of them", testMergeFolders},
		{"an edit and a redaction find messages after a merge", testMergeEdits},
	}
}

// testMergeAsked checks that no message is answered between the request and the first step.
func testMergeAsked(b *bench) {
	v := b.second("Vera", "222")
	v.exchange("before", "ok")
	id := v.merge(b.user.ID)
	got := one(b, v.Append, v.batch(true, "just after"))
	equal(b, "a turn at once", got.Turn == nil, true)
	refs := v.due(turns)
	for _, r := range refs {
		t, _, err := b.ClaimTurn(b.ctx, r, v.claim(), store.Budget{})
		b.must(err)
		equal(b, "a turn of the old half", t == nil, true)
	}
	b.carryMerge(id)
	b.now = b.now.Add(2 * time.Hour)
	t := b.take()
	equal(b, "whose turn", t.User, b.user.ID)
	b.answer(t, "to both")
	b.wantTexts("before", "ok", "just after", "to both")
}

func testMergeDropped(b *bench) {
	v := b.second("Vera", "222")
	x := b.second("Xavier", "333")
	id := v.merge(x.user.ID)
	one(b, v.Append, v.batch(true, "waits"))
	b.must(second(b.DeleteUser(b.ctx, x.user.ID)))
	b.carryMerge(id)
	v.now = v.now.Add(time.Minute)
	v.answer(v.take(), "goes on")
	v.wantTexts("waits", "goes on")
}

// merge requests a merge of the bench's user into another.
func (b *bench) merge(into core.UserID) store.MergeID {
	b.t.Helper()
	return one(b, b.Ask, store.Merge{From: b.user.ID, Into: into, Identity: b.at.ID, AskedAt: b.now})
}

// carryMerge carries a merge out until it reaches one of the phases, or without any, its end, and checks the tables.
func (b *bench) carryMerge(id store.MergeID, until ...store.MergePhase) store.Merge {
	b.t.Helper()
	for range 5000 {
		m, wait, err := b.Carry(b.ctx, id, b.now)
		b.must(err)
		b.now = b.now.Add(wait)
		if m.Phase != store.MergeAsked {
			Check(b.t, b.DB())
		}
		if slices.Contains(until, m.Phase) || m.Phase == store.MergeDone {
			return m
		}
		if m.Phase == store.MergeTold {
			b.must(b.Told(b.ctx, id))
		}
	}
	b.t.Fatal("the merge does not end")
	return store.Merge{}
}

// pauseMerge carries a merge out as long as it waits, at the time of its request.
func (b *bench) pauseMerge(id store.MergeID) {
	b.t.Helper()
	m, wait, err := b.Carry(b.ctx, id, b.now)
	b.must(err)
	equal(b, "waits", m.Phase == store.MergeAsked && wait > 0, true)
}

// second returns the bench of a new member.
func (b *bench) second(name, external string) *bench {
	u, i := b.person(name, core.RoleMember, external)
	return b.as(u, i)
}

func testMerge(b *bench) {
	ada := b
	v, x := b.second("Vera", "222").victim()
	v.effects(effect.SetSettings{Settings: core.Settings{Zone: "Europe/Paris", Home: v.at.ID, MemoryOff: true,
		Allowed: []core.AllowedTool{{Tool: "shop", Until: v.now.Add(time.Hour)}}}})
	ada.now = v.now
	ada.exchange("mine", "yours")
	before, err := v.History(v.ctx, v.user.ID, 0, 0, 1000)
	b.must(err)
	shift, ids := core.MessageID(2), b.lastID(ada.user.ID)
	ada.carryMerge(v.merge(ada.user.ID))
	ada.gone(v.user.ID)
	after, err := ada.History(b.ctx, ada.user.ID, 0, 0, 1000)
	b.must(err)
	equal(b, "messages", len(after), len(before)+2)
	equal(b, "message", ada.message(x.message+shift).Text, "secret")
	at, u, err := b.Identify(b.ctx, v.at.Address)
	b.must(err)
	equal(b, "user", u.ID, ada.user.ID)
	equal(b, "identity", int64(at.ID), int64(v.at.ID)+ids)
	equal(b, "zone", u.Settings.Zone, "Europe/Paris")
	equal(b, "memory stays off", u.Settings.MemoryOff, true)
	equal(b, "allowed tools that came along", len(u.Settings.Allowed), 0)
	equal(b, "home", u.Settings.Home, at.ID)
	got, err := b.Referred(b.ctx, ada.user.ID, at.ID, x.native)
	b.must(err)
	equal(b, "referred", got, x.message+shift)
	ada.mergedRest(x, shift, ids, at)
}

// mergedRest checks the other rows that came from a victim.
func (b *bench) mergedRest(x theirs, shift core.MessageID, ids int64, at core.Identity) {
	b.t.Helper()
	loops, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "loops", len(loops), 1)
	equal(b, "source", loops[0].Sources[0], x.message+shift)
	item, err := b.Item(b.ctx, b.user.ID, x.item+core.ItemID(ids))
	b.must(err)
	equal(b, "item's source", item.SourceMessage, x.message+shift)
	r, err := b.Plan(b.ctx, b.user.ID, x.reminder.ID+core.PlanID(ids))
	b.must(err)
	equal(b, "reminder's source", r.Source, x.message+shift)
	equal(b, "marks", [3]bool{loops[0].Tainted, item.Tainted, r.Tainted}, [3]bool{true, true, true})
	n := b.nearest(core.VectorWindow, vector(7))
	equal(b, "vectors", len(n), 0) // the day was joined with one that has no windows yet
	d, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 100})
	b.must(err)
	equal(b, "deliveries", len(d), 42)
	turn, _, err := b.Turn(b.ctx, b.user.ID, x.turn.ID+core.TurnID(ids))
	b.must(err)
	equal(b, "turn", turn.State, core.TurnRunning)
	text, ok, err := b.Lookup(b.ctx, b.user.ID, turn.ID, 0, 0)
	b.must(err)
	equal(b, "journal", ok && text == "secret", true)
	b.now = b.now.Add(2 * time.Second)
	claimed, _, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), store.Budget{})
	b.must(err)
	equal(b, "claimed again", claimed.ID, turn.ID)
	equal(b, "thread", claimed.Thread, x.thread+core.ThreadID(ids))
	equal(b, "address", claimed.Address, at.Address)
	b.answer(claimed, "done")
	b.indexAll()
	equal(b, "found", len(b.find(core.DocMessage, "secret")) > 0, true)
	equal(b, "summary found", len(b.find(core.DocSummary, "secret")), 1)
	equal(b, "item found", len(b.find(core.DocItem, "secret")), 1)
	dead, err := b.DeadJobs(b.ctx, 10)
	b.must(err)
	equal(b, "dead jobs", len(dead), 1)
}

// lastID returns the user's last id.
func (b *bench) lastID(user core.UserID) (n int64) {
	b.t.Helper()
	b.must(b.DB().QueryRow(`SELECT last_id FROM users WHERE id = $1`, user).Scan(&n))
	return n
}

// gone fails the test for every row that still names a user.
func (b *bench) gone(user core.UserID) {
	b.t.Helper()
	for line := range strings.Lines(Dump(b.t, b.DB())) {
		if strings.Contains(line, fmt.Sprintf(" user_id=%d ", user)) && !strings.HasPrefix(line, "merges:") ||
			strings.HasPrefix(line, fmt.Sprintf("users: id=%d ", user)) {
			b.t.Errorf("left behind: %s", line)
		}
	}
}

func testMergeOthers(b *bench) {
	other := b.second("Oscar", "333")
	other.exchange("not yours", "no")
	before := b.rowsOf(other.user.ID)
	v, _ := b.second("Vera", "222").victim()
	b.carryMerge(v.merge(b.user.ID))
	if after := b.rowsOf(other.user.ID); after != before {
		b.t.Errorf("got\n%s\nwant\n%s", after, before)
	}
}

// rowsOf returns all rows that name a user, as text.
func (b *bench) rowsOf(user core.UserID) string {
	var out strings.Builder
	for line := range strings.Lines(Dump(b.t, b.DB())) {
		if strings.Contains(line, fmt.Sprintf("user_id=%d ", user)) ||
			strings.HasPrefix(line, fmt.Sprintf("users: id=%d ", user)) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func testMergeOrder(b *bench) {
	v := b.second("Vera", "222")
	var want []string
	for n := range 30 {
		who, name := b, "a"
		if n%3 == 1 {
			who, name = v, "v"
		}
		who.now = start().Add(time.Duration(n) * time.Minute)
		if n%7 == 0 {
			who.now = start().Add(time.Duration(n-n%2) * time.Minute)
		}
		q, a := fmt.Sprintf("%s asks %d", name, n), fmt.Sprintf("%s hears %d", name, n)
		who.exchange(q, a)
		want = append(want, q, a)
	}
	// Both users write concurrently: their turns overlap, and their messages stay apart.
	b.now = start().Add(time.Hour)
	v.now = b.now
	t1, t2 := b.turn("at once a"), v.turn("at once v")
	b.now, v.now = b.now.Add(2*time.Second), b.now.Add(time.Second)
	v.sent(v.answer(t2, "reply v").Delivery)
	b.sent(b.answer(t1, "reply a").Delivery)
	want = append(want, "at once a", "reply a", "at once v", "reply v")
	b.carryMerge(v.merge(b.user.ID))
	b.wantTexts(want...)
}

func testMergeDays(b *bench) {
	v := b.second("Vera", "222")
	q, _ := b.exchange("about herons", "nice")
	vq, va := v.exchange("about geese", "oh")
	b.summary(b.segment(), false, "## Summary\n\n- herons [#1]", q)
	v.finalSummary(v.segment(), "## Summary\n\n- geese [#1, #2]", []string{"feed geese"}, vq, va)
	v.now = v.now.Add(24 * time.Hour)
	v.exchange("the day after", "yes")
	b.now = v.now
	shift := b.lastMessage()
	b.carryMerge(v.merge(b.user.ID))
	day, err := b.Day(b.ctx, b.user.ID, dayOf(start()).Label)
	b.must(err)
	equal(b, "messages", day.Messages, 4)
	equal(b, "state", day.State, core.SegmentOpen)
	equal(b, "stale", day.Stale, true)
	versions, err := b.Summaries(b.ctx, b.user.ID, day.ID, 10)
	b.must(err)
	equal(b, "versions", len(versions), 3)
	equal(b, "shown", versions[0].Version, day.SummaryVersion)
	equal(b, "both", versions[0].Markdown, fmt.Sprintf("## Summary\n\n- herons [#1]\n\n## Summary\n\n- geese [#%d, #%d]",
		shift+1, shift+2))
	equal(b, "covers", versions[0].Covers.Has(shift+vq) && versions[0].Covers.Has(q), true)
	for _, term := range []string{"herons", "geese"} {
		equal(b, "found "+term, len(b.find(core.DocSummary, term)), 1)
	}
	next, err := b.Day(b.ctx, b.user.ID, dayOf(v.now).Label)
	b.must(err)
	equal(b, "the day after", next.Messages, 2)
	equal(b, "asked to be rewritten", len(b.due(core.QueueSummarize)), 1)
	b.now = b.now.Add(48 * time.Hour)
}

// lastMessage returns the user's last message id.
func (b *bench) lastMessage() (n core.MessageID) {
	b.t.Helper()
	b.must(b.DB().QueryRow(`SELECT last_message FROM users WHERE id = $1`, b.user.ID).Scan(&n))
	return n
}

func testMergeOwner(b *bench) {
	v := b.second("Vera", "222")
	v.exchange("hers", "ok")
	b.exchange("the owner's", "ok")
	m := b.carryMerge(b.merge(v.user.ID), store.MergeTold)
	equal(b, "into", m.Into, b.user.ID)
	equal(b, "reported to the requesting identity", m.Identity, b.at.ID)
	b.carryMerge(m.ID)
	u, err := b.User(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "role", u.Role, core.RoleOwner)
	b.gone(v.user.ID)
	equal(b, "messages", len(b.texts()), 4)
}

func testMergeRunning(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("before", "ok")
	v.exchange("before, too", "ok")
	t := v.turn("what now?")
	b.must(v.Record(b.ctx, v.user.ID, store.CallRecord{Turn: t.ID, Step: 0, Index: 0, Tool: "tool", Text: "called"}))
	v.say(false, "hello?")
	b.carryMerge(v.merge(b.user.ID))
	_, err := b.Commit(b.ctx, v.reply(t, "too late"), nil)
	equal(b, "the old attempt is no more", err != nil, true)
	got := b.take()
	equal(b, "inputs", len(got.Inputs), 1)
	text, ok, err := b.Lookup(b.ctx, b.user.ID, got.ID, 0, 0)
	b.must(err)
	equal(b, "tool call", ok && text == "called", true)
	b.sent(b.answer(got, "once").Delivery)
	b.sent(b.answer(b.take(), "twice").Delivery)
	equal(b, "due", len(b.due(turns)), 0)
	b.wantTexts("before", "ok", "before, too", "ok", "what now?", "once", "hello?", "twice")
}

func testMergeBothRunning(b *bench) {
	v := b.second("Vera", "222")
	v.now = b.now.Add(time.Second)
	mine, hers := b.turn("mine?"), v.turn("hers?")
	b.now = v.now.Add(time.Second)
	b.carryMerge(v.merge(b.user.ID))
	_, err := b.Commit(b.ctx, v.reply(hers, "too late"), nil)
	equal(b, "halted", err != nil, true)
	b.sent(b.answer(mine, "yours").Delivery)
	b.sent(b.answer(b.take(), "hers").Delivery)
	b.wantTexts("mine?", "yours", "hers?", "hers")
}

func testMergeSending(b *bench) {
	v := b.second("Vera", "222")
	out := v.answer(v.turn("go"), "1", "2")
	key := out.Delivery.Parts[0].Part.Key
	waiting := v.notice("3", time.Time{})
	v.now = v.now.Add(10 * time.Second)
	b.now = v.now
	id := v.merge(b.user.ID)
	b.now = b.now.Add(10 * time.Second) // it no longer waits for deliveries
	for range 100 {
		m, _, err := b.Store.Carry(b.ctx, id, b.now)
		b.must(err)
		equal(b, "no switch while it is sent", m.Phase == store.MergeTold, false)
	}
	equal(b, "claimed meanwhile", len(b.due(deliveries)), 0)
	v.now = b.now
	v.sent(out.Delivery)
	b.carryMerge(id)
	d := b.takeDelivery()
	equal(b, "waiting turn", d.Born, fmt.Sprintf("%d-%d", v.user.ID, waiting))
	b.sent(d)
	list, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 10})
	b.must(err)
	equal(b, "state", list[1].State, core.DeliverySent)
	_, err = b.Referred(b.ctx, b.user.ID, d.Identity, fmt.Sprintf("n%d-1", out.Delivery.ID))
	b.must(err)
	e := core.Inbound{Address: v.at.Address, EventID: "receipt", Kind: core.InReceipt,
		Status: &core.Status{State: core.DeliveryRead, Key: key}}
	_, err = b.Settle(b.ctx, b.user.ID, d.Identity, e, b.now)
	b.must(err)
	parts, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 10})
	b.must(err)
	equal(b, "receipt by the old key", parts[1].Parts[0].State, core.DeliveryRead)
}

func testMergeMeanwhile(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("before", "ok")
	v.now = b.now
	v.exchange("before, too", "ok")
	running := v.turn("running")
	b.now = v.now.Add(time.Second)
	v.now = b.now
	id := v.merge(b.user.ID)
	b.pauseMerge(id)
	for _, who := range []*bench{v, b} {
		equal(b, "a turn at once", who.say(true, "kept for "+who.user.Name).Turn == nil, true)
	}
	for _, ref := range b.due(turns) {
		turn, _, err := b.ClaimTurn(b.ctx, ref, b.claim(), store.Budget{})
		b.must(err)
		equal(b, "answered meanwhile", turn == nil, true)
	}
	v.sent(v.answer(running, "finished").Delivery)
	b.carryMerge(id)
	b.now = b.now.Add(2 * time.Second)
	for range 2 {
		b.sent(b.answer(b.take(), "yes").Delivery)
	}
	b.wantTexts("before", "ok", "before, too", "ok", "running", "finished", "kept for Ada", "yes", "kept for Vera", "yes")
}

func testMergeMutual(b *bench) {
	ada, v := b.second("Ada", "221"), b.second("Vera", "222")
	ada.exchange("a", "1")
	v.exchange("v", "2")
	ada.linkCode("A")
	v.linkCode("V")
	v.effects(effect.UseLink{Hash: "A", Identity: v.at.ID, At: b.now})
	ada.effects(effect.UseLink{Hash: "V", Identity: ada.at.ID, At: b.now})
	ada.effects(effect.AcceptLink{Subject: effect.LinkSubject{Hash: "A", User: v.user.ID, Identity: v.at.ID,
		Address: v.at.Address}, At: b.now})
	v.effects(effect.AcceptLink{Subject: effect.LinkSubject{Hash: "V", User: ada.user.ID, Identity: ada.at.ID,
		Address: ada.at.Address}, At: b.now})
	for {
		list, err := b.Merges(b.ctx, 10)
		b.must(err)
		if len(list) == 0 {
			break
		}
		b.carryMerge(list[0].ID)
	}
	equal(b, "users", len(must2(b.Users(b.ctx))), 2)
	_, u, err := b.Identify(b.ctx, v.at.Address)
	b.must(err)
	merged := ada.as(u, ada.at)
	equal(b, "messages", len(merged.texts()), 4)
}

func testMergeMemory(b *bench) {
	v := b.second("Vera", "222")
	b.item("likes herons", 0)
	v.item("likes herons", 0)
	v.item("fears geese", 0)
	b.carryMerge(v.merge(b.user.ID))
	items, err := b.Items(b.ctx, store.ItemQuery{User: b.user.ID, Limit: 10})
	b.must(err)
	equal(b, "items", len(items), 2)
	themes, err := b.Themes(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "themes", len(themes), 1)
	equal(b, "active", themes[0].Active, 2)
}

func testMergeProcesses(b *bench) {
	v, _ := b.second("Vera", "222").victim()
	b.exchange("mine", "yours")
	b.now = v.now.Add(time.Minute)
	id := v.merge(b.user.ID)
	b.now = b.now.Add(time.Minute)
	var wg sync.WaitGroup
	for _, s := range []Store{b.open(), b.open()} {
		wg.Go(func() {
			_, _, err := s.Carry(b.ctx, id, b.now)
			if err != nil {
				b.t.Error(err)
			}
		})
	}
	wg.Wait()
	b.carryMerge(id)
	b.gone(v.user.ID)
	all := b.texts()
	equal(b, "mine", slices.Contains(all, "mine"), true)
	into, err := b.Became(b.ctx, v.user.ID)
	b.must(err)
	equal(b, "became", into, b.user.ID)
}

func testMergeGone(b *bench) {
	v := b.second("Vera", "222")
	merge := v.merge(b.user.ID)
	b.must(second(b.DeleteUser(b.ctx, v.user.ID)))
	equal(b, "phase", b.carryMerge(merge).Phase, store.MergeDone)
	equal(b, "users", len(must2(b.Users(b.ctx))), 1)
	equal(b, "answered again", b.say(true, "hello").Turn != nil, true)
	x := b.second("Xavier", "444")
	b.carryMerge(x.merge(b.user.ID))
	into, err := b.Became(b.ctx, x.user.ID)
	b.must(err)
	equal(b, "became", into, b.user.ID)
	for _, u := range []core.UserID{b.user.ID, v.user.ID, 99} {
		_, err := b.Became(b.ctx, u)
		equal(b, fmt.Sprint(u, " became nobody else"), errors.Is(err, core.ErrNotFound), true)
	}
}

func testMergeChain(b *bench) {
	v, x := b.second("Vera", "222"), b.second("Xavier", "333")
	v.exchange("hers", "ok")
	x.now = v.now
	x.exchange("his", "ok")
	b.now = x.now
	first, second := v.merge(b.user.ID), x.merge(v.user.ID)
	b.carryMerge(first)
	m := b.carryMerge(second)
	equal(b, "into", m.Into, b.user.ID)
	b.wantTexts("hers", "ok", "his", "ok")
	into, err := b.Became(b.ctx, x.user.ID)
	b.must(err)
	equal(b, "became", into, b.user.ID)
}

func testMergeReminders(b *bench) {
	v := b.second("Vera", "222")
	q, _ := v.exchange("call me", "ok")
	v.remind("call", "", q)
	v.now = v.now.Add(2 * time.Hour)
	b.now = v.now
	v.turn("running")
	id := v.merge(b.user.ID)
	b.pauseMerge(id)
	list, err := b.DuePlans(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "due while it waits", len(list), 0)
	b.carryMerge(id)
	list, err = b.DuePlans(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "due after it", len(list), 1)
	equal(b, "whose", list[0].User, b.user.ID)
}

// sendFile sends a stored file as the bench's user.
func (b *bench) sendFile(path string) {
	a := b.batch(true, "a file")
	a.Messages[0].Attachments = []core.Attachment{{Kind: "photo", Path: path}}
	b.sent(b.answer(one(b, b.Append, a).Turn, "thanks").Delivery)
}

func testMergeFolders(b *bench) {
	x, y, z := b.second("Xavier", "333"), b.second("Yves", "444"), b.second("Zoe", "555")
	folder := func(u *bench) string { return fmt.Sprint(int64(u.user.ID)) }
	y.sendFile(folder(y) + "/1.jpg")
	b.now = y.now
	b.carryMerge(x.merge(y.user.ID))
	b.carryMerge(y.merge(z.user.ID))
	gone, err := b.DeleteUser(b.ctx, z.user.ID)
	b.must(err)
	equal(b, "folders of all that they were", fmt.Sprint(gone), fmt.Sprintf("[%[2]s/1.jpg %[1]s %[2]s %[3]s]", folder(z),
		folder(y), folder(x)))
}

func testMergeEdits(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("mine", "ok")
	v.now = b.now
	v.exchange("herons", "ok")
	edited := v.native()
	v.now = v.now.Add(time.Second)
	v.exchange("secret", "ok")
	redacted := v.native()
	b.now = v.now
	b.carryMerge(v.merge(b.user.ID))
	who := v.holder()
	e := core.Inbound{Address: v.at.Address, EventID: "edit", Kind: core.InEdit, Target: edited, Text: "geese"}
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: "geese", SentAt: b.now, Day: dayOf(b.now)}
	b.must(b.Edit(b.ctx, who.user.ID, who.at.ID, e, m, b.now))
	n, err := b.Referred(b.ctx, who.user.ID, who.at.ID, redacted)
	b.must(err)
	who.effects(effect.Redact{Message: n, At: b.now})
	who.wantTexts("mine", "ok", "geese", "ok", "", "ok")
	b.missing("secret")
}

// holder returns the bench of the user to whom the bench's address belongs now.
func (b *bench) holder() *bench {
	b.t.Helper()
	i, u, err := b.Identify(b.ctx, b.at.Address)
	b.must(err)
	return b.as(u, i)
}
