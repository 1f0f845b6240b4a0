package gateway_test

import (
	"context"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/gateway"
)

// early is a store that says too early which turn begins.
type early struct {
	gateway.Store
	begins func(*core.Turn) *core.Turn
}

func (s early) Append(ctx context.Context, a core.Append) (core.Appended, error) {
	out, err := s.Store.Append(ctx, a)
	if a.Begun != nil && out.Turn != nil {
		a.Begun(s.begins(out.Turn))
	}
	return out, err
}

func TestAPromptIsBuiltAheadForItsTurnOnly(t *testing.T) {
	t.Parallel()
	for want, begins := range map[string]func(*core.Turn) *core.Turn{
		"ahead": func(t *core.Turn) *core.Turn { return t },
		"":      func(t *core.Turn) *core.Turn { other := *t; return &other },
	} {
		w := newWorld(t, func(o *gateway.Options) { o.Store = early{o.Store, begins} })
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
