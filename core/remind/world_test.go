package remind_test

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
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/remind"
)

// shelf is an in-memory store of reminders that applies effects and fires as a store does.
type shelf struct {
	t     testing.TB
	all   []core.Reminder
	fired []core.Fire
	last  int64
	err   error
	// stuck has the errors of reminders that cannot be fired.
	stuck map[core.ReminderID]error
}

func (s *shelf) Reminders(_ context.Context, user core.UserID, limit int) ([]core.Reminder, error) {
	return s.active(limit, func(r core.Reminder) bool { return r.User == user }), s.err
}

func (s *shelf) DueReminders(_ context.Context, now time.Time, limit int) ([]core.Reminder, error) {
	return s.active(limit, func(r core.Reminder) bool { return !r.DueAt.After(now) }), s.err
}

func (s *shelf) active(limit int, want func(core.Reminder) bool) []core.Reminder {
	var out []core.Reminder
	for _, r := range s.all {
		if r.State == core.ReminderActive && want(r) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b core.Reminder) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt),
			cmp.Compare(a.ID, b.ID))
	})
	return out[:min(limit, len(out))]
}

func (s *shelf) Fire(_ context.Context, f core.Fire) (core.MessageID, error) {
	if err := s.stuck[f.Reminder]; err != nil {
		return 0, err
	}
	n := slices.IndexFunc(s.all, func(r core.Reminder) bool { return r.User == f.User && r.ID == f.Reminder })
	if n < 0 || s.all[n].State != core.ReminderActive || !s.all[n].DueAt.Equal(f.Due) {
		return 0, core.ErrChanged
	}
	s.fired = append(s.fired, f)
	r := &s.all[n]
	r.FiredAt, r.Message, r.DueAt = f.Now, core.MessageID(len(s.fired)), f.Next
	if f.Next.IsZero() {
		r.State = core.ReminderDone
	}
	return r.Message, nil
}

func (s *shelf) Sent(context.Context, core.UserID, []core.MessageID) ([]core.Delivery, error) {
	return nil, s.err
}

func (s *shelf) NewID(context.Context, core.UserID) (int64, error) {
	s.last++
	return s.last, s.err
}

func (s *shelf) apply(user core.UserID, effects ...core.Effect) {
	s.t.Helper()
	for _, e := range effects {
		switch e := e.(type) {
		case core.SetReminder:
			s.all = append(s.all, e.Reminder)
		case core.CancelReminder:
			n := slices.IndexFunc(s.all, func(r core.Reminder) bool { return r.User == user && r.ID == e.Reminder })
			if n < 0 || s.all[n].State != core.ReminderActive {
				s.t.Fatalf("no reminder %d to cancel", e.Reminder)
			}
			s.all[n].State = core.ReminderCancelled
		default:
			s.t.Fatalf("effect %T", e)
		}
	}
}

type world struct {
	*shelf
	reminders *remind.Reminders
	firer     *remind.Firer
	now       time.Time
	user      core.UserID
	language  string
	targets   []core.Target
	planErr   error
}

func newWorld(t testing.TB) *world {
	w := &world{shelf: &shelf{t: t, last: 4, stuck: map[core.ReminderID]error{}}, now: morning(), user: 1,
		language: "en"}
	w.reminders = &remind.Reminders{Store: w.shelf}
	w.targets = []core.Target{{Identity: core.Identity{ID: 9, Address: core.Address{Channel: "telegram",
		External: "111"}},
		Why: "home"}}
	w.firer = &remind.Firer{Store: w.shelf, Users: w, Planner: w, Tokens: tokens.New(), Channels: w,
		Meter: uncounted{}, Log: zap.NewNop()}
	return w
}

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
	for _, tool := range w.reminders.Tools() {
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
