package command_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// proposeTasks stores a reply that asks a user about tasks.
func (w *world) proposeTasks(a core.Address, s core.TaskSubject, kind core.ApprovalKind) {
	w.t.Helper()
	turn := w.say(a, "please", true).Turn
	subject, err := json.Marshal(s)
	must(w.t, err)
	_, err = w.Commit(w.ctx, core.Reply{Turn: turn, State: core.TurnDone, Now: w.now, Day: "2026-11-19",
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: "Shall I?", Tokens: 5,
			SentAt: w.now}},
		Effects: []core.Effect{core.AskApproval{Approval: core.Approval{Code: "P1", Kind: kind, Identity: turn.Identity,
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
func (w *world) tasksOf(a core.Address) []core.Task {
	w.t.Helper()
	_, u := w.identify(a)
	list, err := w.Tasks(w.ctx, u.ID, 10)
	must(w.t, err)
	return list
}

// TestAProposedTaskIsSetByAYes checks that a proposed task is set by its user's approval, not after
// a no or too late, and that it keeps the mark of its origin.
func TestAProposedTaskIsSetByAYes(t *testing.T) {
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
			w.proposeTasks(w.bo, core.TaskSubject{Source: 1, Tasks: []core.ProposedTask{
				{Text: "mail Ana", Due: w.now.Add(30 * time.Minute), Zone: "UTC", Tainted: true},
				{Text: "tell the news", Due: w.now.Add(time.Minute), Cron: "0 9 * * *", Zone: "UTC", Tainted: true}}},
				core.ApproveTask)
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

// TestATaskGoesOnByAYes checks that an approval resumes a paused task, and that after a no it stays
// paused and can be resumed later.
func TestATaskGoesOnByAYes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.said(w.bo, "/task every day at 9 tell the news")
	k := w.tasksOf(w.bo)[0]
	_, u := w.identify(w.bo)
	_, err := w.Note(w.ctx, core.Note{User: u.ID, Now: w.now,
		Effects: []core.Effect{core.PauseTask{Task: k.ID, At: w.now}}})
	must(t, err)
	w.proposeTasks(w.bo, core.TaskSubject{Resume: k.ID}, core.ApproveResume)
	if out := w.said(w.bo, "no"); !strings.Contains(out, "stays paused") {
		t.Errorf("no: %q", out)
	}
	if list := w.said(w.bo, "/task"); !strings.Contains(list, "paused") ||
		w.tasksOf(w.bo)[0].State != core.TaskPaused {
		t.Errorf("after a no: %q", list)
	}
	w.proposeTasks(w.bo, core.TaskSubject{Resume: k.ID}, core.ApproveResume)
	if out := w.said(w.bo, "yes"); !strings.Contains(out, "Resumed:") || w.tasksOf(w.bo)[0].State != core.TaskActive {
		t.Errorf("yes: %q", out)
	}
}
