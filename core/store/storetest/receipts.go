package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func receiptCases() []testCase {
	return []testCase{
		{"receipts advance a delivery and never move it back", testReceipts},
		{"a receipt settles a part whose answer was lost", testSettledByKey},
		{"a receipt that comes before the answer is kept", testReceiptFirst},
		{"a part that may be sent again gets a new key", testResent},
		{"a part refused later waits for the person", testParkedLater},
		{"a read mark covers earlier messages", testReadThrough},
		{"receipts of unknown messages change nothing", testForeignReceipts},
		{"each message extends the messaging window", testWindowOfIdentity},
		{"a released identity gets its parked deliveries", testRelease},
		{"a parked delivery can be redirected, if no part was sent", testRedirect},
		{"a person keeps everything at another address", testReaddress},
		{"messages written by hand come last and open nothing", testByHand},
		{"the state of a channel is fenced", testStates},
		{"keys of personal agents belong to one user", testAgentKeys},
		{"a transcript replaces a placeholder", testTranscript},
	}
}

// receipt stores a status that a service reported for a part, and returns what Settle does.
func (b *bench) receipt(event string, target string, s core.Status) *core.Delivery {
	b.t.Helper()
	e, _ := b.inbound("")
	e.EventID, e.NativeID, e.Kind, e.Target, e.Status = event, "", core.InReceipt, target, &s
	d, err := b.Settle(b.ctx, b.user.ID, b.at.ID, e, b.now)
	b.must(err)
	return d
}

// part reads a part of a delivery.
func (b *bench) part(id core.DeliveryID, n int) core.DeliveryPart {
	b.t.Helper()
	list, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: b.user.ID, Limit: 100})
	b.must(err)
	for _, d := range list {
		if d.ID == id {
			return d.Parts[n]
		}
	}
	b.t.Fatalf("there is no delivery %d", id)
	return core.DeliveryPart{}
}

func sentAs(native string) store.PartResult {
	return store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: native}}
}

func testReceipts(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	b.finish(d, 0, sentAs("w1"))
	b.finish(d, 1, sentAs("w2"))
	for _, s := range []struct {
		event, target string
		state         core.DeliveryState
		part, all     core.DeliveryState
	}{
		{"e1", "w1", core.DeliverySent, core.DeliverySent, core.DeliverySent},
		{"e2", "w1", core.DeliveryRead, core.DeliveryRead, core.DeliverySent},
		{"e3", "w1", core.DeliveryDelivered, core.DeliveryRead, core.DeliverySent},
		{"e4", "w2", core.DeliveryDelivered, core.DeliveryDelivered, core.DeliveryDelivered},
		{"e4", "w2", core.DeliveryRead, core.DeliveryDelivered, core.DeliveryDelivered}, // a repeated event
		{"e5", "w2", core.DeliveryRead, core.DeliveryRead, core.DeliveryRead},
		{"e6", "w2", core.DeliveryFailed, core.DeliveryRead, core.DeliveryRead},
	} {
		b.receipt(s.event, s.target, core.Status{State: s.state})
		equal(b, s.event+" part", b.part(d.ID, int(s.target[1]-'1')).State, s.part)
		equal(b, s.event+" delivery", b.state(d.ID), s.all)
	}
	d = b.answer(b.turn("go on"), "3").Delivery
	b.finish(d, 0, sentAs("w3"))
	lost := b.receipt("e7", "w3", core.Status{State: core.DeliveryFailed, Error: "no such person"})
	equal(b, "told of the failure", lost != nil && lost.ID == d.ID && lost.State == core.DeliveryFailed, true)
	lost = b.receipt("e8", "w3", core.Status{State: core.DeliveryDelivered})
	equal(b, "told of no failure", lost == nil, true)
	equal(b, "failed", b.state(d.ID), core.DeliveryFailed)
	equal(b, "why", b.part(d.ID, 0).Error, "no such person")
}

func testSettledByKey(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliveryUnknown, RetryAt: b.now.Add(time.Minute), Error: "timeout"})
	b.receipt("e1", "w1", core.Status{State: core.DeliveryDelivered, Key: d.Parts[0].Part.Key})
	equal(b, "first", b.part(d.ID, 0).State, core.DeliveryDelivered)
	equal(b, "native id", b.part(d.ID, 0).NativeID, "w1")
	d = b.takeDelivery() // at once: the receipt ends the wait
	equal(b, "second", d.Parts[1].State, core.DeliverySending)
	b.finish(d, 1, sentAs("w2"))
	equal(b, "delivery", b.state(d.ID), core.DeliverySent)
	id, err := b.Referred(b.ctx, b.user.ID, b.at.ID, "w1")
	b.must(err)
	equal(b, "message", id, d.Message)
}

func testReceiptFirst(b *bench) {
	d := b.answer(b.turn("go"), "1").Delivery
	b.receipt("e1", "w1", core.Status{State: core.DeliveryDelivered, Key: d.Parts[0].Part.Key})
	equal(b, "under way", b.state(d.ID), core.DeliverySending)
	b.finish(d, 0, sentAs("w1"))
	equal(b, "delivery", b.state(d.ID), core.DeliveryDelivered)
}

func testResent(b *bench) {
	d := b.answer(b.turn("go"), "1").Delivery
	key := d.Parts[0].Part.Key
	b.finish(d, 0, sentAs("w1"))
	for n := range 6 {
		lost := b.receipt("e"+itoa(n), "w"+itoa(n+1), core.Status{State: core.DeliveryPending, Error: "try later"})
		equal(b, "told when it is given up", lost != nil, n == 5)
		if n == 5 {
			break
		}
		b.now = b.now.Add(time.Hour)
		again := b.takeDelivery()
		equal(b, "state", again.Parts[0].State, core.DeliverySending)
		equal(b, "same key", again.Parts[0].Part.Key == key, false)
		key = again.Parts[0].Part.Key
		b.finish(again, 0, sentAs("w"+itoa(n+2)))
	}
	equal(b, "given up", b.state(d.ID), core.DeliveryFailed)
	equal(b, "due", len(b.due(deliveries)), 0)
}

func testParkedLater(b *bench) {
	d := b.answer(b.turn("go"), "1").Delivery
	b.finish(d, 0, sentAs("w1"))
	lost := b.receipt("e1", "w1", core.Status{State: core.DeliveryParked, Error: "window closed"})
	equal(b, "told", lost != nil && lost.ID == d.ID && lost.State == core.DeliveryParked, true)
	equal(b, "delivery", b.state(d.ID), core.DeliveryParked)
	equal(b, "due", len(b.due(deliveries)), 0)
	b.sent(b.answer(b.turn("here again"), "hello").Delivery)
	again := b.takeDelivery()
	equal(b, "the same", again.ID, d.ID)
	b.sent(again)
}

func testReadThrough(b *bench) {
	var ids []core.DeliveryID
	for n := range 3 {
		d := b.answer(b.turn("go"), itoa(n)).Delivery
		b.finish(d, 0, sentAs("w"+itoa(n)))
		ids = append(ids, d.ID)
	}
	b.receipt("e1", "w1", core.Status{State: core.DeliveryRead, Through: true})
	for n, want := range []core.DeliveryState{core.DeliveryRead, core.DeliveryRead, core.DeliverySent} {
		equal(b, "delivery "+itoa(n), b.state(ids[n]), want)
	}
}

func testForeignReceipts(b *bench) {
	d := b.answer(b.turn("go"), "1").Delivery
	b.finish(d, 0, sentAs("w1"))
	u, i := b.person("Mallory", core.RoleMember, "666")
	m := b.as(u, i)
	m.receipt("e1", "w1", core.Status{State: core.DeliveryRead, Key: d.Parts[0].Part.Key})
	m.receipt("e2", "w1", core.Status{State: core.DeliveryFailed})
	b.receipt("e3", "never sent", core.Status{State: core.DeliveryRead})
	b.receipt("e4", "", core.Status{State: core.DeliveryRead, Key: "everthread-1-999999-0"})
	b.receipt("e5", "", core.Status{State: core.DeliveryRead, Key: "nonsense"})
	equal(b, "delivery", b.state(d.ID), core.DeliverySent)
}

func testWindowOfIdentity(b *bench) {
	until := b.now.Add(24 * time.Hour).Truncate(time.Millisecond)
	e, m := b.inbound("hi")
	one(b, b.Append, store.Append{User: b.user.ID, Identity: b.at.ID, Now: b.now, RunAt: b.now, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Window: until})
	e, m = b.inbound("an older one, late")
	one(b, b.Append, store.Append{User: b.user.ID, Identity: b.at.ID, Now: b.now, RunAt: b.now, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Window: until.Add(-time.Hour)})
	i, _, err := b.Identify(b.ctx, b.at.Address)
	b.must(err)
	equal(b, "window", i.Window.UnixMilli(), until.UnixMilli())
	t, _, err := b.ClaimTurn(b.ctx, b.due(core.QueueTurn)[0], b.claim(), store.Budget{})
	b.must(err)
	d := b.answer(t, "1").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliveryParked, Asked: true, Error: "closed"})
	i, _, err = b.Identify(b.ctx, b.at.Address)
	b.must(err)
	equal(b, "teased", i.Asked && i.Blocked, true)
}

func testRelease(b *bench) {
	d := b.answer(b.turn("go"), "1").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliveryParked, Asked: true, Error: "closed"})
	e, _ := b.inbound("")
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID, Event: &e, Now: b.now,
		Effects: []core.Effect{effect.Release{Identity: b.at.ID, At: b.now}}})
	b.must(err)
	again := b.takeDelivery()
	equal(b, "the same", again.ID, d.ID)
	equal(b, "asked again", again.Asked, false)
	b.sent(again)
}

func testReaddress(b *bench) {
	first := b.answer(b.turn("go"), "1").Delivery
	b.notice("waits behind it", time.Time{})
	b.must(b.Readdress(b.ctx, b.at, "new", []string{"+15550001"}))
	moved := b.at.Address
	moved.External = "new"
	i, _, err := b.Identify(b.ctx, moved)
	b.must(err)
	equal(b, "identity", i.ID, b.at.ID)
	equal(b, "aliases", len(i.Aliases) == 1 && i.Aliases[0] == "+15550001", true)
	_, _, err = b.Identify(b.ctx, b.at.Address)
	equal(b, "old address", errors.Is(err, core.ErrNotFound), true)
	b.finish(first, 0, sentAs("w1"))
	b.at = i
	next := b.takeDelivery()
	equal(b, "goes to", next.To.External, "new")
	b.sent(next)
	u, other := b.person("Bob", core.RoleMember, "777")
	err = b.Readdress(b.ctx, other, "new", nil)
	equal(b, "taken", errors.Is(err, core.ErrExists), true)
	equal(b, "other user", u.ID == b.user.ID, false)
}

func testByHand(b *bench) {
	b.sent(b.answer(b.turn("go"), "1").Delivery)
	before := b.segment()
	e, m := b.inbound("from the phone")
	e.Kind, e.NativeID, m.Role = core.InByHand, "hand", core.RoleAssistant
	note := store.Note{User: b.user.ID, Identity: b.at.ID, Event: &e, Messages: []core.NewMessage{m}, Now: b.now}
	out, err := b.Note(b.ctx, note)
	b.must(err)
	again, err := b.Note(b.ctx, note)
	b.must(err)
	equal(b, "repeat", again.Duplicate, true)
	equal(b, "no turn", len(b.due(core.QueueTurn)), 0)
	got := b.message(out.Messages[0])
	equal(b, "role", got.Role, core.RoleAssistant)
	equal(b, "segment", got.Segment, before.ID)
	equal(b, "placed", got.Position > 0, true)
	next := b.turn("and now?")
	w, err := b.Window(b.ctx, next, query())
	b.must(err)
	equal(b, "shown", w.Messages[len(w.Messages)-2].Text, "from the phone")
	id, err := b.Referred(b.ctx, b.user.ID, b.at.ID, "hand")
	b.must(err)
	equal(b, "reference", id, got.ID)
}

func testStates(b *bench) {
	const account = "channel:matrix:@bot:example.org"
	get := func(key string) string {
		v, err := b.State(b.ctx, account, key)
		b.must(err)
		return v
	}
	equal(b, "nothing yet", get("token"), "")
	b.must(b.SetState(b.ctx, account, map[string]string{"token": "1", "room": "!a"}, store.Fence{}))
	fence, held, err := b.Acquire(b.ctx, account, "w1", b.now, b.now.Add(time.Second))
	b.must(err)
	equal(b, "held", held, true)
	old := store.Fence{Lease: account, Worker: "w1", N: fence}
	b.must(b.SetState(b.ctx, account, map[string]string{"token": "2", "room": ""}, old))
	equal(b, "token", get("token"), "2")
	equal(b, "removed", get("room"), "")
	b.must(b.SetState(b.ctx, account+"2", map[string]string{"token": "other"}, store.Fence{}))
	all, err := b.States(b.ctx, account)
	b.must(err)
	equal(b, "all of the account", len(all) == 1 && all["token"] == "2", true)
	_, held, err = b.Acquire(b.ctx, account, "w2", b.now.Add(time.Minute), b.now.Add(2*time.Minute))
	b.must(err)
	equal(b, "taken over", held, true)
	err = b.SetState(b.ctx, account, map[string]string{"token": "3"}, old)
	equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
	equal(b, "unchanged", get("token"), "2")
}

func testAgentKeys(b *bench) {
	seal := func(id int64) (string, error) { return "sealed " + itoa(int(id)), nil }
	mine := mustKey(b)(b.AddAgentKey(b.ctx, store.AgentKey{User: b.user.ID, Name: "mine", CreatedAt: b.now}, seal))
	u, _ := b.person("Bob", core.RoleMember, "888")
	theirs := mustKey(b)(b.AddAgentKey(b.ctx, store.AgentKey{User: u.ID, Name: "theirs", CreatedAt: b.now}, seal))
	equal(b, "unique", mine.ID == theirs.ID, false)
	equal(b, "sealed with its id", mine.Sealed, "sealed "+itoa(int(mine.ID)))
	err := b.RemoveAgentKey(b.ctx, u.ID, mine.ID)
	equal(b, "of another user", errors.Is(err, core.ErrNotFound), true)
	_, err = b.AddAgentKey(b.ctx, store.AgentKey{User: 99999, CreatedAt: b.now}, seal)
	equal(b, "of no user", errors.Is(err, core.ErrNotFound), true)
	b.must(b.RemoveAgentKey(b.ctx, b.user.ID, mine.ID))
	keys, err := b.AgentKeys(b.ctx)
	b.must(err)
	equal(b, "left", len(keys) == 1 && keys[0].ID == theirs.ID && keys[0].CreatedAt.Equal(b.now), true)
}

// mustKey returns a function that fails the test on an error.
func mustKey(b *bench) func(k store.AgentKey, err error) store.AgentKey {
	return func(k store.AgentKey, err error) store.AgentKey { b.t.Helper(); b.must(err); return k }
}

func testTranscript(b *bench) {
	e, m := b.inbound("[voice 0:03]")
	m.Attachments = []core.Attachment{{Kind: "voice", Ref: "r"}}
	out := one(b, b.Append, store.Append{User: b.user.ID, Identity: b.at.ID, Now: b.now, RunAt: b.now,
		Events: []core.Inbound{e}, Messages: []core.NewMessage{m}})
	j, err := b.Claim(b.ctx, b.due(core.QueueFetch + "telegram")[0], b.claim())
	b.must(err)
	later := b.now.Add(time.Hour)
	b.must(b.SetAttachment(b.ctx, store.Fetched{User: b.user.ID, Message: out.Messages[0],
		Attachment: core.Attachment{Kind: "voice", Ref: "r", Path: "1/v", Unheard: later}, Text: "[voice 0:03: later]",
		Tokens: 9, Lease: j.Lease}))
	equal(b, "text until then", b.message(out.Messages[0]).Text, "[voice 0:03: later]")
	equal(b, "due at once", len(b.due(core.QueueFetch+"telegram")), 0)
	b.now = later
	j, err = b.Claim(b.ctx, b.due(core.QueueFetch + "telegram")[0], b.claim())
	b.must(err)
	equal(b, "failures", j.Failures, 1)
	equal(b, "unheard", b.message(out.Messages[0]).Attachments[0].Unheard.Equal(later), true)
	f := store.Fetched{User: b.user.ID, Message: out.Messages[0], Attachment: core.Attachment{Kind: "voice", Ref: "r",
		Path: "1/v", Transcript: "buy milk"},
		Text: "[voice 0:03: buy milk]", Tokens: 9, Lease: j.Lease}
	b.must(b.SetAttachment(b.ctx, f))
	got := b.message(out.Messages[0])
	equal(b, "text", got.Text, "[voice 0:03: buy milk]")
	equal(b, "tokens", got.Tokens, 9)
	equal(b, "revision", got.Revision, 0)
	equal(b, "transcript", got.Attachments[0].Transcript, "buy milk")
}

func testRedirect(b *bench) {
	d := b.answer(b.turn("go"), "1", "2").Delivery
	b.finish(d, 0, store.PartResult{State: core.DeliveryParked, Error: "blocked"})
	other := b.identity(b.user.ID, "Ada", "999")
	to := core.NewDelivery{To: other.Address, Identity: other.ID, Kind: core.DeliverPost,
		Parts: []core.Part{{Text: "1 2"}}}
	b.must(b.Redirect(b.ctx, *d, to, b.now))
	equal(b, "old", b.state(d.ID), core.DeliveryFailed)
	next := b.takeDelivery()
	equal(b, "goes to", next.To, other.Address)
	equal(b, "same message", next.Message, d.Message)
	err := b.Redirect(b.ctx, *d, to, b.now)
	equal(b, "once", errors.Is(err, core.ErrChanged), true)
	b.sent(next)

	d = b.answer(b.turn("more"), "1", "2").Delivery
	b.finish(d, 0, sentAs("w1"))
	b.finish(d, 1, store.PartResult{State: core.DeliveryParked, Error: "blocked"})
	err = b.Redirect(b.ctx, *d, to, b.now)
	equal(b, "begun", errors.Is(err, core.ErrChanged), true)
}
