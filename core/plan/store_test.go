package plan_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

// homes plans a delivery to each user's first identity.
type homes struct{ *sqlite.Store }

func (h homes) Plan(ctx context.Context, u core.User, _ bool) ([]core.Target, error) {
	ids, err := h.Identities(ctx, u.ID)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return []core.Target{{Identity: ids[0], Why: "home"}}, nil
}

// TestFire_onceOnTheStore checks that with several concurrent processes each reminder is stored and
// delivered exactly once, and that recurring ones continue.
func TestFire_onceOnTheStore(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	s := sqlitetest.Open(t, t.TempDir())
	u, err := s.AddUser(ctx, core.User{Name: "Ada", Role: core.RoleOwner, CreatedAt: morning()})
	check(t, err)
	_, err = s.AddIdentity(ctx, core.Identity{User: u.ID, Address: core.Address{Channel: "telegram", Account: "42",
		External: "1"}, LastUsed: morning()})
	check(t, err)
	m := &plan.Plans{Store: s}
	for n := range 12 {
		words := fmt.Sprintf("in 1 hour no. %d", n)
		if n == 11 {
			words = "every day at 10:30 no. 11"
		}
		set, err := m.New(ctx, core.ToolUse{User: u.ID, Now: morning(), Location: zone(t, "Europe/Paris"), Language: "en"},
			core.PlanReminder, words)
		check(t, err)
		_, err = s.Note(ctx, store.Note{User: u.ID, Effects: []core.Effect{set}, Now: morning()})
		check(t, err)
	}
	later := morning().Add(time.Hour)
	var work sync.WaitGroup
	var failed [4]error
	for n := range failed {
		f := &plan.Firer{Plans: m, Due: s, Users: s, Planner: homes{s}, Tokens: tokens.New(),
			Channels: new(world), Meter: uncounted{}, Log: zap.NewNop()}
		work.Go(func() { failed[n] = f.Run(ctx, later) })
	}
	work.Wait()
	check(t, errors.Join(failed[:]...))
	sent, err := s.Deliveries(ctx, store.DeliveryQuery{User: u.ID, Limit: 100})
	check(t, err)
	texts := map[string]int{}
	for _, d := range sent {
		texts[d.Parts[0].Part.Text]++
	}
	for n := range 12 {
		if text := fmt.Sprintf("⏰ no. %d", n); texts[text] != 1 {
			t.Errorf("%s: delivered %d times, want 1", text, texts[text])
		}
	}
	active, err := m.OpenPlans(ctx, u.ID, core.PlanReminder, 100)
	check(t, err)
	if len(active) != 1 || !active[0].DueAt.Equal(later.AddDate(0, 0, 1)) || active[0].Last.Message == 0 {
		t.Errorf("still active: %+v", active)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
