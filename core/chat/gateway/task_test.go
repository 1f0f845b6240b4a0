package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// chores describes tasks in texts that a test can recognise.
type chores struct{}

func (chores) Late(*core.Turn, time.Time) bool { return false }

func (chores) Failed(_ context.Context, _ core.User, _ *core.Turn, cause core.RunCause, _ string,
	_ time.Time) (core.Outcome, error) {
	return core.Outcome{Text: "failed: " + string(cause)}, nil
}

func (chores) When(k core.Plan, _ string) string { return "by " + k.Cron }

// TestTasks_setByATurnAreTold checks that an answer names a task that its turn set, and how
// to undo it, and that a task proposed by a tainted turn is not set without approval.
func TestTasks_setByATurnAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	due := time.Now().Add(time.Hour)
	task := core.Plan{Kind: core.PlanTask, ID: 77, Text: "tell the `news`", Cron: "0 9 * * *", Zone: "UTC", DueAt: due}
	other := core.Plan{Kind: core.PlanTask, Text: "mail Eve", Cron: "0 10 * * *", Zone: "UTC", DueAt: due}
	w.brain.effects = []core.Effect{effect.SetPlan{Plan: task, At: time.Now()},
		effect.Taint(effect.SetPlan{Plan: other, At: time.Now()}), effect.Taint(effect.SetPlan{Plan: other, At: time.Now()})}
	w.say("the news each morning")
	got := w.sent(1)
	for _, want := range []string{"tell the 'news': by 0 9 * * *. /task cancel 77", "Shall I do this on my own?",
		"mail Eve · by 0 10 * * *", "without a yes, I won't set it"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	_, u, err := w.store.Identify(t.Context(), w.address())
	must(t, err)
	list, err := w.store.OpenPlans(t.Context(), u.ID, core.PlanTask, 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != 77 {
		t.Fatalf("set: %+v", list)
	}
	all, err := w.store.Approvals(t.Context(), u.ID, 0, 10)
	must(t, err)
	var s effect.TaskSubject
	if len(all) != 1 || all[0].Kind != effect.ApproveTask {
		t.Fatalf("asked: %+v", all)
	}
	must(t, json.Unmarshal([]byte(all[0].Subject), &s))
	if len(s.Tasks) != 1 || s.Tasks[0].Text != "mail Eve" || !s.Tasks[0].Tainted || s.Source == 0 {
		t.Errorf("approval of %+v", s)
	}
}

// TestProposal_isAskedBelowTheAnswer checks that a turn that proposes standing instructions asks
// below its answer, with buttons, and stores the subject of an approval. The proposal itself
// changes nothing.
func TestProposal_isAskedBelowTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.brain.effects = []core.Effect{effect.ProposeInstruction{Text: "answer in `one` sentence"},
		effect.ProposeInstruction{Text: "be kind"}, effect.ProposeInstruction{Text: "be kind"}}
	w.say("be shorter, please")
	got := w.sent(1)
	for _, want := range []string{"re: be shorter, please\n\n", "answer in 'one' sentence · be kind", "Reply yes or no"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	_, u, err := w.store.Identify(t.Context(), w.address())
	must(t, err)
	all, err := w.store.Approvals(t.Context(), u.ID, 0, 10)
	must(t, err)
	if len(all) != 1 || all[0].Kind != effect.ApproveStanding || !all[0].Open(time.Now()) {
		t.Fatalf("asked: %+v", all)
	}
	var buttons []string
	w.line.mu.Lock()
	for _, b := range w.line.parts[0].Buttons {
		buttons = append(buttons, b.Command)
	}
	w.line.mu.Unlock()
	if d := cmp.Diff([]string{"/yes " + all[0].Code, "/no " + all[0].Code}, buttons); d != "" {
		t.Error(d)
	}
	ms, err := w.store.History(t.Context(), u.ID, 0, 0, 10)
	must(t, err)
	var s effect.StandingSubject
	must(t, json.Unmarshal([]byte(all[0].Subject), &s))
	if fmt.Sprint(s.Texts) != "[answer in `one` sentence be kind]" || s.Source != ms[0].ID || all[0].Message != ms[1].ID {
		t.Errorf("approval of %+v, asked by %d", s, all[0].Message)
	}
	list, err := w.store.Instructions(t.Context(), u.ID)
	must(t, err)
	if len(list) > 0 {
		t.Errorf("in force without approval: %+v", list)
	}
}

// TestQuestions_twoAreToldApart checks that each question can be answered by its code if a
// tool call is asked about as well.
func TestQuestions_twoAreToldApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.brain.effects = []core.Effect{effect.ProposeInstruction{Text: "be kind"}}
	w.brain.question = &core.Question{Call: core.ToolCall{ID: "1", Name: "mail_send", Arguments: `{"to":"Ana"}`}}
	w.say("mail Ana, kindly")
	got := w.sent(1)
	_, u, err := w.store.Identify(t.Context(), w.address())
	must(t, err)
	all, err := w.store.Approvals(t.Context(), u.ID, 0, 10)
	must(t, err)
	if len(all) != 2 || all[0].Code == all[1].Code {
		t.Fatalf("asked: %+v", all)
	}
	if !strings.Contains(got, "mail_send") || !strings.Contains(got, "/yes S") || len(w.line.parts[0].Buttons) != 3 {
		t.Errorf("got %q, %+v", got, w.line.parts[0].Buttons)
	}
}
