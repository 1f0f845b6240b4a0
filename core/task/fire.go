package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/words"
)

// DueStore is the part of a store that a Firer uses.
type DueStore interface {
	// DueTasks lists the active tasks of all users that are due, oldest first.
	DueTasks(ctx context.Context, now time.Time, limit int) ([]core.Task, error)
	// FireTask claims one time of a task. It returns core.ErrChanged if the task is not
	// due any more, core.ErrRefused if the day has too few tokens.
	FireTask(ctx context.Context, f core.FireTask) error
}

// Users reads users and their identities.
type Users interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
}

// Budgets returns the budget of a task's turn.
type Budgets interface {
	TaskBudget(s core.Settings, now time.Time) core.Budget
}

// Firer begins the turns of tasks that are due. All fields are required.
type Firer struct {
	*Tasks
	Due      DueStore
	Users    Users
	Planner  core.Planner
	Calendar day.Calendar
	Tokens   core.Tokenizer
	Channels core.Channels
	Budgets  Budgets
	Meter    core.Counter
	Log      *zap.Logger
}

// Run begins every task that is due. It may run in any number of processes at any time. A
// task that fails to begin is logged, stays due and does not block the others.
func (f *Firer) Run(ctx context.Context, now time.Time) error {
	err := job.EachDue(ctx, func(limit int) ([]core.Task, error) { return f.Due.DueTasks(ctx, now, limit) },
		func(t core.Task) [2]int64 { return [2]int64{int64(t.User), int64(t.ID)} }, func(t core.Task) error {
			err := f.fire(ctx, t, now)
			if err != nil && ctx.Err() == nil {
				f.Log.Warn("task not begun", zap.Int64("user", int64(t.User)), zap.Int64("task", int64(t.ID)), zap.Error(err))
			}
			return err
		})
	if err != nil {
		return fmt.Errorf("due tasks: %w", err)
	}
	return nil
}

// fire claims the newest time of a task: a turn runs it, or the person is notified why none does.
func (f *Firer) fire(ctx context.Context, k core.Task, now time.Time) error {
	u, err := f.Users.User(ctx, k.User)
	if err != nil {
		return fmt.Errorf("user: %w", err)
	}
	to, err := f.target(ctx, u)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	out := core.FireTask{User: k.User, Due: k.DueAt, Next: f.Times.Next(k.Cron, k.Zone, now), Identity: to.Identity.ID,
		Budget: f.Budgets.TaskBudget(u.Settings, now), Now: now, Run: core.Run{Task: k.ID, State: core.RunStarted}}
	out.Run.Due, out.Run.Passed = f.Times.Newest(k.DueAt, k.Cron, k.Zone, now)
	out.Run.State, out.Run.Cause = f.hindered(u, to, out.Run, out.Budget, now)
	if out.Run.Cause == "" {
		err = f.begin(ctx, k, u, to, out)
		if !errors.Is(err, core.ErrRefused) {
			return ignoreChanged(err)
		}
		out.Run.State, out.Run.Cause = core.RunFailed, core.CauseTokens
	}
	f.Meter.Count("everthread_tasks_total", 1, string(out.Run.Cause))
	return ignoreChanged(f.tell(ctx, k, u, to, out))
}

// ignoreChanged ignores that another process was first.
func ignoreChanged(err error) error {
	if errors.Is(err, core.ErrChanged) {
		return nil
	}
	return err
}

// target returns the target of a turn without a message: that of proactive messages, else
// any identity that is not a program. It is zero if there is none.
func (f *Firer) target(ctx context.Context, u core.User) (core.Target, error) {
	targets, err := f.Planner.Plan(ctx, u, false)
	if err != nil {
		return core.Target{}, err
	}
	if len(targets) > 0 {
		return targets[0], nil
	}
	ids, err := f.Users.Identities(ctx, u.ID)
	for _, i := range ids {
		if !f.Channels.Capabilities(i.Address.Channel).Program {
			return core.Target{Identity: i, Why: "there is nowhere else"}, err
		}
	}
	return core.Target{}, err
}

// hindered returns why a run does not begin; without a cause it does.
func (f *Firer) hindered(u core.User, to core.Target, run core.Run, b core.Budget,
	now time.Time) (core.RunState, core.RunCause) {
	switch {
	case now.Sub(run.Due) > f.Settings.Expires:
		return core.RunSkipped, core.CauseLate
	case u.Settings.Paused:
		return core.RunSkipped, core.CausePaused
	case to.Identity.ID == 0:
		return core.RunSkipped, core.CauseNowhere
	case to.Identity.Blocked:
		return core.RunSkipped, core.CauseBlocked
	case !b.Closed.IsZero():
		return core.RunFailed, core.CauseAll
	}
	return core.RunStarted, ""
}

// begin stores the instruction of a run, with a notice about missed earlier times.
func (f *Firer) begin(ctx context.Context, k core.Task, u core.User, to core.Target, out core.FireTask) error {
	out.Instruction = &core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: k.Text,
		Tokens: f.Tokens.Count(k.Text), SentAt: out.Now, Day: f.Calendar.Day(u.Settings, out.Now), Tainted: k.Tainted,
		Task: &core.TaskMark{Due: out.Run.Due, Set: k.CreatedAt}}
	if out.Run.Passed > 0 {
		report, err := f.report(u, k, core.Run{Task: k.ID, Due: k.DueAt, State: core.RunSkipped, Cause: core.CauseLate,
			Passed: out.Run.Passed - 1}, 0, "", out.Run.Due.Add(-time.Second))
		if err != nil {
			return err
		}
		f.notice(&out, report, to)
	}
	err := f.Due.FireTask(ctx, out)
	if err == nil {
		f.Meter.Count("everthread_tasks_total", 1, "begun")
	}
	return err
}

// tell stores that a run did not begin, with a notice why.
func (f *Firer) tell(ctx context.Context, k core.Task, u core.User, to core.Target, out core.FireTask) error {
	if out.Run.Cause == core.CausePaused && k.Cron != "" { // the person paused it all
		return f.Due.FireTask(ctx, out)
	}
	report, err := f.report(u, k, out.Run, to.Identity.ID, "", out.Now)
	if err != nil {
		return err
	}
	f.notice(&out, report, to)
	return f.Due.FireTask(ctx, out)
}

// notice adds a notice with its delivery. If the person paused or cannot be written to, it is in the transcript only.
func (f *Firer) notice(out *core.FireTask, told core.Outcome, to core.Target) {
	out.Notice = &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindNotice, Text: told.Text,
		Tokens: f.Tokens.Count(told.Text), SentAt: out.Now}
	for _, e := range told.Effects {
		if _, pause := e.(core.PauseTask); pause {
			out.Pause = true
			continue
		}
		out.Effects = append(out.Effects, e)
	}
	caps := f.Channels.Capabilities(to.Identity.Address.Channel)
	if to.Identity.ID == 0 || to.Identity.Blocked || out.Run.Cause == core.CausePaused || !caps.Push {
		return
	}
	kind := core.DeliverTask
	parts := markup.Parts(told.Text, caps)
	if len(told.Buttons) > 0 { // a question is not redirected
		kind, parts = core.DeliverReply, trust.WithButtons(parts, told.Buttons)
	}
	out.Deliveries = []core.NewDelivery{to.Delivery(kind, parts)}
}

// Late reports whether it is too late to begin the turn of a task.
func (m *Tasks) Late(t *core.Turn, now time.Time) bool { return now.Sub(t.Due) > m.Settings.Expires }

// Failed returns the message about a task's turn that failed or began too late, and its
// effects. server is the error of the model's server; empty for members.
func (m *Tasks) Failed(ctx context.Context, u core.User, t *core.Turn, cause core.RunCause, server string,
	now time.Time) (core.Outcome, error) {
	k, err := m.Store.Task(ctx, u.ID, t.Task)
	if errors.Is(err, core.ErrNotFound) { // it was deleted while it ran
		k, err = core.Task{User: u.ID, ID: t.Task, State: core.TaskCancelled, Zone: "UTC"}, nil
	}
	if err != nil {
		return core.Outcome{}, fmt.Errorf("read task: %w", err)
	}
	return m.report(u, k, core.Run{Task: k.ID, Due: t.Due, State: core.RunFailed, Cause: cause}, t.Identity, server, now)
}

// report returns the message about a run that was not done. If the task has failed too often
// in a row, it also pauses the task and asks whether to resume it.
func (m *Tasks) report(u core.User, k core.Task, run core.Run, at core.IdentityID, server string,
	now time.Time) (core.Outcome, error) {
	language := cmp.Or(u.Settings.Language, m.Settings.Language)
	w := say(language)
	zone := u.Settings.Location(zoneOf(k))
	head := w.Failed
	if run.State == core.RunSkipped || run.Cause == core.CauseLate {
		head = w.Skipped
	}
	lines := []string{fmt.Sprintf(head, k.ID, m.Times.Moment(run.Due, zone, language)) + " " + w.Causes[string(run.Cause)]}
	if server != "" {
		lines = append(lines, fmt.Sprintf(w.Server, server))
	}
	if run.Passed > 0 {
		lines = append(lines, w.Passed.Of(run.Passed))
	}
	next := m.Times.Next(k.Cron, k.Zone, now)
	open := k.State == core.TaskActive && !next.IsZero()
	out := core.Outcome{}
	switch failing := run.State == core.RunFailed && run.Cause != core.CauseLate; {
	case open && failing && k.Failures+1 >= core.MaxFailures:
		lines = append(lines, "", fmt.Sprintf(w.Ask, words.Number(language, k.Failures+1), k.ID))
		if err := ask(&out, k, run, at, language, now); err != nil {
			return out, err
		}
	case open:
		lines = append(lines, fmt.Sprintf(w.Next, m.Times.Moment(next, zone, language)))
	case k.Cron == "":
		lines = append(lines, w.Once)
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}

// ask pauses a task, and adds the question whether to resume it.
func ask(out *core.Outcome, k core.Task, run core.Run, at core.IdentityID, language string, now time.Time) error {
	out.Effects = []core.Effect{core.PauseTask{Task: k.ID, At: now}}
	if at == 0 {
		return nil
	}
	subject, err := json.Marshal(core.TaskSubject{Resume: k.ID})
	if err != nil {
		return err
	}
	a := core.Approval{Code: fmt.Sprintf("R%d-%d", k.ID, run.Due.Unix()/60), Kind: core.ApproveResume, Identity: at,
		Subject: string(subject), AskedAt: now, Expires: now.Add(core.ApprovalLife)}
	out.Effects = append(out.Effects, core.AskApproval{Approval: a})
	out.Buttons = trust.YesNo(language, a.Code, false)
	return nil
}
