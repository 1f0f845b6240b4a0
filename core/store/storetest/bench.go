package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// BenchTurn measures the path of one message in small stores, and with large also in large ones.
// The first size is repeated at the end.
func BenchTurn(b *testing.B, open Open, large bool) {
	for _, there := range []struct{ history, others int }{
		{1000, 0}, {1000, 10_000}, {100_000, 0}, {1_000_000, 0}, {1000, 100_000}, {1000, 0},
	} {
		if large || there.history+there.others <= 11_000 {
			b.Run(fmt.Sprintf("%d_messages_%d_others", there.history, there.others), func(b *testing.B) {
				benchTurn(b, open, there.history, there.others)
			})
		}
	}
}

// benchTurn measures Append with a claim, Window, Commit with a claim, and FinishPart. history is
// the number of earlier messages; others is the number of other users, with ten messages each.
func benchTurn(b *testing.B, open Open, history, others int) {
	w := newBench(b, open)
	w.user, w.at = w.filled(history)
	if others > 0 {
		fill(w.t, w.DB(), 2_000_000, 2_000_000+others-1, 10, w.now)
	}
	before := w.Commits()
	turns := 0
	for b.Loop() {
		w.now = w.now.Add(time.Second)
		t := w.turn("Is this on the road?")
		if _, err := w.Window(w.ctx, t, w.ongoing()); err != nil {
			b.Fatal(err)
		}
		r := w.reply(t, "It is.")
		r.Spent = took(core.Usage{Prompt: 900, Cached: 800, Completion: 5})
		if turns%75 == 0 {
			r.Epoch = &store.Epoch{ID: t.ID, StartedAt: w.now, Start: w.message(t.Inputs[0]).Position, Budgets: "f"}
		}
		c := w.claim()
		out, err := w.Commit(w.ctx, r, &c)
		w.must(err)
		w.sent(out.Delivery)
		turns++
	}
	b.ReportMetric(float64(w.Commits()-before)/float64(turns), "commits/turn")
}

// Road takes some messages through Append, Commit and FinishPart, and passes each step to the
// caller's function to run.
func Road(tb testing.TB, open Open, step func(s Store, name string, run func())) {
	b := newBench(tb, open)
	b.begin()
	for range 5 {
		b.road(step, func(*store.Reply) {}, func() {}, func() {})
	}
}

// Due is Road for a reply that makes a summary due.
func Due(tb testing.TB, open Open, step func(s Store, name string, run func())) {
	w := newBench(tb, open)
	w.begin()
	w.road(step, func(r *store.Reply) {
		c := w.claim()
		r.Summarize, r.Summary = true, &c
	}, func() {}, func() {})
}

// Rush is Road for a user who sends another message before the reply is stored, with the index of a
// kept up to date.
func Rush(tb testing.TB, open Open, a core.Analyzer, step func(s Store, name string, run func())) {
	w := newBench(tb, open)
	w.Analyze(a)
	w.begin()
	index := func() {
		n, err := w.Index(w.ctx, 100, store.Share{})
		w.must(err)
		if n == 0 {
			tb.Error("there was nothing to index")
		}
	}
	w.road(step, func(*store.Reply) {}, index, func() {
		index()
		w.say(true, "And this?")
	})
}

// begin prepares the road: a user with 1,000 messages and an epoch.
func (b *bench) begin() {
	b.user, b.at = b.filled(1000)
	b.epochFrom(b.turn("first"), "1")
	b.exchange("second", "2")
}

// road is a turn of Road; it calls appended once the message is stored, change with the reply, and committed once that
// is stored.
func (b *bench) road(step func(s Store, name string, run func()), change func(*store.Reply),
	appended, committed func()) {
	b.now = b.now.Add(time.Second)
	var t *core.Turn
	step(b.Store, "Append", func() { t = b.turn("Is this on the road?") })
	appended()
	_, err := b.Window(b.ctx, t, b.ongoing())
	b.must(err)
	r, c := b.reply(t, "It is."), b.claim()
	r.Spent = took(core.Usage{Prompt: 900, Cached: 800, Completion: 5})
	change(&r)
	var out store.Committed
	step(b.Store, "Commit", func() {
		out, err = b.Commit(b.ctx, r, &c)
		b.must(err)
	})
	committed()
	step(b.Store, "FinishPart", func() { b.sent(out.Delivery) })
}

// BenchTogether measures concurrent turns of many users, each with 10 messages of talk, while the
// index is updated at the interval every; 0 means never.
func BenchTogether(b *testing.B, open Open, a core.Analyzer, users int, every time.Duration) {
	w := newBench(b, open)
	w.Analyze(a)
	people := make([]*bench, users)
	for n := range people {
		u, i := w.person("Bob", core.RoleMember, fmt.Sprint(1000+n))
		people[n] = w.as(u, i)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var indexer, turns sync.WaitGroup
	if every > 0 {
		indexer.Go(func() { w.indexEvery(ctx, every) })
	}
	b.ResetTimer()
	for n, p := range people {
		turns.Go(func() {
			say := newTalk(uint64(n))
			for range b.N {
				p.now = p.now.Add(time.Second)
				t := p.turn(say.message())
				p.sent(p.answer(t, say.message()).Delivery)
			}
		})
	}
	turns.Wait()
	b.StopTimer()
	cancel()
	indexer.Wait()
	var behind int
	w.must(w.DB().QueryRow(`SELECT SUM(last_message - indexed) FROM users`).Scan(&behind))
	b.ReportMetric(float64(users*b.N)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64(behind)/float64(users), "behind/user")
}

// indexEvery updates the index at an interval, as a busy gateway does.
func (b *bench) indexEvery(ctx context.Context, every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if _, err := b.Index(ctx, 100, store.Share{}); err != nil && ctx.Err() == nil {
				b.t.Error(err)
			}
		}
	}
}

// filled creates a user with a history, and returns them with their identity.
func (b *bench) filled(history int) (core.User, core.Identity) {
	b.t.Helper()
	fill(b.t, b.DB(), 1_000_000, 1_000_000, history, b.now)
	u, err := b.User(b.ctx, 1_000_000)
	b.must(err)
	ids, err := b.Identities(b.ctx, u.ID)
	b.must(err)
	return u, ids[0]
}

// Prompter builds prompts from windows, as core/chat/prompt does.
type Prompter struct {
	Query func(t core.Turn, now time.Time) store.WindowQuery
	Build func(t core.Turn, w store.Window, now time.Time) (*store.Epoch, error)
}

// BenchWindow measures reading the data for a prompt and building the prompt, for a new epoch and
// for one that continues with 150 messages.
func BenchWindow(b *testing.B, open Open, history int, p Prompter) {
	w := newBench(b, open)
	w.user, w.at = w.filled(history)
	begin := w.turn("first")
	b.Run("fresh", func(b *testing.B) { w.benchWindow(b, w.Store, begin, p) })
	w.firstOf(begin, p)
	for n := range 74 {
		w.exchange(fmt.Sprintf("question %d of the day, as long as they are", n),
			"an answer that says what there is to say about it, in a sentence")
	}
	turn := w.turn("last")
	b.Run("ongoing", func(b *testing.B) { w.benchWindow(b, w.Store, turn, p) })
}

// firstOf completes a turn that begins an epoch.
func (b *bench) firstOf(t *core.Turn, p Prompter) {
	b.t.Helper()
	epoch, err := b.built(b.Store, t, p)
	b.must(err)
	r := b.reply(t, "1")
	r.Epoch = epoch
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
}

// built reads a window and builds its prompt. It returns the new epoch, or nil if the current one
// continues.
func (b *bench) built(s Store, t *core.Turn, p Prompter) (*store.Epoch, error) {
	win, err := s.Window(b.ctx, t, p.Query(*t, b.now))
	if err != nil {
		return nil, err
	}
	return p.Build(*t, win, b.now)
}

func (b *bench) benchWindow(bb *testing.B, s Store, t *core.Turn, p Prompter) {
	var took []time.Duration
	for bb.Loop() {
		begin := time.Now()
		if _, err := b.built(s, t, p); err != nil {
			bb.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	bb.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}

// BenchReceive reports the median time of Identify and Append for a message that starts a turn, for
// a user with a history of the given length.
func BenchReceive(b *testing.B, open Open, history int) {
	w := newBench(b, open)
	w.user, w.at = w.filled(history)
	var took []time.Duration
	for b.Loop() {
		w.now = w.now.Add(time.Second)
		a := w.batch(true, "Is this on the road?")
		begin := time.Now()
		if _, _, err := w.Identify(w.ctx, w.at.Address); err != nil {
			b.Fatal(err)
		}
		out, err := w.Append(w.ctx, a)
		took = append(took, time.Since(begin))
		w.must(err)
		_, err = w.Commit(w.ctx, w.reply(out.Turn, "It is."), nil)
		w.must(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}
