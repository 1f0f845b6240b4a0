package prompt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/internal/fulltest"
)

// prose returns n words, which are about n tokens.
func prose(r *rand.Rand, n int) string {
	words := strings.Fields(
		"the train leaves at nine from platform four and then we could walk along the river until the old bridge where Anna waits with bread cheese and a map of the hills")
	var s strings.Builder
	for range n {
		s.WriteString(words[r.IntN(len(words))] + " ")
	}
	return strings.TrimSpace(s.String())
}

// tally has the totals of a simulated day.
type tally struct {
	turns, shared, epochs, dropped, pressed, jobs int
	tokens                                        int
}

// live runs the turns of a day, two minutes apart, with messages of least to most tokens. Summaries
// are made after every ten messages and on request, and take effect lag turns later.
func live(w *world, r *rand.Rand, turns, least, most, lag int) tally {
	var sum tally
	type job struct {
		at      int
		through core.MessageID
	}
	var jobs []job
	last, since := "", 0
	for n := range turns {
		for len(jobs) > 0 && jobs[0].at <= n {
			w.summarize(w.segment(), jobs[0].through)
			jobs = jobs[1:]
		}
		size := func() int { return least + r.IntN(most-least+1) }
		_, p := w.ask(prose(r, size()))
		w.answer(p, says(prose(r, size())))
		since += 2
		if (since >= 10 || p.Pressure) && len(jobs) == 0 {
			jobs, since = append(jobs, job{n + lag, core.MessageID(len(w.messages))}), 0
			sum.jobs++
		}
		if c := cost(p.Messages, w.tokens); c > p.Snapshot.Total || p.Snapshot.Total > p.Snapshot.Cap {
			w.t.Fatalf("turn %d: %d tokens, %d in the snapshot, cap %d", n, c, p.Snapshot.Total, p.Snapshot.Cap)
		}
		sum.count(p, last)
		last = text(p.Messages)
		w.now = w.now.Add(2 * time.Minute)
	}
	return sum
}

func (sum *tally) count(p prompt.Prompt, last string) {
	sum.turns++
	sum.tokens += p.Snapshot.Total
	sum.dropped += p.Snapshot.Dropped
	if p.Epoch != nil {
		sum.epochs++
	}
	if p.Pressure {
		sum.pressed++
	}
	if last == "" || common(last, text(p.Messages))*5 >= len(last)*4 {
		sum.shared++
	}
}

// TestBuild_longDay checks that in a day of 300 turns at least four in five prompts share four fifths of
// the previous prompt as an identical prefix, and that no uncovered message is dropped.
func TestBuild_longDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ least, most, lag int }{{1, 100, 1}, {1, 100, 3}, {100, 100, 1},
		{100, 100, 3}, {1, 10, 1}}[fulltest.Size(4, 0):] {
		t.Run(fmt.Sprintf("%d to %d tokens a message, summaries %d turns late", c.least, c.most, c.lag), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tokens.New())
			w.static[0].Text = prose(rand.New(rand.NewPCG(3, 3)), 300)
			w.loops = []core.Loop{{ID: 1, Text: "Book the train to Lyon", OpenedAt: w.now, Mentioned: w.now}}
			sum := live(w, rand.New(rand.NewPCG(1, 2)), 300, c.least, c.most, c.lag)
			t.Logf(
				"%d turns: %d share 80 %% of the prompt before; %d epochs, %d under pressure, %d summaries; %d tokens a prompt; %d dropped uncovered",
				sum.turns, sum.shared, sum.epochs, sum.pressed, sum.jobs, sum.tokens/sum.turns, sum.dropped)
			if sum.shared*5 < sum.turns*4 {
				t.Errorf("%d of %d turns share 80 %% of the prompt before", sum.shared, sum.turns)
			}
			if sum.dropped > 0 {
				t.Errorf("%d messages were dropped uncovered", sum.dropped)
			}
		})
	}
}

// TestBuild_thirtyDays checks that prompts of the last day are at most a tenth longer than those of day
// 2.
func TestBuild_thirtyDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens.New())
	w.zone = location(t, "Europe/Paris")
	start := w.now
	const turns = 40
	var days [31]tally
	r := rand.New(rand.NewPCG(5, 6))
	last := fulltest.Size(6, 30)
	for d := 1; d <= last; d++ {
		w.now = start.AddDate(0, 0, d-1)
		days[d] = live(w, r, turns, 1, 100, 1)
		w.summarize(core.SegmentID(d), core.MessageID(len(w.messages)))
		if days[d].dropped > 0 {
			t.Errorf("day %d: %d messages were dropped uncovered", d, days[d].dropped)
		}
	}
	t.Logf("tokens a prompt: day 1 %d, day 2 %d, day %d %d", days[1].tokens/turns, days[2].tokens/turns, last,
		days[last].tokens/turns)
	if days[last].tokens*10 > days[2].tokens*11 {
		t.Errorf("day %d takes %d tokens, day 2 takes %d", last, days[last].tokens, days[2].tokens)
	}
}

// TestBuild_outageOfSummaries checks that without summaries the newest messages fill the prompt up to the cap, that
// dropped messages are counted, and that a summary is requested.
func TestBuild_outageOfSummaries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens.New())
	r := rand.New(rand.NewPCG(7, 8))
	var sum tally
	for range 120 {
		_, p := w.ask(prose(r, 80))
		w.answer(p, says(prose(r, 80)))
		sum.count(p, "")
		if want := len(w.messages) - p.Snapshot.Included; p.Snapshot.Dropped != want-1 || p.Snapshot.LeftOut != 0 {
			t.Fatalf("%d messages are missing, the snapshot has %d", want-1, p.Snapshot.Dropped)
		}
		if p.Epoch != nil && p.Snapshot.Dropped > 0 && !p.Pressure {
			t.Fatal("messages were dropped uncovered, and no summary is requested")
		}
		if p.Snapshot.Total > p.Snapshot.Cap {
			t.Fatalf("%d tokens exceed the cap", p.Snapshot.Total)
		}
		if p.Epoch != nil && p.Snapshot.Dropped > 0 && p.Snapshot.Total < p.Snapshot.Cap-400 {
			t.Fatalf("dropped %d uncovered at %d tokens", p.Snapshot.Dropped, p.Snapshot.Total)
		}
		w.now = w.now.Add(time.Minute)
	}
	if sum.dropped == 0 {
		t.Error("no message was counted as dropped")
	}
}
