package summary_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/summary"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/store"
)

// tick does what the scheduler and the workers do every minute.
func (n *night) tick() {
	n.t.Helper()
	must(n.t, n.sum.Finalize(n.t.Context()))
	n.work()
	must(n.t, n.sum.Post(n.t.Context()))
}

// until lets time pass, a minute at a time.
func (n *night) until(day, hour int) {
	n.t.Helper()
	for end := time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC); n.now.Before(end); n.now = n.now.Add(time.Minute) {
		n.tick()
	}
}

// sent returns the texts of the deliveries of a kind, oldest first.
func (n *night) sent(kind core.DeliveryKind) []string {
	n.t.Helper()
	ds, err := n.store.Deliveries(n.t.Context(), store.DeliveryQuery{User: n.user.ID, Limit: 50})
	must(n.t, err)
	var out []string
	for i := len(ds) - 1; i >= 0; i-- {
		if ds[i].Kind == kind {
			out = append(out, ds[i].Parts[0].Part.Text)
		}
	}
	return out
}

func (n *night) fails(kind core.ModelErrorKind) {
	n.model.Script(func(core.ModelRequest) llmtest.Reply {
		return llmtest.Fail(&core.ModelError{Kind: kind, Err: errors.New("the provider says " + string(kind))})
	})
}

// TestNight_withoutModel checks a model that is away from 2 to 8:30: the afternoon's version is posted, and the final
// one follows.
func TestNight_withoutModel(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.model.Script(answer("## Summary\nThe afternoon. [#1]"))
	n.exchange("a", "b", "c", "d", "e")
	n.work()
	n.exchange("f")
	n.fails(core.ModelDown)
	n.until(20, 8)
	g := n.segment(first)
	if g.State != core.SegmentFinal || g.SummaryError == "" || g.Post != core.PostDue || g.SummaryVersion != 1 ||
		!n.newest(first).Final {
		t.Fatalf("before the post: %+v", g)
	}
	if calls := len(n.model.Requests()); calls < 20 || calls > 30 {
		t.Errorf("%d calls in five hours, want one in 15 minutes", calls)
	}
	n.until(20, 9)
	if got := n.sent(core.DeliverPost); len(got) != 1 || !strings.Contains(got[0], "The afternoon.") ||
		!strings.Contains(got[0], "The last 2 messages of that day aren't in it yet.") {
		t.Errorf("posted %q", got)
	}
	if got := n.sent(core.DeliverNotice); len(got) != 1 || !strings.Contains(got[0], "the provider says down") {
		t.Errorf("the owner is told %q, want once", got)
	}
	n.model.Script(answer("## Summary\nThe whole day. [#1]"))
	n.until(20, 10)
	if g := n.segment(first); g.SummaryError != "" || g.SummaryVersion != 2 || !g.RetryAt.IsZero() ||
		n.newest(first).Covers.Len() != 12 {
		t.Errorf("afterwards: %+v", g)
	}
	n.until(20, 12)
	if got := n.sent(core.DeliverPost); len(got) != 1 {
		t.Errorf("posted %q", got)
	}
	calls := len(n.model.Requests())
	if n.until(20, 23); len(n.model.Requests()) != calls {
		t.Error("the model is asked although nobody said anything")
	}
}

// TestPost_leavesOutWhatWasClosed checks that a loop that was closed after the summary is not posted as open; one that
// the summary calls otherwise than the list of open loops is.
func TestPost_leavesOutWhatWasClosed(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("a", "b")
	n.model.Script(answer("## Summary\nTea. [#1]\n\n## Open loops\n- Call Karim [#1]\n- Who pays? [#3]\n\n## Next steps\n- Rest [#1]"))
	n.until(20, 4)
	open, err := n.store.Loops(t.Context(), n.user.ID, 10)
	must(t, err)
	for _, l := range open {
		if l.Text == "Call Karim" {
			_, err = n.store.Note(t.Context(), store.Note{User: n.user.ID, Now: n.now,
				Effects: []core.Effect{effect.CloseLoop{Loop: l.ID, At: n.now}}})
			must(t, err)
		}
	}
	n.sum.SameLoop = func(string, []core.Loop) (core.LoopID, bool) { return 0, false } // as if each had other words by now
	n.until(20, 9)
	got := n.sent(core.DeliverPost)
	if len(open) != 2 || len(got) != 1 || strings.Contains(got[0], "Karim") || !strings.Contains(got[0], "• Who pays?") ||
		!strings.Contains(got[0], "• Rest") {
		t.Errorf("of %+v posted %q", open, got)
	}
}

// TestNight_postFollows checks that a day without any version is posted once there is one.
func TestNight_postFollows(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("a", "b")
	n.fails(core.ModelDown)
	n.until(20, 11)
	if got := n.sent(core.DeliverPost); len(got) != 0 {
		t.Fatalf("posted %q", got)
	}
	n.model.Script(answer("## Summary\nAt last. [#1]"))
	n.until(20, 12)
	if got := n.sent(core.DeliverPost); len(got) != 1 || !strings.Contains(got[0], "At last.") {
		t.Errorf("posted %q", got)
	}
}

// TestNight_refusedKey checks that a refused key is not tried again before another one is configured, or a day passed.
func TestNight_refusedKey(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{true, false} {
		n := newNight(t)
		n.exchange("a", "b")
		n.fails(core.ModelAuth)
		n.until(20, 12)
		if got := len(n.model.Requests()); got != 1 {
			t.Fatalf("%d calls with a refused key, want 1", got)
		}
		if got := n.sent(core.DeliverNotice); len(got) != 1 {
			t.Errorf("the owner is told %q", got)
		}
		n.model.Script(answer("## Summary\nDone. [#1]"))
		if changed {
			n.sum.Settings.Config = "key 2"
			n.now = n.now.Add(time.Minute)
			n.tick()
			n.tick()
		} else {
			n.until(21, 4)
		}
		if got := n.sent(core.DeliverPost); len(got) != 1 || !strings.Contains(got[0], "Done.") ||
			n.newest(first).Version != 1 {
			t.Errorf("another key %v: posted %q", changed, got)
		}
	}
}

// TestNight_oneDayFails checks that a day for which the model gives no summary does not block the next, is said to be
// missing once, and is tried daily.
func TestNight_oneDayFails(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("poison", "b")
	n.model.Script(func(r core.ModelRequest) llmtest.Reply {
		if strings.Contains(r.Messages[1].Content, "poison") {
			return llmtest.Say("I'm sorry, but I can't help with that.")
		}
		return answer("## Summary\nFine. [#1]")(r)
	})
	n.until(20, 12)
	n.exchange("c", "d")
	n.until(22, 9)
	if g := n.segment("2026-11-20"); g.SummaryError != "" || g.Post != core.PostDone {
		t.Errorf("the next day: %+v", g)
	}
	g := n.segment(first)
	if g.SummaryVersion != 0 || g.Post != core.PostMissed || !strings.Contains(g.SummaryError, "No heading was found") {
		t.Errorf("the day itself: %+v", g)
	}
	var missed []string
	for _, text := range n.sent(core.DeliverNotice) {
		if strings.Contains(text, "There's no summary of Thursday 19 November 2026") {
			missed = append(missed, text)
		}
	}
	if len(missed) != 1 || len(n.sent(core.DeliverPost)) != 1 {
		t.Errorf("missed %q, posted %q", missed, n.sent(core.DeliverPost))
	}
	calls := len(n.model.Requests())
	if n.until(23, 9); len(n.model.Requests())-calls != 2 {
		t.Errorf("%d calls in the third day, want one attempt and its repair", len(n.model.Requests())-calls)
	}
	n.model.Script(answer("## Summary\nAt last. [#1]"))
	n.until(24, 9)
	if n.newest(first).Version != 1 || len(n.sent(core.DeliverPost)) != 1 {
		t.Errorf("posted %q", n.sent(core.DeliverPost))
	}
}

// TestNight_restart checks that a process that died while it asked the model leaves the day to the next one.
func TestNight_restart(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("a", "b")
	n.fails(core.ModelDown)
	n.until(20, 4)
	n.now = n.segment(first).RetryAt
	must(t, n.sum.Finalize(t.Context()))
	refs, _, err := n.store.Due(t.Context(), []string{core.QueueSummarize}, n.now, 10, store.Share{})
	must(t, err)
	if _, err := n.store.Claim(t.Context(), refs[0], n.sum.Jobs.Claim()); err != nil { // and dies
		t.Fatal(err)
	}
	n.model.Script(answer("## Summary\nAfter the restart. [#1]"))
	n.tick()
	if g := n.segment(first); g.SummaryVersion != 0 {
		t.Fatal("another process takes the job before its lease expires")
	}
	n.until(20, 9)
	if got := n.sent(core.DeliverPost); len(got) != 1 || n.segment(first).SummaryVersion != 1 {
		t.Errorf("posted %q", got)
	}
}

// TestNight_severalProcesses checks that processes beside each other write one summary, post it once and tell the owner
// once.
func TestNight_severalProcesses(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.exchange("a", "b")
	n.fails(core.ModelDown)
	all := []*summary.Summarizer{n.sum}
	for i := range 3 {
		other := *n.sum
		other.Jobs = &job.Worker{Store: n.store, Name: fmt.Sprint("other ", i), Lease: time.Minute,
			Now: func() time.Time { return n.now }, Rand: func() float64 { return 0 }, Log: zap.NewNop()}
		all = append(all, &other)
	}
	together := func(hour int) {
		for end := time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC); n.now.Before(end); n.now = n.now.Add(5 * time.Minute) {
			var group sync.WaitGroup
			for _, s := range all {
				group.Go(func() {
					if err := s.Finalize(t.Context()); err != nil {
						t.Error(err)
					}
					refs, _, err := n.store.Due(t.Context(), []string{core.QueueSummarize}, n.now, 10, store.Share{})
					if err != nil {
						t.Error(err)
					}
					for _, r := range refs {
						s.Take(t.Context(), r)
					}
					if err := s.Post(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
	}
	n.now = time.Date(2026, 11, 20, 2, 55, 0, 0, time.UTC)
	together(9)
	n.model.Script(answer("## Summary\nOnce. [#1]"))
	together(11)
	if got := n.sent(core.DeliverPost); len(got) != 1 || n.newest(first).Version != 1 {
		t.Errorf("posted %q, version %d", got, n.newest(first).Version)
	}
	if got := n.sent(core.DeliverNotice); len(got) != 1 {
		t.Errorf("the owner is told %q", got)
	}
}

// TestNight_nothingNew checks that a day without messages since its last summary is closed with that one as its final
// summary, and without a call.
func TestNight_nothingNew(t *testing.T) {
	t.Parallel()
	n := newNight(t)
	n.model.Script(answer("## Summary\nAll of it. [#1]"))
	n.exchange("a", "b", "c", "d", "e")
	n.work()
	n.until(20, 4)
	if g := n.segment(first); g.State != core.SegmentFinal || !n.newest(first).Final || len(n.model.Requests()) != 1 {
		t.Errorf("%+v after %d calls", g, len(n.model.Requests()))
	}
}
