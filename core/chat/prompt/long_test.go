package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/store"
)

// TestCompression_beginsAtTheThreshold checks that compression is requested when a prompt passes the
// threshold of its budget, and then once for each step of growth, not with every message. The next
// prompt contains the result and is below the threshold.
func TestCompression_beginsAtTheThreshold(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{16_000, 20_000, 150_000} {
		w := newWorld(t, bytes4{})
		w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: budget, LongRaw: budget * 4 / 15}
		threshold, asked, before := budget*8/10, 0, 0
		for range 88 {
			w.now = w.now.Add(time.Minute)
			p := w.exchange(strings.Repeat("word ", budget/400), strings.Repeat("answer ", budget*6/1600))
			total := p.Snapshot.Total
			if p.Compress {
				asked++
			}
			if first := before < threshold && total >= threshold; first && !p.Compress || p.Compress && total < threshold ||
				p.Epoch != nil && before > 0 {
				t.Fatalf("at %d of %d after %d: compression requested %v, epoch %q", total, threshold, before, p.Compress,
					p.Snapshot.NewEpoch)
			}
			before = total
		}
		if asked < 1 || asked > 8 {
			t.Errorf("budget %d: compression was requested %d times, want 1 to 8", budget, asked)
		}
		w.compress(100, budget/10)
		p := w.exchange("and now?", "well")
		if s := p.Snapshot; s.NewEpoch != prompt.NewShorter || s.Total >= threshold || s.History.Pages != 1 || p.Compress {
			t.Errorf("budget %d: next prompt %+v, history %+v, requested again %v", budget, s, *s.History, p.Compress)
		}
		w.compress(4, 10)
		if p := w.exchange("and now?", "well"); p.Epoch != nil {
			t.Errorf("budget %d: a prompt of %d tokens began an epoch: %q", budget, p.Snapshot.Total, p.Snapshot.NewEpoch)
		}
	}
}

// TestLong_namesWhatIsLeftOut checks that a prompt names what no page has room for, as do
// the prompts after it.
func TestLong_namesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 16_000, LongRaw: 4000}
	for range 40 {
		w.exchange(strings.Repeat("word ", 40), strings.Repeat("answer ", 60))
	}
	for range 7 {
		w.compress(8, 3000)
	}
	w.now = w.now.Add(time.Hour)
	first := w.exchange("and now?", "well")
	for n, p := range []prompt.Prompt{first, w.exchange("and then?", "well")} {
		text := text(p.Messages)
		if !strings.Contains(text, "[What stands before message #25 is left out; conversation_search finds it.]") ||
			p.Snapshot.History.LeftOut != 3 || p.Snapshot.Total > 16_000 {
			t.Errorf("prompt %d: %+v %+v\n%.600s", n, p.Snapshot, *p.Snapshot.History, text)
		}
	}
	w = newWorld(t, bytes4{})
	w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 16_000, LongRaw: 4000}
	for range 200 { // compression lags behind
		w.exchange(strings.Repeat("word ", 40), strings.Repeat("answer ", 60))
	}
	w.now = w.now.Add(time.Hour)
	_, p := w.ask("and now?")
	mark, ids := shown(p)[0], p.Snapshot.Messages.Ranges()
	if want := fmt.Sprintf("[What stands before message #%d is left out; conversation_search finds it.]",
		ids[0][0]); mark != want || len(ids) != 1 || !p.Compress {
		t.Errorf("messages %v are shown after %q", ids, mark)
	}
}

// history returns n pages of 100 tokens in their shortest form, after one whose shortest form is
// empty.
func history(n int) []store.Page {
	out := []store.Page{{ID: 1000, Tier: store.TierKernel}}
	for i := range n {
		p := store.Page{ID: store.PageID(i + 1), Tier: store.TierKernel, Messages: 2}
		p.Forms[store.TierKernel] = store.PageForm{Text: strings.Repeat("page", 100), Tokens: 100}
		out = append(out, p)
	}
	return out
}

// TestLong_historyTakesTheRoom checks that old pages are left out only when half of the room
// above the threshold is taken, and that an empty page does not count as left out.
func TestLong_historyTakesTheRoom(t *testing.T) {
	t.Parallel()
	for pages, left := range map[int]int{10: 0, 75: 0, 120: 35} {
		w := newWorld(t, bytes4{})
		w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 10_000, LongRaw: 4000}
		in := w.begin(core.Message{Role: core.RoleUser, Text: "hello"})
		in.Window = store.Window{Messages: w.messages, Today: w.segments[0], Pages: history(pages)}
		p, err := prompt.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if h := p.Snapshot.History; h.LeftOut != left || p.Snapshot.Total > 9000 || left > 0 && p.Snapshot.Total < 8890 {
			t.Errorf("of %d pages, %d were left out of a prompt of %d tokens", pages, h.LeftOut, p.Snapshot.Total)
		}
	}
}

// TestRebuild_saysWhichPagesAreGone checks that an earlier prompt names what it can no longer
// show.
func TestRebuild_saysWhichPagesAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 10_000, LongRaw: 4000}
	in := w.begin(core.Message{Role: core.RoleUser, Text: "hello"})
	in.Window = store.Window{Messages: w.messages, Today: w.segments[0], Pages: history(3)}
	p, err := prompt.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	for kept, want := range []string{"[3 of 3 pages of this prompt are gone", "[2 of 3 pages", "[1 of 3 pages", ""} {
		ms := prompt.Rebuild(*p.Epoch, p.Snapshot, w.messages, in.Window.Pages[:1+kept], w.budgets, w.tokens)
		text := ms[len(ms)-2].Content
		if !strings.Contains(text, want) || strings.Contains(text, "are gone") != (want != "") ||
			strings.Count(text, "pagepage") == 0 != (kept == 0) {
			t.Errorf("with %d pages: %.300q", kept, text)
		}
	}
}

func TestHistory_dayStandsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 16_000, LongRaw: 4000}
	for range 8 {
		w.exchange("word", "answer")
	}
	for n, page := range []string{"## Thu 19 Nov 2026\n#1: one", "## Thu 19 Nov 2026\n#3: two\n\n## Fri 20 Nov 2026\n#4: three",
		"## Fri 20 Nov 2026\n#5: four", "## Sat 21 Nov 2026\n#7: five"} {
		w.compress(2, 10)
		w.pages[n].Forms[store.TierOlder].Text = page
	}
	w.now = w.now.Add(time.Hour)
	_, p := w.ask("and now?")
	want := "## Thu 19 Nov 2026\n#1: one\n#3: two\n\n## Fri 20 Nov 2026\n#4: three\n#5: four\n\n## Sat 21 Nov 2026\n#7: five\n"
	if got := strings.Join(notesOf(p), "\n"); !strings.Contains(got+"\n", want) {
		t.Errorf("got %s", got)
	}
}
