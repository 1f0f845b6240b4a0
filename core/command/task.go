package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Tasks reads and prepares tasks. A refusal is a sentence in use.Language that wraps
// core.ErrRefused.
type Tasks interface {
	// New prepares a task from words with its time and text.
	New(ctx context.Context, use core.ToolUse, words string) (core.SetTask, error)
	// Accept prepares the proposed tasks after a yes, all or none.
	Accept(ctx context.Context, use core.ToolUse, s core.TaskSubject) ([]core.SetTask, error)
	// Resume prepares the resumption of a paused task.
	Resume(ctx context.Context, use core.ToolUse, id core.TaskID) (core.Task, core.ResumeTask, error)
	// Tasks lists pending and paused tasks, soonest first.
	Tasks(ctx context.Context, user core.UserID, limit int) ([]core.Task, error)
}

// mostTasks bounds the tasks that are read.
const mostTasks = 1000

// task lists, sets, cancels and resumes tasks.
func (c *Commands) task(ctx context.Context, r *request) (core.Outcome, error) {
	verb, rest, _ := strings.Cut(r.arg, " ")
	ids, numbered := numbers(rest)
	cancel := means(verb, func(t *typed) []string { return t.Cancel })
	resume := means(verb, func(t *typed) []string { return t.Resume })
	switch {
	case r.arg == "" || means(r.arg, func(t *typed) []string { return t.List }):
		return c.tasks(ctx, r)
	case cancel && numbered:
		return c.cancelTasks(ctx, r, ids)
	case resume && numbered && len(ids) == 1:
		return c.resumeTask(ctx, r, core.TaskID(ids[0]))
	case (cancel || resume) && strings.TrimSpace(rest) == "":
		return r.say(r.words.TaskCancelWhich), nil
	}
	set, err := c.Tasks.New(ctx, c.toolUse(r), r.arg)
	if err != nil {
		return refused(err)
	}
	k := set.Task
	out := r.sayf(r.words.TaskSet, c.when(r, k.DueAt, k.Cron, k.Zone), oneLine(k.Text), k.ID)
	return out.With(set), nil
}

func (c *Commands) toolUse(r *request) core.ToolUse {
	return core.ToolUse{User: r.user.ID, Thread: r.at.Thread, Now: r.now, Location: c.location(r), Language: r.lang}
}

func (c *Commands) tasks(ctx context.Context, r *request) (core.Outcome, error) {
	list, err := c.Tasks.Tasks(ctx, r.user.ID, mostTasks)
	if err != nil || len(list) == 0 {
		return r.say(r.words.NoTasks), err
	}
	lines := []string{r.words.TasksTitle, ""}
	for _, k := range list[:min(len(list), listed)] {
		when := c.when(r, k.DueAt, k.Cron, k.Zone)
		if k.State == core.TaskPaused {
			when = fmt.Sprintf(r.words.TaskPaused, k.ID)
		}
		lines = append(lines, planned(int64(k.ID), k.Text, when+c.lastRun(r, k)+r.origin(k.Tainted)))
	}
	return r.endPlanned(lines, len(list), fmt.Sprintf(r.words.TasksMore, list[0].ID)), nil
}

// lastRun returns the result of a task's last run.
func (c *Commands) lastRun(r *request, k core.Task) string {
	if k.Last.Due.IsZero() {
		return ""
	}
	at := k.Last.Due.In(c.location(r))
	state := r.words.TaskRuns[k.Last.State]
	if cause := r.words.TaskCauses[k.Last.Cause]; cause != "" {
		state += " (" + cause + ")"
	}
	return " · " + fmt.Sprintf(r.words.TaskLast, c.name(r, at.Format(time.DateOnly)), at.Format("15:04"), state)
}

func (c *Commands) cancelTasks(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	list, err := c.Tasks.Tasks(ctx, r.user.ID, mostTasks)
	if err != nil {
		return core.Outcome{}, err
	}
	slices.Sort(ids)
	return r.each(ids, r.words.NoTask, func(id int64) (string, core.Effect, error) {
		k, err := pick(list, id, func(k core.Task) core.TaskID { return k.ID })
		return fmt.Sprintf(r.words.TaskCancelled, oneLine(k.Text)), core.CancelTask{Task: k.ID, At: r.now}, err
	})
}

func (c *Commands) resumeTask(ctx context.Context, r *request, id core.TaskID) (core.Outcome, error) {
	k, resume, err := c.Tasks.Resume(ctx, c.toolUse(r), id)
	if err != nil {
		return refused(err)
	}
	return r.sayf(r.words.TaskResumed, c.when(r, k.DueAt, k.Cron, k.Zone), oneLine(k.Text)).With(resume), nil
}

// acceptTask answers a proposal of the assistant, or the question whether to resume a
// failed task.
func (c *Commands) acceptTask(ctx context.Context, r *request, q core.Approval, yes bool) (core.Outcome, error) {
	s, err := subject[core.TaskSubject](q)
	if err != nil {
		return core.Outcome{}, err
	}
	switch {
	case len(s.Tasks) == 0 && s.Resume == 0: // the proposal was redacted
		return r.say(r.words.Unavailable), nil
	case s.Resume != 0 && !yes:
		return r.sayf(r.words.TaskStays, s.Resume, s.Resume), nil
	case s.Resume != 0:
		return c.resumeTask(ctx, r, s.Resume)
	case !yes:
		return r.say(r.words.TaskDeclined), nil
	}
	sets, err := c.Tasks.Accept(ctx, c.toolUse(r), s)
	if err != nil {
		return refused(err)
	}
	out := r.say(r.words.TasksSet.Of(len(sets)))
	for _, set := range sets {
		out.Effects = append(out.Effects, set)
	}
	return out, nil
}
