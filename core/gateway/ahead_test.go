package gateway_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/gateway"
)

// early is a store that reports which turn begins, and then stores it or fails.
type early struct {
	gateway.Store
	begins func(*core.Turn) *core.Turn
	fails  atomic.Int64 // how often
}

func (s *early) Append(ctx context.Context, a core.Append) (core.Appended, error) {
	if s.fails.Add(-1) >= 0 {
		if a.Begun != nil {
			a.Begun(&core.Turn{User: a.User})
		}
		return core.Appended{}, errors.New("the disk is full")
	}
	out, err := s.Store.Append(ctx, a)
	if a.Begun != nil && out.Turn != nil {
		a.Begun(s.begins(out.Turn))
	}
	return out, err
}

func TestAnAttemptThatBeginsAheadAnswersItsTurnOnly(t *testing.T) {
	t.Parallel()
	for want, begins := range map[string]func(*core.Turn) *core.Turn{
		"ahead": func(t *core.Turn) *core.Turn { return t },
		"":      func(t *core.Turn) *core.Turn { other := *t; return &other },
	} {
		w := newWorld(t, func(o *gateway.Options) { o.Store = &early{Store: o.Store, begins: begins} })
		w.say("before it runs, maybe")
		w.sent(1)
		w.say("hello")
		if got := w.sent(2); got != "re: hello" {
			t.Errorf("got %q", got)
		}
		w.brain.mu.Lock()
		if p := w.brain.prompts; len(p) != 2 || p[1].Snapshot.Strategy != want {
			t.Errorf("answered %d prompts, the last one with %q, want %q", len(p), p[len(p)-1].Snapshot.Strategy, want)
		}
		w.brain.mu.Unlock()
	}
}

// A service offers a message again until it is stored.
func TestTheModelIsAskedOnceWhileNothingCanBeStored(t *testing.T) {
	t.Parallel()
	s := &early{begins: func(t *core.Turn) *core.Turn { return t }}
	w := newWorld(t, func(o *gateway.Options) {
		s.Store = o.Store
		o.Store = s
	})
	w.say("before it runs, maybe")
	w.sent(1)
	asked := w.brain.asked.Load()
	const times = 5
	s.fails.Store(times)
	in := core.Inbound{Address: w.address(), EventID: "e", NativeID: "e", Kind: core.InMessage, Text: "hello",
		SentAt: time.Now()}
	for range times {
		if w.gw.Receive(t.Context(), in) == nil {
			t.Error("acknowledged, but not stored")
		}
	}
	w.receive(in)
	if got := w.sent(2); got != "re: hello" {
		t.Errorf("got %q", got)
	}
	if n := w.brain.asked.Load() - asked; n != 2 {
		t.Errorf("the model was asked %d times, want 2: in vain, and for the answer", n)
	}
	w.say("again")
	w.sent(3)
	w.brain.mu.Lock()
	defer w.brain.mu.Unlock()
	if p := w.brain.prompts; p[len(p)-1].Snapshot.Strategy != "ahead" {
		t.Error("no attempt begins ahead any more")
	}
}
