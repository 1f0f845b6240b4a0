package items_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/search"
)

// scored returns the ids of hits in order, with their scores.
func scored(hits []items.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%d %.3f", h.ID, h.Score))
	}
	return out
}

func TestRank(t *testing.T) {
	t.Parallel()
	fts := func(id core.ItemID, v float64) search.ItemSignal {
		return search.ItemSignal{ID: id, FTS: true, Lexical: v}
	}
	near := func(id core.ItemID, d float64) search.ItemSignal {
		return search.ItemSignal{ID: id, Near: true, Distance: d}
	}
	both := func(id core.ItemID, v, d float64) search.ItemSignal {
		return search.ItemSignal{ID: id, FTS: true, Lexical: v, Near: true, Distance: d}
	}
	for name, c := range map[string]struct {
		mode    string
		signals []search.ItemSignal
		want    []string
	}{
		"meaning outweighs words": {"hybrid", []search.ItemSignal{both(1, 9, 0.8), both(2, 1, 0.1)},
			[]string{"2 0.700", "1 0.300"}},
		"similarity is 1/(1+d)": {"hybrid", []search.ItemSignal{near(1, 0), near(2, 1), near(3, 3)},
			[]string{"1 0.700", "2 0.233"}}, // the farthest matches nothing
		"one candidate":      {"hybrid", []search.ItemSignal{both(1, 2, 0.5)}, []string{"1 1.000"}},
		"one of each signal": {"hybrid", []search.ItemSignal{fts(1, 2), near(2, 0.5)}, []string{"2 0.700", "1 0.300"}},
		"words alone": {"fts", []search.ItemSignal{fts(1, 2), fts(2, 6), fts(3, 4)},
			[]string{"2 1.000", "3 0.500", "1 0.000"}},
		"ties: newer first":     {"fts", []search.ItemSignal{fts(1, 2), fts(2, 2)}, []string{"2 1.000", "1 1.000"}},
		"same moment: lower id": {"fts", []search.ItemSignal{fts(5, 2), fts(4, 2)}, []string{"4 1.000", "5 1.000"}},
		"unknown items":         {"fts", []search.ItemSignal{fts(99, 2)}, nil},
		"nothing":               {"fts", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for n, at := range []int{1, 2, 3, 4, 4} {
				w.items = append(w.items, core.Item{User: 1, ID: core.ItemID(n + 1), Status: core.ItemActive,
					CreatedAt: noon().Add(time.Duration(at) * time.Hour)})
			}
			w.signals = search.ItemSignals{Mode: c.mode, Signals: c.signals}
			f, err := w.memory.Search(t.Context(), items.Query{User: 1, Words: "x", Now: w.now})
			if d := cmp.Diff(c.want, scored(f.Hits)); d != "" || err != nil || f.Mode != c.mode {
				t.Error(err, f.Mode, d)
			}
		})
	}
}

// TestSearch_filtersComeFirst checks that items that a filter excludes do not count among the best.
func TestSearch_filtersComeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 120 {
		i := core.Item{User: 1, ID: core.ItemID(n + 1), Theme: "noise", Type: core.ItemOther,
			Status: core.ItemActive, CreatedAt: noon()}
		if n >= 110 {
			i.Theme, i.Type = "work", core.ItemFact
		}
		w.items = append(w.items, i)
		w.signals.Signals = append(w.signals.Signals, search.ItemSignal{ID: i.ID, FTS: true, Lexical: float64(200 - n)})
	}
	for name, c := range map[string]struct {
		q    items.Query
		want int
	}{
		"a theme":         {items.Query{Theme: "Work"}, 10},
		"a type":          {items.Query{Types: []string{"FACT"}, Limit: 4}, 4},
		"everything":      {items.Query{Limit: 1000}, 50},
		"the default":     {items.Query{}, 10},
		"archived":        {items.Query{Status: "archived"}, 0},
		"recent":          {items.Query{Recency: 1, Limit: 50}, 50},
		"far too recent":  {items.Query{Recency: 1, Now: noon().AddDate(1, 0, 0)}, 0},
		"another's theme": {items.Query{Theme: "play"}, 0},
	} {
		c.q.User, c.q.Words = 1, "x"
		if c.q.Now.IsZero() {
			c.q.Now = w.now
		}
		if f, err := w.memory.Search(t.Context(), c.q); err != nil || len(f.Hits) != c.want {
			t.Errorf("%s: got %d hits, %v", name, len(f.Hits), err)
		}
	}
}

// TestSearch_candidates checks that only the best of each signal are ranked.
func TestSearch_candidates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory.Settings = items.Settings{Candidates: 2}
	w.signals.Mode = "hybrid"
	for n := range 6 {
		id := core.ItemID(n + 1)
		w.items = append(w.items, core.Item{User: 1, ID: id, Status: core.ItemActive, CreatedAt: noon()})
		w.signals.Signals = append(w.signals.Signals, search.ItemSignal{ID: id, FTS: true, Lexical: float64(n), Near: n < 4,
			Distance: float64(n) / 2})
	}
	f, err := w.memory.Search(t.Context(), items.Query{User: 1, Words: "x", Now: w.now})
	want := []string{"1 0.700", "6 0.300", "5 0.240", "2 0.060"} // 3 and 4 are not among the best two of any signal
	if d := cmp.Diff(want, scored(f.Hits)); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestRank_properties checks that scores are between 0 and 1 and fall, that at most 50 hits are
// returned, and that the order of signals does not matter.
func TestRank_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		n := rapid.IntRange(0, 150).Draw(r, "items")
		mode := rapid.SampledFrom([]string{"fts", "hybrid"}).Draw(r, "mode")
		for i := range n {
			id := core.ItemID(i + 1)
			w.items = append(w.items, core.Item{User: 1, ID: id, Status: core.ItemActive,
				CreatedAt: noon().Add(time.Duration(rapid.IntRange(0, 3).Draw(r, "h")) * time.Hour)})
			s := search.ItemSignal{ID: id, FTS: rapid.Bool().Draw(r, "fts"), Near: mode == "hybrid" &&
				rapid.Bool().Draw(r, "near")}
			if s.FTS {
				s.Lexical = rapid.Float64Range(0.01, 20).Draw(r, "lexical")
			}
			if s.Near {
				s.Distance = rapid.Float64Range(0, 2).Draw(r, "distance")
			}
			w.signals.Signals = append(w.signals.Signals, s)
		}
		w.signals.Mode = mode
		search := func() []string {
			f, err := w.memory.Search(t.Context(), items.Query{User: 1, Words: "x", Limit: 50, Now: w.now})
			if err != nil || len(f.Hits) > 50 {
				r.Fatal(len(f.Hits), err)
			}
			last := 1.0000001
			for _, h := range f.Hits {
				if math.IsNaN(h.Score) || h.Score < 0 || h.Score > last || !h.FTS && !h.Semantic {
					r.Fatalf("got hit %+v after score %v", h, last)
				}
				last = h.Score
			}
			return scored(f.Hits)
		}
		first := search()
		w.signals.Signals = rapid.Permutation(w.signals.Signals).Draw(r, "order")
		if d := cmp.Diff(first, search()); d != "" {
			r.Fatal(d)
		}
	})
}
