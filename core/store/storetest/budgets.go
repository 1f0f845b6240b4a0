package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

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
	b.must(b.Spend(b.ctx, b.user.ID, "2027-01-01", core.Usage{Prompt: 10}))
}

func testSpentAttempt(b *bench) {
	day := dayOf(b.now)
	a := b.batch(true, "one")
	a.Budget = store.Budget{TokensPerDay: 1000, Reserve: 600, Day: day.Label, NextDay: day.End}
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
		b.must(b.SettleCall(b.ctx, b.user.ID, day, 300, core.Usage{Prompt: 250, Completion: 10}))
	}
	used, reserved, err := b.UsageOf(b.ctx, b.user.ID, day)
	b.must(err)
	equal(b, "used", used, 66*260)
	equal(b, "reserved", reserved, 0)
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
