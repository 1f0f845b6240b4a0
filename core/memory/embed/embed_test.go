package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func model(kind core.ModelErrorKind, after time.Duration) error {
	return &core.ModelError{Kind: kind, After: after, Err: errors.New("the provider says " + string(kind))}
}

func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("text %d", i))
	}
	return out
}

func TestTake_embedsAllThatWaits(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.say(1, "a", "bb", "ccc", "dddd", "eeeee", "f")
	w.closed[1] = true
	w.say(2, "x", "y", "z", "last")
	w.remember("tea, not coffee")
	wk, logs := worker(w, p)
	w.run(t, wk)
	var got []string
	for _, win := range w.windows {
		got = append(got, fmt.Sprintf("%d: %d-%d", win.Segment, win.First, win.Last))
	}
	if d := cmp.Diff([]string{"1: 1-3", "1: 3-5", "1: 5-6", "2: 7-9"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[core.EmbeddingState]int{core.EmbeddingReady: 5}, w.states()); d != "" {
		t.Error(d)
	}
	for _, it := range w.items {
		text := it.Text + joined(it.Messages)
		if len(it.vector) != core.VectorSize || it.vector[0] != float32(len(text)) || it.vector[1] != 1 ||
			it.vector[2] != 0 || it.config != "c" {
			t.Errorf("%q: %d values, %v", text, len(it.vector), it.vector[:3])
		}
	}
	if d := cmp.Diff([]string{""}, w.ended); d != "" || logs.Len() > 0 {
		t.Error(d, logs.All())
	}
}

func TestTake_batchesOf32(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember(numbered(70)...)
	wk, _ := worker(w, p)
	w.run(t, wk)
	var sizes []int
	for _, call := range p.calls {
		sizes = append(sizes, len(call))
	}
	if d := cmp.Diff([]int{32, 32, 6}, sizes); d != "" || w.states()[core.EmbeddingReady] != 70 {
		t.Error(d, w.states())
	}
}

func TestWindows_longDayIsReadFurther(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.say(1, numbered(1200)...)
	wk, _ := worker(w, p)
	wk.Windows = threes{cut: func(messages []core.Message, _ bool) ([]store.TextWindow, core.MessageID) {
		if len(messages) < 1000 {
			return nil, 0
		}
		return []store.TextWindow{{First: messages[0].ID, Last: messages[999].ID}}, messages[999].ID
	}}
	w.run(t, wk)
	if len(w.windows) != 1 || w.windows[0].Last != 1000 || len(w.queue) != 0 {
		t.Errorf("windows %+v", w.windows)
	}
}

func TestWindows_changedDayIsCutAgain(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.say(1, "a", "b", "c")
	changes := 0
	w.onPut = func(store.PutWindows) error {
		if changes++; changes == 1 {
			w.say(1, "d", "e")
			return core.ErrChanged
		}
		return nil
	}
	wk, logs := worker(w, p)
	w.run(t, wk)
	if len(w.windows) != 2 || w.states()[core.EmbeddingReady] != 2 || logs.Len() != 0 {
		t.Errorf("%d windows, %v, log %v", len(w.windows), w.states(), logs.All())
	}
	w.say(1, "f", "g")
	w.onPut = func(store.PutWindows) error { changes++; return core.ErrChanged }
	changes = 0
	w.run(t, wk)
	if changes != mostChanges+1 || len(w.queue) != 1 || w.queue[0].Error != "" || !w.queue[0].RunAt.After(time.Now()) {
		t.Errorf("%d tries, then %+v", changes, w.queue)
	}
}

func TestTake_providerDownGivesTheJobBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), &provider{}
		w.remember("a", "b")
		p.do = func(context.Context, []string) ([][]float32, error) { return nil, model(core.ModelDown, 0) }
		wk, logs := worker(w, p)
		start := time.Now()
		var waits []time.Duration
		for range 12 {
			w.run(t, wk)
			waits = append(waits, time.Until(w.queue[0].RunAt))
			time.Sleep(waits[len(waits)-1]) // fake time: synctest
		}
		// The delay doubles from 5 s to 15 minutes, minus a tenth in this test.
		if waits[0] != 4500*time.Millisecond || waits[1] != 9*time.Second || waits[11] != 810*time.Second {
			t.Errorf("waits %v", waits)
		}
		if len(p.calls) != 12 || w.states()[core.EmbeddingPending] != 2 || logs.Len() != 12 ||
			!strings.Contains(w.queue[0].Error, "the provider says down") {
			t.Errorf("%d calls, %v, %+v", len(p.calls), w.states(), w.queue[0])
		}
		p.do = nil
		w.run(t, wk)
		if w.states()[core.EmbeddingReady] != 2 || len(w.queue) != 0 {
			t.Errorf("after %s: %v", time.Since(start), w.states())
		}
	})
}

func TestTake_refusedTextHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, kind := range []core.ModelErrorKind{core.ModelRejected, core.ModelTooLong} {
		w, p := newWorld(), &provider{}
		w.remember(numbered(40)...)
		w.items[5].Text, w.items[20].Text = "poison", "more poison"
		p.do = func(_ context.Context, texts []string) ([][]float32, error) {
			if strings.Contains(strings.Join(texts, " "), "poison") {
				return nil, model(kind, 0)
			}
			return lengths(texts), nil
		}
		wk, logs := worker(w, p)
		w.run(t, wk)
		if w.states()[core.EmbeddingReady] != 38 || w.items[5].cause != "the provider says "+string(kind) ||
			w.items[20].state != core.EmbeddingError {
			t.Errorf("%s: %v, %q", kind, w.states(), w.items[5].cause)
		}
		if len(w.queue) != 0 || logs.Len() != 2 {
			t.Errorf("%s: queue %v, log %v", kind, w.queue, logs.All())
		}
		for _, entry := range logs.All() {
			if strings.Contains(fmt.Sprint(entry.ContextMap()), "poison") {
				t.Errorf("the log repeats a text: %v", entry)
			}
		}
	}
}

func TestTake_refusedAllCondemnsNothing(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("a", "b")
	p.do = func(context.Context, []string) ([][]float32, error) { return nil, model(core.ModelRejected, 0) }
	wk, _ := worker(w, p)
	w.run(t, wk)
	if w.states()[core.EmbeddingPending] != 2 || len(w.queue) != 1 ||
		!strings.Contains(w.queue[0].Error, "plain sentence") {
		t.Errorf("%v, queue %+v", w.states(), w.queue)
	}
}

func TestTake_sendsNoEmptyText(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("", "b", "")
	wk, _ := worker(w, p)
	w.run(t, wk)
	if d := cmp.Diff([][]string{{"b"}}, p.calls); d != "" || w.states()[core.EmbeddingError] != 2 ||
		w.states()[core.EmbeddingReady] != 1 {
		t.Error(d, w.states())
	}
}

func TestVectors_invalidAreNotStored(t *testing.T) {
	t.Parallel()
	for name, vectors := range map[string][][]float32{
		"too long": {make([]float32, core.VectorSize+1), {1}}, "empty": {{}, {1}}, "too few": {{1}}, "none": nil,
	} {
		w, p := newWorld(), &provider{}
		w.remember("a", "b")
		p.do = func(context.Context, []string) ([][]float32, error) { return vectors, nil }
		wk, _ := worker(w, p)
		w.run(t, wk)
		if w.states()[core.EmbeddingError] != 2 || w.items[0].cause == "" || len(w.queue) != 1 || w.queue[0].Error == "" {
			t.Errorf("%s: %v, %q, queue %v", name, w.states(), w.items[0].cause, w.queue)
		}
	}
}

// keyed is a provider with a key.
type keyed struct {
	*provider
	key string
}

func (k keyed) Fingerprint() string { return "c " + k.key }

func TestTake_faultStaysUntilMended(t *testing.T) {
	t.Parallel()
	for _, kind := range []core.ModelErrorKind{core.ModelAuth, core.ModelConfig} {
		w, p := newWorld(), &provider{}
		w.remember("a", "b")
		refuses := func(context.Context, []string) ([][]float32, error) { return nil, model(kind, 0) }
		p.do = refuses
		wk, _ := worker(w, p)
		wk.Embedders = fixed(keyed{p, "wrong"}, "c")
		w.run(t, wk)
		if w.states()[core.EmbeddingError] != 2 || w.items[0].cause != "the provider says "+string(kind) ||
			len(w.queue) != 1 {
			t.Errorf("%s: %v, %q", kind, w.states(), w.items[0].cause)
		}
		w.queue[0].RunAt = wk.Now() // the rare retry
		w.run(t, wk)
		if len(p.calls) != 2 || w.states()[core.EmbeddingError] != 2 {
			t.Errorf("%s: %v after %d calls", kind, w.states(), len(p.calls))
		}
		p.do, w.queue[0].RunAt = nil, wk.Now()
		wk.Embedders = fixed(keyed{p, "right"}, "c")
		w.run(t, wk)
		if w.states()[core.EmbeddingReady] != 2 || len(w.queue) != 0 {
			t.Errorf("%s: %v", kind, w.states())
		}
	}
}

func TestTake_refusedIsTriedByAnotherEmbedder(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("a", "", "poison")
	p.do = func(_ context.Context, texts []string) ([][]float32, error) {
		if strings.Contains(strings.Join(texts, " "), "poison") {
			return nil, model(core.ModelTooLong, 0)
		}
		return lengths(texts), nil
	}
	wk, _ := worker(w, p)
	w.run(t, wk)
	calls := len(p.calls)
	w.run(t, wk)
	if len(p.calls) != calls || w.states()[core.EmbeddingError] != 2 {
		t.Errorf("%v, %d calls and then %d", w.states(), calls, len(p.calls)-calls)
	}
	p.do = nil
	wk.Embedders = fixed(keyed{p, "new"}, "c")
	w.run(t, wk)
	if w.states()[core.EmbeddingReady] != 2 || w.states()[core.EmbeddingError] != 1 {
		t.Errorf("%v", w.states())
	}
}

func TestTake_changedMeanwhileIsEmbeddedAgain(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("a", "old")
	p.do = func(_ context.Context, texts []string) ([][]float32, error) {
		w.mu.Lock()
		if it := w.items[1]; it.Revision == 0 {
			it.Revision, it.Text = 1, "newer"
		}
		w.mu.Unlock()
		return lengths(texts), nil
	}
	wk, _ := worker(w, p)
	w.run(t, wk)
	if it := w.items[1]; it.state != core.EmbeddingReady || it.vector[0] != 5 || len(p.calls) != 2 {
		t.Errorf("%+v after %v", it.Embeddable, p.calls)
	}
}
