package storetest

import (
	"errors"
	"math"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func dayCases() []testCase {
	return []testCase{
		{"a day opens with its first message and continues", testDayGoesOn},
		{"a reply after midnight stays with its question", testMidnight},
		{"a late message makes a final day stale", testLate},
		{"a change of zone moves the end of an open day", testZone},
		{"due segments come oldest first, without those that have a job", testDueSegments},
		{"a reply into a final day makes it stale", testReplyFinal},
		{"days are listed before a label, newest first", testDays},
		{"a day's messages are read in order after one", testDayMessages},
		{"a day's last messages before one are read in order", testDayMessagesBefore},
	}
}

// segment returns today's segment.
func (b *bench) segment() core.Segment {
	b.t.Helper()
	g, err := b.Day(b.ctx, b.user.ID, dayOf(b.now).Label)
	b.must(err)
	g, err = b.Segment(b.ctx, b.user.ID, g.ID)
	b.must(err)
	return g
}

func testDayGoesOn(b *bench) {
	_, err := b.Day(b.ctx, b.user.ID, dayOf(b.now).Label)
	equal(b, "before", errors.Is(err, core.ErrNotFound), true)
	q, _ := b.exchange("one", "1")
	b.exchange("two", "2")
	g := b.segment()
	equal(b, "messages", g.Messages, 4)
	equal(b, "since", g.SinceSummary, 4)
	equal(b, "starts", g.StartsAt, q)
	equal(b, "state", g.State, core.SegmentOpen)
	equal(b, "ends", g.Day.End.Equal(dayOf(b.now).End), true)
	b.now = b.now.Add(24 * time.Hour)
	b.exchange("three", "3")
	equal(b, "another", b.segment().ID != g.ID, true)
}

func testMidnight(b *bench) {
	b.now = dayOf(b.now).End.Add(-time.Minute)
	t := b.turn("late")
	b.now = b.now.Add(3 * time.Minute)
	b.answer(t, "night")
	days, err := b.Days(b.ctx, b.user.ID, "", 10)
	b.must(err)
	equal(b, "days", len(days), 1)
	equal(b, "messages", days[0].Messages, 2)
}

func testLate(b *bench) {
	q, a := b.exchange("one", "1")
	b.finalSummary(b.segment(), "all", nil, q, a)
	first := b.segment()
	b.now = b.now.Add(24 * time.Hour)
	late := b.batch(true, "from yesterday")
	late.Messages[0].Day = dayOf(start())
	b.answer(one(b, b.Append, late).Turn, "ok")
	got, err := b.Segment(b.ctx, b.user.ID, first.ID)
	b.must(err)
	equal(b, "stale", got.Stale, true)
	equal(b, "state", got.State, core.SegmentFinal)
	equal(b, "messages", got.Messages, 4)
	due, err := b.DueSegments(b.ctx, b.now, "", 10)
	b.must(err)
	equal(b, "due", len(due), 1)
}

func testZone(b *bench) {
	b.exchange("one", "1")
	before := b.segment()
	west := time.FixedZone("West", -8*3600)
	b.now = before.Day.End.Add(time.Hour)
	a := b.batch(true, "two")
	a.Messages[0].Day = dayIn(b.now, west)
	equal(b, "label", a.Messages[0].Day.Label, before.Day.Label)
	one(b, b.Append, a)
	got, err := b.Segment(b.ctx, b.user.ID, before.ID)
	b.must(err)
	equal(b, "end", got.Day.End.Equal(before.Day.End.Add(8*time.Hour)), true)
	equal(b, "zone", got.Day.Zone, "UTC")
	days, err := b.Days(b.ctx, b.user.ID, "", 10)
	b.must(err)
	equal(b, "days", len(days), 1)
}

func testDueSegments(b *bench) {
	var ids []core.SegmentID
	for range 3 {
		b.exchange("hm", "ok")
		ids = append(ids, b.segment().ID)
		b.now = b.now.Add(24 * time.Hour)
	}
	b.now = b.now.Add(-24 * time.Hour)
	due, err := b.DueSegments(b.ctx, b.now, "", 10)
	b.must(err)
	equal(b, "due", len(due), 2)
	equal(b, "oldest first", due[0].ID, ids[0])
	b.must(b.Enqueue(b.ctx, store.NewJob{User: b.user.ID, Queue: core.QueueSummarize, Key: core.SummaryKey,
		Ref: int64(ids[0]), RunAt: b.now, Unique: true}))
	due, err = b.DueSegments(b.ctx, b.now, "", 10)
	b.must(err)
	equal(b, "due without the one with a job", len(due), 1)
	j, err := b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	b.must(b.Finish(b.ctx, b.user.ID, j.Lease, "dead"))
	due, err = b.DueSegments(b.ctx, b.now, "", 1)
	b.must(err)
	equal(b, "due again after its job died", due[0].ID, ids[0])
}

func testReplyFinal(b *bench) {
	t := b.turn("one")
	b.finalSummary(b.segment(), "asked one", nil, t.Inputs[0])
	b.answer(t, "1")
	g := b.segment()
	equal(b, "stale", g.Stale, true)
	equal(b, "since", g.SinceSummary, 1)
}

func testDays(b *bench) {
	for range 3 {
		b.exchange("hm", "ok")
		b.now = b.now.Add(24 * time.Hour)
	}
	all, err := b.Days(b.ctx, b.user.ID, "", 10)
	b.must(err)
	equal(b, "days", len(all), 3)
	equal(b, "newest", all[0].Day.Label, "2026-11-21")
	some, err := b.Days(b.ctx, b.user.ID, "2026-11-21", 1)
	b.must(err)
	equal(b, "before", some[0].Day.Label, "2026-11-20")
}

func testDayMessages(b *bench) {
	q, a := b.exchange("one", "1")
	b.summary(b.segment(), false, "entry", q)
	b.exchange("two", "2")
	id := b.segment().ID
	all, err := b.DayMessages(b.ctx, b.user.ID, id, 0, 10)
	b.must(err)
	equal(b, "messages", len(all), 4)
	some, err := b.DayMessages(b.ctx, b.user.ID, id, a, 1)
	b.must(err)
	equal(b, "after", some[0].Text, "two")
	equal(b, "limit", len(some), 1)
}

func testDayMessagesBefore(b *bench) {
	b.exchange("one", "1")
	b.summary(b.segment(), false, "entry", 1)
	q, _ := b.exchange("two", "2")
	id := b.segment().ID
	b.now = b.now.Add(24 * time.Hour)
	b.exchange("three", "3")
	last, err := b.DayMessagesBefore(b.ctx, b.user.ID, id, math.MaxInt64, 3)
	b.must(err)
	equal(b, "messages", len(last), 3)
	equal(b, "first of them", last[0].Text, "1")
	equal(b, "last of them", last[2].Text, "2")
	some, err := b.DayMessagesBefore(b.ctx, b.user.ID, id, q, 10)
	b.must(err)
	equal(b, "before", len(some), 2)
	equal(b, "order", some[0].Text, "one")
}
