package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

// testMergeRandom merges users with random histories, and checks that every message exists once and in order.
func testMergeRandom(b *bench) {
	for seed := range fulltest.Size[uint64](1, 5) {
		r := rand.New(rand.NewPCG(seed, 3))
		ada, v := b.second("Ada", itoa(700+int(seed))), b.second("Vera", itoa(800+int(seed)))
		for n := range 25 {
			who := ada
			if r.IntN(2) == 0 {
				who = v
			}
			who.now = b.now.Add(time.Duration(r.IntN(3)) * time.Hour)
			if other := b.latest(ada, v); who.now.Before(other) {
				who.now = other.Add(time.Duration(r.IntN(2)) * time.Second)
			}
			q, a := fmt.Sprint("ask ", n), fmt.Sprint("hear ", n)
			switch r.IntN(6) {
			case 0:
				who.say(false, q)
				b.carryAll(who)
			default:
				who.exchange(q, a)
			}
			if r.IntN(5) == 0 && len(who.due(core.QueueSummarize)) == 0 {
				who.summary(who.segment(), false, "so far", 1)
			}
		}
		b.now = b.latest(ada, v).Add(time.Minute)
		ada.now, v.now = b.now, b.now
		mine, hers := ada.texts(), v.texts()
		ada.carryMerge(v.merge(ada.user.ID))
		b.inOrder(ada.texts(), mine, hers)
	}
}

// latest returns the later of two clocks.
func (b *bench) latest(x, y *bench) time.Time {
	if x.now.After(y.now) {
		return x.now
	}
	return y.now
}

// carryAll completes a user's due turns.
func (b *bench) carryAll(who *bench) {
	b.t.Helper()
	for _, ref := range who.due(turns) {
		if ref.User != who.user.ID {
			continue
		}
		t, _, err := who.ClaimTurn(who.ctx, ref, who.claim(), store.Budget{})
		b.must(err)
		who.sent(who.answer(t, "late").Delivery)
	}
}

// inOrder fails the test unless got consists of the lists, each in its order.
func (b *bench) inOrder(got []string, lists ...[]string) {
	b.t.Helper()
	total := 0
	for _, list := range lists {
		total += len(list)
		i := 0
		for _, text := range got {
			if i < len(list) && list[i] == text {
				i++
			}
		}
		equal(b, "in order", i, len(list))
	}
	equal(b, "messages", len(got), total)
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
