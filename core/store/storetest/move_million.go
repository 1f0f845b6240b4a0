package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// TestMergeSpeed merges two users of n messages each while a third user writes. It reports the
// total time, the longest transaction and the third user's longest wait.
func TestMergeSpeed(t *testing.T, open Open, n int) {
	if raced {
		n = min(n, 300)
	}
	b := newBench(t, open)
	fill(t, b.DB(), 11, 12, n, start())
	b.must(b.interleave(12))
	other := b.second("Oscar", "333")
	ctx, stop := context.WithCancel(b.ctx)
	var waits []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			other.say(false, "hello")
			waits = append(waits, time.Since(began))
			other.now = other.now.Add(time.Second)
			pause(ctx, 5*time.Millisecond)
		}
	})
	id := one(b, b.Ask, core.Move{Kind: core.MoveMerge, From: 12, Into: 11, Identity: fillIdentity, AskedAt: b.now})
	began := time.Now()
	var longest time.Duration
	var where core.MovePhase
	phases := map[core.MovePhase]time.Duration{}
	steps := 0
	for m := (core.Move{}); m.Phase != core.MoveDone; steps++ {
		step := time.Now()
		next, wait, err := b.Carry(b.ctx, id, b.now)
		b.must(err)
		took := time.Since(step)
		phases[m.Phase] += took
		if took > longest && m.Phase != "order" {
			longest, where = took, m.Phase
		}
		b.now = b.now.Add(wait)
		if m = next; m.Phase == core.MoveTold {
			t.Logf("both are one after %s", time.Since(began).Round(time.Millisecond))
			b.must(b.Told(b.ctx, id))
		}
	}
	total := time.Since(began)
	stop()
	wg.Wait()
	slices.Sort(waits)
	t.Logf("%d messages each: %s in %d steps, longest %s (%s), others wait %s (p95 of %d), at most %s; %s", n,
		total.Round(time.Millisecond), steps, longest.Round(time.Millisecond), where,
		waits[len(waits)*95/100].Round(100*time.Microsecond), len(waits), waits[len(waits)-1].Round(100*time.Microsecond),
		fmt.Sprint(phases))
	b.gone(12)
	var count int
	b.must(b.DB().QueryRow(`SELECT COUNT(*) FROM messages WHERE user_id = 11`).Scan(&count))
	equal(b, "messages", count, 2*n)
}

// interleave places a user's messages between those of another; one turn in 25 overlaps.
func (b *bench) interleave(user core.UserID) error {
	const by = `CASE WHEN id % 2 = 1 THEN 70000000 ELSE 40000000 END + CASE WHEN id % 50 IN (1, 2) THEN 30000000 ELSE 0 END`
	_, err := b.DB().Exec(`UPDATE messages SET position = -position - `+by+`, shown = shown + `+by+` WHERE user_id = $1`,
		user)
	if err == nil {
		_, err = b.DB().Exec(`UPDATE messages SET position = -position WHERE user_id = $1`, user)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
