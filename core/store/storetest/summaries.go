package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func summaryCases() []testCase {
	return []testCase{
		{"a summary covers what was read and leaves an entry", testSummary},
		{"versions of a summary are kept", testVersions},
		{"a summary does not mark messages that the previous one covered", testCoveredOnce},
		{"a final summary closes the day once nothing arrives", testFinal},
		{"a summary of messages edited meanwhile is ErrChanged", testSummaryChanged},
		{"a summary of an open day covers only what was read", testSummaryGoesOn},
		{"loops open once and are mentioned again", testLoops},
		{"a summary of earlier messages does not reopen a closed loop", testClosedLoopStays},
		{"a loop is dated by the newest message that it rests on", testLoopDates},
		{"a failed summary is retried and closes a day that is over", testFailSummary},
		{"a day without a summary waits until its post expires", testMissedPost},
		{"a summary settles and names known loops", testSettled},
		{"an empty final summary only closes the day", testEmptyFinal},
		{"a fenced summary writes nothing", testSummaryFenced},
		{"a post is decided once", testPost},
		{"what a post says beside the summary is said once", testPostOnce},
		{"posts come newest first", testDuePosts},
		{"Summarize asks for a new summary, once", testSummarizeEffect},
	}
}

// summaryJob claims a summary job of a segment, and queues it first if necessary.
func (b *bench) summaryJob(g core.Segment) core.Lease {
	b.t.Helper()
	b.must(b.Enqueue(b.ctx, store.NewJob{User: b.user.ID, Queue: core.QueueSummarize, Key: core.SummaryKey,
		Ref: int64(g.ID), RunAt: b.now, Unique: true}))
	j, err := b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	return j.Lease
}

// put returns a summary of a segment in its current state.
func (b *bench) put(g core.Segment, final bool, text string, covers ...core.MessageID) store.PutSummary {
	b.t.Helper()
	p := store.PutSummary{Summary: core.Summary{User: b.user.ID, Segment: g.ID, Markdown: text, Tokens: 3,
		Covers: core.NewIDSet(covers...), Model: "m", Usage: core.Usage{Prompt: 10}},
		Spent: core.SpentOn(core.ForSummary, "m", core.Usage{Prompt: 10}),
		Edits: g.Edits, Lease: b.summaryJob(g), Final: final, Post: core.PostDue, Day: dayOf(b.now).Label, Now: b.now,
		Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: text, SentAt: b.now}}
	ms, err := b.DayMessages(b.ctx, b.user.ID, g.ID, 0, 1000)
	b.must(err)
	for _, m := range ms {
		p.ReadTo = m.ID
	}
	return p
}

// summary stores a summary of a segment.
func (b *bench) summary(g core.Segment, final bool, text string, covers ...core.MessageID) {
	b.t.Helper()
	b.must(b.PutSummary(b.ctx, b.put(g, final, text, covers...)))
}

// testCoveredOnce checks that a message is not marked as covered again: a day can have hundreds of
// summaries and thousands of messages.
func testCoveredOnce(b *bench) {
	u1, a1 := b.exchange("one", "first")
	b.summary(b.segment(), false, "so far", u1, a1)
	u2, a2 := b.exchange("two", "second")
	trigger := `CREATE TRIGGER again BEFORE UPDATE OF covered ON messages FOR EACH ROW WHEN (OLD.covered = NEW.covered) `
	if _, err := b.DB().Exec(trigger + `BEGIN SELECT RAISE(FAIL, 'covered again'); END`); err != nil { // PostgreSQL
		_, err := b.DB().Exec(
			`CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''covered again''; END'`)
		b.must(err)
		_, err = b.DB().Exec(trigger + `EXECUTE FUNCTION again()`)
		b.must(err)
	}
	b.summary(b.segment(), false, "all", u1, a1, u2, a2)
	for _, id := range []core.MessageID{u1, a1, u2, a2} {
		equal(b, "covered", b.message(id).Covered, true)
	}
}

// finalSummary closes a segment, with loops made from its first message.
func (b *bench) finalSummary(g core.Segment, text string, loops []string, covers ...core.MessageID) {
	b.t.Helper()
	p := b.put(g, true, text, covers...)
	p.SameLoop = sameLoop
	for _, l := range loops {
		p.Loops = append(p.Loops, store.NamedLoop{Text: l, Sources: covers[:1]})
	}
	b.must(b.PutSummary(b.ctx, p))
}

// sameLoop recognises a loop by its text.
func sameLoop(text string, open []core.Loop) (core.LoopID, bool) {
	for _, l := range open {
		if strings.EqualFold(l.Text, text) {
			return l.ID, true
		}
	}
	return 0, false
}

// postOf posts a segment's summary to the bench's user and confirms it.
func (b *bench) postOf(g core.Segment, text string) {
	b.t.Helper()
	b.must(b.PutPost(b.ctx, b.post(g, text)))
	b.sent(b.takeDelivery())
}

func (b *bench) post(g core.Segment, text string) store.PutPost {
	return store.PutPost{User: b.user.ID, Segment: g.ID, State: core.PostDone, Now: b.now,
		Message: core.NewMessage{Role: core.RoleAssistant, Kind: core.KindDayPost, Text: text, SentAt: b.now},
		Deliveries: []core.NewDelivery{{To: b.at.Address, Identity: b.at.ID, Kind: core.DeliverPost,
			Parts: []core.Part{{Text: text}}}}}
}

func testSummary(b *bench) {
	q, a := b.exchange("one", "1")
	b.exchange("two", "2")
	b.summary(b.segment(), false, "they counted", q, a)
	equal(b, "covered", b.message(q).Covered && b.message(a).Covered, true)
	equal(b, "not covered", b.message(a+1).Covered, false)
	g := b.segment()
	equal(b, "since", g.SinceSummary, 0)
	equal(b, "messages", g.Messages, 4)
	equal(b, "state", g.State, core.SegmentOpen)
	equal(b, "post", g.Post, core.PostNone)
	b.wantTexts("one", "1", "two", "2", "they counted")
	used, _, err := b.UsageOf(b.ctx, b.user.ID, dayOf(b.now).Label)
	b.must(err)
	equal(b, "used", used, 10)
	equal(b, "jobs", len(b.due(core.QueueSummarize)), 0)
}

func testVersions(b *bench) {
	q, _ := b.exchange("one", "1")
	b.summary(b.segment(), false, "v1", q)
	b.summary(b.segment(), false, "v2", q)
	g := b.segment()
	equal(b, "version", g.SummaryVersion, 2)
	list, err := b.Summaries(b.ctx, b.user.ID, g.ID, 10)
	b.must(err)
	equal(b, "versions", len(list), 2)
	equal(b, "newest", list[0].Markdown, "v2")
	equal(b, "covers", list[0].Covers.Has(q), true)
	equal(b, "label", list[0].Label, g.Day.Label)
}

func testFinal(b *bench) {
	q, a := b.exchange("one", "1")
	g := b.segment()
	p := b.put(g, true, "done", q, a)
	b.exchange("one more", "yes")
	err := b.PutSummary(b.ctx, p)
	equal(b, "changed", errors.Is(err, core.ErrChanged), true)
	equal(b, "state", b.segment().State, core.SegmentOpen)
	p.ReadTo += 2
	b.must(b.PutSummary(b.ctx, p))
	g = b.segment()
	equal(b, "state", g.State, core.SegmentFinal)
	equal(b, "ends", g.EndsAt, p.ReadTo)
	equal(b, "post", g.Post, core.PostDue)
	list, err := b.Summaries(b.ctx, b.user.ID, g.ID, 10)
	b.must(err)
	equal(b, "final", list[0].Final, true)
}

func testSummaryChanged(b *bench) {
	q, _ := b.exchange("one", "1")
	native := b.native()
	p := b.put(b.segment(), false, "one", q)
	b.must(b.edit(native, "e1", "ONE"))
	err := b.PutSummary(b.ctx, p)
	equal(b, "changed", errors.Is(err, core.ErrChanged), true)
	equal(b, "version", b.segment().SummaryVersion, 0)
	p.Edits = b.segment().Edits
	b.must(b.PutSummary(b.ctx, p))
}

func testSummaryGoesOn(b *bench) {
	q, a := b.exchange("one", "1")
	p := b.put(b.segment(), false, "one", q, a)
	b.exchange("two", "2")
	b.turn("three")
	b.must(b.PutSummary(b.ctx, p))
	g := b.segment()
	equal(b, "since", g.SinceSummary, 3)
	equal(b, "messages", g.Messages, 5)
	equal(b, "stale", g.Stale, false)
}

func testLoops(b *bench) {
	open := func(q core.MessageID, texts ...string) {
		p := b.put(b.segment(), false, "s", q)
		p.SameLoop = sameLoop
		for _, text := range texts {
			p.Loops = append(p.Loops, store.NamedLoop{Text: text, Sources: []core.MessageID{q}})
		}
		b.must(b.PutSummary(b.ctx, p))
		b.now = b.now.Add(time.Minute)
	}
	q, _ := b.exchange("one", "1")
	open(q, "The door", "the window")
	again, _ := b.exchange("two", "2")
	open(again, "the DOOR")
	list, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "loops", len(list), 2)
	equal(b, "newest mention", list[0].Text, "The door")
	equal(b, "source", list[0].Sources[0], q)
	b.effects(effect.CloseLoop{Loop: list[0].ID, At: b.now})
	list, err = b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "open", len(list), 1)
}

// testLoopDates checks that loops of a summary bear the dates of their messages, not that of the
// summary.
func testLoopDates(b *bench) {
	first, answer := b.exchange("one", "1")
	begin := b.message(first).SentAt
	b.now = b.now.Add(time.Hour)
	second, _ := b.exchange("two", "2")
	g := b.segment()
	b.now = b.now.AddDate(1, 0, 0)
	p := b.put(g, false, "s", first, answer, second)
	p.SameLoop = sameLoop
	p.Loops = []store.NamedLoop{{Text: "The door", Sources: []core.MessageID{first}},
		{Text: "the window", Sources: []core.MessageID{second, first}}}
	b.must(b.PutSummary(b.ctx, p))
	dates := func(opened, mentioned time.Time) {
		b.t.Helper()
		list, err := b.Loops(b.ctx, b.user.ID, 10)
		b.must(err)
		for _, l := range list {
			if l.Text == "The door" && (!l.OpenedAt.Equal(opened) || !l.Mentioned.Equal(mentioned)) || !l.Stale(b.now) {
				b.t.Errorf("got %+v, want opened %s and mentioned %s", l, opened, mentioned)
			}
		}
		equal(b, "newest mention", list[0].OpenedAt.Sub(begin), b.message(second).SentAt.Sub(begin))
	}
	dates(begin, begin)
	p = b.put(g, false, "s", first, answer, second)
	p.SameLoop, p.Loops = sameLoop, []store.NamedLoop{{Text: "the door", Sources: []core.MessageID{second}}}
	b.must(b.PutSummary(b.ctx, p))
	dates(begin, b.message(second).SentAt)
	b.effects(effect.OpenLoop{Loop: core.Loop{Text: "call Léa", Sources: []core.MessageID{first}}, At: b.now},
		effect.OpenLoop{Loop: core.Loop{Text: "no message", Sources: []core.MessageID{9999}}, At: b.now})
	list, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	for _, l := range list {
		if l.Text == "call Léa" && !l.OpenedAt.Equal(begin) || l.Text == "no message" && !l.OpenedAt.Equal(b.now) {
			b.t.Errorf("got %+v", l)
		}
	}
}

func testFailSummary(b *bench) {
	q, a := b.exchange("one", "1")
	g := b.segment()
	b.summary(g, false, "so far", q, a)
	began := b.now
	f := store.FailedSummary{User: b.user.ID, Segment: g.ID, Lease: b.summaryJob(g), Cause: "down", Config: "old",
		Since: began, RetryAt: b.now.Add(time.Hour), Post: core.PostDue, Now: b.now}
	b.must(b.FailSummary(b.ctx, f))
	g = b.segment()
	equal(b, "error", g.SummaryError, "down")
	equal(b, "state", g.State, core.SegmentOpen)
	equal(b, "retry", g.RetryAt.Equal(f.RetryAt) && g.FailedAt.Equal(began), true)
	equal(b, "post", g.Post, core.PostNone)
	due := func(config string, want int) {
		b.t.Helper()
		got, err := b.DueSegments(b.ctx, b.now, config, 10)
		b.must(err)
		equal(b, "due", len(got), want)
	}
	due("old", 0)
	due("new", 1)
	r := b.reply(b.turn("two"), "2")
	r.Summarize = true
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	a = out.Messages[0]
	equal(b, "requested by a full prompt before its time", len(b.due(core.QueueSummarize)), 0)
	b.now = b.now.Add(time.Hour)
	due("old", 1)
	b.now = g.Day.Finalize
	f.Lease, f.Now, f.Cause, f.RetryAt = b.summaryJob(g), b.now, "still down", g.Day.Post.Add(time.Hour)
	b.must(b.FailSummary(b.ctx, f))
	g, err = b.Segment(b.ctx, b.user.ID, g.ID)
	b.must(err)
	equal(b, "state when over", g.State, core.SegmentFinal)
	equal(b, "ends", g.EndsAt, a)
	equal(b, "post when over", g.Post, core.PostDue)
	list, err := b.Summaries(b.ctx, b.user.ID, g.ID, 1)
	b.must(err)
	equal(b, "the newest one is final", list[0].Final, true)
	due("old", 0)
	posts, err := b.DuePosts(b.ctx, g.Day.Post, time.Time{}, 10)
	b.must(err)
	equal(b, "posts", len(posts), 1)
	b.now = f.RetryAt
	due("old", 1)
	b.summary(g, true, "at last", q, a)
	g, err = b.Segment(b.ctx, b.user.ID, g.ID)
	b.must(err)
	equal(b, "cleared", g.SummaryError == "" && g.RetryAt.IsZero() && g.FailedAt.IsZero(), true)
	due("new", 0)
}

// testMissedPost checks that a day without a summary waits until its post expires.
func testMissedPost(b *bench) {
	b.exchange("one", "1")
	g := b.segment()
	b.now = g.Day.Finalize
	b.must(b.FailSummary(b.ctx, store.FailedSummary{User: b.user.ID, Segment: g.ID, Lease: b.summaryJob(g),
		Cause:   "down",
		RetryAt: b.now.Add(time.Hour), Post: core.PostDue, Now: b.now}))
	posts := func(expired time.Time, want int) {
		b.t.Helper()
		got, err := b.DuePosts(b.ctx, g.Day.Post.Add(time.Hour), expired, 10)
		b.must(err)
		equal(b, "posts", len(got), want)
	}
	posts(g.Day.Post.Add(-time.Second), 0)
	posts(g.Day.Post, 1)
	p := b.post(g, "none")
	p.State = core.PostMissed
	b.must(b.PutPost(b.ctx, p))
	equal(b, "again", errors.Is(b.PutPost(b.ctx, p), core.ErrExists), true)
	b.wantTexts("one", "1", "none")
	posts(g.Day.Post, 0)
}

// testSettled checks that a summary closes loops, which can be undone, and names known ones by their numbers.
func testSettled(b *bench) {
	q, _ := b.exchange("one", "1")
	p := b.put(b.segment(), false, "s", q)
	p.SameLoop = sameLoop
	p.Loops = []store.NamedLoop{{Text: "the door", Sources: []core.MessageID{q}, Due: b.now.Add(time.Hour)},
		{Text: "the window", Sources: []core.MessageID{q}}}
	b.must(b.PutSummary(b.ctx, p))
	find := func(text string) core.Loop {
		b.t.Helper()
		list, err := b.Loops(b.ctx, b.user.ID, 10)
		b.must(err)
		for _, l := range list {
			if l.Text == text {
				return l
			}
		}
		b.t.Fatalf("no loop %q in %+v", text, list)
		return core.Loop{}
	}
	door, window := find("the door"), find("the window")
	equal(b, "due", door.Due.Equal(b.now.Add(time.Hour)) && window.Due.IsZero(), true)
	b.now = b.now.Add(time.Minute)
	again, _ := b.exchange("two", "2")
	p = b.put(b.segment(), false, "s", again)
	p.Loops = []store.NamedLoop{{Loop: window.ID, Text: "the upper window", Sources: []core.MessageID{again}}}
	p.Settled = []core.LoopID{door.ID}
	b.must(b.PutSummary(b.ctx, p))
	window = find("the upper window")
	equal(b, "sources", len(window.Sources), 2)
	equal(b, "mentioned", window.Mentioned.Equal(b.message(again).SentAt), true)
	gone := effect.Undoable{Kind: effect.UndoLoop, ID: int64(door.ID), Text: "the door", Ended: true}
	b.wantUndoable(int64(door.ID), gone)
	b.effects(effect.Undo{X: gone, At: b.now})
	find("the door")
}

func testEmptyFinal(b *bench) {
	b.exchange("one", "1")
	p := b.put(b.segment(), true, "")
	p.Post = core.PostSkipped
	b.must(b.PutSummary(b.ctx, p))
	g := b.segment()
	equal(b, "state", g.State, core.SegmentFinal)
	equal(b, "version", g.SummaryVersion, 0)
	equal(b, "post", g.Post, core.PostSkipped)
	b.wantTexts("one", "1")
}

func testSummaryFenced(b *bench) {
	q, _ := b.exchange("one", "1")
	g := b.segment()
	p := b.put(g, false, "old", q)
	b.now = b.now.Add(time.Hour)
	fresh, err := b.Claim(b.ctx, b.only(core.QueueSummarize), b.claim())
	b.must(err)
	f := store.FailedSummary{User: b.user.ID, Segment: g.ID, Lease: p.Lease, Cause: "x", Now: b.now}
	for _, err := range []error{b.PutSummary(b.ctx, p), b.FailSummary(b.ctx, f)} {
		equal(b, "fenced", errors.Is(err, core.ErrFenced), true)
	}
	p.Lease = fresh.Lease
	b.must(b.PutSummary(b.ctx, p))
	equal(b, "version", b.segment().SummaryVersion, 1)
}

func testPost(b *bench) {
	q, _ := b.exchange("one", "1")
	g := b.segment()
	err := b.PutPost(b.ctx, b.post(g, "early"))
	equal(b, "before it is due", errors.Is(err, core.ErrExists), true)
	b.finalSummary(g, "s", nil, q)
	posts, err := b.DuePosts(b.ctx, b.now, time.Time{}, 10)
	b.must(err)
	equal(b, "due early", len(posts), 0)
	posts, err = b.DuePosts(b.ctx, g.Day.Post, time.Time{}, 10)
	b.must(err)
	equal(b, "due", len(posts), 1)
	b.postOf(g, "post")
	err = b.PutPost(b.ctx, b.post(g, "twice"))
	equal(b, "twice", errors.Is(err, core.ErrExists), true)
	b.wantTexts("one", "1", "s", "post")
	posts, err = b.DuePosts(b.ctx, g.Day.Post, time.Time{}, 10)
	b.must(err)
	equal(b, "due afterwards", len(posts), 0)
}

func testPostOnce(b *bench) {
	q, a := b.exchange("one", "1")
	b.summary(b.segment(), true, "done", q, a)
	noted := func(user core.UserID, want bool) {
		b.t.Helper()
		got, err := b.Noted(b.ctx, user, "ahead")
		b.must(err)
		equal(b, "noted", got, want)
	}
	noted(b.user.ID, false)
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Once: "ahead", Now: b.now})
	b.must(err)
	noted(b.user.ID, true)
	noted(b.user.ID+1, false)
	p := b.post(b.segment(), "both")
	p.Once = "ahead"
	equal(b, "said before", errors.Is(b.PutPost(b.ctx, p), core.ErrChanged), true)
	equal(b, "post", b.segment().Post, core.PostDue)
	p.Once = "another"
	b.must(b.PutPost(b.ctx, p))
	equal(b, "post", b.segment().Post, core.PostDone)
	again, err := b.Note(b.ctx, store.Note{User: b.user.ID, Once: "another", Now: b.now})
	b.must(err)
	equal(b, "again", again.Duplicate, true)
}

func testDuePosts(b *bench) {
	for range 3 {
		q, _ := b.exchange("one", "1")
		b.finalSummary(b.segment(), "s", nil, q)
		b.now = b.now.Add(24 * time.Hour)
	}
	b.now = b.now.Add(24 * time.Hour)
	posts, err := b.DuePosts(b.ctx, b.now, time.Time{}, 2)
	b.must(err)
	equal(b, "newest", posts[0].Day.Label, "2026-11-21")
	equal(b, "next", posts[1].Day.Label, "2026-11-20")
	b.must(b.PutPost(b.ctx, store.PutPost{User: b.user.ID, Segment: posts[0].ID, State: core.PostSkipped, Now: b.now}))
}

func testSummarizeEffect(b *bench) {
	q, _ := b.exchange("one", "1")
	b.summary(b.segment(), false, "s", q)
	edits := b.segment().Edits
	for range 2 {
		b.effects(effect.Summarize{Segment: b.segment().ID, At: b.now})
	}
	equal(b, "stale", b.segment().Stale, true)
	equal(b, "jobs", len(b.due(core.QueueSummarize)), 1)
	b.summary(b.segment(), false, "better", q)
	equal(b, "stale afterwards", b.segment().Stale, false)
	equal(b, "a regeneration begins a new epoch", b.segment().Edits > edits, true)
}
