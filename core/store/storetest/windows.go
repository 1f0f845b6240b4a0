package storetest

import (
	"errors"
	"reflect"
	"time"

	"github.com/everthread/everthread/core"
)

func windowCases() []testCase {
	return []testCase{
		{"a window is bounded by tokens and by count", testWindowBounds},
		{"a window counts what no summary covers", testUncovered},
		{"covered messages are read only before uncovered ones", testCovered},
		{"imported messages are read in whole exchanges", testCoveredImported},
		{"an epoch continues until something changes", testEpoch},
		{"an epoch counts dropped messages until a summary covers them", testEpochDropped},
		{"every process reads an epoch as it is in the tables", testEpochShared},
		{"a process does not read messages again that it stored", testWindowKnown},
		{"a window is known before its turn is committed", testWindowBegun},
		{"objects made by tainted turns keep their mark", testTainted},
		{"changes by tainted turns can be undone", testUndo},
		{"changes since an epoch began are read until they are told", testNews},
		{"news is stored with its message, without text changed meanwhile", testNoteOfTurn},
		{"news of a summary are of the day that the head shows", testNewsOfDay},
		{"history is read page by page", testHistory},
		{"a window knows today, the last day and the loops", testWindowDays},
		{"plain threads have no days", testPlainThread},
	}
}

// ongoing returns a query that continues epochs of the last hour.
func (b *bench) ongoing() core.WindowQuery {
	q := query()
	q.Stale, q.Budgets = b.now.Add(-time.Hour), "f"
	return q
}

// epochFrom completes a turn and begins an epoch with its first input.
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

// window reads the texts that the current epoch shows, and reports whether it continues.
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

// testEpochDropped checks that each turn of an epoch counts the uncovered messages that the epoch
// left out.
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
		for range 2 { // the second time from the cache
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

// known is a process that stores messages; its windows are compared with those of a process that
// has to read them.
type known struct {
	*bench // shares the process's clock
	warm   bench
	reads  int
}

func (k *known) pass() { k.warm.now = k.warm.now.Add(time.Second) }

// compare compares the windows of a turn; most is the number of statements that the cached one may
// take.
func (k *known) compare(t *core.Turn, most int) { k.t.Helper(); k.compareAs(t, k.ongoing(), most) }

// compareAs is compare with a query. It returns the window.
func (k *known) compareAs(t *core.Turn, q core.WindowQuery, most int) core.Window {
	k.t.Helper()
	before := k.reads
	got, err := k.warm.Window(k.ctx, t, q)
	k.must(err)
	if n := k.reads - before; n > most {
		k.t.Errorf("a window took %d statements, want at most %d", n, most)
	}
	cold := *k.bench
	cold.Store = k.open()
	want, err := cold.Window(k.ctx, t, q)
	k.must(err)
	if !reflect.DeepEqual(got, want) {
		k.t.Errorf("got the window %+v, want %+v", got, want)
	}
	return got
}

// commit commits a reply to a turn.
func (k *known) commit(t *core.Turn, text string) {
	k.t.Helper()
	_, err := k.warm.Commit(k.ctx, k.warm.reply(t, text), nil)
	k.must(err)
}

// testWindowKnown checks that a window from the process's cache equals the one in the tables,
// whichever process stored what.
func testWindowKnown(b *bench) {
	k := &known{bench: b, warm: *b}
	k.warm.Store = b.open()
	k.warm.Trace(func(string, []any) { k.reads++ })
	k.warm.epochFrom(k.warm.turn("first"), "1")
	second := k.warm.turn("second")
	k.compare(second, 0)
	k.warm.sent(k.warm.answer(second, "2").Delivery)
	k.oddMessages()
	k.epochs()
	k.summaries()
	k.files()
	k.others()
	k.changes()
}

// summaries checks that the process that stores a summary keeps its window, between turns and
// while one runs.
func (k *known) summaries() {
	k.pass()
	k.warm.summary(k.warm.segment(), false, "so far", 1, 2)
	t := k.warm.turn("after a summary")
	k.compare(t, 0)
	k.warm.summary(k.warm.segment(), false, "so far, and more", 1, 2, 3, 4)
	k.commit(t, "yes")
	k.pass()
	t = k.warm.turn("after another")
	k.compare(t, 0)
	k.commit(t, "yes")
}

func (k *known) oddMessages() {
	for _, change := range []func(m *core.NewMessage){
		func(*core.NewMessage) {},
		func(m *core.NewMessage) { m.Text = "with NUL \x00 and \xff" },
		func(m *core.NewMessage) { m.ForwardedFrom = "Eve" },
		func(m *core.NewMessage) { m.Quote = &core.Quote{Text: "what was said"} },
		func(m *core.NewMessage) { m.SentAt = k.now.Add(1234567 * time.Nanosecond) },
	} {
		k.pass()
		k.now = k.warm.now
		a := k.warm.batch(true, "said")
		change(&a.Messages[0])
		t := one(&k.warm, k.warm.Append, a).Turn
		k.compare(t, 0)
		r := k.warm.reply(t, "it is")
		call := core.NewMessage{Role: core.RoleAssistant, Kind: core.KindChat, SentAt: k.now, Tokens: 1,
			ToolCalls: []core.ToolCall{{ID: "c1", Name: "time_now", Arguments: "{}"}}}
		result := core.NewMessage{Role: core.RoleTool, Kind: core.KindChat, Text: "noon", ToolCallID: "c1",
			ToolName: "time_now", SentAt: k.now, Tokens: 1}
		r.Messages = append([]core.NewMessage{call, result}, r.Messages...)
		_, err := k.warm.Commit(k.ctx, r, nil)
		k.must(err)
	}
}

func (k *known) files() {
	for _, claim := range []bool{true, false} {
		k.pass()
		a := k.warm.batch(claim, "with a file")
		a.Messages[0].Attachments = []core.Attachment{{Kind: "voice", Ref: "r"}}
		t := one(&k.warm, k.warm.Append, a).Turn
		if !claim {
			t = k.warm.take()
		}
		f := core.Fetched{User: k.user.ID, Message: t.Inputs[0], Attachment: a.Messages[0].Attachments[0]}
		f.Attachment.Transcript = "what was heard"
		j, err := k.warm.Claim(k.ctx, k.warm.only("fetch:telegram"), k.warm.claim())
		k.must(err)
		f.Lease = j.Lease
		k.must(k.warm.SetAttachment(k.ctx, f))
		k.compare(t, 9)
		k.commit(t, "heard")
	}
}

func (k *known) others() {
	k.warm.say(false, "waits")
	k.pass()
	t := k.warm.take()
	k.compare(t, 1) // a message that waited for its turn is read
	k.commit(t, "so it does")
	own := k.warm.Store
	k.warm.Store = k.open()
	k.pass()
	k.warm.answer(k.warm.turn("elsewhere"), "there")
	k.warm.Store = own
	k.pass()
	t = k.warm.turn("here again")
	k.compare(t, 1) // and one stored by another process
	k.compare(t, 2) // a retry
	k.commit(t, "yes")
}

func (k *known) changes() {
	k.pass()
	again := k.warm.turn("is changed")
	k.must(k.warm.edit(k.warm.native(), "e1", "was changed"))
	again.Again = true
	k.compare(again, 9)
	k.warm.epochFrom(again, "so it was")
	k.pass()
	between := k.warm.turn("between")
	k.compare(between, 9)
	k.commit(between, "both")
	k.pass()
	later := k.warm.turn("is tried later")
	k.must(k.warm.RetryTurn(k.ctx, later, k.warm.now, "the model is away"))
	k.must(k.warm.edit(k.warm.native(), "e2", "was changed again"))
	k.compare(k.warm.take(), 9)
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
