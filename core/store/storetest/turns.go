package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func turnCases() []testCase {
	return []testCase{
		{"a lapsed turn is taken over and its old holder is fenced", testFence},
		{"a held turn cannot be claimed", testHeldTurn},
		{"messages join a running turn", testJoin},
		{"a failed turn leaves its inputs to the next one", testFailed},
		{"a failed turn does not hold up another identity", testFailedBeside},
		{"each identity's messages are tried, though the first fail", testFailedTogether},
		{"refused messages wait for their identity", testRefused},
		{"a turn that failed for good does not hold up the next one", testDropped},
		{"a turn that waits for a retry keeps its inputs and the cause", testRetry},
		{"Commit without a claim leaves the delivery to a worker", testCommitUnclaimed},
		{"Commit behind another delivery waits for it", testCommitBehind},
		{"a reply requests a summary after enough messages", testSummarizeAfter},
		{"a reply claims the summary that it requests", testClaimedSummary},
		{"tokens are reserved before the call and settled after it", testBudget},
		{"the usage of a failed attempt comes out of its reservation", testSpentAttempt},
		{"usage is counted by model and purpose", testUsageParts},
		{"the calls of a turn are counted for their model and purpose", testUsageOfTurn},
		{"a job reserves tokens and releases them", testJobBudget},
		{"turns over the rate are postponed", testRate},
		{"effects of a reply are committed with it", testCommitEffects},
		{"a turn shows its snapshot and epoch", testTurnReader},
	}
}

// testJoin checks that messages of the turn's identity and day join it, in order, and no others.
func testJoin(b *bench) {
	join := func(t *core.Turn) bool {
		b.t.Helper()
		joined, err := b.JoinTurn(b.ctx, t, b.now)
		b.must(err)
		return joined
	}
	more := func(t *core.Turn) bool {
		b.t.Helper()
		f, err := b.Flags(b.ctx, b.user.ID, t.ID)
		b.must(err)
		return f.More
	}
	t := b.turn("one")
	equal(b, "more", more(t), false)
	equal(b, "joined by nothing", join(t), false)
	b.say(true, "two", "three")
	equal(b, "more", more(t), true)
	equal(b, "joined", join(t), true)
	equal(b, "inputs", len(t.Inputs), 3)
	stored, _, err := b.Turn(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "stored inputs", len(stored.Inputs), 3)
	equal(b, "joined again", join(t), false)
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	equal(b, "window", len(w.Messages), 3)
	old := *t
	b.now = b.now.Add(2 * time.Minute)
	fresh := b.take()
	equal(b, "inputs after a crash", len(fresh.Inputs), 3)
	_, err = b.JoinTurn(b.ctx, &old, b.now)
	equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
	b.sent(b.answer(fresh, "to all three").Delivery)
	equal(b, "due after the answer", len(b.due(turns)), 0)
	b.wantTexts("one", "two", "three", "to all three")

	t = b.turn("four")
	a := b.batch(true, "alone")
	a.Messages[0].Solo = true
	b.must(second(b.Append(b.ctx, a)))
	equal(b, "more of what is answered alone", more(t), false)
	equal(b, "joined by it", join(t), false)
	b.sent(b.answer(t, "to four").Delivery)
	t = b.take()
	equal(b, "solo", t.Solo, true)
	b.say(true, "five")
	equal(b, "joined what is answered alone", join(t), false)
	b.sent(b.answer(t, "to the one alone").Delivery)
	t = b.take()
	equal(b, "the next turn", b.message(t.Inputs[0]).Text, "five")
	b.now = b.now.Add(24 * time.Hour)
	b.say(true, "six")
	equal(b, "joined by another day", join(t), false)
}

func testFence(b *bench) {
	old := b.turn("hello")
	equal(b, "due before the lease lapsed", len(b.due(turns)), 0)
	b.now = b.now.Add(2 * time.Minute)
	fresh := b.take()
	equal(b, "turn", fresh.ID, old.ID)
	equal(b, "inputs", fresh.Inputs[0], old.Inputs[0])
	before := Dump(b.t, b.DB())
	_, err := b.Commit(b.ctx, b.reply(old, "from the dead"), nil)
	for n, err := range []error{err, b.RetryTurn(b.ctx, old, b.now, "x"), b.Extend(b.ctx, b.user.ID, old.Lease, b.now),
		b.Finish(b.ctx, b.user.ID, old.Lease, ""), b.RetryJob(b.ctx, b.user.ID, old.Lease, b.now, "")} {
		if !errors.Is(err, core.ErrFenced) {
			b.t.Errorf("method %d: got %v, want ErrFenced", n, err)
		}
	}
	b.unchanged(before)
	b.must(b.Extend(b.ctx, b.user.ID, fresh.Lease, b.now.Add(time.Hour)))
	b.now = b.now.Add(30 * time.Minute)
	equal(b, "due while the lease is extended", len(b.due(turns)), 0)
	b.answer(fresh, "hi")
	_, err = b.Commit(b.ctx, b.reply(fresh, "twice"), nil)
	equal(b, "fenced afterwards", errors.Is(err, core.ErrFenced), true)
	b.wantTexts("hello", "hi")
}

func testHeldTurn(b *bench) {
	b.say(false, "hello")
	ref := b.only(turns)
	b.take()
	t, p, err := b.ClaimTurn(b.ctx, ref, b.claim(), store.Budget{})
	b.must(err)
	equal(b, "taken twice", t == nil && p == nil, true)
	ref.ID += 1000
	t, _, err = b.ClaimTurn(b.ctx, ref, b.claim(), store.Budget{})
	b.must(err)
	equal(b, "no such job", t == nil, true)
}

func testFailed(b *bench) {
	t := b.turn("one")
	r := b.reply(t, "I could not answer")
	r.State, r.Error, r.Messages[0].Kind = core.TurnFailed, "down", core.KindNotice
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	equal(b, "again", out.Again, false)
	equal(b, "due", len(b.due(turns)), 0)
	equal(b, "position", b.message(t.Inputs[0]).Position, 0)
	b.now = b.now.Add(time.Second)
	equal(b, "claimed at once beside pending ones", b.say(true, "two").Turn == nil, true)
	next := b.take()
	equal(b, "inputs", len(next.Inputs), 2)
	equal(b, "other turn", next.ID != t.ID, true)
	b.answer(next, "both")
}

func testFailedBeside(b *bench) {
	t := b.turn("one")
	r := b.reply(t, "I could not answer")
	r.State, r.Error, r.Messages[0].Kind = core.TurnFailed, "refused", core.KindNotice
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	other := b.as(b.user, b.identity(b.user.ID, "beside", "99"))
	said := other.say(false, "two")
	b.n += 10
	b.say(false, "three")
	next := b.take()
	equal(b, "inputs", len(next.Inputs), 1)
	equal(b, "first the other's", next.Inputs[0], said.Messages[0])
	equal(b, "its address", next.Address.External, "99")
	out := b.answer(next, "of the second")
	equal(b, "then what failed", out.Again, true)
	last := b.take()
	equal(b, "with what followed it", len(last.Inputs), 2)
	equal(b, "begun with", last.Inputs[0], t.Inputs[0])
	b.answer(last, "both")
}

func testFailedTogether(b *bench) {
	other := b.as(b.user, b.identity(b.user.ID, "beside", "99"))
	b.say(false, "one")
	said := other.say(false, "two")
	t := b.take()
	out := b.fail(t, false)
	equal(b, "again", out.Again, true)
	t = b.take()
	equal(b, "inputs", len(t.Inputs), 1)
	equal(b, "the other's", t.Inputs[0], said.Messages[0])
	out = b.fail(t, false)
	equal(b, "again when all have failed", out.Again, false)
}

func testRefused(b *bench) {
	t := b.turn("one")
	b.fail(t, true)
	other := b.as(b.user, b.identity(b.user.ID, "beside", "99"))
	other.say(false, "two")
	out := b.answer(b.take(), "of the second")
	equal(b, "again after another's", out.Again, false)
	equal(b, "due", len(b.due(turns)), 0)
	b.effects(effect.RetryTurn{At: b.now})
	t = b.take()
	equal(b, "retried", len(t.Inputs), 1)
	b.fail(t, true)
	b.n += 10
	b.say(false, "three")
	t = b.take()
	equal(b, "with what followed it", len(t.Inputs), 2)
	b.answer(t, "both")
}

// fail ends a turn without an answer.
func (b *bench) fail(t *core.Turn, refused bool) store.Committed {
	b.t.Helper()
	r := b.reply(t, "I could not answer")
	r.State, r.Error, r.Refused, r.Messages[0].Kind = core.TurnFailed, "no", refused, core.KindNotice
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	return out
}

func testDropped(b *bench) {
	t := b.turn("one")
	b.say(false, "two")
	r := b.reply(t, "I will not answer")
	r.State, r.Error, r.Drop, r.Messages[0].Kind = core.TurnFailed, "refused", true, core.KindNotice
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	equal(b, "again", out.Again, true)
	equal(b, "its turn", b.message(t.Inputs[0]).Turn, t.ID)
	equal(b, "its place in prompts", b.message(t.Inputs[0]).Position, 0)
	next := b.take()
	equal(b, "inputs", len(next.Inputs), 1)
	b.answer(next, "of the second only")
}

func testRetry(b *bench) {
	t := b.turn("one")
	at := b.now.Add(time.Second)
	b.must(b.RetryTurn(b.ctx, t, at, "model down"))
	equal(b, "due early", len(b.due(turns)), 0)
	b.now = at
	again := b.take()
	equal(b, "turn", again.ID, t.ID)
	equal(b, "failures", again.Failures, 1)
	equal(b, "error", again.LastError, "model down")
	equal(b, "started", again.StartedAt.Equal(t.StartedAt), true)
	equal(b, "address", again.Address, t.Address)
	equal(b, "mode", again.Mode, core.ModeContinuous)
	b.answer(again, "ok")
}

func testCommitUnclaimed(b *bench) {
	out, err := b.Commit(b.ctx, b.reply(b.turn("one"), "ok"), nil)
	b.must(err)
	equal(b, "claimed", out.Delivery == nil, true)
	d := b.takeDelivery()
	equal(b, "state", d.Parts[0].State, core.DeliverySending)
	b.sent(d)
}

func testCommitBehind(b *bench) {
	first := b.answer(b.turn("one"), "1").Delivery
	equal(b, "claimed behind", b.answer(b.turn("two"), "2").Delivery == nil, true)
	equal(b, "due", len(b.due(deliveries)), 0)
	b.sent(first)
	d := b.takeDelivery()
	equal(b, "text", d.Parts[0].Part.Text, "2")
	b.sent(d)
}

func testSummarizeAfter(b *bench) {
	for n, want := range []int{0, 1, 1} {
		r := b.reply(b.turn("hm"), "ok")
		r.SummarizeAfter = 4
		_, err := b.Commit(b.ctx, r, nil)
		b.must(err)
		equal(b, "summary jobs after turn "+itoa(n), len(b.due(core.QueueSummarize)), want)
	}
	id := b.segment()
	equal(b, "since", id.SinceSummary, 6)
}

func testClaimedSummary(b *bench) {
	c := b.claim()
	commit := func() *store.Job {
		r := b.reply(b.turn("hm"), "ok")
		r.SummarizeAfter, r.Summary = 2, &c
		out, err := b.Commit(b.ctx, r, nil)
		b.must(err)
		return out.Summary
	}
	j := commit()
	if j == nil || j.Ref != int64(b.segment().ID) || j.Worker != c.Worker || !j.Lease.Until.Equal(c.Until) {
		b.t.Fatalf("the summary is not claimed: %+v", j)
	}
	other, err := b.Claim(b.ctx, store.JobRef{User: j.User, ID: j.ID, Queue: j.Queue, Key: j.Key}, c)
	b.must(err)
	equal(b, "claimed twice", other == nil, true)
	equal(b, "claimed behind", commit() == nil, true)
	b.must(b.Extend(b.ctx, j.User, j.Lease, c.Until))
	b.must(b.Finish(b.ctx, j.User, j.Lease, ""))
	equal(b, "due after it", b.only(core.QueueSummarize).Ref, j.Ref)
	equal(b, "claimed although one waits", commit() == nil, true)
}

func testCommitEffects(b *bench) {
	t := b.turn("call me Countess")
	r := b.reply(t, "yes")
	r.Effects = []core.Effect{effect.SetName{Name: "Countess"},
		effect.SetSettings{Settings: core.Settings{Zone: "Europe/Paris"}}, effect.RenameThread{Thread: 9999, Title: "x"}}
	_, err := b.Commit(b.ctx, r, nil)
	equal(b, "a thread that is not there", errors.Is(err, core.ErrNotFound), true)
	u, err := b.User(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "name after an error", u.Name, "Ada")
	// What ended while the model answered costs no reply.
	r.Effects = append(r.Effects[:2], effect.CloseLoop{Loop: 9999, At: b.now}, effect.CancelPlan{Plan: 9999, At: b.now})
	_, err = b.Commit(b.ctx, r, nil)
	b.must(err)
	u, err = b.User(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "name", u.Name, "Countess")
	equal(b, "zone", u.Settings.Zone, "Europe/Paris")
}

func testTurnReader(b *bench) {
	t := b.turn("one")
	_, sn, err := b.Turn(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "snapshot before", sn == nil, true)
	r := b.reply(t, "ok")
	r.Snapshot.Total, r.Epoch = 123, &store.Epoch{ID: t.ID, Start: 7, Zone: "UTC"}
	_, err = b.Commit(b.ctx, r, nil)
	b.must(err)
	got, sn, err := b.Turn(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "total", sn.Total, 123)
	equal(b, "state", got.State, core.TurnDone)
	e, err := b.Epoch(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "epoch", e.Start, 7)
	_, err = b.Epoch(b.ctx, b.user.ID, t.ID+1000)
	equal(b, "no epoch", errors.Is(err, core.ErrNotFound), true)
	b.now = b.now.Add(time.Second)
	next := b.turn("two")
	list, err := b.Turns(b.ctx, b.user.ID, 1)
	b.must(err)
	equal(b, "newest", list[0].ID, next.ID)
}

func askCases() []testCase {
	return []testCase{
		{"stop reaches a running turn", func(b *bench) {
			t := b.turn("one")
			out := b.effects(effect.StopTurn{})
			equal(b, "asked", out.StopTurns[0], t.ID)
			f, err := b.Flags(b.ctx, b.user.ID, t.ID)
			b.must(err)
			equal(b, "flags", f, store.TurnFlags{Stop: true})
		}},
		{"stop ends a turn that waits for a retry", testStopWaiting},
		{"stop without a turn does nothing", func(b *bench) {
			equal(b, "asked", len(b.effects(effect.StopTurn{}).StopTurns), 0)
		}},
		{"retry restarts a running turn", func(b *bench) {
			t := b.turn("one")
			b.effects(effect.RetryTurn{At: b.now})
			f, err := b.Flags(b.ctx, b.user.ID, t.ID)
			b.must(err)
			equal(b, "flags", f, store.TurnFlags{Restart: 1})
		}},
		{"retry makes a waiting turn run now", func(b *bench) {
			t := b.turn("one")
			b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Hour), "down"))
			b.effects(effect.RetryTurn{At: b.now})
			b.answer(b.take(), "ok")
		}},
		{"retry starts a turn for the inputs of a failed one", testRetryFailed},
		{"concurrent calls never get more than the budget", testReserveCalls},
		{"the egress of a day is bounded, and can be given back", testTakeEgress},
		{"concurrent processes never get more tokens than there are", testGrants},
		{"a grant is released when its lease ends", testGrantLapses},
		{"a backlog shows what waits and what runs", testBacklog},
	}
}

func testStopWaiting(b *bench) {
	a := b.batch(true, "one")
	a.Budget = store.Budget{TokensPerDay: 1000, Reserve: 100, Day: dayOf(b.now).Label, NextDay: dayOf(b.now).End}
	t := one(b, b.Append, a).Turn
	b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Hour), "down"))
	b.say(true, "two")
	b.effects(effect.StopTurn{})
	got, _, err := b.Turn(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "state", got.State, core.TurnStopped)
	next := b.take()
	equal(b, "inputs", len(next.Inputs), 1)
	b.answer(next, "ok")
}

func testRetryFailed(b *bench) {
	t := b.turn("one")
	_, err := b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	b.effects(effect.RetryTurn{At: b.now})
	b.effects(effect.RetryTurn{At: b.now})
	b.answer(b.take(), "ok")
	b.effects(effect.RetryTurn{At: b.now})
	equal(b, "due without messages", len(b.due(turns)), 0)
}

func testBacklog(b *bench) {
	want := func(what string, w store.Backlog) {
		b.t.Helper()
		got, err := b.Backlog(b.ctx, b.user.ID, 0)
		b.must(err)
		equal(b, what, got, w)
	}
	want("idle", store.Backlog{})
	t := b.turn("one")
	b.say(true, "two")
	want("running", store.Backlog{Pending: 1, Turn: true, Running: true})
	b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Hour), "down"))
	want("waiting", store.Backlog{Pending: 1, Turn: true})
}
