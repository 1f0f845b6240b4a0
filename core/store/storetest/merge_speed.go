package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// TestMergeSpeed merges a user of n messages into another with as many while a third user writes, and reports how long
// that takes, and the third user's longest wait. 100,000 messages are to take at most 5 s on a machine that does
// nothing else.
func TestMergeSpeed(t *testing.T, open Open, n int) {
	if raced {
		n = min(n, 300)
	}
	b := newBench(t, open)
	fill(t, b.DB(), 11, 12, n, start())
	b.must(b.interleave(12))
	other := b.second("Oscar", "333")
	ctx, stop := context.WithCancel(b.ctx)
	longest := time.Duration(0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			other.say(false, "hello")
			longest = max(longest, time.Since(began))
			other.now = other.now.Add(time.Second)
			pause(ctx, 5*time.Millisecond)
		}
	})
	id := one(b, b.Ask, store.Merge{From: 12, Into: 11, Identity: fillIdentity, AskedAt: b.now})
	began := time.Now()
	m, _, err := b.Carry(b.ctx, id, b.now.Add(time.Minute))
	b.must(err)
	took := time.Since(began)
	equal(b, "phase", m.Phase, store.MergeTold)
	stop()
	wg.Wait()
	t.Logf("%d messages each: %s, others wait at most %s", n, took.Round(time.Millisecond), longest.Round(time.Millisecond))
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
