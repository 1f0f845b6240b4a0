package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/prompt"
)

// An epoch that grows asks for compression once for each part that it has grown by,
// not with every message.
func TestCompressionIsAskedForNowAndThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.strategy = prompt.Long
	w.budgets = prompt.Budgets{LongBudget: 20_000, LongRaw: 4000}
	asked, began := 0, 0
	for range 110 {
		w.now = w.now.Add(time.Minute)
		p := w.exchange(strings.Repeat("word ", 40), strings.Repeat("answer ", 60))
		if p.Epoch != nil {
			began++
		}
		if p.Compress {
			asked++
		}
	}
	if began != 1 || asked < 3 || asked > 9 {
		t.Errorf("%d epochs, compression was asked for %d times in 110 turns", began, asked)
	}
}

// history is n pages of 100 tokens in the shortest form, and one of which nothing
// is left.
func history(n int) []core.Page {
	out := []core.Page{{ID: 1000, Tier: core.TierKernel}}
	for i := range n {
		p := core.Page{ID: core.PageID(i + 1), Tier: core.TierKernel, Messages: 2}
		p.Forms[core.TierKernel] = core.PageForm{Text: strings.Repeat("page", 100), Tokens: 100}
		out = append(out, p)
	}
	return out
}

// Old pages are left out only where half of the room above the threshold is taken,
// and a page of which nothing is left is none that is left out.
func TestHistoryTakesWhatRoomThereIs(t *testing.T) {
	t.Parallel()
	for pages, left := range map[int]int{10: 0, 75: 0, 120: 34} {
		w := newWorld(t, bytes4{})
		w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 10_000, LongRaw: 4000}
		in := w.begin(core.Message{Role: core.RoleUser, Text: "hello"})
		in.Window = core.Window{Messages: w.messages, Today: w.segments[0], Pages: history(pages)}
		p, err := prompt.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if h := p.Snapshot.History; h.LeftOut != left || p.Snapshot.Total > 9000 || left > 0 && p.Snapshot.Total < 8890 {
			t.Errorf("of %d pages %d were left out, the prompt has %d tokens", pages, h.LeftOut, p.Snapshot.Total)
		}
	}
}

// A prompt of earlier says what it cannot show any more.
func TestARebuiltPromptSaysWhichPagesAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.strategy, w.budgets = prompt.Long, prompt.Budgets{LongBudget: 10_000, LongRaw: 4000}
	in := w.begin(core.Message{Role: core.RoleUser, Text: "hello"})
	in.Window = core.Window{Messages: w.messages, Today: w.segments[0], Pages: history(3)}
	p, err := prompt.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	for kept, want := range []string{"[3 of 3 pages of this prompt are gone", "[2 of 3 pages", "[1 of 3 pages", ""} {
		ms := prompt.Rebuild(*p.Epoch, p.Snapshot, w.messages, in.Window.Pages[:1+kept], w.budgets, w.tokens)
		text := ms[len(ms)-2].Content
		if !strings.Contains(text, want) || strings.Contains(text, "are gone") != (want != "") || strings.Count(text, "pagepage") == 0 != (kept == 0) {
			t.Errorf("with %d pages: %.300q", kept, text)
		}
	}
}
