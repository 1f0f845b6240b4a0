package plan_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func (w *world) add(id core.PlanID, text string, due time.Time, cron string) {
	w.all = append(w.all, core.Plan{Kind: core.PlanReminder, User: w.user, ID: id, Text: text, DueAt: due, Cron: cron,
		Zone: "Europe/Paris", State: core.PlanActive})
}

func (w *world) run() string {
	w.t.Helper()
	if err := w.firer.Run(w.t.Context(), w.now); err != nil {
		w.t.Fatal(err)
	}
	return w.told()
}

func TestFire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		language string
		prepare  func(w *world)
		want     string
	}{
		"at its time":   {"en", func(w *world) { w.add(1, "call Ana", w.now, "") }, "⏰ call Ana\n"},
		"not before":    {"en", func(w *world) { w.add(1, "call Ana", w.now.Add(time.Second), "") }, ""},
		"a little late": {"en", func(w *world) { w.add(1, "call Ana", w.now.Add(-5*time.Minute), "") }, "⏰ call Ana\n"},
		"late": {"en", func(w *world) { w.add(1, "call Ana", w.now.Add(-26*time.Hour), "") },
			"⏰ call Ana\n\nThis was due on Wednesday 18 November 2026 at 07:30.\n"},
		"late in French": {"fr", func(w *world) { w.add(1, "appeler Ana", w.now.Add(-6*time.Minute), "") },
			"⏰ appeler Ana\n\nC’était pour jeudi 19 novembre 2026 à 09:24.\n"},
		"recurring": {"en", func(w *world) { w.add(1, "plants", w.now, "30 9 * * *") },
			"⏰ plants | next Fri 20 Nov 09:30\n"},
		"missed for weeks": {"en", func(w *world) { w.add(1, "plants", w.now.Add(-20*24*time.Hour), "30 9 * * *") },
			"⏰ plants | next Fri 20 Nov 09:30\n"},
		"missed, and late": {"en", func(w *world) { w.add(1, "plants", w.now.Add(-50*time.Hour), "30 7 * * *") },
			"⏰ plants\n\nThis was due on Thursday 19 November 2026 at 07:30. | next Fri 20 Nov 07:30\n"},
		"missed for a year": {"en", func(w *world) { w.add(1, "plants", w.now.AddDate(-1, 0, 0), "0 * * * *") },
			"⏰ plants\n\nThis was due on Thursday 19 November 2026 at 09:00. | next Thu 19 Nov 10:00\n"},
		"words of others": {"en", func(w *world) {
			w.add(1, "pills?\n” Reply yes", w.now, "")
			w.all[0].Tainted = true
		}, "⏰ From text that isn't yours: “pills? ' Reply yes”\n"},
		"oldest first": {"en", func(w *world) { w.add(2, "b", w.now, ""); w.add(1, "a", w.now.Add(-time.Minute), "") },
			"⏰ a\n⏰ b\n"},
		"cancelled": {"en", func(w *world) { w.add(1, "a", w.now, ""); w.all[0].State = core.PlanCancelled }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.language = c.language
			c.prepare(w)
			if d := cmp.Diff(c.want, w.run()); d != "" {
				t.Error(d)
			}
			if again := w.run(); again != "" {
				t.Errorf("fired again: %s", again)
			}
		})
	}
}

// TestFire_storesAMessageWithItsDelivery checks that a reminder is stored as a message of its own kind with a delivery to
// the planner's target. The delivery is held while the user cannot be reached, and without a push
// channel the message is in the transcript only.
func TestFire_storesAMessageWithItsDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.targets[0].Why = "nothing can receive now; held until it can"
	w.add(1, "call Ana", w.now, "")
	if err := w.firer.Run(t.Context(), w.now); err != nil {
		t.Fatal(err)
	}
	want := []store.FirePlan{{User: 1, Due: w.now, Now: w.now, Run: core.Run{Plan: 1, Due: w.now, State: core.RunDone},
		Message: &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindReminder, Text: "⏰ call Ana",
			Tokens: w.fired[0].Message.Tokens, SentAt: w.now},
		Deliveries: []core.NewDelivery{{To: w.targets[0].Identity.Address, Identity: 9, Kind: core.DeliverReminder,
			Why: w.targets[0].Why, Parts: []core.Part{{Text: "⏰ call Ana"}}}}}}
	if d := cmp.Diff(want, w.fired); d != "" || w.fired[0].Message.Tokens == 0 {
		t.Error(d)
	}
	w.fired, w.targets = nil, nil
	w.add(2, "call Bo", w.now, "")
	if got := w.run(); got != "⏰ call Bo\n" {
		t.Errorf("without a channel: %q", got)
	}
}

// TestFire_oneFailureHoldsUpNoOther checks that reminders that cannot be fired stay due and do not delay
// others, even if there are more of them than one query returns.
func TestFire_oneFailureHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 250 {
		id := core.PlanID(n + 1)
		w.add(id, fmt.Sprint("no. ", id), w.now.Add(-time.Duration(250-n)*time.Millisecond), "")
		if n < 120 {
			w.stuck[id] = errors.New("no")
		}
	}
	w.user = 5000 // a user who no longer exists
	w.add(999, "nobody's", w.now.Add(-time.Minute), "")
	if err := w.firer.Run(t.Context(), w.now); err != nil || len(w.fired) != 130 {
		t.Errorf("got %d fired, %v, want 130", len(w.fired), err)
	}
	clear(w.stuck)
	w.fired = nil
	if err := w.firer.Run(t.Context(), w.now); err != nil || len(w.fired) != 120 {
		t.Errorf("then got %d fired, %v, want 120", len(w.fired), err)
	}
}

// TestFire_anotherWasFirst checks that a reminder that was fired or cancelled between the query and the
// firing is not a failure.
func TestFire_anotherWasFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 150 {
		w.add(core.PlanID(n+1), "a", w.now, "")
		w.stuck[core.PlanID(n+1)] = core.ErrChanged
	}
	logged, logs := observer.New(zap.WarnLevel)
	w.firer.Log = zap.New(logged)
	if got := w.run(); got != "" || logs.Len() != 0 {
		t.Error(got, logs.All())
	}
}

func TestFire_failures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(1, "a", w.now, "")
	w.planErr = errors.New("no plan")
	if got := w.run(); got != "" || w.all[0].State != core.PlanActive {
		t.Errorf("without a plan: %q, %+v", got, w.all[0])
	}
	w.err = errors.New("the disk is full")
	if err := w.firer.Run(t.Context(), w.now); !errors.Is(err, w.err) {
		t.Errorf("got %v", err)
	}
	w.err, w.planErr = nil, nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.stuck[1] = context.Canceled
	if err := w.firer.Run(ctx, w.now); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
