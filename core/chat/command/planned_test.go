package command_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// proposeTasks stores a reply that asks a user about tasks.
func (w *world) proposeTasks(a core.Address, s effect.TaskSubject, kind effect.ApprovalKind) {
	w.t.Helper()
	turn := w.say(a, "please", true).Turn
	subject, err := json.Marshal(s)
	must(w.t, err)
	_, err = w.Commit(w.ctx, store.Reply{Turn: turn, State: core.TurnDone, Now: w.now, Day: "2026-11-19",
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: "Shall I?", Tokens: 5,
			SentAt: w.now}},
		Effects: []core.Effect{effect.AskApproval{Approval: effect.Approval{Code: "P1", Kind: kind, Identity: turn.Identity,
			Turn: turn.ID, Subject: string(subject), AskedAt: w.now, Expires: w.now.Add(core.ApprovalLife)}}}}, nil)
	must(w.t, err)
}

// said runs a command, and returns the answer.
func (w *world) said(a core.Address, text string) string {
	w.t.Helper()
	out, _ := w.send(a, text)
	return out.Text
}

// tasksOf returns a user's tasks.
func (w *world) tasksOf(a core.Address) []core.Plan {
	w.t.Helper()
	_, u := w.identify(a)
	list, err := w.OpenPlans(w.ctx, u.ID, core.PlanTask, 10)
	must(w.t, err)
	return list
}

// TestProposedTask_isSetByAYes checks that a proposed task is set by its user's approval, not after
// a no or too late, and that it keeps the mark of its origin.
func TestProposedTask_isSetByAYes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said, want string
		after      time.Duration
		set        int
	}{
		"yes":               {said: "yes", want: "They're set", set: 2},
		"no":                {said: "no", want: "I won't set it"},
		"when one is over":  {said: "yes", after: 50 * time.Minute, want: "Its time has passed"},
		"when it expired":   {said: "/yes P1", after: 2 * time.Hour, want: "its time is up"},
		"by its own button": {said: "/yes P1", want: "They're set", set: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "en")
			w.proposeTasks(w.bo, effect.TaskSubject{Source: 1, Tasks: []effect.ProposedTask{
				{Text: "mail Ana", Due: w.now.Add(30 * time.Minute), Zone: "UTC", Tainted: true},
				{Text: "tell the news", Due: w.now.Add(time.Minute), Cron: "0 9 * * *", Zone: "UTC", Tainted: true}}},
				effect.ApproveTask)
			w.now = w.now.Add(c.after)
			if out := w.said(w.bo, c.said); !strings.Contains(out, c.want) {
				t.Errorf("got %q, want %q", out, c.want)
			}
			list := w.tasksOf(w.bo)
			if len(list) != c.set {
				t.Fatalf("set: %+v", list)
			}
			for _, k := range list {
				if !k.Tainted || k.Source != 1 || !k.DueAt.After(w.now) {
					t.Errorf("got %+v", k)
				}
			}
			if again := w.said(w.bo, "/yes P1"); len(w.tasksOf(w.bo)) != c.set {
				t.Errorf("twice: %q", again)
			}
		})
	}
}

// TestTaskResume_byAYes checks that an approval resumes a paused task, and that after a no it stays
// paused and can be resumed later.
func TestTaskResume_byAYes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.said(w.bo, "/task every day at 9 tell the news")
	k := w.tasksOf(w.bo)[0]
	_, u := w.identify(w.bo)
	_, err := w.Note(w.ctx, store.Note{User: u.ID, Now: w.now,
		Effects: []core.Effect{effect.PausePlan{Plan: k.ID, At: w.now}}})
	must(t, err)
	w.proposeTasks(w.bo, effect.TaskSubject{Resume: k.ID}, effect.ApproveResume)
	if out := w.said(w.bo, "no"); !strings.Contains(out, "stays paused") {
		t.Errorf("no: %q", out)
	}
	if list := w.said(w.bo, "/task"); !strings.Contains(list, "paused") ||
		w.tasksOf(w.bo)[0].State != core.PlanPaused {
		t.Errorf("after a no: %q", list)
	}
	w.proposeTasks(w.bo, effect.TaskSubject{Resume: k.ID}, effect.ApproveResume)
	if out := w.said(w.bo, "yes"); !strings.Contains(out, "Resumed:") || w.tasksOf(w.bo)[0].State != core.PlanActive {
		t.Errorf("yes: %q", out)
	}
}

// told is a store of one reminder that fired, with the deliveries of the test.
type told struct {
	plans
	deliveries []core.Delivery
}

func (r told) Sent(context.Context, core.UserID, []core.MessageID) ([]core.Delivery, error) {
	return r.deliveries, nil
}

func (told) OpenPlans(context.Context, core.UserID, core.PlanKind, int) ([]core.Plan, error) {
	return []core.Plan{{ID: 7, Text: "plants", DueAt: morning().Add(time.Hour), Cron: "0 10 * * *",
		Zone: "Europe/Paris", Last: core.Run{Due: morning(), Ended: morning(), Message: 3}}}, nil
}

type plans = command.Plans

// TestReceipt_saysMost checks that of several deliveries the one that got furthest is shown.
func TestReceipt_saysMost(t *testing.T) {
	t.Parallel()
	for want, states := range map[string][]core.DeliveryState{
		"read":                                 {core.DeliveryFailed, core.DeliveryRead, core.DeliverySent},
		"delivered":                            {core.DeliveryDelivered, core.DeliveryPending},
		"sent":                                 {core.DeliverySent, core.DeliveryFailed},
		"possibly sent":                        {core.DeliveryUnknown, core.DeliveryExpired},
		"waiting":                              {core.DeliveryFailed, core.DeliverySending},
		"waiting until the app can receive it": {core.DeliveryParked},
		"failed":                               {core.DeliveryExpired, core.DeliveryFailed},
		"in the conversation only":             nil,
	} {
		w := newWorld(t, "en")
		r := told{plans: w.options.Plans}
		for _, s := range states {
			r.deliveries = append(r.deliveries, core.Delivery{State: s})
		}
		w.options.Plans = r
		if out, _ := w.ask(w.ada, "/remind"); !strings.Contains(out.Text, "last: Today, 09:00, "+want+"\n") {
			t.Errorf("%v: %s", states, out.Text)
		}
	}
}

// TestReminders_recurringInItsZone checks that a recurring reminder is shown in the zone it was set in, and a
// single one in the user's.
func TestReminders_recurringInItsZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.send(w.ada, "/remind every Monday at 8 plants")
	w.send(w.ada, "/remind tomorrow at 9 call Ana")
	w.send(w.ada, "/timezone Tokyo")
	out, _ := w.ask(w.ada, "/remind")
	for _, want := range []string{"plants · **Monday 23 November, 08:00** (Europe/Paris) · every Monday at 08:00",
		"call Ana · **Friday 20 November, 17:00**\n"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("%q is not in %s", want, out.Text)
		}
	}
}

// TestUnread_modelReads leaves words whose time the grammar does not read to the model. A program gets the refusal.
func TestUnread_modelReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	for _, words := range []string{"in a fortnight call Ana", "tomorrow 9am EST call Ana", "call Ana",
		"half eight tomorrow tea",
		"every weekday except friday stand up", "demain en huit appeler Ana"} {
		for _, command := range []string{"/remind ", "/task ", "/erinnere ", "/rappel "} {
			if out, ok := w.ask(w.ada, command+words); ok || out.Text != "" || out.Effects != nil {
				t.Errorf("%s%s is not the model's: %+v", command, words, out)
			}
		}
		i, u := w.identify(w.ada)
		in := core.Inbound{Text: "/remind " + words, Program: true, Command: true,
			Grants: []core.Capability{core.CanMemory}}
		if out, ok, err := command.New(w.options).Command(t.Context(), u, i, in, w.now); err != nil || !ok || out.Text == "" {
			t.Errorf("%s: a program gets no answer: %+v, %v", words, out, err)
		}
	}
}
