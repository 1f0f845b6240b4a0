package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func reminderCases() []testCase {
	return []testCase{
		{"a reminder fires once", testFire},
		{"a recurring reminder continues", testRecurring},
		{"a reminder is postponed", testSnoozed},
		{"a reminder is redacted with its source message", testReminderRedacted},
	}
}

// remind sets a reminder that is due in an hour.
func (b *bench) remind(text, cron string, source core.MessageID) core.Plan {
	b.t.Helper()
	id := core.PlanID(one(b, b.NewID, b.user.ID))
	b.effects(effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, ID: id, Text: text,
		DueAt: b.now.Add(time.Hour), Cron: cron,
		Zone: "UTC", Source: source}, At: b.now})
	r, err := b.Plan(b.ctx, b.user.ID, id)
	b.must(err)
	return r
}

// fire fires a reminder.
func (b *bench) fire(r core.Plan, next time.Time) error {
	return b.FirePlan(b.ctx, store.FirePlan{User: r.User, Due: r.DueAt, Next: next, Now: b.now,
		Run:     core.Run{Plan: r.ID, Due: r.DueAt, State: core.RunDone},
		Message: &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindReminder, Text: "⏰ " + r.Text, SentAt: b.now},
		Deliveries: []core.NewDelivery{{To: b.at.Address, Identity: b.at.ID, Kind: core.DeliverReminder,
			Parts: []core.Part{{Text: r.Text}}}}})
}

func testFire(b *bench) {
	r := b.remind("water the plants", "", 0)
	equal(b, "due too early", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 0)
	equal(b, "listed", len(valueOf(b.OpenPlans(b.ctx, b.user.ID, core.PlanReminder, 10))), 1)
	b.now = b.now.Add(2 * time.Hour)
	equal(b, "due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 1)
	b.must(b.fire(r, time.Time{}))
	if err := b.fire(r, time.Time{}); !errors.Is(err, core.ErrChanged) {
		b.t.Errorf("fired twice: got %v, want ErrChanged", err)
	}
	equal(b, "due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 0)
	done := valueOf(b.Plan(b.ctx, b.user.ID, r.ID))
	equal(b, "state", done.State, core.PlanDone)
	equal(b, "message", b.message(done.Last.Message).Text, "⏰ water the plants")
	b.sent(b.takeDelivery())
	ds := valueOf(b.Sent(b.ctx, b.user.ID, []core.MessageID{done.Last.Message}))
	if len(ds) != 1 || ds[0].State != core.DeliverySent {
		b.t.Errorf("got %+v, want one sent", ds)
	}
	err := second(b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID,
		Effects: []core.Effect{effect.CancelPlan{Plan: r.ID, At: b.now}}, Now: b.now}))
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("cancel: got %v, want ErrNotFound", err)
	}
}

func testRecurring(b *bench) {
	r := b.remind("stand up", "0 * * * *", 0)
	b.now = b.now.Add(90 * time.Minute)
	next := start().Add(2 * time.Hour)
	b.must(b.fire(r, next))
	again := valueOf(b.Plan(b.ctx, b.user.ID, r.ID))
	if again.State != core.PlanActive || !again.DueAt.Equal(next) || !again.Last.Ended.Equal(b.now) {
		b.t.Errorf("got %+v", again)
	}
	b.sent(b.takeDelivery())
	b.effects(effect.CancelPlan{Plan: r.ID, At: b.now})
	if err := b.fire(again, next.Add(time.Hour)); !errors.Is(err, core.ErrChanged) {
		b.t.Errorf("fired after it was cancelled: got %v", err)
	}
}

func testSnoozed(b *bench) {
	r := b.remind("water the plants", "", 0)
	until := b.now.Add(3 * time.Hour)
	b.effects(effect.SnoozePlan{Plan: r.ID, Until: until, At: b.now})
	b.now = b.now.Add(2 * time.Hour)
	equal(b, "due before its new time", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 0)
	if err := b.fire(r, time.Time{}); !errors.Is(err, core.ErrChanged) {
		b.t.Errorf("fired at its old time: got %v, want ErrChanged", err)
	}
	snooze := func(until time.Time) error {
		return second(b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
			Effects: []core.Effect{effect.SnoozePlan{Plan: r.ID, Until: until, At: b.now}}}))
	}
	if err := snooze(b.now); !errors.Is(err, core.ErrRefused) {
		b.t.Errorf("postponed to now: got %v, want ErrRefused", err)
	}
	b.now = until
	put := valueOf(b.Plan(b.ctx, b.user.ID, r.ID))
	equal(b, "due at", put.DueAt.UnixMilli(), until.UnixMilli())
	b.must(b.fire(put, time.Time{}))
	if err := snooze(b.now.Add(time.Hour)); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("postponed when done: got %v, want ErrNotFound", err)
	}
}

func testReminderRedacted(b *bench) {
	q, _ := b.exchange("remind me of the xylophone", "I will")
	r := b.remind("play the xylophone", "", q)
	b.now = b.now.Add(2 * time.Hour)
	b.must(b.fire(r, time.Time{}))
	b.sent(b.takeDelivery())
	b.effects(effect.Redact{Message: q, At: b.now})
	b.missing("xylophone")
}
