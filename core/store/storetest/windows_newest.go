package storetest

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func testWindowBounds(b *bench) {
	for n := range 60 {
		b.exchange("question "+itoa(n), "answer "+itoa(n))
	}
	t := b.turn("last")
	for _, c := range []struct {
		q    store.WindowQuery
		want int
		more bool
	}{
		{store.WindowQuery{Tokens: 1, Limit: 1000, Newest: 4}, 4, true},
		{store.WindowQuery{Tokens: 1, Limit: 1000, Newest: 7}, 7, true},
		{store.WindowQuery{Tokens: 100_000, Limit: 50}, 50, true},
		{store.WindowQuery{Tokens: 100_000, Limit: 100}, 100, true},
		{store.WindowQuery{Tokens: 100_000, Limit: 101}, 101, true},
		{store.WindowQuery{Tokens: 100_000, Limit: 120}, 120, true},
		{store.WindowQuery{Tokens: 100_000, Limit: 121}, 121, false},
		{store.WindowQuery{Tokens: 100_000, Limit: 500}, 121, false},
	} {
		w, err := b.Window(b.ctx, t, c.q)
		b.must(err)
		equal(b, "messages", len(w.Messages), c.want)
		equal(b, "more", w.More, c.more)
		equal(b, "newest", w.Messages[len(w.Messages)-1].Text, "last")
	}
}

func testUncovered(b *bench) {
	var ids []core.MessageID
	for n := range 5 {
		q, a := b.exchange("q"+itoa(n), "a"+itoa(n))
		ids = append(ids, q, a)
	}
	uncovered := func(want int) {
		b.t.Helper()
		t := b.turn("now")
		w, err := b.Window(b.ctx, t, store.WindowQuery{Tokens: 1, Limit: 100, Newest: 4})
		b.must(err)
		equal(b, "uncovered", w.UncoveredBefore, want)
		_, err = b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnStopped, Now: b.now, Day: dayOf(b.now).Label}, nil)
		b.must(err)
	}
	uncovered(7)
	b.effects(effect.Redact{Message: ids[1], At: b.now})
	uncovered(7)
	b.summary(b.segment(), false, "all", ids[2:6]...)
	uncovered(4)
}

// testCovered checks that older messages are read behind enough tokens only if one of them is uncovered, and no turn in
// part.
func testCovered(b *bench) {
	var ids []core.MessageID
	for n := range 70 {
		q, a := b.exchange("q"+itoa(n), "a"+itoa(n))
		ids = append(ids, q, a)
	}
	for _, c := range []struct {
		summarized, tokens, covered, newest int
		want, before                        int
		more                                bool
	}{
		// An exchange takes 14 tokens, 5 of them the question, and the input 5.
		{0, 1000, 100, 4, 141, 0, false},
		{100, 1000, 100, 4, 141, 0, false}, // 20 exchanges are uncovered
		{124, 500, 100, 4, 72, 0, true},    // 8 are: the first of them is behind 100 tokens
		{126, 1000, 100, 4, 15, 0, true},
		{127, 1000, 100, 4, 15, 0, true}, // the question of the last one that is read is covered
		{140, 1000, 98, 4, 15, 0, true},
		{140, 1000, 97, 4, 15, 0, true},
		{140, 1000, 89, 4, 13, 0, true},
		{140, 1000, 5, 4, 5, 0, true},
		{140, 1000, 5, 20, 21, 0, true},
		{140, 1000, 0, 4, 141, 0, false},
	} {
		if c.summarized > 0 {
			b.summary(b.segment(), false, "all", ids[:c.summarized]...)
		}
		q := query()
		q.Tokens, q.Covered, q.Newest = c.tokens, c.covered, c.newest
		t := b.turn("now")
		w, err := b.Window(b.ctx, t, q)
		b.must(err)
		equal(b, fmt.Sprintf("%+v: messages", c), len(w.Messages), c.want)
		equal(b, fmt.Sprintf("%+v: uncovered", c), w.UncoveredBefore, c.before)
		equal(b, fmt.Sprintf("%+v: more", c), w.More, c.more)
		_, err = b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnFailed, Drop: true, Now: b.now,
			Day: dayOf(b.now).Label}, nil)
		b.must(err)
	}
}

// testCoveredImported checks that imported messages, which have no turn, are read in whole exchanges.
func testCoveredImported(b *bench) {
	var lines []store.ImportMessage
	for n := range 10 {
		at := time.Duration(60-n) * time.Minute
		lines = append(lines, b.line(at, core.RoleUser, "q"+itoa(n)), b.line(at-time.Second, core.RoleAssistant, "a"+itoa(n)))
	}
	in := one(b, b.Import, store.ImportBatch{User: b.user.ID, Messages: lines, Now: b.now})
	t := b.turn("now")
	b.summary(b.segment(), false, "all", in.Messages...)
	q := query()
	q.Covered = 30
	w, err := b.Window(b.ctx, t, q) // an exchange takes 14 tokens, and the input 5
	b.must(err)
	equal(b, "messages", len(w.Messages), 5)
	equal(b, "oldest", w.Messages[0].Text, "q8")
	equal(b, "more", w.More, true)
}
