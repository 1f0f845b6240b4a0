package gateway_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
)

// heard notes which messages of the assistant a store is told to ring for.
type heard struct {
	*sqlite.Store
	mu    sync.Mutex
	rings map[string]bool
}

func (h *heard) hear(ms []core.NewMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range ms {
		if m.Role == core.RoleAssistant && m.Text != "" {
			h.rings[m.Text] = m.Rings
		}
	}
}

func (h *heard) Commit(ctx context.Context, r store.Reply, c *store.Claim) (store.Committed, error) {
	h.hear(r.Messages)
	return h.Store.Commit(ctx, r, c)
}

func (h *heard) Note(ctx context.Context, n store.Note) (store.Noted, error) {
	h.hear(n.Messages)
	return h.Store.Note(ctx, n)
}

// only waits for one message, and reports whether it rings.
func (h *heard) only(t *testing.T) bool {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		var got map[string]bool
		if len(h.rings) > 0 {
			got, h.rings = h.rings, map[string]bool{}
		}
		h.mu.Unlock()
		for _, rings := range got {
			if len(got) > 1 {
				t.Errorf("there are %v", got)
			}
			return rings
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is said")
		}
	}
}

// TestRings_whereNoAppReceives checks that devices are notified of the result of a task, of a question below an answer
// and of one that a program causes, exactly if no app receives it now.
func TestRings_whereNoAppReceives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, blocked, rings bool }{
		"an app":         {},
		"a blocked app":  {blocked: true, rings: true},
		"the page alone": {page: true, rings: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &heard{rings: map[string]bool{}}
			w := newWorld(t, func(o *gateway.Options) {
				h.Store = o.Store.(*sqlite.Store)
				o.Store = h
			})
			w.line.mu.Lock()
			w.line.page = c.page
			w.line.mu.Unlock()
			at, u, err := w.store.Identify(t.Context(), w.address())
			must(t, err)
			must(t, w.store.SetBlocked(t.Context(), u.ID, at.ID, c.blocked, time.Now()))

			_, err = w.gw.Propose(t.Context(), u, "notes.txt", effect.ProposeInstruction{Text: "be kind"})
			must(t, err)
			if h.only(t) != c.rings {
				t.Errorf("the question of a program rings: %v", !c.rings)
			}

			due := time.Now().Add(-time.Second).Truncate(time.Second)
			task := core.Plan{Kind: core.PlanTask, ID: 77, Text: "tell the news", Zone: "UTC", DueAt: due}
			_, err = w.store.Note(t.Context(), store.Note{User: u.ID, Now: time.Now(),
				Effects: []core.Effect{effect.SetPlan{Plan: task, At: time.Now()}}})
			must(t, err)
			must(t, w.store.FirePlan(t.Context(), store.FirePlan{User: u.ID, Due: due, Identity: at.ID, Now: time.Now(),
				Run: core.Run{Plan: 77, Due: due, State: core.RunStarted}, Instruction: &core.NewMessage{Role: core.RoleUser,
					Kind: core.KindChat, Text: task.Text, Tokens: 3, SentAt: time.Now(), Task: &core.TaskMark{Due: due, Set: due}}}))
			if h.only(t) != c.rings {
				t.Errorf("the result of a task rings: %v", !c.rings)
			}

			w.brain.mu.Lock()
			w.brain.effects = []core.Effect{effect.ProposeInstruction{Text: "be short"}}
			w.brain.mu.Unlock()
			w.say("be shorter, please") // whoever writes there reads there
			if h.only(t) != c.page {
				t.Errorf("the question below an answer rings: %v", !c.page)
			}
		})
	}
}
