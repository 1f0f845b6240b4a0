package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func TestTake_repliesGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), &provider{}
		w.remember("a")
		wk, _ := worker(w, p)
		start := time.Now()
		wk.Jobs.Busy = func() bool { return time.Since(start) < 3*time.Second }
		w.run(t, wk)
		if took := time.Since(start); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("took %s, want 3 s", took)
		}
		w.remember("b")
		start = time.Now()
		wk.Jobs.Busy = func() bool { return true }
		w.run(t, wk)
		if w.states()[core.EmbeddingReady] != 2 || time.Since(start) > 50*time.Second {
			t.Errorf("held back for %s: %v", time.Since(start), w.states())
		}
	})
}

func TestTake_longJobKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), &provider{}
		w.remember("a")
		p.do = func(_ context.Context, texts []string) ([][]float32, error) {
			time.Sleep(65 * time.Second) // fake time: synctest
			return lengths(texts), nil
		}
		wk, logs := worker(w, p)
		w.onExtend = func() error {
			if w.extends == 2 {
				return errors.New("the store is away")
			}
			return nil
		}
		w.run(t, wk)
		if w.extends != 6 || len(w.queue) != 0 || logs.Len() != 1 {
			t.Errorf("%d extensions, log %v", w.extends, logs.All())
		}
	})
}

func TestTake_lostLeaseEndsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), &provider{}
		w.remember("a")
		p.do = func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		w.onExtend = func() error { return fmt.Errorf("extend: %w", core.ErrFenced) }
		wk, logs := worker(w, p)
		start := time.Now()
		w.once(t, wk)
		if time.Since(start) != 10*time.Second || len(w.ended) != 0 || w.queue[0].State != store.JobRunning ||
			logs.Len() != 0 {
			t.Errorf("after %s: %+v, log %v", time.Since(start), w.queue[0], logs.All())
		}
	})
}

func TestTake_stopGivesTheJobBack(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("a")
	ctx, cancel := context.WithCancel(t.Context())
	p.do = func(ctx context.Context, _ []string) ([][]float32, error) { cancel(); return nil, ctx.Err() }
	wk, logs := worker(w, p)
	if err := w.Enqueue(ctx, store.NewJob{User: ada, Queue: core.QueueEmbed, Key: core.EmbedKey}); err != nil {
		t.Fatal(err)
	}
	wk.Take(ctx, store.JobRef{User: ada, ID: 1})
	if j := w.queue[0]; j.State != store.JobReady || j.Error != "" || j.RunAt.After(time.Now()) || logs.Len() != 0 {
		t.Errorf("job %+v, log %v", j, logs.All())
	}
}

func TestTake_leavesJobsOfOthers(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("a")
	wk, logs := worker(w, p)
	wk.Take(t.Context(), store.JobRef{User: ada, ID: 99})
	if len(p.calls) != 0 || logs.Len() != 0 {
		t.Errorf("calls %v, log %v", p.calls, logs.All())
	}
}

func TestTake_brokenStoreIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.broken = errors.New("disk full")
	wk, logs := worker(w, p)
	w.run(t, wk)
	if len(w.queue) != 1 || !strings.Contains(w.queue[0].Error, "read messages: disk full") || logs.Len() != 1 {
		t.Errorf("queue %+v", w.queue)
	}
}

func TestRebuild_asksFirst(t *testing.T) {
	t.Parallel()
	w, p := newWorld(), &provider{}
	w.remember("a", "b", "c")
	wk, _ := worker(w, p)
	w.run(t, wk)
	wk.Embedders = fixed(p, "another")
	if n, err := wk.Rebuild(t.Context(), ada, false); n != 3 || err != nil || w.states()[core.EmbeddingReady] != 3 ||
		len(w.queue) != 0 {
		t.Fatalf("counted %d, %v, %v", n, err, w.states())
	}
	for range 2 { // a second request changes nothing
		if n, err := wk.Rebuild(t.Context(), ada, true); n != 3 || err != nil || len(w.queue) != 1 {
			t.Fatalf("marked %d, %v, %v", n, err, w.queue)
		}
	}
	w.run(t, wk)
	if w.states()[core.EmbeddingReady] != 3 || w.items[0].config != "another" {
		t.Errorf("%v of %s", w.states(), w.items[0].config)
	}
	w.broken = errors.New("disk full")
	if _, err := wk.Rebuild(t.Context(), ada, true); !errors.Is(err, w.broken) {
		t.Errorf("got %v", err)
	}
}
