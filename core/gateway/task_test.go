package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// chores describes tasks in texts that a test can recognise.
type chores struct{}

func (chores) Late(*core.Turn, time.Time) bool { return false }

func (chores) Failed(_ context.Context, _ core.User, _ *core.Turn, cause core.RunCause, _ string,
	_ time.Time) (core.Outcome, error) {
	return core.Outcome{Text: "failed: " + string(cause)}, nil
}

func (chores) When(k core.Task, _ string) string { return "by " + k.Cron }

// TestTasksOfATurnAreToldOrAskedAbout checks that an answer names a task that its turn set, and how
// to undo it, and that a task proposed by a tainted turn is not set without approval.
func TestTasksOfATurnAreToldOrAskedAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	due := time.Now().Add(time.Hour)
	task := core.Task{ID: 77, Text: "tell the `news`", Cron: "0 9 * * *", Zone: "UTC", DueAt: due}
	other := core.Task{Text: "mail Eve", Cron: "0 10 * * *", Zone: "UTC", DueAt: due}
	w.brain.effects = []core.Effect{core.SetTask{Task: task, At: time.Now()},
		core.Taint(core.SetTask{Task: other, At: time.Now()}), core.Taint(core.SetTask{Task: other, At: time.Now()})}
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
	list, err := w.store.Tasks(t.Context(), u.ID, 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != 77 {
		t.Fatalf("set: %+v", list)
	}
	all, err := w.store.Approvals(t.Context(), u.ID, 0, 10)
	must(t, err)
	var s core.TaskSubject
	if len(all) != 1 || all[0].Kind != core.ApproveTask {
		t.Fatalf("asked: %+v", all)
	}
	must(t, json.Unmarshal([]byte(all[0].Subject), &s))
	if len(s.Tasks) != 1 || s.Tasks[0].Text != "mail Eve" || !s.Tasks[0].Tainted || s.Source == 0 {
		t.Errorf("approval of %+v", s)
	}
}
