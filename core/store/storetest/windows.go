package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
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
		{"objects made by tainted turns keep their mark", testTainted},
		{"changes by tainted turns can be undone", testUndo},
		{"changes since an epoch began are read until they are told", testNews},
		{"news is stored with its message, without text changed meanwhile", testNoteOfTurn},
		{"news of a summary are of the day that the head shows", testNewsOfDay},
		{"a window has what was sent unasked since the turn before", testUnasked},
		{"a part that cannot be read does not fail the window", testFailedParts},
		{"what a turn itself changed is not news", testOwnChanges},
		{"a redaction blanks what updates told since", testUnaskedRedacted},
		{"history is read page by page", testHistory},
		{"a window knows today, the last day and the loops", testWindowDays},
		{"plain threads have no days", testPlainThread},
		{"a window has the first message of its thread if it is asked for", testOpener},
		{"a plain thread is renamed and deleted with its words", testDropThread},
	}
}

// ongoing returns a query that continues epochs of the last hour.
func (b *bench) ongoing() store.WindowQuery {
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
	r.Epoch = &store.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Edits: w.Edits, Budgets: "f"}
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
	r.Epoch = &store.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Edits: w.Edits, Budgets: "f",
		Thread: w.Thread, Dropped: 4}
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	for _, want := range []int{4, 1, 1} {
		t := b.turn("next")
		w, err := b.Window(b.ctx, t, b.ongoing())
		b.must(err)
		equal(b, "dropped", w.UncoveredBefore, want)
		equal(b, "begun with", w.Epoch.Thread+w.Thread, 5)
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
	_, err := b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	zombie := *t
	b.now = b.now.Add(time.Second)
	b.effects(effect.RetryTurn{At: b.now})
	t = b.take()
	for _, s := range stores {
		s.window(&zombie)
	}
	_, err = b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "down"}, nil)
	b.must(err)
	b.now = b.now.Add(time.Second)
	b.effects(effect.RetryTurn{At: b.now})
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
	b.effects(effect.Redact{Message: 1, At: b.now})
	for _, s := range stores {
		got, _ := s.window(t)
		equal(b, "redacted", got[0], "")
	}
}

// unasked reads what was sent unasked before a turn.
func (b *bench) unasked(t *core.Turn) string {
	b.t.Helper()
	w, err := b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	var out []string
	for _, u := range w.Sent {
		out = append(out, string(u.Kind)+" "+u.Answers+" "+u.Label+" "+u.Text)
	}
	return strings.Join(out, ", ")
}

func testUnasked(b *bench) {
	answer := func(text, command string) {
		n := b.noteOf(nil, text, "")
		n.Identity, n.Messages[0].Answers = b.at.ID, command
		n.Deliveries = []core.NewDelivery{{To: b.at.Address, Identity: b.at.ID, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: text}}}}
		b.must(second(b.Note(b.ctx, n)))
	}
	answer("a list", "/loops")
	t := b.turn("and the second one?")
	equal(b, "before the first turn", b.unasked(t), "notice /loops  a list")
	b.answer(t, "it is this")
	r := b.remind("call Karim", "", 0)
	b.now = b.now.Add(2 * time.Hour)
	b.must(b.fire(r, time.Time{}))
	answer("your code is 123", "")
	t = b.turn("done!")
	equal(b, "a reminder", b.unasked(t), "reminder   ⏰ call Karim")
	equal(b, "the same attempt again", b.unasked(t), "reminder   ⏰ call Karim")
	r = b.remind("while the turn runs", "", 0)
	b.now = b.now.Add(2 * time.Hour)
	b.must(b.fire(r, time.Time{}))
	b.answer(t, "well done")
	for _, text := range []string{"1", "2", "3"} {
		answer(text, "/day")
	}
	t = b.turn("what?")
	equal(b, "the newest three", b.unasked(t), "notice /day  1, notice /day  2, notice /day  3")
	b.answer(t, "that")
	t = b.turn("and?")
	equal(b, "nothing since", b.unasked(t), "")
	b.answer(t, "nothing")
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
	t = b.turn("in a thread")
	b.answer(t, "yes")
	other := b.noteOf(nil, "elsewhere", "")
	other.Messages[0].Answers, other.Deliveries = "/day", nil
	b.must(second(b.Note(b.ctx, other)))
	b.now = b.now.Add(time.Second)
	answer("here", "/day")
	t = b.turn("what was that?")
	equal(b, "title", t.Title, "work")
	equal(b, "in a plain thread", b.unasked(t), "notice /day  here")
}

func testFailedParts(b *bench) {
	for range 3 {
		q, a := b.exchange("one", "1")
		b.finalSummary(b.segment(), "a day", []string{"the door"}, q, a)
		b.now = b.now.Add(24 * time.Hour)
	}
	t := b.turn("hello")
	fails := func(table string) string {
		b.t.Helper()
		b.exec(`ALTER TABLE ` + table + ` RENAME TO away`)
		w, err := b.Window(b.ctx, t, b.ongoing())
		b.exec(`ALTER TABLE away RENAME TO ` + table)
		b.must(err)
		equal(b, "messages without "+table, w.Messages[len(w.Messages)-1].Text, "hello")
		return strings.Join(slices.Sorted(maps.Keys(w.Failed)), " ")
	}
	equal(b, "without loops", fails("loops"), "loops")
	equal(b, "without summaries", fails("summaries"), "days last")
	w, err := b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	equal(b, "days before the last", len(w.Days), 2)
	equal(b, "the newest first", w.Days[0].Label > w.Days[1].Label, true)
	b.epochFrom(t, "hello to you")
	b.effects(effect.OpenLoop{Loop: core.Loop{Text: "the window"}, At: b.now})
	t = b.turn("hello")
	equal(b, "without loops in an epoch", fails("loops"), "news")
	equal(b, "without themes in an epoch", fails("themes"), "news")
}

func testOwnChanges(b *bench) {
	b.epochFrom(b.turn("first"), "1")
	t := b.turn("note it")
	w, err := b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	r := b.reply(t, "noted")
	r.Told, r.Effects = w.News, []core.Effect{effect.OpenLoop{Loop: core.Loop{Text: "the door"}, At: b.now}}
	b.commit(r)
	t = b.turn("and now?")
	b.wantNews(t, "")
	w, err = b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	r = b.reply(t, "well")
	r.Told, r.Effects = w.News, []core.Effect{effect.OpenLoop{Loop: core.Loop{Text: "the window"}, At: b.now}}
	b.effects(effect.OpenLoop{Loop: core.Loop{Text: "the roof"}, At: b.now}) // by the person, meanwhile
	b.commit(r)
	b.wantNews(b.turn("what is open?"), "open the window, open the roof")
}

func testUnaskedRedacted(b *bench) {
	q, _ := b.exchange("the safe is 1234", "I see")
	b.epochFrom(b.turn("first"), "1")
	t := b.turn("and?")
	r := b.reply(t, "well")
	b.replyWithNews(r, core.News{Text: "a loop", Sent: "the safe is 1234"})
	b.effects(effect.Redact{Message: q, At: b.now})
	if n := b.message(t.Inputs[0]).News; n == nil || n.Sent+n.Text != "" {
		b.t.Errorf("got %+v", n)
	}
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

func testOpener(b *bench) {
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
	for n := range 6 {
		b.sent(b.answer(b.turn(fmt.Sprint("question ", n)), "answer").Delivery)
	}
	t := b.turn("and now?")
	q := query()
	q.Limit, q.Newest, q.Tokens = 4, 1, 1
	read := func(want string) store.Window {
		b.t.Helper()
		w, err := b.Window(b.ctx, t, q)
		b.must(err)
		got := ""
		if w.Opener != nil {
			got = w.Opener.Text
		}
		equal(b, "opener", got, want)
		return w
	}
	read("")
	q.Opener = true
	first := read("question 0").Opener.ID
	q.Limit = 100
	q.Tokens = 1 << 20
	read("") // it is among the messages
	r := b.reply(t, "well")
	r.Epoch = &store.Epoch{ID: t.ID, Start: b.message(t.Inputs[0]).Position, Opener: first, Budgets: q.Budgets}
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	t = b.turn("go on")
	read("question 0") // that of the epoch
	b.effects(effect.Redact{Message: first, At: b.now})
	q.Limit, q.Tokens = 4, 1
	read("question 1")
}

// testDropThread deletes a thread with an answer, a command, a running turn and a pending message.
func testDropThread(b *bench) {
	word := "xylophone"
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
	thread := b.thread("work")
	b.effects(effect.RenameThread{Thread: thread, Title: "a " + word})
	b.thread("a " + word)
	b.sent(b.answer(b.turn("the "+word), "what of the "+word+"?").Delivery)
	running := b.turn("once more, the " + word)
	b.say(false, "and one "+word+" waits")
	missing := func(e core.Effect) {
		_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Effects: []core.Effect{e}, Now: b.now})
		equal(b, fmt.Sprintf("%T %v", e, err), errors.Is(err, core.ErrNotFound), true)
	}
	missing(effect.DropThread{Thread: 1, At: b.now}) // the continuous one
	b.effects(effect.DropThread{Thread: thread, At: b.now})
	out, err := b.Commit(b.ctx, b.reply(running, "the "+word), nil)
	b.must(err)
	equal(b, "messages of the stopped turn", len(out.Messages), 0)
	b.missing(word)
	left, err := b.Threads(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "threads", len(left), 0)
	_, err = b.Thread(b.ctx, b.user.ID, thread)
	equal(b, "reading it", errors.Is(err, core.ErrNotFound), true)
	missing(effect.UseThread{Identity: b.at.ID, Thread: thread})
	missing(effect.DropThread{Thread: thread, At: b.now})
	missing(effect.RenameThread{Thread: thread, Title: "again"})
	equal(b, "mode afterwards", b.turn("two").Mode, core.ModeContinuous)
}

// thread returns the plain thread of a title.
func (b *bench) thread(title string) core.ThreadID {
	list, err := b.Threads(b.ctx, b.user.ID, 10)
	b.must(err)
	for _, t := range list {
		if t.Title == title {
			return t.ID
		}
	}
	b.t.Fatalf("no thread %q in %v", title, list)
	return 0
}

func testPlainThread(b *bench) {
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
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
	b.effects(effect.UseThread{Identity: b.at.ID})
	equal(b, "mode afterwards", b.turn("two").Mode, core.ModeContinuous)
	b.wantTexts("two")
	days, err := b.Days(b.ctx, b.user.ID, "", 10)
	b.must(err)
	equal(b, "days", len(days), 1)
}
