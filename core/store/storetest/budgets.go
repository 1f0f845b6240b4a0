package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// took returns what one call for an answer took.
func took(u core.Usage) core.Bill { return core.SpentOn(core.ForAnswer, "m", u) }

func testBudget(b *bench) {
	day := dayOf(b.now)
	limit := store.Budget{TokensPerDay: 1000, Reserve: 600, Day: day.Label, NextDay: day.End}
	a := b.batch(true, "one")
	a.Budget = limit
	t := one(b, b.Append, a).Turn
	used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
	b.must(err)
	equal(b, "used", used, 0)
	equal(b, "reserved", reserved, 600)
	equal(b, "more than is left", b.reserve(600, 1000), false)
	ok, err := b.ReserveMore(b.ctx, t, store.Budget{TokensPerDay: 1000, Reserve: 600})
	b.must(err)
	equal(b, "more of the turn than is left", ok, false)
	ok, err = b.ReserveMore(b.ctx, t, store.Budget{TokensPerDay: 1000, Reserve: 300})
	b.must(err)
	equal(b, "more of the turn", ok, true)
	equal(b, "reserved for the turn", t.Reserved, 900)
	r := b.reply(t, "ok")
	r.Spent = took(core.Usage{Prompt: 450, Completion: 100})
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
		b.t.Fatalf("got %+v, want a turn with the minimum", little)
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
	tomorrow := store.Budget{TokensPerDay: 1000, Reserve: 600, Day: dayOf(b.now).Label, NextDay: dayOf(b.now).End}
	claimed, p, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), tomorrow)
	b.must(err)
	equal(b, "postponed", p == nil, true)
	b.answer(claimed, "late")
	b.must(b.Spend(b.ctx, b.user.ID, "2027-01-01", took(core.Usage{Prompt: 10})))
}

func testSpentAttempt(b *bench) {
	day := dayOf(b.now)
	a := b.batch(true, "one")
	a.Budget = store.Budget{TokensPerDay: 1000, Reserve: 600, Day: day.Label, NextDay: day.End}
	t := one(b, b.Append, a).Turn
	for _, want := range [][2]int{{250, 350}, {500, 100}, {950, 0}} { // used, reserved
		before, _, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
		b.must(err)
		t.Used, t.Today = took(core.Usage{Prompt: want[0] - before - 50, Completion: 50}), day.Label
		b.must(b.RetryTurn(b.ctx, t, b.now, "no connection"))
		used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day.Label)
		b.must(err)
		equal(b, "used and reserved", [2]int{used, reserved}, want)
		t, _, err = b.ClaimTurn(b.ctx, b.only(turns), b.claim(), a.Budget)
		b.must(err)
		equal(b, "reserved for the turn", t.Reserved, want[1])
	}
	r := b.reply(t, "ok")
	r.Spent = took(core.Usage{Prompt: 40})
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
	for _, n := range []int{5000, 300, 400} { // the first call of a day may exceed the budget
		ok, err := b.Reserve(b.ctx, b.user.ID, l, day, n, 1000)
		b.must(err)
		equal(b, "reserved", ok, true)
		_, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
		b.must(err)
		equal(b, "replaces the reservation", reserved, n)
	}
	b.must(b.RetryJob(b.ctx, b.user.ID, l, b.now, ""))
	_, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
	b.must(err)
	equal(b, "given back", reserved, 0)
	j, err := b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	equal(b, "failures after it was postponed", j.Failures, 0)
	b.must(b.RetryJob(b.ctx, b.user.ID, j.Lease, b.now, "broken"))
	j, err = b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	equal(b, "failures", j.Failures, 1)
	equal(b, "attempts", j.Lease.Attempt, 3)
	if _, err := b.Reserve(b.ctx, b.user.ID, l, day, 1, 1000); !errors.Is(err, core.ErrFenced) {
		b.t.Errorf("with an old lease: got %v, want ErrFenced", err)
	}
}

func testRate(b *bench) {
	limit := store.Budget{TurnsPerMinute: 2}
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

// testReserveCalls checks that concurrent calls never reserve more than the budget.
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
		b.must(b.SettleCall(b.ctx, b.user.ID, day, 300, took(core.Usage{Prompt: 250, Completion: 10})))
	}
	used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
	b.must(err)
	equal(b, "used", used, 66*260)
	equal(b, "reserved", reserved, 0)
}

// testUsageParts checks that what calls took is counted exactly by model and purpose, in the same transactions as the
// tokens of the day.
func testUsageParts(b *bench) {
	day := dayOf(b.now).Label
	v, _ := b.person("Vera", core.RoleMember, "222")
	spent := core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 100, Cached: 60, Completion: 7}).
		And(core.SpentOn(core.ForSummary, "small", core.Usage{Prompt: 10, Completion: 1}))
	heard := core.SpentOn(core.ForHeard, "small", core.Usage{Prompt: 3})
	heard[0].Amount = 12
	var calls sync.WaitGroup
	for n := range 60 {
		calls.Go(func() {
			user, bill := b.user.ID, spent
			if n%3 == 0 {
				user, bill = v.ID, heard
			}
			if err := b.Spend(b.ctx, user, day, bill); err != nil {
				b.t.Error(err)
			}
		})
	}
	calls.Wait()
	b.must(b.Spend(b.ctx, b.user.ID, "2026-12-01", heard))
	b.must(b.Spend(b.ctx, b.user.ID, day, nil))
	mine := []store.UsagePart{
		{Day: day, Spent: core.Spent{Model: "large", Purpose: core.ForAnswer, Calls: 40, Usage: core.Usage{Prompt: 4000, Cached: 2400,
			Completion: 280}}},
		{Day: day, Spent: core.Spent{Model: "small", Purpose: core.ForSummary, Calls: 40, Usage: core.Usage{Prompt: 400, Completion: 40}}},
	}
	hers := []store.UsagePart{{Day: day, Spent: core.Spent{Model: "small", Purpose: core.ForHeard, Calls: 20, Usage: core.Usage{Prompt: 60},
		Amount: 240}}}
	b.wantParts("mine", b.user.ID, day, mine)
	b.wantParts("hers", v.ID, day, hers)
	b.wantParts("nobody's", 999, day, nil)
	sums, err := b.UsageSums(b.ctx, day, day)
	b.must(err)
	equal(b, "people", len(sums), 2)
	equal(b, "my sums", slices.Equal(sums[b.user.ID].ByModel(), core.Bill{mine[0].Spent, mine[1].Spent}.ByModel()), true)
	equal(b, "her sums", slices.Equal(sums[v.ID], core.Bill{hers[0].Spent}), true)
	for _, u := range []core.UserID{b.user.ID, v.ID} {
		b.sumsUp(u, day)
	}
}

// testUsageOfTurn checks that the calls of a turn, of failed attempts and of a summary stand under their purposes.
func testUsageOfTurn(b *bench) {
	day := dayOf(b.now).Label
	t := b.turn("one")
	t.Used, t.Today = core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 5}), day
	b.must(b.RetryTurn(b.ctx, t, b.now, "no connection"))
	t, _, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), store.Budget{})
	b.must(err)
	r := b.reply(t, "ok")
	r.Spent = core.SpentOn(core.ForAnswer, "fallback", core.Usage{Prompt: 20, Completion: 2})
	_, err = b.Commit(b.ctx, r, nil)
	b.must(err)
	one := func(model string, p core.Purpose, u core.Usage) store.UsagePart {
		return store.UsagePart{Day: day, Spent: core.SpentOn(p, model, u)[0]}
	}
	b.wantParts("of the turn", b.user.ID, day, []store.UsagePart{
		one("fallback", core.ForAnswer, core.Usage{Prompt: 20, Completion: 2}), one("large", core.ForAnswer, core.Usage{Prompt: 5})})
	b.sumsUp(b.user.ID, day)
}

// wantParts checks what the calls of a user took on a day.
func (b *bench) wantParts(what string, user core.UserID, day string, want []store.UsagePart) {
	b.t.Helper()
	got, err := b.UsageParts(b.ctx, user, day, day)
	b.must(err)
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// sumsUp checks that the parts of a user's day add up to its tokens.
func (b *bench) sumsUp(user core.UserID, day string) {
	b.t.Helper()
	parts, err := b.UsageParts(b.ctx, user, day, day)
	b.must(err)
	days, err := b.UsageDays(b.ctx, user, day, day)
	b.must(err)
	var sum, whole core.Usage
	for _, p := range parts {
		sum = sum.Add(p.Usage)
	}
	for _, d := range days {
		whole = whole.Add(d.Usage)
	}
	equal(b, "the sum of the parts", sum, whole)
}

func testTakeEgress(b *bench) {
	day, most := dayOf(b.now).Label, store.Egress{Calls: 100, Bytes: 5000}
	var calls, bytes atomic.Int64
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			got, err := b.TakeEgress(b.ctx, b.user.ID, day, store.Egress{Calls: 7, Bytes: 1000}, most)
			if err != nil {
				b.t.Error(err)
			}
			calls.Add(got.Calls)
			bytes.Add(got.Bytes)
		})
	}
	all.Wait()
	equal(b, "given", store.Egress{Calls: calls.Load(), Bytes: bytes.Load()}, most)
	take := func(what, day string, want, most, given store.Egress) {
		b.t.Helper()
		got, err := b.TakeEgress(b.ctx, b.user.ID, day, want, most)
		b.must(err)
		equal(b, what, got, given)
	}
	take("given back", day, store.Egress{Calls: -3, Bytes: -6000}, most, store.Egress{Calls: -3, Bytes: -5000})
	take("of what came back", day, store.Egress{Calls: 7, Bytes: 1}, most, store.Egress{Calls: 3, Bytes: 1})
	take("without a limit", day, store.Egress{Calls: 500, Bytes: 9000}, store.Egress{}, store.Egress{Calls: 500, Bytes: 9000})
	take("where the limit sank", day, store.Egress{Calls: 1, Bytes: 1}, most, store.Egress{})
	take("the next day", "2027-01-01", store.Egress{Calls: 1}, most, store.Egress{Calls: 1})
	days, err := b.UsageDays(b.ctx, 0, day, "2027-01-01")
	b.must(err)
	equal(b, "days of tokens", len(days), 0)
	v, at := b.person("Vera", core.RoleMember, "222")
	_, err = b.as(v, at).TakeEgress(b.ctx, v.ID, day, store.Egress{Calls: 5}, store.Egress{Calls: 5})
	b.must(err)
	_, err = b.TakeEgress(b.ctx, 999, day, store.Egress{Calls: 1}, most)
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("of no user: %v", err)
	}
}

// grant asks for tokens of the day, and returns how many were granted.
func (b *bench) grant(worker string, used, want int) int {
	b.t.Helper()
	n, err := b.Grant(b.ctx, store.Grant{Day: "2026-11-19", Worker: worker, Used: used, Want: want, PerDay: 20_000,
		Now: b.now, Until: b.now.Add(time.Minute)})
	b.must(err)
	return n
}

// testGrants checks that concurrent processes are never granted more than the day's total.
func testGrants(b *bench) {
	var wg sync.WaitGroup
	var sum atomic.Int64
	for n := range 200 {
		wg.Go(func() {
			got, err := b.Grant(b.ctx, store.Grant{Day: "2026-11-19", Worker: fmt.Sprint("w", n), Want: 300, PerDay: 20_000,
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
	equal(b, "unused by the first", b.grant("two", 0, 30_000), 16_000)
	equal(b, "one comes back, and used more", b.grant("one", 4_500, 100), 4_500)
	equal(b, "two gives back", b.grant("two", 1_000, 0), 16_000)
	_, err := b.Grant(b.ctx, store.Grant{Day: "2026-11-19", Worker: "two", Used: 1_000, PerDay: 20_000,
		Now: b.now, Until: b.now})
	b.must(err)
	equal(b, "left after that", b.grant("three", 0, 30_000), 14_500)
	equal(b, "another day", one(b, b.Grant, store.Grant{Day: "2026-11-20", Worker: "one", Want: 7, PerDay: 20_000,
		Now: b.now, Until: b.now.Add(time.Minute)}), 7)
}
