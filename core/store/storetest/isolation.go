package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func isolationCases() []testCase {
	return []testCase{
		{"reads find nothing of another user", testForeignReads},
		{"writes change nothing of another user", testForeignWrites},
		{"a turn of another user cannot be answered", testForeignTurn},
		{"tasks of another user are not changed", testForeignTasks},
	}
}

// theirs is what another user owns.
type theirs struct {
	thread   core.ThreadID
	message  core.MessageID
	segment  core.SegmentID
	loop     core.LoopID
	turn     *core.Turn
	delivery *core.Delivery
	native   string
	job      store.Job
	item     core.ItemID
	reminder core.Plan
	task     core.Plan
	window   store.Embeddable
	session  store.Session
	key      core.APIKey
	named    core.Thread
}

// victim fills the bench's user with one row of every kind, whose ids no other user has.
func (b *bench) victim() (*bench, theirs) {
	var x theirs
	for range 40 { // ids are counted per user: skip those of the attacker
		b.notice("filler", b.now.Add(time.Hour))
	}
	b.at = b.identity(b.user.ID, "Ada", "113")
	x.native = "native"
	e, m := b.inbound("secret")
	e.NativeID = x.native
	c := b.claim()
	t := one(b, b.Append, store.Append{User: b.user.ID, Identity: b.at.ID, Now: b.now, RunAt: b.now,
		Events: []core.Inbound{e}, Messages: []core.NewMessage{m}, Claim: &c}).Turn
	x.message = t.Inputs[0]
	r := b.reply(t, "secret answer")
	r.Epoch = &store.Epoch{ID: t.ID, Start: 1}
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.finalSummary(b.segment(), "secret day", []string{"secret loop"}, x.message)
	x.segment = b.segment().ID
	loops, err := b.Loops(b.ctx, b.user.ID, 1)
	b.must(err)
	x.loop = loops[0].ID
	x.delivery = out.Delivery
	b.intoWindow()
	x.window = b.pending()[0]
	b.put1(x.window, vector(7))
	x.item = b.item("secret item", x.message)
	x.reminder = b.remind("secret reminder", "", x.message)
	x.task = b.task("secret task", "0 * * * *", x.message)
	for _, table := range []string{"loops", "items", "plans", "summaries"} {
		_, err := b.DB().Exec(`UPDATE ` + table + ` SET tainted = 1`)
		b.must(err)
	}
	b.must(b.Enqueue(b.ctx, b.job("dies", 1)))
	b.must(b.Finish(b.ctx, b.user.ID, b.takeJob().Lease, "dead"))
	b.must(b.Enqueue(b.ctx, b.job("k", 1)))
	x.job = *b.takeJob()
	x.session = b.signIn("secret token")
	b.link("secret link")
	x.key = one(b, b.AddAPIKey, core.APIKey{User: b.user.ID, Name: "secret key", Hash: "secret hash", CreatedAt: b.now})
	x.named = b.named("secret name")
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "secret thread", At: b.now})
	x.turn = b.turn("secret work")
	x.thread = x.turn.Thread
	b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: x.turn.ID, Step: 0, Index: 0, Tool: "tool", Text: "secret"}))
	return b, x
}

func testForeignReads(b *bench) {
	_, x := b.victim()
	u, _ := b.person("Mallory", core.RoleMember, "666")
	me := u.ID
	_, _, err := b.Turn(b.ctx, me, x.turn.ID)
	b.notFound("turn", err)
	_, err = b.Epoch(b.ctx, me, x.turn.ID)
	b.notFound("epoch", err)
	_, err = b.Flags(b.ctx, me, x.turn.ID)
	b.notFound("flags", err)
	_, err = b.Thread(b.ctx, me, x.thread)
	b.notFound("thread", err)
	_, err = b.Segment(b.ctx, me, x.segment)
	b.notFound("segment", err)
	_, err = b.Day(b.ctx, me, dayOf(b.now).Label)
	b.notFound("day", err)
	_, err = b.Referred(b.ctx, me, b.at.ID, x.native)
	b.notFound("referred", err)
	foreign := *x.turn
	foreign.User = me
	_, err = b.Window(b.ctx, &foreign, query())
	b.notFound("window", err)
	_, ok, err := b.Lookup(b.ctx, me, x.turn.ID, 0, 0)
	b.must(err)
	equal(b, "journal", ok, false)
	b.foreignLists(me, x)
	log, err := b.Backlog(b.ctx, me, x.thread)
	b.must(err)
	equal(b, "backlog", log, store.Backlog{})
	b.foreignWeb(me, x)
	b.foreignRecall(me, x)
}

// foreignLists reads lists with another user's ids.
func (b *bench) foreignLists(me core.UserID, x theirs) {
	b.t.Helper()
	none := func(what string, n int, err error) {
		b.t.Helper()
		b.must(err)
		equal(b, what, n, 0)
	}
	ms, err := b.Messages(b.ctx, me, []core.MessageID{x.message})
	none("messages", len(ms), err)
	ms, err = b.History(b.ctx, me, x.thread, 0, 10)
	none("history", len(ms), err)
	_, err = b.History(b.ctx, me, 0, x.message, 10)
	b.notFound("history before", err)
	ms, err = b.DayMessages(b.ctx, me, x.segment, 0, 10)
	none("day's messages", len(ms), err)
	ms, err = b.DayMessagesBefore(b.ctx, me, x.segment, x.message+1, 10)
	none("day's last messages", len(ms), err)
	ss, err := b.Summaries(b.ctx, me, x.segment, 10)
	none("summaries", len(ss), err)
	ts, err := b.Turns(b.ctx, me, 10)
	none("turns", len(ts), err)
	ds, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: me, Limit: 10})
	none("deliveries", len(ds), err)
	ls, err := b.Loops(b.ctx, me, 10)
	none("loops", len(ls), err)
	hs, err := b.Threads(b.ctx, me, 10)
	none("threads", len(hs), err)
	gs, err := b.Days(b.ctx, me, "", 10)
	none("days", len(gs), err)
	used, reserved, err := b.UsageOf(b.ctx, me, dayOf(b.now).Label)
	none("usage", used+reserved, err)
	parts, err := b.UsageParts(b.ctx, me, "2000-01-01", "2100-01-01")
	none("parts of usage", len(parts), err)
}

// foreignWeb reads the web page's data with another user's ids.
func (b *bench) foreignWeb(me core.UserID, x theirs) {
	b.t.Helper()
	for _, q := range []store.TimelineQuery{{Thread: x.thread}, {Before: x.message}, {After: x.message}} {
		q.User, q.Limit = me, 10
		_, _, err := b.Timeline(b.ctx, q)
		b.notFound("timeline", err)
	}
	ss, err := b.Sessions(b.ctx, me, b.now)
	b.must(err)
	ks, err := b.APIKeys(b.ctx, me)
	b.must(err)
	sent, err := b.Sent(b.ctx, me, []core.MessageID{x.delivery.Message})
	b.must(err)
	rs, err := b.Revisions(b.ctx, me, x.message)
	b.must(err)
	running, err := b.Running(b.ctx, me, x.thread)
	b.must(err)
	us, err := b.UsageDays(b.ctx, me, "2000-01-01", "2100-01-01")
	b.must(err)
	equal(b, "found", len(ss)+len(ks)+len(sent)+len(rs)+len(running)+len(us), 0)
}

// foreignRecall searches for another user's messages, summaries and items.
func (b *bench) foreignRecall(me core.UserID, x theirs) {
	b.t.Helper()
	counted := func(what string, n int, err error) {
		b.t.Helper()
		b.must(err)
		equal(b, what, n, 0)
	}
	b.indexAll()
	for _, kind := range []core.DocKind{core.DocMessage, core.DocSummary, core.DocItem} {
		ps, err := b.Match(b.ctx, store.MatchQuery{User: me, Kind: kind, Terms: []string{"secret"}, Limit: 100})
		counted("postings of "+string(kind), len(ps), err)
	}
	d, err := b.Directory(b.ctx, me)
	counted("directory", len(d.Messages), err)
	sums, err := b.SummariesOf(b.ctx, me, []core.SegmentID{x.segment})
	counted("summaries to show", len(sums), err)
	for _, kind := range []core.VectorKind{core.VectorWindow, core.VectorItem} {
		near, err := b.Nearest(b.ctx, store.NearestQuery{User: me, Kind: kind, Config: config, Vector: vector(7), K: 10})
		counted("nearest "+string(kind), len(near), err)
	}
	ws, err := b.Windows(b.ctx, me, []core.WindowID{core.WindowID(x.window.ID)})
	counted("windows", len(ws), err)
	pending, err := b.PendingEmbeddings(b.ctx, me, config, 10)
	counted("pending embeddings", len(pending), err)
	counts, err := b.EmbeddingCounts(b.ctx, me, config)
	counted("embeddings", len(counts), err)
	items, err := b.Items(b.ctx, store.ItemQuery{User: me, IDs: []core.ItemID{x.item}, Limit: 10})
	counted("items", len(items), err)
	themes, err := b.Themes(b.ctx, me, 10)
	counted("themes", len(themes), err)
	rs, err := b.OpenPlans(b.ctx, me, core.PlanReminder, 10)
	counted("reminders", len(rs), err)
	ks, err := b.OpenPlans(b.ctx, me, core.PlanTask, 10)
	counted("tasks", len(ks), err)
	runs, err := b.Runs(b.ctx, me, x.task.ID, 10)
	counted("runs", len(runs), err)
	ds, err := b.Sent(b.ctx, me, []core.MessageID{x.delivery.Message})
	counted("deliveries of a message", len(ds), err)
	traces, err := b.Traces(b.ctx, me, "secret")
	if b.must(err); len(traces) > 0 && traces[0].ID != 0 {
		b.t.Errorf("traces: got %+v", traces)
	}
	_, err = b.Item(b.ctx, me, x.item)
	_, err2 := b.SameItem(b.ctx, me, "secret item")
	_, err3 := b.Plan(b.ctx, me, x.reminder.ID)
	_, err4 := b.Unwindowed(b.ctx, me, 10)
	_, err5 := b.Plan(b.ctx, me, x.task.ID)
	for _, err := range []error{err, err2, err3, err4, err5} {
		if !errors.Is(err, core.ErrNotFound) {
			b.t.Errorf("got %v, want ErrNotFound", err)
		}
	}
}

func testForeignWrites(b *bench) {
	_, x := b.victim()
	u, i := b.person("Mallory", core.RoleMember, "666")
	m := b.as(u, i)
	me := u.ID
	b.now = b.now.Add(time.Hour) // all leases have expired
	before := Dump(b.t, b.DB())
	note := func(e core.Effect) error {
		_, err := b.Note(b.ctx, store.Note{User: me, Identity: i.ID, Effects: []core.Effect{e}, Now: b.now})
		return err
	}
	for what, err := range map[string]error{
		"redact":       note(effect.Redact{Message: x.message, At: b.now}),
		"close loop":   note(effect.CloseLoop{Loop: x.loop, At: b.now}),
		"use thread":   note(effect.UseThread{Identity: i.ID, Thread: x.thread}),
		"archive item": note(effect.ArchiveItem{Item: x.item, At: b.now}),
		"edit item":    note(effect.EditItem{Item: x.item, Content: "mine now", Digest: "d666", At: b.now}),
		"delete item":  note(effect.DeleteItem{Item: x.item, At: b.now}),
		"regenerate":   note(effect.Regenerate{Message: x.message, At: b.now}),
		"choose":       note(effect.ChooseAnswer{Message: x.message, Turn: x.turn.ID, At: b.now}),
		"undo":         note(effect.Undo{X: effect.Undoable{Kind: effect.UndoItem, ID: int64(x.item)}, At: b.now}),
		"cancel":       note(effect.CancelPlan{Plan: x.reminder.ID, At: b.now}),
		"snooze":       note(effect.SnoozePlan{Plan: x.reminder.ID, Until: b.now.Add(time.Hour), At: b.now}),
		"fire": b.FirePlan(b.ctx, store.FirePlan{User: me, Run: core.Run{Plan: x.reminder.ID, Due: x.reminder.DueAt},
			Due: x.reminder.DueAt, Now: b.now}),
		"reserve": second(b.Reserve(b.ctx, me, x.job.Lease, dayOf(b.now).Label, 1, 10)),
		"put windows": b.PutWindows(b.ctx, store.PutWindows{User: me, Segment: x.segment, Read: x.window.Messages,
			Config: config, Now: b.now, Windows: []store.TextWindow{{First: x.message, Last: x.message}}}),
		"edit":      m.edit(x.native, "e666", "mine now"),
		"redeliver": b.Redeliver(b.ctx, me, x.delivery.ID, b.now),
		"revive":    b.Revive(b.ctx, me, x.job.ID, b.now),
		"extend":    b.Extend(b.ctx, me, x.job.Lease, b.now.Add(time.Hour)),
		"finish":    b.Finish(b.ctx, me, x.job.Lease, ""),
		"retry job": b.RetryJob(b.ctx, me, x.job.Lease, b.now, ""),
		"fail summary": b.FailSummary(b.ctx, store.FailedSummary{User: me, Segment: x.segment, Lease: x.job.Lease,
			Cause: "x", Now: b.now}),
		"post":           b.PutPost(b.ctx, store.PutPost{User: me, Segment: x.segment, State: core.PostSkipped, Now: b.now}),
		"set attachment": b.SetAttachment(b.ctx, store.Fetched{User: me, Message: x.message, Lease: x.job.Lease}),
	} {
		if err == nil {
			b.t.Errorf("%s: got no error", what)
		}
	}
	b.notFound("revoke", b.RevokeAPIKey(b.ctx, me, x.key.ID))
	lost := m.batch(true, "into theirs")
	lost.Thread = x.named.ID
	b.notFound("append", second(b.Append(b.ctx, lost)))
	b.must(b.UseAPIKey(b.ctx, me, x.key.ID, b.now))
	b.must(b.UseSession(b.ctx, me, x.session.ID, b.now, b.now))
	b.must(b.EndSession(b.ctx, me, x.session.ID))
	b.must(b.EndSession(b.ctx, me, 0))
	b.must(note(effect.StopTurn{Thread: x.thread}))
	b.must(note(effect.MentionLoop{Loop: x.loop, At: b.now}))
	b.must(b.PutVectors(b.ctx, me, config, []store.EmbeddingResult{{Kind: core.VectorWindow, ID: x.window.ID,
		Vector: vector(1)}}, b.now))
	b.must(note(effect.RetryTurn{Thread: x.thread, At: b.now}))
	b.must(b.SetBlocked(b.ctx, me, b.at.ID, true, b.now))
	m.claimForeign(x)
	b.unchanged(before)
}

// claimForeign tries to claim another user's jobs.
func (b *bench) claimForeign(x theirs) {
	b.t.Helper()
	for _, l := range []core.Lease{x.job.Lease, x.turn.Lease, x.delivery.Lease} {
		ref := store.JobRef{User: b.user.ID, ID: l.Job, Queue: "q", Key: l.Key, Ref: int64(x.delivery.ID)}
		j, err := b.Claim(b.ctx, ref, b.claim())
		b.must(err)
		equal(b, "job", j == nil, true)
		t, _, err := b.ClaimTurn(b.ctx, ref, b.claim(), store.Budget{})
		b.must(err)
		equal(b, "turn", t == nil, true)
		d, err := b.ClaimDelivery(b.ctx, ref, b.claim())
		b.must(err)
		equal(b, "delivery", d == nil, true)
		b.must(b.Abandon(b.ctx, b.user.ID, b.claim().Worker, b.now.Add(time.Hour)))
	}
}

func testForeignTurn(b *bench) {
	_, x := b.victim()
	u, _ := b.person("Mallory", core.RoleMember, "666")
	before := Dump(b.t, b.DB())
	turn := *x.turn
	turn.User = u.ID
	d := *x.delivery
	d.User = u.ID
	_, err := b.Commit(b.ctx, b.reply(&turn, "mine"), nil)
	equal(b, "commit", err != nil, true)
	equal(b, "retry", b.RetryTurn(b.ctx, &turn, b.now, "x") != nil, true)
	equal(b, "reserve more", second(b.ReserveMore(b.ctx, &turn, store.Budget{TokensPerDay: 10, Reserve: 1})) != nil, true)
	_, err = b.FinishPart(b.ctx, &d, 0, store.PartResult{State: core.DeliverySent}, b.now)
	equal(b, "finish part", err != nil, true)
	p := store.PutSummary{Summary: core.Summary{User: u.ID, Segment: x.segment, Markdown: "mine"},
		Lease: x.job.Lease, Now: b.now}
	equal(b, "put summary", b.PutSummary(b.ctx, p) != nil, true)
	b.unchanged(before)
}

func testForeignTasks(b *bench) {
	_, x := b.victim()
	u, i := b.person("Mallory", core.RoleMember, "666")
	b.now = b.now.Add(time.Hour)
	before := valueOf(b.DuePlans(b.ctx, b.now, 10))
	note := func(e core.Effect) error {
		return second(b.Note(b.ctx, store.Note{User: u.ID, Identity: i.ID, Effects: []core.Effect{e}, Now: b.now}))
	}
	for what, err := range map[string]error{
		"fire": b.FirePlan(b.ctx, store.FirePlan{User: u.ID, Due: x.task.DueAt, Now: b.now,
			Run: core.Run{Plan: x.task.ID, Due: x.task.DueAt, State: core.RunSkipped}}),
		"cancel": note(effect.CancelPlan{Plan: x.task.ID, At: b.now}),
		"resume": note(effect.ResumePlan{Plan: x.task.ID, Due: b.now, At: b.now}),
	} {
		if err == nil {
			b.t.Errorf("%s: no error", what)
		}
	}
	b.must(note(effect.PausePlan{Plan: x.task.ID, At: b.now}))
	equal(b, "due before", len(before), 2) // a reminder and a task
	equal(b, "due after", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 2)
}
