package embed

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// stored returns the bounds of each window's passages, and the first of their values.
func (w *world) stored() []string {
	var out []string
	for _, it := range w.items {
		var list []string
		for _, p := range it.passages {
			list = append(list, fmt.Sprintf("%d:%d-%d", p.Message, p.From, p.To))
		}
		out = append(out, strings.Join(list, " "))
	}
	return out
}

func TestPassages_storedWithTheirWindow(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.say(1, "a", "bb", "ccc", "dddd")
	w.closed[1] = true
	wk, _ := worker(w, p)
	w.run(t, wk)
	if d := cmp.Diff([]string{"1:0-1 2:0-2 3:0-3", "3:0-3 4:0-4"}, w.stored()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int8{127, 32}, w.items[1].passages[1].Values); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{{"a bb ccc", "ccc dddd"}, {"a", "bb", "ccc", "ccc", "dddd"}}, p.calls); d != "" {
		t.Error(d)
	}
}

func TestPassages_goInBatches(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.say(1, numbered(40)...)
	w.closed[1] = true
	wk, _ := worker(w, p)
	wk.Windows = threes{passages: func(messages []core.Message) []store.Passage {
		return append(make([]store.Passage, 99), each(messages)[0])
	}}
	w.run(t, wk)
	most := 0
	for _, call := range p.calls {
		most = max(most, len(call))
	}
	if most != 200 || w.states()[core.EmbeddingReady] != len(w.windows) {
		t.Errorf("%d texts at once, %v", most, w.states())
	}
}

func TestPassages_refusedIsLeftOut(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.say(1, "a", "poison", "ccc")
	p.do = func(_ context.Context, texts []string) ([][]float32, error) {
		if strings.Contains("\n"+strings.Join(texts, "\n")+"\n", "\npoison\n") {
			return nil, model(core.ModelRejected, 0)
		}
		return lengths(texts), nil
	}
	wk, _ := worker(w, p)
	w.run(t, wk)
	if d := cmp.Diff([]string{"1:0-1 3:0-3"}, w.stored()); d != "" || w.states()[core.EmbeddingReady] != 1 {
		t.Error(d, w.states())
	}
}

func TestPassages_windowWaitsForThem(t *testing.T) {
	t.Parallel()
	for name, vectors := range map[string][][]float32{"down": nil,
		"of another length": {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}} {
		w, p := newWorld(), &provider{}
		w.say(1, "a", "bb", "ccc")
		p.do = func(_ context.Context, texts []string) ([][]float32, error) {
			if len(texts) == 1 {
				return lengths(texts), nil
			}
			if vectors == nil {
				return nil, model(core.ModelDown, 0)
			}
			return vectors, nil
		}
		wk, _ := worker(w, p)
		w.run(t, wk)
		if w.states()[core.EmbeddingReady] != 0 || len(w.queue) != 1 {
			t.Errorf("%s: %v, queue %v", name, w.states(), w.queue)
		}
		p.do, w.queue[0].RunAt = nil, wk.Now()
		w.run(t, wk)
		if w.states()[core.EmbeddingReady] != 1 || len(w.queue) != 0 {
			t.Errorf("%s, then back: %v, queue %v", name, w.states(), w.queue)
		}
	}
}
