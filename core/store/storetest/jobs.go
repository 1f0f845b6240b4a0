package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func jobCases() []testCase {
	return []testCase{
		{"jobs of a key run one after another", testKeys},
		{"a unique job is not queued twice, and runs at the earlier time", testUnique},
		{"a dead job does not block its key", testDead},
		{"a job returned to the queue runs again when it is due", testRetryJob},
		{"due jobs come oldest first, lapsed ones before", testDueOrder},
		{"Due tells when the next job is due", testNextDue},
		{"queue stats count by queue and state", testStats},
		{"of two who claim a job one gets it", testClaimOnce},
		{"a process takes the jobs of its share, and others that are late", testShares},
		{"a dead process loses its jobs immediately", testMembers},
		{"a claim with its message is a job, and ends with its holder", testClaimed},
		{"abandoned jobs are available immediately", testAbandon},
	}
}

// job returns a job of the bench's user.
func (b *bench) job(key string, ref int64) store.NewJob {
	return store.NewJob{User: b.user.ID, Queue: "q", Key: key, Ref: ref, Payload: json.RawMessage(`{"n":1}`), RunAt: b.now}
}

// takeJob claims the only due job of queue q.
func (b *bench) takeJob() *store.Job {
	b.t.Helper()
	j, err := b.Claim(b.ctx, b.only("q"), b.claim())
	b.must(err)
	return j
}

func testKeys(b *bench) {
	b.must(b.Enqueue(b.ctx, b.job("k", 1), b.job("k", 2), b.job("k", 3)))
	for n := int64(1); n <= 3; n++ {
		j := b.takeJob()
		equal(b, "ref", j.Ref, n)
		equal(b, "payload", string(j.Payload), `{"n":1}`)
		equal(b, "due beside", len(b.due("q")), 0)
		b.must(b.Finish(b.ctx, b.user.ID, j.Lease, ""))
	}
	equal(b, "due", len(b.due("q")), 0)
}

func testUnique(b *bench) {
	j := b.job("k", 1)
	j.Unique, j.RunAt = true, b.now.Add(time.Hour)
	b.must(b.Enqueue(b.ctx, j, j))
	equal(b, "due", len(b.due("q")), 0)
	j.RunAt = b.now
	b.must(b.Enqueue(b.ctx, j))
	j.RunAt = b.now.Add(time.Hour)
	b.must(b.Enqueue(b.ctx, j))
	claimed := b.takeJob()
	j.RunAt = b.now
	b.must(b.Enqueue(b.ctx, j, j))
	b.must(b.Finish(b.ctx, b.user.ID, claimed.Lease, ""))
	b.must(b.Finish(b.ctx, b.user.ID, b.takeJob().Lease, ""))
	equal(b, "due", len(b.due("q")), 0)
	other := b.job("k", 2)
	other.Unique = true
	b.must(b.Enqueue(b.ctx, j, other))
	b.must(b.Finish(b.ctx, b.user.ID, b.takeJob().Lease, ""))
	equal(b, "another ref", b.takeJob().Ref, 2)
}

func testDead(b *bench) {
	b.must(b.Enqueue(b.ctx, b.job("k", 1), b.job("k", 2)))
	b.must(b.Finish(b.ctx, b.user.ID, b.takeJob().Lease, "no use"))
	dead, err := b.DeadJobs(b.ctx, 10)
	b.must(err)
	equal(b, "error", dead[0].Error, "no use")
	second := b.takeJob()
	equal(b, "next", second.Ref, 2)
	b.must(b.Revive(b.ctx, b.user.ID, dead[0].ID, b.now))
	b.must(b.Finish(b.ctx, b.user.ID, second.Lease, ""))
	equal(b, "revived", b.takeJob().Ref, 1)
	dead, err = b.DeadJobs(b.ctx, 10)
	b.must(err)
	equal(b, "dead", len(dead), 0)
	err = b.Revive(b.ctx, b.user.ID, 9999, b.now)
	equal(b, "no such job", errors.Is(err, core.ErrNotFound), true)
}

func testRetryJob(b *bench) {
	b.must(b.Enqueue(b.ctx, b.job("k", 1)))
	j := b.takeJob()
	b.must(b.RetryJob(b.ctx, b.user.ID, j.Lease, b.now.Add(time.Minute), "busy"))
	equal(b, "due", len(b.due("q")), 0)
	b.now = b.now.Add(time.Minute)
	again := b.takeJob()
	equal(b, "attempt", again.Lease.Attempt, 2)
	equal(b, "error", again.Error, "busy")
	err := b.Finish(b.ctx, b.user.ID, j.Lease, "")
	equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
}

func testDueOrder(b *bench) {
	for n, key := range []string{"a", "b", "c"} {
		j := b.job(key, int64(n+1))
		j.RunAt = b.now.Add(-time.Duration(n) * time.Minute)
		b.must(b.Enqueue(b.ctx, j))
	}
	_, err := b.Claim(b.ctx, b.due("q")[2], store.Claim{Worker: "w", Now: b.now, Until: b.now})
	b.must(err)
	for n, want := range []int64{1, 3, 2} {
		equal(b, "ref", b.due("q")[n].Ref, want)
	}
	refs, _, err := b.Due(b.ctx, []string{"q", turns}, b.now, 2, store.Share{})
	b.must(err)
	equal(b, "limited", len(refs), 2)
}

func testNextDue(b *bench) {
	_, next, err := b.Due(b.ctx, []string{"q"}, b.now, 10, store.Share{})
	b.must(err)
	equal(b, "none", next.IsZero(), true)
	j := b.job("k", 1)
	j.RunAt = b.now.Add(time.Hour)
	b.must(b.Enqueue(b.ctx, j, b.job("l", 2)))
	_, err = b.Claim(b.ctx, b.only("q"), store.Claim{Worker: "w", Now: b.now, Until: b.now.Add(30 * time.Minute)})
	b.must(err)
	_, next, err = b.Due(b.ctx, []string{"q"}, b.now, 10, store.Share{})
	b.must(err)
	equal(b, "a lease lapses first", next.Equal(b.now.Add(30*time.Minute)), true)
	_, next, err = b.Due(b.ctx, []string{"q"}, b.now.Add(45*time.Minute), 10, store.Share{})
	b.must(err)
	equal(b, "then the other", next.Equal(b.now.Add(time.Hour)), true)
}

func testStats(b *bench) {
	b.must(b.Enqueue(b.ctx, b.job("k", 1), b.job("k", 2), b.job("l", 3)))
	stats, err := b.QueueStats(b.ctx)
	b.must(err)
	equal(b, "groups", len(stats), 2)
	equal(b, "ready", stats[0].Depth, 2)
	equal(b, "waiting", stats[1].State, store.JobWaiting)
}

func testClaimOnce(b *bench) {
	other := b.open()
	for range 20 {
		b.must(b.Enqueue(b.ctx, b.job("k", 1)))
		ref := b.only("q")
		got := make(chan *store.Job, 2)
		for _, s := range []Store{b.Store, other} {
			go func() {
				j, err := s.Claim(b.ctx, ref, b.claim())
				if err != nil {
					b.t.Error(err)
				}
				got <- j
			}()
		}
		first, second := <-got, <-got
		equal(b, "claimed by one", (first == nil) != (second == nil), true)
		if first == nil {
			first = second
		}
		b.must(b.Finish(b.ctx, b.user.ID, first.Lease, ""))
	}
}

func testShares(b *bench) {
	mine, foreign := b.shares()
	b.must(b.Enqueue(b.ctx, b.job("k", 1)))
	due := func(s store.Share) int {
		refs, _, err := b.Due(b.ctx, []string{"q"}, b.now, 10, s)
		b.must(err)
		return len(refs)
	}
	equal(b, "of the share", due(mine), 1)
	equal(b, "of another", due(foreign), 0)
	b.now = b.now.Add(foreign.Grace)
	equal(b, "of another, late", due(foreign), 1)
	later := b.job("l", 2)
	later.RunAt = b.now.Add(time.Hour)
	b.must(b.Enqueue(b.ctx, later))
	_, next, err := b.Due(b.ctx, []string{"q"}, b.now, 10, foreign)
	b.must(err)
	equal(b, "next of another share", next.IsZero(), true)
	_, next, err = b.Due(b.ctx, []string{"q"}, b.now, 10, mine)
	b.must(err)
	equal(b, "next", next.Equal(later.RunAt), true)
}

// shares returns the shares of two processes: the one with the bench's user, and the other.
func (b *bench) shares() (mine, foreign store.Share) {
	n := int(b.user.ID % 2)
	return store.Share{N: n, Of: 2, Grace: time.Second}, store.Share{N: 1 - n, Of: 2, Grace: time.Second}
}

func testMembers(b *bench) {
	join := func(worker string, leaving bool, wantFreed int, want ...string) {
		b.t.Helper()
		live, freed, err := b.Join(b.ctx, store.Membership{Worker: worker, Leaving: leaving, Now: b.now,
			Until: b.now.Add(10 * time.Second)})
		b.must(err)
		equal(b, "live", strings.Join(live, " "), strings.Join(want, " "))
		equal(b, "freed", freed, wantFreed)
	}
	claim := func(worker string) *store.Job {
		b.t.Helper()
		j, err := b.Claim(b.ctx, b.only("q"), store.Claim{Worker: worker, Now: b.now, Until: b.now.Add(time.Hour)})
		b.must(err)
		return j
	}
	join("b", false, 0, "b")
	join("a", false, 0, "a", "b")
	b.must(b.Enqueue(b.ctx, b.job("k", 1)))
	lost := claim("a")
	b.now = b.now.Add(6 * time.Second)
	join("b", false, 0, "a", "b")
	b.now = b.now.Add(6 * time.Second)
	join("b", false, 1, "b")
	equal(b, "taken over", claim("b").Lease.Attempt, 2)
	err := b.Finish(b.ctx, b.user.ID, lost.Lease, "")
	equal(b, "fenced", errors.Is(err, core.ErrFenced), true)

	join("a", false, 0, "a", "b")
	join("b", true, 0, "a")
	equal(b, "due for a leaving process", len(b.due("q")), 0)
	b.must(b.Leave(b.ctx, "b"))
	equal(b, "taken over from one that left", claim("a").Lease.Attempt, 3)
	b.must(b.Leave(b.ctx, "a"))
	join("c", false, 0, "c")
}

// testAbandon abandons turns and deliveries that were claimed when they were stored: they are
// retried like any job.
func testAbandon(b *bench) {
	me, worker := b.user.ID, b.claim().Worker
	b.must(b.Enqueue(b.ctx, b.job("k", 1)))
	j := b.takeJob()
	lost := b.turn("its claim is lost")
	b.must(b.Abandon(b.ctx, me, "another", b.now))
	equal(b, "due after another worker's", len(b.due(turns)), 0)
	b.must(b.Abandon(b.ctx, me, worker, b.now.Add(-time.Second)))
	equal(b, "due though claimed later", len(b.due(turns)), 0)
	b.must(b.Abandon(b.ctx, me, worker, b.now))
	t := b.take()
	equal(b, "turn", t.ID, lost.ID)
	equal(b, "attempt", t.Lease.Attempt, 2)
	d := b.answer(t, "taken up").Delivery
	b.must(b.Abandon(b.ctx, me, worker, b.now))
	again := b.takeDelivery()
	equal(b, "delivery", again.ID, d.ID)
	equal(b, "part", again.Parts[0].State, core.DeliveryUnknown)
	b.sent(again)
	b.must(b.Finish(b.ctx, me, j.Lease, "")) // a job of another kind stays claimed
}

func testClaimed(b *bench) {
	jobs := func(want int) {
		b.t.Helper()
		var n int
		b.must(b.DB().QueryRow(`SELECT COUNT(*) FROM jobs`).Scan(&n))
		equal(b, "jobs", n, want)
	}
	join := func(worker string) {
		b.t.Helper()
		_, _, err := b.Join(b.ctx, store.Membership{Worker: worker, Now: b.now, Until: b.now.Add(10 * time.Second)})
		b.must(err)
	}
	fenced := func(t *core.Turn) {
		b.t.Helper()
		_, err := b.Commit(b.ctx, b.reply(t, "late"), nil)
		equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
	}
	join(b.claim().Worker)
	b.sent(b.answer(b.turn("goes well"), "it does").Delivery)
	jobs(0)
	dead := b.turn("a process dies")
	jobs(1)
	b.now = b.now.Add(11 * time.Second)
	join("another")
	jobs(1)
	t := b.take()
	equal(b, "attempt", t.Lease.Attempt, 2)
	equal(b, "turn", t.ID, dead.ID)
	fenced(dead)
	d := b.answer(t, "taken over").Delivery
	b.must(b.Leave(b.ctx, b.claim().Worker))
	again := b.takeDelivery()
	equal(b, "part", again.Parts[0].State, core.DeliveryUnknown)
	_, err := b.FinishPart(b.ctx, d, 0, store.PartResult{State: core.DeliverySent}, b.now)
	equal(b, "its part", errors.Is(err, core.ErrFenced), true)
	b.sent(again)
	stalled := b.turn("a process stalls")
	b.now = b.now.Add(2 * time.Hour)
	t = b.take()
	fenced(stalled)
	b.say(true, "and goes on")
	b.sent(b.answer(t, "taken over again").Delivery)
	b.sent(b.answer(b.take(), "and on").Delivery)
	running := b.turn("renewed")
	b.say(true, "waits")
	jobs(2)
	b.must(b.Extend(b.ctx, b.user.ID, running.Lease, b.now.Add(time.Hour)))
	equal(b, "due meanwhile", len(b.due(turns)), 0)
	b.answer(running, "one")
	b.answer(b.take(), "two") // waits for the delivery of the first
	jobs(2)
}

func wakeCases() []testCase {
	return []testCase{
		{"a wake-up reaches workers of the process", testWakes},
		{"wake-ups end with their context", testWakesEnd},
	}
}

func testWakes(b *bench) {
	wakes := b.Wakes(b.ctx)
	b.say(false, "hello")
	b.wantWake(wakes, core.WakeTopic(turns, b.user.ID))
	t := b.take()
	b.effects(effect.StopTurn{})
	b.wantWake(wakes, core.TurnTopic(b.user.ID, t.ID))
	_, err := b.Commit(b.ctx, b.reply(t, "ok"), nil)
	b.must(err)
	b.wantWake(wakes, core.WakeTopic(deliveries, b.user.ID))
}

// wantWake waits for a wake-up of a topic.
func (b *bench) wantWake(wakes <-chan string, topic string) {
	b.t.Helper()
	late := time.After(5 * time.Second)
	for {
		select {
		case got, ok := <-wakes:
			if got == topic {
				return
			}
			if !ok {
				b.t.Fatalf("no wake-up of %s: closed", topic)
			}
		case <-late:
			b.t.Fatalf("no wake-up of %s", topic)
		}
	}
}

// TestWakeBetween checks that a wake-up from one store reaches another on the same database, for
// engines that support it.
func TestWakeBetween(t *testing.T, open Open) {
	b := newBench(t, open)
	other := b.open()
	ended := make(chan error, 1)
	ctx, cancel := contextWithCancel(t)
	go func() { ended <- other.Listen(ctx) }()
	wakes := other.Wakes(ctx)
	for n, heard := 0, false; !heard; n++ { // until the other store listens
		b.must(b.Enqueue(b.ctx, b.job(fmt.Sprint("k", n), 1))) // a job behind another one wakes nobody
		select {
		case topic := <-wakes:
			heard = topic == core.WakeTopic("q", b.user.ID)
		case <-time.After(50 * time.Millisecond):
		}
	}
	turn := b.turn("hello")
	b.effects(effect.StopTurn{})
	b.wantWake(wakes, core.TurnTopic(b.user.ID, turn.ID))
	b.must(b.Publish(b.ctx, "live:it's said"))
	b.wantWake(wakes, "live:it's said")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func testWakesEnd(b *bench) {
	ctx, cancel := contextWithCancel(b.t)
	wakes := b.Wakes(ctx)
	cancel()
	for range wakes {
		continue
	}
	b.say(false, "nobody listens")
}
