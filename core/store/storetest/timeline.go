package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func timelineCases() []testCase {
	return []testCase{
		{"a timeline shows every kind in the order of display", testTimeline},
		{"a timeline is read page by page in both directions", testTimelinePages},
		{"a timeline is bounded by times", testTimelineTimes},
		{"a timeline of a missing thread or message is not found", testTimelineMissing},
		{"a question stays above the notice that it was not answered", testTimelineFailed},
		{"deliveries of messages are listed", testSent},
		{"earlier texts of a message are listed", testRevisions},
		{"turns that run or wait for a retry are listed", testRunning},
		{"usage is listed by day", testUsageDays},
		{"changes name the users whose rows were written", testChanged},
		{"a slow reader of changes delays nobody", testChangedSlow},
		{"a merge announces changes of both users", testChangedMerge},
		{"a published topic wakes", testPublish},
		{"the owner sees failures of all users", testOwnerPage},
	}
}

// timeline reads a page, and returns its texts as well.
func (b *bench) timeline(q store.TimelineQuery) (texts []string, more bool, ms []core.Message) {
	b.t.Helper()
	q.User = b.user.ID
	ms, more, err := b.Timeline(b.ctx, q)
	b.must(err)
	for _, m := range ms {
		texts = append(texts, m.Text)
	}
	return texts, more, ms
}

func testTimeline(b *bench) {
	b.exchange("one", "1")
	e, _ := b.inbound("/help")
	one(b, b.Note, b.noteOf(&e, "help yourself", ""))
	b.now = b.now.Add(time.Second)
	h := b.named("client")
	b.sayIn(h.ID, "elsewhere")
	late := b.batch(false, "sent before the notice")
	late.Messages[0].SentAt = b.now.Add(-time.Millisecond)
	one(b, b.Append, late)
	b.say(false, "waits")
	got, more, ms := b.timeline(store.TimelineQuery{Limit: 10})
	equal(b, "texts", fmt.Sprint(got), fmt.Sprint(b.texts()))
	equal(b, "more", more, false)
	equal(b, "kind", ms[2].Kind, core.KindCommand)
	got, _, _ = b.timeline(store.TimelineQuery{Thread: h.ID, Limit: 10})
	equal(b, "thread", fmt.Sprint(got), "[elsewhere]")
	got, more, _ = b.timeline(store.TimelineQuery{Limit: 2})
	equal(b, "newest", fmt.Sprint(got, more), "[sent before the notice waits] true")
	got, more, _ = b.timeline(store.TimelineQuery{})
	equal(b, "none wanted", fmt.Sprint(got, more), "[] true")
}

func testTimelineFailed(b *bench) {
	t := b.turn("question")
	b.say(true, "and another")
	b.now = b.now.Add(time.Second)
	r := store.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label, Error: "down",
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "no answer", SentAt: b.now}}}
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	b.now = b.now.Add(time.Minute)
	b.effects(effect.RetryTurn{At: b.now})
	b.answer(b.take(), "answer")
	got, _, _ := b.timeline(store.TimelineQuery{Limit: 10})
	equal(b, "order", fmt.Sprintf("%q", got), `["question" "no answer" "and another" "answer"]`)
}

func testTimelinePages(b *bench) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		b.say(false, fmt.Sprint("m", n))
		if r.IntN(3) > 0 {
			b.now = b.now.Add(time.Duration(r.IntN(3)) * time.Second)
		}
	}
	want, _, all := b.timeline(store.TimelineQuery{Limit: 100})
	equal(b, "all", len(want), 40)
	for range 50 {
		limit := 1 + r.IntN(9)
		n := r.IntN(len(all))
		got, more, _ := b.timeline(store.TimelineQuery{Before: all[n].ID, Limit: limit})
		from := max(0, n-limit)
		equal(b, "before", fmt.Sprint(got, more), fmt.Sprint(want[from:n], from > 0))
		got, more, _ = b.timeline(store.TimelineQuery{After: all[n].ID, Limit: limit})
		to := min(len(all), n+1+limit)
		equal(b, "after", fmt.Sprint(got, more), fmt.Sprint(want[n+1:to], to < len(all)))
	}
}

func testTimelineTimes(b *bench) {
	first := b.now
	for n := range 6 {
		b.say(false, fmt.Sprint(n))
		b.now = b.now.Add(time.Hour)
	}
	_, _, all := b.timeline(store.TimelineQuery{Limit: 10})
	at := func(n int) time.Time { return first.Add(time.Duration(n) * time.Hour) }
	for _, c := range []struct {
		q    store.TimelineQuery
		want string
	}{
		{store.TimelineQuery{From: at(2), To: at(4), Limit: 10}, "[2 3] false"},
		{store.TimelineQuery{From: at(2), Limit: 3}, "[3 4 5] true"},
		{store.TimelineQuery{To: at(3), Limit: 2}, "[1 2] true"},
		{store.TimelineQuery{From: at(1), To: at(5), Before: all[3].ID, Limit: 10}, "[1 2] false"},
		{store.TimelineQuery{From: at(1), To: at(5), After: all[3].ID, Limit: 10}, "[4] false"},
		{store.TimelineQuery{From: at(1), To: at(3), Before: all[5].ID, Limit: 1}, "[2] true"},
		{store.TimelineQuery{From: at(3), To: at(5), After: all[0].ID, Limit: 1}, "[3] true"},
		{store.TimelineQuery{From: at(4), To: at(4), Limit: 10}, "[] false"},
		{store.TimelineQuery{From: at(9), Limit: 10}, "[] false"},
		{store.TimelineQuery{Oldest: true, Limit: 2}, "[0 1] true"},
		{store.TimelineQuery{Oldest: true, From: at(2), To: at(4), Limit: 10}, "[2 3] false"},
	} {
		got, more, _ := b.timeline(c.q)
		equal(b, fmt.Sprintf("%+v", c.q), fmt.Sprint(got, more), c.want)
	}
}

func testTimelineMissing(b *bench) {
	here := b.say(false, "here").Messages[0]
	h := b.named("client")
	there := b.sayIn(h.ID, "there").Messages[0]
	for _, q := range []store.TimelineQuery{
		{Thread: 9999}, {Before: 9999}, {After: 9999}, {Before: there}, {Thread: h.ID, After: here},
	} {
		q.User, q.Limit = b.user.ID, 10
		_, _, err := b.Timeline(b.ctx, q)
		b.notFound(fmt.Sprintf("%+v", q), err)
	}
	_, _, err := b.Timeline(b.ctx, store.TimelineQuery{User: 9999, Limit: 10})
	b.notFound("nobody", err)
}

func testSent(b *bench) {
	_, first := b.exchange("one", "1")
	_, second := b.exchange("two", "2")
	b.exchange("three", "3")
	list, err := b.Sent(b.ctx, b.user.ID, []core.MessageID{second, first, 9999})
	b.must(err)
	equal(b, "deliveries", len(list), 2)
	equal(b, "oldest first", list[0].Message, first)
	equal(b, "state", list[1].State, core.DeliverySent)
	equal(b, "parts", len(list[0].Parts), 0)
	list, err = b.Sent(b.ctx, b.user.ID, nil)
	b.must(err)
	equal(b, "of none", len(list), 0)
	u, _ := b.person("Bob", core.RoleMember, "222")
	list, err = b.Sent(b.ctx, u.ID, []core.MessageID{first})
	b.must(err)
	equal(b, "of another user", len(list), 0)
}

func testRevisions(b *bench) {
	id := b.say(false, "first").Messages[0]
	target := b.native()
	none, err := b.Revisions(b.ctx, b.user.ID, id)
	b.must(err)
	equal(b, "none yet", len(none), 0)
	b.now = b.now.Add(time.Second)
	b.must(b.edit(target, "e1", "second"))
	b.must(b.edit(target, "e2", "third"))
	got, err := b.Revisions(b.ctx, b.user.ID, id)
	b.must(err)
	want := []store.Revision{{Revision: 0, Text: "first", ReplacedAt: b.now},
		{Revision: 1, Text: "second", ReplacedAt: b.now}}
	if !slices.Equal(got, want) {
		b.t.Errorf("got %+v, want %+v", got, want)
	}
	b.effects(effect.Redact{Message: id, At: b.now})
	got, err = b.Revisions(b.ctx, b.user.ID, id)
	b.must(err)
	equal(b, "redacted", len(got), 0)
}

func testRunning(b *bench) {
	running := func(thread core.ThreadID, want int) []core.Turn {
		b.t.Helper()
		list, err := b.Running(b.ctx, b.user.ID, thread)
		b.must(err)
		if len(list) != want {
			b.t.Fatalf("thread %d: got %d turns, want %d", thread, len(list), want)
		}
		return list
	}
	running(0, 0)
	h := b.named("client")
	t := b.turn("one")
	equal(b, "turn", running(0, 1)[0].ID, t.ID)
	running(h.ID, 0)
	b.sayIn(h.ID, "there")
	there := b.take()
	equal(b, "of the thread", running(h.ID, 1)[0].ID, there.ID)
	b.must(b.RetryTurn(b.ctx, t, b.now.Add(10*time.Second), "down"))
	equal(b, "waits", running(0, 1)[0].LastError, "down")
	b.now = b.now.Add(10 * time.Second)
	b.answer(b.take(), "ok")
	running(0, 0)
	running(h.ID, 1)
}

func testUsageDays(b *bench) {
	u, _ := b.person("Bob", core.RoleMember, "222")
	spend := func(user core.UserID, day string, n int) {
		b.must(b.Spend(b.ctx, user, day, took(core.Usage{Prompt: n, Cached: 1, Completion: 2})))
	}
	spend(u.ID, "2026-11-02", 20)
	spend(b.user.ID, "2026-11-03", 3)
	spend(b.user.ID, "2026-11-02", 2)
	spend(b.user.ID, "2026-11-01", 1)
	t := b.turn("one")
	b.answer(t, "ok")
	a := b.batch(true, "reserved only")
	a.Budget = store.Budget{TokensPerDay: 1000, Reserve: 100, Day: "2026-11-02", NextDay: b.now.Add(time.Hour)}
	one(b, b.as(u, b.at).Append, b.batch(false)) // nothing, for nobody
	days := func(user core.UserID, from, through string) string {
		b.t.Helper()
		list, err := b.UsageDays(b.ctx, user, from, through)
		b.must(err)
		var out []string
		for _, d := range list {
			out = append(out, fmt.Sprintf("%s %d: %d+%d/%d", d.Day[8:], d.User, d.Usage.Prompt, d.Usage.Completion, d.Turns))
		}
		return strings.Join(out, ", ")
	}
	equal(b, "mine", days(b.user.ID, "2026-11-01", "2026-11-02"),
		fmt.Sprintf("01 %[1]d: 1+2/0, 02 %[1]d: 2+2/0", b.user.ID))
	equal(b, "all", days(0, "2026-11-02", "2026-11-03"),
		fmt.Sprintf("02 %[1]d: 2+2/0, 02 %[2]d: 20+2/0, 03 %[1]d: 3+2/0", b.user.ID, u.ID))
	equal(b, "turns", days(0, "2026-11-19", "2026-11-19"), fmt.Sprintf("19 %d: 0+0/1", b.user.ID))
	equal(b, "none", days(b.user.ID, "2026-12-01", "2026-12-31"), "")
}

// wantChanges waits for a change of each of the users, and fails the test on any other.
func (b *bench) wantChanges(changes <-chan core.UserID, users ...core.UserID) {
	b.t.Helper()
	late := time.After(5 * time.Second)
	left := map[core.UserID]bool{}
	for _, u := range users {
		left[u] = true
	}
	for len(left) > 0 {
		select {
		case got := <-changes:
			if !slices.Contains(users, got) {
				b.t.Fatalf("got a change of user %d", got)
			}
			delete(left, got)
		case <-late:
			b.t.Fatalf("got no change of users %v", left)
		}
	}
}

func testChanged(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	bob := b.as(u, i)
	ctx, cancel := context.WithCancel(b.ctx)
	changes := b.Changed(ctx)
	b.say(false, "hello")
	b.wantChanges(changes, b.user.ID)
	bob.exchange("hi", "hello")
	b.wantChanges(changes, u.ID)
	e := b.stranger("let me in")
	one(b, b.Hold, store.Hold{Event: e, Keep: true, Now: b.now})
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.CloseLoop{Loop: 77, At: b.now}}})
	b.notFound("fails", err)
	bob.say(false, "last") // failed writes and strangers were not reported
	b.drain(changes, u.ID)
	var wg sync.WaitGroup
	for _, who := range []*bench{b, bob} {
		for n := range 5 {
			p := *who
			p.n += 1000 * (n + 1)
			wg.Go(func() { one(&p, p.Append, p.batch(false, "together")) })
		}
	}
	wg.Wait()
	b.wantChanges(changes, b.user.ID, u.ID)
	cancel()
	for range changes {
		continue
	}
	b.say(false, "nobody listens")
}

// drain reads pending changes after one of user; all must be of user.
func (b *bench) drain(changes <-chan core.UserID, user core.UserID) {
	b.t.Helper()
	b.wantChanges(changes, user)
	for {
		select {
		case got := <-changes:
			equal(b, "changed", got, user)
		default:
			return
		}
	}
}

func testChangedSlow(b *bench) {
	changes := b.Changed(b.ctx)
	for range 1100 {
		b.must(b.Spend(b.ctx, b.user.ID, "2026-11-19", took(core.Usage{Prompt: 1})))
	}
	b.wantChanges(changes, b.user.ID)
	equal(b, "the reader misses some", len(changes) < 1100, true)
}

func testChangedMerge(b *bench) {
	v := b.second("Vera", "222")
	v.exchange("hers", "ok")
	id := v.merge(b.user.ID)
	changes := b.Changed(b.ctx)
	b.carryMerge(id, store.MergeTold)
	b.wantChanges(changes, b.user.ID, v.user.ID)
}

func testPublish(b *bench) {
	wakes := b.Wakes(b.ctx)
	before := b.Commits()
	b.must(b.Publish(b.ctx, "live:1:it's \"said\" $1"))
	b.wantWake(wakes, "live:1:it's \"said\" $1")
	long := strings.Repeat("é", 3500)
	b.must(b.Publish(b.ctx, long))
	b.wantWake(wakes, long)
	equal(b, "too long", b.Publish(b.ctx, long+"x") != nil, true)
	equal(b, "commits", b.Commits()-before, 0)
}

func testOwnerPage(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	bob := b.as(u, i)
	for _, who := range []*bench{b, bob} {
		for range 2 {
			d := who.answer(who.turn("q"), "a").Delivery
			_, err := who.FinishPart(b.ctx, d, 0, store.PartResult{State: core.DeliveryFailed, Error: "gone"}, who.now)
			b.must(err)
			who.now = who.now.Add(time.Second)
		}
	}
	bob.exchange("fine", "ok")
	all, err := b.Deliveries(b.ctx, store.DeliveryQuery{Limit: 3})
	b.must(err)
	equal(b, "at most", len(all), 3)
	for n, d := range all {
		equal(b, "state", d.State, core.DeliveryFailed)
		equal(b, "why", d.Parts[0].Error, "gone")
		equal(b, "newest first", n == 0 || !d.CreatedAt.After(all[n-1].CreatedAt), true)
	}
	none, err := b.Deliveries(b.ctx, store.DeliveryQuery{States: []core.DeliveryState{core.DeliveryParked}, Limit: 10})
	b.must(err)
	equal(b, "parked", len(none), 0)
}
