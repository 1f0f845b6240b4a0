package command_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// week is a conversation on Monday with a summary, and one this morning without.
func week(w *world) {
	w.later(-72*time.Hour).talk(w.ada, "tomatoes along the south wall")
	w.talk(w.ada, "and a trip to Lyon")
	w.summarize(w.ada, "2026-11-16", markdown, "Book the train to **Lyon**", "Buy seeds")
	w.later(72*time.Hour).talk(w.ada, "good morning")
}

// states stores summaries that are late, stale and failed.
func states(w *world) {
	w.later(-48*time.Hour).talk(w.ada, "on Tuesday")
	w.summarize(w.ada, "2026-11-17", markdown)
	_, u := w.identify(w.ada)
	i, _ := w.identify(w.ada)
	must(w.t, w.Edit(w.ctx, u.ID, i.ID, core.Inbound{Address: w.ada, EventID: "e1", Kind: core.InEdit, Target: "m1"},
		core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: "on Tuesday!"}, w.now))
	w.later(24*time.Hour).talk(w.ada, "on Wednesday")
	g, err := w.Day(w.ctx, u.ID, "2026-11-18")
	must(w.t, err)
	must(w.t, w.FailSummary(w.ctx, store.FailedSummary{User: u.ID, Segment: g.ID, Lease: w.job(u.ID, int64(g.ID)),
		Cause: "the model is down", RetryAt: w.now.Add(time.Minute), Now: w.now}))
	w.later(24*time.Hour).talk(w.ada, "on Thursday")
	w.summarize(w.ada, "2026-11-19", markdown)
	w.talk(w.ada, "and more")
}

// hidden is a day whose summary is based on a removed message.
func hidden(w *world) {
	w.talk(w.ada, "a secret")
	w.summarize(w.ada, "2026-11-19", markdown, "Keep the secret")
	w.quote = &core.Quote{NativeID: "m1", Text: "a secret"}
	w.send(w.ada, "/forget")
}

// keep adds a memory item.
func (w *world) keep(who core.Address, text, theme string) {
	w.t.Helper()
	i, u := w.identify(who)
	add, _, err := w.options.Memory.Keep(w.ctx, core.Item{User: u.ID, Content: text, Theme: theme}, w.now)
	must(w.t, err)
	e := w.event(who, text)
	_, err = w.Note(w.ctx, store.Note{User: u.ID, Identity: i.ID, Event: &e, Effects: []core.Effect{*add}, Now: w.now})
	must(w.t, err)
}

// tainted stores objects that tainted turns created or ended: 901 to 903 exist, 911 to 913 are
// ended, and so is 914, a reminder that is past.
func tainted(w *world) {
	i, u := w.identify(w.ada)
	act := func(effects ...core.Effect) {
		e := w.event(w.ada, "a turn")
		_, err := w.Note(w.ctx, store.Note{User: u.ID, Identity: i.ID, Event: &e, Effects: effects, Now: w.now})
		must(w.t, err)
	}
	for _, n := range []int64{901, 911} {
		item := effect.AddItem{Item: core.Item{ID: core.ItemID(n), Type: core.ItemFact, Content: fmt.Sprint("item *", n)},
			Digest: fmt.Sprint(n), At: w.now}
		loop := effect.OpenLoop{Loop: core.Loop{ID: core.LoopID(n + 1), Text: fmt.Sprint("loop *", n+1)}, At: w.now}
		reminder := effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, ID: core.PlanID(n + 2),
			Text:  fmt.Sprint("reminder *", n+2),
			DueAt: w.now.Add(time.Hour), Zone: "UTC"}, At: w.now}
		act(effect.Taint(item), effect.Taint(loop), effect.Taint(reminder))
	}
	act(effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, ID: 914, Text: "too late", DueAt: w.now.Add(-time.Hour),
		Zone: "UTC"},
		At: w.now})
	act(effect.Taint(effect.ArchiveItem{Item: 911, At: w.now}), effect.Taint(effect.CloseLoop{Loop: 912, At: w.now}),
		effect.Taint(effect.CancelPlan{Plan: 913, At: w.now}), effect.Taint(effect.CancelPlan{Plan: 914, At: w.now}))
}

// receipts stores recurring reminders whose last deliveries are in every state.
func receipts(w *world) {
	i, u := w.identify(w.ada)
	for n, state := range []core.DeliveryState{core.DeliverySent, core.DeliveryFailed, "none", "", core.DeliveryPending} {
		w.send(w.ada, fmt.Sprintf("/remind every day at 9:%02d reminder %d", 10+n, n))
		due, err := w.OpenPlans(w.ctx, u.ID, core.PlanReminder, 100)
		must(w.t, err)
		if state == "" {
			continue // never delivered
		}
		x := due[slices.IndexFunc(due, func(x core.Plan) bool { return x.Text == fmt.Sprint("reminder ", n) })]
		f := store.FirePlan{User: u.ID, Due: x.DueAt, Next: x.DueAt.AddDate(0, 0, 1), Now: w.now,
			Run:     core.Run{Plan: x.ID, Due: x.DueAt, State: core.RunDone},
			Message: &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindReminder, Text: "⏰ " + x.Text, SentAt: w.now}}
		if state != "none" {
			f.Deliveries = []core.NewDelivery{{To: w.ada, Identity: i.ID, Kind: core.DeliverReminder,
				Parts: []core.Part{{Text: "⏰ " + x.Text}}}}
		}
		must(w.t, w.FirePlan(w.ctx, f))
		w.finish(state)
	}
}

// finish brings the pending delivery to a state.
func (w *world) finish(state core.DeliveryState) {
	w.t.Helper()
	if state == core.DeliverySent || state == core.DeliveryFailed {
		refs, _, err := w.Due(w.ctx, []string{core.QueueDeliver + "telegram"}, w.now, 100, store.Share{})
		must(w.t, err)
		d, err := w.ClaimDelivery(w.ctx, refs[0], store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)})
		must(w.t, err)
		_, err = w.FinishPart(w.ctx, d, 0, store.PartResult{State: state, Error: "no"}, w.now)
		must(w.t, err)
	}
}

// failing stores a turn that waits for its retry.
func failing(w *world) {
	turn := w.say(w.ada, "hello?", true).Turn
	must(w.t, w.RetryTurn(w.ctx, turn, w.now.Add(time.Hour), "the model is down"))
}

// speaks gives the gateway a voice.
func (w *world) speaks() { w.options.Defaults.Voice = true }

// mute makes the speech of each user's last reply fail.
func (w *world) mute() {
	for _, who := range []core.Address{w.ada, w.bo} {
		_, u := w.identify(who)
		must(w.t, w.Enqueue(w.ctx, store.NewJob{User: u.ID, Queue: core.QueueSpeak, Key: core.SpeakKey, Ref: 1, RunAt: w.now}))
		refs, _, err := w.Due(w.ctx, []string{core.QueueSpeak}, w.now, 10, store.Share{})
		must(w.t, err)
		j, err := w.Claim(w.ctx, refs[0], store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)})
		must(w.t, err)
		must(w.t, w.Unspoken(w.ctx, u.ID, j.Lease, "speak: the key was refused, check speech.api_key: `no`"))
	}
}
