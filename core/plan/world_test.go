package plan_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/store"
)

// shelf is an in-memory store of plans that applies effects and fires as a store does.
type shelf struct {
	plan.Store
	t     testing.TB
	all   []core.Plan
	fired []store.FirePlan
	last  int64
	err   error
	// stuck has the errors of plans that cannot be fired.
	stuck map[core.PlanID]error
}

func (s *shelf) OpenPlans(_ context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error) {
	return s.active(limit, func(k core.Plan) bool { return k.User == user && k.Kind == kind }), s.err
}

func (s *shelf) DuePlans(_ context.Context, now time.Time, limit int) ([]core.Plan, error) {
	return s.active(limit, func(k core.Plan) bool { return !k.DueAt.After(now) }), s.err
}

func (s *shelf) active(limit int, want func(core.Plan) bool) []core.Plan {
	var out []core.Plan
	for _, k := range s.all {
		if k.State == core.PlanActive && want(k) {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(a, b core.Plan) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(limit, len(out))]
}

func (s *shelf) FirePlan(_ context.Context, f store.FirePlan) error {
	if err := s.stuck[f.Run.Plan]; err != nil {
		return err
	}
	n := slices.IndexFunc(s.all, func(k core.Plan) bool { return k.User == f.User && k.ID == f.Run.Plan })
	if n < 0 || s.all[n].State != core.PlanActive || !s.all[n].DueAt.Equal(f.Due) {
		return core.ErrChanged
	}
	s.fired = append(s.fired, f)
	k := &s.all[n]
	k.Last, k.DueAt = f.Run, f.Next
	if f.Next.IsZero() {
		k.State = core.PlanDone
	}
	return nil
}

func (s *shelf) NewID(context.Context, core.UserID) (int64, error) {
	s.last++
	return s.last, s.err
}

func (s *shelf) apply(user core.UserID, effects ...core.Effect) {
	s.t.Helper()
	for _, e := range effects {
		switch e := e.(type) {
		case effect.SetPlan:
			s.all = append(s.all, e.Plan)
		case effect.CancelPlan:
			n := slices.IndexFunc(s.all, func(k core.Plan) bool { return k.User == user && k.ID == e.Plan })
			if n < 0 || s.all[n].State != core.PlanActive {
				s.t.Fatalf("no plan %d to cancel", e.Plan)
			}
			s.all[n].State = core.PlanCancelled
		default:
			s.t.Fatalf("effect %T", e)
		}
	}
}

type world struct {
	*shelf
	plans    *plan.Plans
	firer    *plan.Firer
	now      time.Time
	user     core.UserID
	language string
	targets  []core.Target
	planErr  error
}

func newWorld(t testing.TB) *world {
	w := &world{shelf: &shelf{t: t, last: 4, stuck: map[core.PlanID]error{}}, now: morning(), user: 1,
		language: "en"}
	w.plans = &plan.Plans{Store: w.shelf}
	w.targets = []core.Target{{Identity: core.Identity{ID: 9, Address: core.Address{Channel: "telegram",
		External: "111"}},
		Why: "home"}}
	w.firer = &plan.Firer{Plans: w.plans, Due: w.shelf, Users: w, Planner: w, Tokens: tokens.New(), Channels: w,
		Meter: uncounted{}, Log: zap.NewNop()}
	return w
}

// Identities is for tasks, of which this world has none.
func (w *world) Identities(context.Context, core.UserID) ([]core.Identity, error) { return nil, nil }

func (w *world) User(_ context.Context, id core.UserID) (core.User, error) {
	if id > 1000 {
		return core.User{}, core.ErrNotFound
	}
	return core.User{ID: id, Settings: core.Settings{Language: w.language}}, nil
}

// Capabilities gives only Telegram room for a text.
func (w *world) Capabilities(channel string) core.Capabilities {
	if channel == "telegram" {
		return core.Capabilities{Push: true}
	}
	return core.Capabilities{MaxText: 1}
}

func (w *world) Plan(context.Context, core.User, bool) ([]core.Target, error) {
	return w.targets, w.planErr
}

// use calls a tool, applies its effects and returns its output.
func (w *world) use(name, arguments string) string {
	w.t.Helper()
	for _, tool := range w.plans.Tools() {
		if tool.Spec().Name != name {
			continue
		}
		r, err := tool.Use(w.t.Context(), core.ToolUse{User: w.user, Inputs: []core.MessageID{41, 42}, Now: w.now,
			Location: zone(w.t, "Europe/Paris"), Language: w.language, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return "Error: " + err.Error()
		}
		w.apply(w.user, r.Effects...)
		return r.Text
	}
	w.t.Fatalf("no tool %s", name)
	return ""
}

// told returns the fired texts and their next times.
func (w *world) told() string {
	var b strings.Builder
	for _, f := range w.fired {
		fmt.Fprintf(&b, "%s", f.Message.Text)
		if !f.Next.IsZero() {
			fmt.Fprintf(&b, " | next %s", f.Next.In(zone(w.t, "Europe/Paris")).Format("Mon 2 Jan 15:04"))
		}
		b.WriteString("\n")
	}
	w.fired = nil
	return b.String()
}

type uncounted struct{}

func (uncounted) Count(string, float64, ...string) {}
