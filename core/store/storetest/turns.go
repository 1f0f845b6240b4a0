package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
)

func turnCases() []testCase {
	return []testCase{
		{"a lapsed turn is taken over and its old holder is fenced", testFence},
		{"a turn that is held is not to be had", testHeldTurn},
		{"a failed turn gives its inputs back to the next one", testFailed},
		{"a turn to be tried again keeps its inputs and says why", testRetry},
		{"Commit without a claim leaves the delivery to a worker", testCommitUnclaimed},
		{"Commit behind another delivery waits for it", testCommitBehind},
		{"a reply asks for a summary when enough was said", testSummarizeAfter},
		{"tokens are reserved before the call and settled after it", testBudget},
		{"what a failed attempt took comes out of what was reserved", testSpentAttempt},
		{"a job reserves tokens and gives them back", testJobBudget},
		{"turns over the rate are postponed", testRate},
		{"effects of a reply are committed with it", testCommitEffects},
		{"a turn shows its snapshot and epoch", testTurnReader},
	}
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
	t, p, err := b.ClaimTurn(b.ctx, ref, b.claim(), core.Budget{})
	b.must(err)
	equal(b, "taken twice", t == nil && p == nil, true)
	ref.ID += 1000
	t, _, err = b.ClaimTurn(b.ctx, ref, b.claim(), core.Budget{})
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

func testBudget(b *bench) {
	day := dayOf(b.now)
	limit := core.Budget{TokensPerDay: 1000, Reserve: 600, Day: day.Label, NextDay: day.End}
	a := b.batch(true, "one")
	a.Budget = limit
	t := one(b, b.Append, a).Turn
	used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
	b.must(err)
	equal(b, "used", used, 0)
	equal(b, "reserved", reserved, 600)
	equal(b, "more than there is", b.reserve(600, 1000), false)
	ok, err := b.ReserveMore(b.ctx, t, core.Budget{TokensPerDay: 1000, Reserve: 600})
	b.must(err)
	equal(b, "more of the turn than there is", ok, false)
	ok, err = b.ReserveMore(b.ctx, t, core.Budget{TokensPerDay: 1000, Reserve: 300})
	b.must(err)
	equal(b, "more of the turn", ok, true)
	equal(b, "reserved for the turn", t.Reserved, 900)
	r := b.reply(t, "ok")
	r.Usage = core.Usage{Prompt: 450, Completion: 100}
	_, err = b.Commit(b.ctx, r, nil)
	b.must(err)
	used, reserved, err = b.UsageOf(b.ctx, b.user.ID, day.Label)
	b.must(err)
	equal(b, "used", used, 550)
	equal(b, "reserved", reserved, 0)

	a = b.batch(true, "little")
	a.Budget = limit
	a.Budget.Least = 200
	little := one(b, b.Append, a).Turn
	if little == nil || little.Reserved != 200 {
		b.t.Fatalf("got %+v, want a turn with the least", little)
	}
	_, err = b.Commit(b.ctx, b.reply(little, "ok"), nil)
	b.must(err)

	a = b.batch(true, "two")
	a.Budget = limit
	out := one(b, b.Append, a)
	if out.Turn != nil || out.Postponed == nil || !out.Postponed.Budget || !out.Postponed.Until.Equal(day.End) {
		b.t.Fatalf("got %+v, want it postponed to tomorrow", out)
	}
	equal(b, "due today", len(b.due(turns)), 0)
	b.now = day.End
	tomorrow := core.Budget{TokensPerDay: 1000, Reserve: 600, Day: dayOf(b.now).Label, NextDay: dayOf(b.now).End}
	claimed, p, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), tomorrow)
	b.must(err)
	equal(b, "postponed", p == nil, true)
	b.answer(claimed, "late")
	b.must(b.Spend(b.ctx, b.user.ID, "2027-01-01", core.Usage{Prompt: 10}))
}

func testSpentAttempt(b *bench) {
	day := dayOf(b.now)
	a := b.batch(true, "one")
	a.Budget = core.Budget{TokensPerDay: 1000, Reserve: 600, Day: day.Label, NextDay: day.End}
	t := one(b, b.Append, a).Turn
	for _, want := range [][2]int{{250, 350}, {500, 100}, {950, 0}} { // used, reserved
		before, _, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
		b.must(err)
		t.Used, t.Today = core.Usage{Prompt: want[0] - before - 50, Completion: 50}, day.Label
		b.must(b.RetryTurn(b.ctx, t, b.now, "no connection"))
		used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
		b.must(err)
		equal(b, "used and reserved", [2]int{used, reserved}, want)
		t, _, err = b.ClaimTurn(b.ctx, b.only(turns), b.claim(), a.Budget)
		b.must(err)
		equal(b, "reserved for the turn", t.Reserved, want[1])
	}
	r := b.reply(t, "ok")
	r.Usage = core.Usage{Prompt: 40}
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
	b.must(err)
	equal(b, "in the end", [2]int{used, reserved}, [2]int{990, 0})
}

// reserve reserves tokens of today for a job.
func (b *bench) reserve(n, limit int) bool {
	b.t.Helper()
	ok, err := b.Reserve(b.ctx, b.user.ID, b.summaryJob(b.segment()), dayOf(b.now).Label, n, limit)
	b.must(err)
	return ok
}

func testJobBudget(b *bench) {
	b.exchange("one", "1")
	l := b.summaryJob(b.segment())
	day := dayOf(b.now).Label
	for _, n := range []int{5000, 300, 400} { // the first call of a day may be over
		ok, err := b.Reserve(b.ctx, b.user.ID, l, day, n, 1000)
		b.must(err)
		equal(b, "reserved", ok, true)
		_, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
		b.must(err)
		equal(b, "in place of what it had", reserved, n)
	}
	b.must(b.RetryJob(b.ctx, b.user.ID, l, b.now, ""))
	_, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
	b.must(err)
	equal(b, "given back", reserved, 0)
	j, err := b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	equal(b, "failures after it was put off", j.Failures, 0)
	b.must(b.RetryJob(b.ctx, b.user.ID, j.Lease, b.now, "broken"))
	j, err = b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	equal(b, "failures", j.Failures, 1)
	equal(b, "attempts", j.Lease.Attempt, 3)
	if _, err := b.Reserve(b.ctx, b.user.ID, l, day, 1, 1000); !errors.Is(err, core.ErrFenced) {
		b.t.Errorf("an old lease reserves: got %v, want ErrFenced", err)
	}
}

func testRate(b *bench) {
	limit := core.Budget{TurnsPerMinute: 2}
	for n := range 3 {
		a := b.batch(true, "hm")
		a.Budget = limit
		out := one(b, b.Append, a)
		if n < 2 {
			b.sent(b.answer(out.Turn, "ok").Delivery)
			b.now = b.now.Add(10 * time.Second)
			continue
		}
		equal(b, "turn", out.Turn == nil, true)
		equal(b, "until", out.Postponed.Until.Equal(start().Add(time.Minute)), true)
		equal(b, "budget", out.Postponed.Budget, false)
	}
	a := b.batch(false, "hm")
	one(b, b.Append, a)
	t, p, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), limit)
	b.must(err)
	equal(b, "postponed", t == nil && p != nil, true)
	b.now = start().Add(time.Minute)
	t, _, err = b.ClaimTurn(b.ctx, b.only(turns), b.claim(), limit)
	b.must(err)
	equal(b, "inputs", len(t.Inputs), 2)
}

func testCommitEffects(b *bench) {
	t := b.turn("call me Countess")
	r := b.reply(t, "yes")
	r.Effects = []core.Effect{core.SetName{Name: "Countess"},
		core.SetSettings{Settings: core.Settings{Zone: "Europe/Paris"}}, core.CloseLoop{Loop: 9999, At: b.now}}
	_, err := b.Commit(b.ctx, r, nil)
	equal(b, "a loop that is not there", errors.Is(err, core.ErrNotFound), true)
	u, err := b.User(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "name after an error", u.Name, "Ada")
	r.Effects = r.Effects[:2]
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
	r.Snapshot.Total, r.Epoch = 123, &core.Epoch{ID: t.ID, Start: 7, Zone: "UTC"}
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
			out := b.effects(core.StopTurn{})
			equal(b, "asked", out.StopTurns[0], t.ID)
			f, err := b.Flags(b.ctx, b.user.ID, t.ID)
			b.must(err)
			equal(b, "flags", f, core.TurnFlags{Stop: true})
		}},
		{"stop ends a turn that waits to be tried again", testStopWaiting},
		{"stop without a turn does nothing", func(b *bench) {
			equal(b, "asked", len(b.effects(core.StopTurn{}).StopTurns), 0)
		}},
		{"retry restarts a running turn", func(b *bench) {
			t := b.turn("one")
			b.effects(core.RetryTurn{At: b.now})
			f, err := b.Flags(b.ctx, b.user.ID, t.ID)
			b.must(err)
			equal(b, "flags", f, core.TurnFlags{Restart: 1})
		}},
		{"retry makes a waiting turn run now", func(b *bench) {
			t := b.turn("one")
			b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Hour), "down"))
			b.effects(core.RetryTurn{At: b.now})
			b.answer(b.take(), "ok")
		}},
		{"retry starts a turn for what a failed one gave back", testRetryFailed},
		{"calls that ask for the budget at once get no more than there is", testReserveCalls},
		{"what goes out in a day is bounded, and given back", testTakeEgress},
		{"processes that ask for tokens at once get no more than there are", testGrants},
		{"what a process was granted is free when its lease is over", testGrantLapses},
		{"a backlog tells what waits and what runs", testBacklog},
	}
}

func testStopWaiting(b *bench) {
	a := b.batch(true, "one")
	a.Budget = core.Budget{TokensPerDay: 1000, Reserve: 100, Day: dayOf(b.now).Label, NextDay: dayOf(b.now).End}
	t := one(b, b.Append, a).Turn
	b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Hour), "down"))
	b.say(true, "two")
	b.effects(core.StopTurn{})
	got, _, err := b.Turn(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "state", got.State, core.TurnStopped)
	next := b.take()
	equal(b, "inputs", len(next.Inputs), 1)
	b.answer(next, "ok")
}

// testReserveCalls: however many calls ask at once, they are never given more
// than there is.
func testReserveCalls(b *bench) {
	day := dayOf(b.now).Label
	var given atomic.Int64
	var calls sync.WaitGroup
	for range 200 {
		calls.Go(func() {
			ok, err := b.ReserveCall(b.ctx, b.user.ID, day, 300, 20_000)
			if err != nil {
				b.t.Error(err)
			}
			if ok {
				given.Add(1)
			}
		})
	}
	calls.Wait()
	equal(b, "calls", given.Load(), int64(66))
	for range given.Load() {
		b.must(b.SettleCall(b.ctx, b.user.ID, day, 300, core.Usage{Prompt: 250, Completion: 10}))
	}
	used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
	b.must(err)
	equal(b, "used", used, 66*260)
	equal(b, "reserved", reserved, 0)
}

func testTakeEgress(b *bench) {
	day, most := dayOf(b.now).Label, core.Egress{Calls: 100, Bytes: 5000}
	var calls, bytes atomic.Int64
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			got, err := b.TakeEgress(b.ctx, b.user.ID, day, core.Egress{Calls: 7, Bytes: 1000}, most)
			if err != nil {
				b.t.Error(err)
			}
			calls.Add(got.Calls)
			bytes.Add(got.Bytes)
		})
	}
	all.Wait()
	equal(b, "given", core.Egress{Calls: calls.Load(), Bytes: bytes.Load()}, most)
	take := func(what, day string, want, most, given core.Egress) {
		b.t.Helper()
		got, err := b.TakeEgress(b.ctx, b.user.ID, day, want, most)
		b.must(err)
		equal(b, what, got, given)
	}
	take("given back", day, core.Egress{Calls: -3, Bytes: -6000}, most, core.Egress{Calls: -3, Bytes: -5000})
	take("of what came back", day, core.Egress{Calls: 7, Bytes: 1}, most, core.Egress{Calls: 3, Bytes: 1})
	take("without a limit", day, core.Egress{Calls: 500, Bytes: 9000}, core.Egress{}, core.Egress{Calls: 500, Bytes: 9000})
	take("where the limit sank", day, core.Egress{Calls: 1, Bytes: 1}, most, core.Egress{})
	take("the next day", "2027-01-01", core.Egress{Calls: 1}, most, core.Egress{Calls: 1})
	days, err := b.UsageDays(b.ctx, 0, day, "2027-01-01")
	b.must(err)
	equal(b, "days of tokens", len(days), 0)
	v, at := b.person("Vera", core.RoleMember, "222")
	_, err = b.as(v, at).TakeEgress(b.ctx, v.ID, day, core.Egress{Calls: 5}, core.Egress{Calls: 5})
	b.must(err)
	_, err = b.TakeEgress(b.ctx, 999, day, core.Egress{Calls: 1}, most)
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("of nobody: %v", err)
	}
}

func testRetryFailed(b *bench) {
	t := b.turn("one")
	_, err := b.Commit(b.ctx, core.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	b.effects(core.RetryTurn{At: b.now})
	b.effects(core.RetryTurn{At: b.now})
	b.answer(b.take(), "ok")
	b.effects(core.RetryTurn{At: b.now})
	equal(b, "due without messages", len(b.due(turns)), 0)
}

func testBacklog(b *bench) {
	want := func(what string, w core.Backlog) {
		b.t.Helper()
		got, err := b.Backlog(b.ctx, b.user.ID, 0)
		b.must(err)
		equal(b, what, got, w)
	}
	want("idle", core.Backlog{})
	t := b.turn("one")
	b.say(true, "two")
	want("running", core.Backlog{Pending: 1, Turn: true, Running: true})
	b.must(b.RetryTurn(b.ctx, t, b.now.Add(time.Hour), "down"))
	want("waiting", core.Backlog{Pending: 1, Turn: true})
}

func windowCases() []testCase {
	return []testCase{
		{"a window is bounded by tokens and by count", testWindowBounds},
		{"a window counts what no summary covers", testUncovered},
		{"an epoch goes on until something changes", testEpoch},
		{"an epoch knows what it dropped, until a summary covers it", testEpochDropped},
		{"an epoch is read as the tables are, in every process", testEpochShared},
		{"what was made from words of others keeps its mark", testTainted},
		{"what was done after words of others can be taken back", testUndo},
		{"what changed since an epoch began is read until it is told", testNews},
		{"a note is kept with its message, without what was changed meanwhile", testNoteOfTurn},
		{"news of a summary are of the day that the head shows", testNewsOfDay},
		{"history is read page by page", testHistory},
		{"a window knows today, the last day and the loops", testWindowDays},
		{"plain threads have no days", testPlainThread},
	}
}

func testWindowBounds(b *bench) {
	for n := range 60 {
		b.exchange("question "+itoa(n), "answer "+itoa(n))
	}
	t := b.turn("last")
	for _, c := range []struct {
		q    core.WindowQuery
		want int
		more bool
	}{
		{core.WindowQuery{Tokens: 1, Limit: 1000}, 4, true},
		{core.WindowQuery{Tokens: 100_000, Limit: 50}, 50, true},
		{core.WindowQuery{Tokens: 100_000, Limit: 100}, 100, true},
		{core.WindowQuery{Tokens: 100_000, Limit: 101}, 101, true},
		{core.WindowQuery{Tokens: 100_000, Limit: 120}, 120, true},
		{core.WindowQuery{Tokens: 100_000, Limit: 121}, 121, false},
		{core.WindowQuery{Tokens: 100_000, Limit: 500}, 121, false},
	} {
		w, err := b.Window(b.ctx, t, c.q)
		b.must(err)
		equal(b, "messages", len(w.Messages), c.want)
		equal(b, "more", w.More, c.more)
		equal(b, "newest", w.Messages[len(w.Messages)-1].Text, "last")
	}
}

func testUncovered(b *bench) {
	var ids []core.MessageID
	for n := range 5 {
		q, a := b.exchange("q"+itoa(n), "a"+itoa(n))
		ids = append(ids, q, a)
	}
	uncovered := func(want int) {
		b.t.Helper()
		t := b.turn("now")
		w, err := b.Window(b.ctx, t, core.WindowQuery{Tokens: 1, Limit: 100})
		b.must(err)
		equal(b, "uncovered", w.UncoveredBefore, want)
		_, err = b.Commit(b.ctx, core.Reply{Turn: t, State: core.TurnStopped, Now: b.now, Day: dayOf(b.now).Label}, nil)
		b.must(err)
	}
	uncovered(7)
	b.effects(core.Redact{Message: ids[1], At: b.now})
	uncovered(7)
	b.summary(b.segment(), false, "all", ids[2:6]...)
	uncovered(4)
}

// ongoing is a query that continues epochs of the last hour.
func (b *bench) ongoing() core.WindowQuery {
	q := query()
	q.Stale, q.Budgets = b.now.Add(-time.Hour), "f"
	return q
}

// epochFrom answers a turn and begins an epoch with its first input.
func (b *bench) epochFrom(t *core.Turn, text string) {
	b.t.Helper()
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	r := b.reply(t, text)
	r.Epoch = &core.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Edits: w.Edits, Budgets: "f"}
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	if out.Delivery != nil {
		b.sent(out.Delivery)
	}
}

// window reads what an ongoing epoch shows, and whether one goes on.
func (b *bench) window(t *core.Turn) (texts []string, goes bool) {
	b.t.Helper()
	w, err := b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	for _, m := range w.Messages {
		texts = append(texts, m.Text)
	}
	return texts, w.Epoch != nil && w.Epoch.Edits == w.Edits
}

func testEpoch(b *bench) {
	b.exchange("before", "it")
	b.epochFrom(b.turn("first"), "1")
	native := b.native()
	t := b.turn("second")
	got, goes := b.window(t)
	equal(b, "goes on", goes, true)
	equal(b, "messages", len(got), 3)
	equal(b, "first", got[0], "first")
	q := b.ongoing()
	q.Budgets = "g"
	w, err := b.Window(b.ctx, t, q)
	b.must(err)
	equal(b, "other settings", len(w.Messages), 5)
	q = b.ongoing()
	q.Stale = b.now
	w, err = b.Window(b.ctx, t, q)
	b.must(err)
	equal(b, "after a silence", len(w.Messages), 5)
	b.must(b.edit(native, "e1", "FIRST"))
	got, goes = b.window(t)
	equal(b, "goes on after an edit", goes, false)
	equal(b, "edited", got[2], "FIRST")
}

// testEpochDropped: what an epoch left out uncovered is counted in each of its turns.
func testEpochDropped(b *bench) {
	q, a := b.exchange("before", "it")
	more, _ := b.exchange("more", "of it")
	t := b.turn("first")
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	equal(b, "in the thread", w.Thread, 5)
	r := b.reply(t, "1")
	r.Epoch = &core.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Edits: w.Edits, Budgets: "f",
		Thread: w.Thread, Dropped: 4}
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	for _, want := range []int{4, 1, 1} {
		t := b.turn("next")
		for range 2 { // the second time with what the process read before
			w, err := b.Window(b.ctx, t, b.ongoing())
			b.must(err)
			equal(b, "dropped", w.UncoveredBefore, want)
			equal(b, "begun with", w.Epoch.Thread+w.Thread, 5)
		}
		b.sent(b.answer(t, "2").Delivery)
		b.summary(b.segment(), false, "so far", q, a, more)
	}
}

func testEpochShared(b *bench) {
	other := *b
	other.Store = b.open()
	b.epochFrom(b.turn("first"), "1")
	native := b.native()
	stores := []*bench{b, &other}
	for n := range 4 {
		t := b.turn("q" + itoa(n))
		for _, s := range stores {
			got, _ := s.window(t)
			equal(b, "messages", len(got), 3+2*n)
		}
		b.sent(b.answer(t, "a"+itoa(n)).Delivery)
	}
	t := b.turn("fails")
	for _, s := range stores {
		s.window(t)
	}
	_, err := b.Commit(b.ctx, core.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	zombie := *t
	b.now = b.now.Add(time.Second)
	b.effects(core.RetryTurn{At: b.now})
	t = b.take()
	for _, s := range stores {
		s.window(&zombie)
	}
	_, err = b.Commit(b.ctx, core.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	b.now = b.now.Add(time.Second)
	b.effects(core.RetryTurn{At: b.now})
	t = b.take()
	for _, s := range stores {
		got, _ := s.window(t)
		equal(b, "messages after failures", len(got), 11)
		equal(b, "last", got[10], "fails")
	}
	b.summary(b.segment(), false, "so far", 1, 2)
	for _, s := range stores {
		w, err := s.Window(b.ctx, t, b.ongoing())
		b.must(err)
		equal(b, "covered after a summary", w.Messages[0].Covered, true)
	}
	b.must(b.edit(native, "e1", "FIRST"))
	for _, s := range stores {
		got, _ := s.window(t)
		equal(b, "edited", got[0], "FIRST")
	}
	b.effects(core.Redact{Message: 1, At: b.now})
	for _, s := range stores {
		got, _ := s.window(t)
		equal(b, "redacted", got[0], "")
	}
}

func testHistory(b *bench) {
	for n := range 25 {
		b.now = b.now.Add(time.Second * time.Duration(n%2))
		b.exchange("q"+itoa(n), "a"+itoa(n))
	}
	all := b.texts()
	var got []string
	before := core.MessageID(0)
	for range 9 {
		page, err := b.History(b.ctx, b.user.ID, 0, before, 7)
		b.must(err)
		var texts []string
		for _, m := range page {
			texts = append(texts, m.Text)
		}
		got = append(texts, got...)
		if len(page) > 0 {
			before = page[0].ID
		}
	}
	equal(b, "messages", len(got), 50)
	for n := range all {
		equal(b, "message", got[n], all[n])
	}
	_, err := b.History(b.ctx, b.user.ID, 0, 9999, 7)
	equal(b, "before a message that is not there", errors.Is(err, core.ErrNotFound), true)
}

func testWindowDays(b *bench) {
	q, a := b.exchange("one", "1")
	b.finalSummary(b.segment(), "yesterday", []string{"the door"}, q, a)
	b.now = b.now.Add(24 * time.Hour)
	q, a = b.exchange("two", "2")
	b.summary(b.segment(), false, "today", q, a)
	w, err := b.Window(b.ctx, b.turn("three"), query())
	b.must(err)
	equal(b, "in the thread", w.Thread, 5)
	equal(b, "today", w.Today.Day.Label, "2026-11-20")
	equal(b, "today's", w.TodaySummary.Markdown, "today")
	equal(b, "last", w.Last.Day.Label, "2026-11-19")
	equal(b, "last's", w.LastSummary.Markdown, "yesterday")
	equal(b, "loop", w.Loops[0].Text, "the door")
}

func testPlainThread(b *bench) {
	b.effects(core.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
	t := b.turn("one")
	equal(b, "mode", t.Mode, core.ModeThread)
	equal(b, "segment", t.Segment, 0)
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	equal(b, "messages", len(w.Messages), 1)
	equal(b, "in the thread", w.Thread, 1)
	b.sent(b.answer(t, "1").Delivery)
	list, err := b.Threads(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "title", list[0].Title, "work")
	b.effects(core.UseThread{Identity: b.at.ID})
	equal(b, "mode afterwards", b.turn("two").Mode, core.ModeContinuous)
	b.wantTexts("two")
	days, err := b.Days(b.ctx, b.user.ID, "", 10)
	b.must(err)
	equal(b, "days", len(days), 1)
}

// grant asks for tokens of the day.
func (b *bench) grant(worker string, used, want int) int {
	b.t.Helper()
	n, err := b.Grant(b.ctx, core.Grant{Day: "2026-11-19", Worker: worker, Used: used, Want: want, PerDay: 20_000,
		Now: b.now, Until: b.now.Add(time.Minute)})
	b.must(err)
	return n
}

// testGrants: however many processes ask at once, they are never given more
// together than there is.
func testGrants(b *bench) {
	var wg sync.WaitGroup
	var sum atomic.Int64
	for n := range 200 {
		wg.Go(func() {
			got, err := b.Grant(b.ctx, core.Grant{Day: "2026-11-19", Worker: fmt.Sprint("w", n), Want: 300, PerDay: 20_000,
				Now: b.now, Until: b.now.Add(time.Minute)})
			if err != nil {
				b.t.Error(err)
			}
			sum.Add(int64(got))
		})
	}
	wg.Wait()
	equal(b, "granted", sum.Load(), 20_000)
	used, granted, err := b.SpentAll(b.ctx, "2026-11-19", b.now)
	b.must(err)
	equal(b, "as it is told", [2]int{used, granted}, [2]int{0, 20_000})
	equal(b, "one more", b.grant("late", 0, 1), 0)
}

func testGrantLapses(b *bench) {
	equal(b, "all", b.grant("one", 0, 30_000), 20_000)
	equal(b, "nothing is left", b.grant("two", 0, 5), 0)
	equal(b, "kept", b.grant("one", 4_000, 0), 20_000)
	b.now = b.now.Add(time.Minute)
	equal(b, "what one had not used", b.grant("two", 0, 30_000), 16_000)
	equal(b, "one comes back, and used more", b.grant("one", 4_500, 100), 4_500)
	equal(b, "two gives back", b.grant("two", 1_000, 0), 16_000)
	_, err := b.Grant(b.ctx, core.Grant{Day: "2026-11-19", Worker: "two", Used: 1_000, PerDay: 20_000,
		Now: b.now, Until: b.now})
	b.must(err)
	equal(b, "what is left after that", b.grant("three", 0, 30_000), 14_500)
	equal(b, "another day", one(b, b.Grant, core.Grant{Day: "2026-11-20", Worker: "one", Want: 7, PerDay: 20_000,
		Now: b.now, Until: b.now.Add(time.Minute)}), 7)
}
