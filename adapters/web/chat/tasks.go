package chat

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// Tasks, and runs of each, listed beside a day.
const (
	mostTasks = 100
	runsShown = 7
)

// shownTask is a task beside a day.
type shownTask struct {
	promise
	Last    string // time and state of the last run; empty: none yet
	Runs    []shownRun
	Stopped bool // paused
}

// shownRun is a run of a task.
type shownRun struct {
	When, State string
	Why         string // path of the page that explains its reply; empty: no model was asked
}

func (r *Room) shownTasks(v *web.Visit) (out []shownTask, err error) {
	if r.Tasks == nil {
		return nil, nil
	}
	list, err := r.Tasks.Tasks(v.Context(), v.User.ID, mostTasks)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	for _, k := range list {
		one := shownTask{Stopped: k.State == core.TaskPaused, promise: promise{ID: int64(k.ID), Text: web.OneLine(k.Text),
			When: r.recurs(v, core.Reminder{DueAt: k.DueAt, Cron: k.Cron, Zone: k.Zone}), Foreign: k.Tainted}}
		if one.Stopped {
			one.When = say(v.Lang).TaskStopped
		}
		if m := cmp.Or(k.Source, k.Last.Message); m > 0 {
			one.Source = fmt.Sprintf("/m/%d", m)
		}
		if !k.Last.Due.IsZero() {
			runs, err := r.Tasks.Runs(v.Context(), v.User.ID, k.ID, runsShown)
			if err != nil {
				return nil, fmt.Errorf("read runs of a task: %w", err)
			}
			for _, run := range runs {
				one.Runs = append(one.Runs, shownRunOf(v, run))
			}
			one.Last = one.Runs[0].When + ": " + one.Runs[0].State
		}
		out = append(out, one)
	}
	return out, nil
}

func shownRunOf(v *web.Visit, run core.Run) shownRun {
	w := say(v.Lang)
	out := shownRun{When: momentOf(v, run.Due, v.Zone), State: cmp.Or(w.TaskStates[run.State], string(run.State))}
	if cause := w.TaskCauses[run.Cause]; cause != "" {
		out.State += " (" + cause + ")"
	}
	if run.Turn > 0 && run.Message > 0 {
		out.Why = fmt.Sprintf("/m/%d/why", run.Message)
	}
	return out
}

// askedTask returns the task whose id is in the path.
func (r *Room) askedTask(v *web.Visit) (core.Task, error) {
	if r.Tasks == nil {
		return core.Task{}, settled(v)
	}
	all, err := r.Tasks.Tasks(v.Context(), v.User.ID, manyPromises)
	if err != nil {
		return core.Task{}, fmt.Errorf("read tasks: %w", err)
	}
	return asked(v, all, func(k core.Task) int64 { return int64(k.ID) })
}

func (r *Room) cancelTask(v *web.Visit) error {
	k, err := r.askedTask(v)
	if err != nil {
		return err
	}
	return r.settle(v, core.CancelTask{Task: k.ID, At: v.Now}, say(v.Lang).TaskCancelled)
}

func (r *Room) resumeTask(v *web.Visit) error {
	k, err := r.askedTask(v)
	if err != nil {
		return err
	}
	use := core.ToolUse{User: v.User.ID, Now: v.Now, Location: v.Zone, Language: v.Lang}
	k, resume, err := r.Tasks.Resume(v.Context(), use, k.ID)
	if errors.Is(err, core.ErrRefused) {
		return web.Because(http.StatusUnprocessableEntity, sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	return r.settle(v, resume, fmt.Sprintf(say(v.Lang).TaskResumed, momentOf(v, k.DueAt, v.Zone)))
}

// sentence returns s with a full stop.
func sentence(s string) string { return strings.TrimSuffix(s, ".") + "." }
