package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// DueStore is the part of a store that a Firer uses.
type DueStore interface {
	// DuePlans lists the active plans of all users that are due, oldest first.
	DuePlans(ctx context.Context, now time.Time, limit int) ([]core.Plan, error)
	// FirePlan claims one time of a plan. It returns core.ErrChanged if the plan is not
	// due any more, core.ErrRefused if the day has too few tokens.
	FirePlan(ctx context.Context, f store.FirePlan) error
}

// Users reads users and their identities.
type Users interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
}

// Budgets returns the budget of a task's turn.
type Budgets interface {
	TaskBudget(u core.User, now time.Time) store.Budget
}

// Firer sends reminders that are due, and begins the turns of tasks that are. All fields are required.
type Firer struct {
	*Plans
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

// Run fires every plan that is due. It may run in any number of processes at any time. A plan that fails is logged,
// stays due and does not block the others.
func (f *Firer) Run(ctx context.Context, now time.Time) error {
	err := job.EachDue(ctx, func(limit int) ([]core.Plan, error) { return f.Due.DuePlans(ctx, now, limit) },
		func(k core.Plan) [2]int64 { return [2]int64{int64(k.User), int64(k.ID)} }, func(k core.Plan) error {
			err := f.fire(ctx, k, now)
			if err != nil && ctx.Err() == nil {
				f.Log.Warn("plan not fired", zap.String("kind", string(k.Kind)), zap.Int64("user", int64(k.User)),
					zap.Int64("plan", int64(k.ID)), zap.Error(err))
			}
			return err
		})
	if err != nil {
		return fmt.Errorf("due plans: %w", err)
	}
	return nil
}

// fire claims the newest time of a plan.
func (f *Firer) fire(ctx context.Context, k core.Plan, now time.Time) error {
	u, err := f.Users.User(ctx, k.User)
	if err != nil {
		return fmt.Errorf("user: %w", err)
	}
	out := store.FirePlan{User: k.User, Due: k.DueAt, Next: f.Next(k.Cron, k.Zone, now), Now: now,
		Run: core.Run{Plan: k.ID}}
	out.Run.Due, out.Run.Passed = f.Newest(k.DueAt, k.Cron, k.Zone, now)
	if k.Kind == core.PlanReminder {
		return ignoreChanged(f.remind(ctx, k, u, out))
	}
	return ignoreChanged(f.work(ctx, k, u, out))
}

// remind stores the message of a reminder with its deliveries. Without a push channel it is in the transcript only.
func (f *Firer) remind(ctx context.Context, k core.Plan, u core.User, out store.FirePlan) error {
	targets, err := f.Planner.Plan(ctx, u, false)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	text := f.text(u, k, out)
	out.Run.State = core.RunDone
	out.Message = &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindReminder, Text: text,
		Tokens: f.Tokens.Count(text), SentAt: out.Now, Tainted: k.Tainted, Rings: core.Unreached(targets)}
	for _, t := range targets {
		out.Deliveries = append(out.Deliveries, t.Delivery(core.DeliverReminder,
			markup.Parts(text, f.Channels.Capabilities(t.Identity.Address.Channel))))
	}
	if err = f.Due.FirePlan(ctx, out); err == nil {
		f.Meter.Count("everthread_reminders_total", 1)
	}
	return err
}

// late is the delay after which a reminder says when it was due.
const late = 5 * time.Minute

// marks replaces quotation marks, with which a text could end its own quotation.
func marks() *strings.Replacer {
	return strings.NewReplacer("“", "'", "”", "'", "„", "'", "«", "'", "»", "'", `"`, "'")
}

// text returns the message of a reminder. A late one names the time at which it was due: of
// several missed times the newest.
func (f *Firer) text(u core.User, k core.Plan, out store.FirePlan) string {
	language := cmp.Or(u.Settings.Language, f.Language)
	said := k.Text
	if k.Tainted { // in quotation marks, so that what it asks for is not asked by the assistant
		said = fmt.Sprintf(say(language).Foreign, marks().Replace(trust.Line(said)))
	}
	if out.Now.Sub(out.Run.Due) <= late {
		return "⏰ " + said
	}
	return fmt.Sprintf(say(language).Due, said, f.Moment(out.Run.Due, zoneOf(k.Zone), language))
}

// work begins a turn that runs a task, or notifies the person why none does.
func (f *Firer) work(ctx context.Context, k core.Plan, u core.User, out store.FirePlan) error {
	to, err := f.target(ctx, u)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	out.Identity, out.Budget = to.Identity.ID, f.Budgets.TaskBudget(u, out.Now)
	out.Run.State, out.Run.Cause = f.hindered(u, to, out.Run, out.Budget, out.Now)
	if out.Run.Cause == "" {
		if err = f.begin(ctx, k, u, to, out); !errors.Is(err, core.ErrRefused) {
			return err
		}
		out.Run.State, out.Run.Cause = core.RunFailed, core.CauseTokens
	}
	f.Meter.Count("everthread_tasks_total", 1, string(out.Run.Cause))
	return f.tell(ctx, k, u, to, out)
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
func (f *Firer) hindered(u core.User, to core.Target, run core.Run, b store.Budget,
	now time.Time) (core.RunState, core.RunCause) {
	switch {
	case now.Sub(run.Due) > f.orDefault().Expires:
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
func (f *Firer) begin(ctx context.Context, k core.Plan, u core.User, to core.Target, out store.FirePlan) error {
	out.Instruction = &core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: k.Text,
		Tokens: f.Tokens.Count(k.Text), SentAt: out.Now, Day: f.Calendar.Day(u.Settings, out.Now), Tainted: k.Tainted,
		Task: &core.TaskMark{Due: out.Run.Due, Set: k.CreatedAt}}
	if out.Run.Passed > 0 {
		report, err := f.report(u, k, core.Run{Plan: k.ID, Due: k.DueAt, State: core.RunSkipped, Cause: core.CauseLate,
			Passed: out.Run.Passed - 1}, 0, "", out.Run.Due.Add(-time.Second))
		if err != nil {
			return err
		}
		f.notice(&out, report, to)
	}
	err := f.Due.FirePlan(ctx, out)
	if err == nil {
		f.Meter.Count("everthread_tasks_total", 1, "begun")
	}
	return err
}

// tell stores that a run did not begin, with a notice why.
func (f *Firer) tell(ctx context.Context, k core.Plan, u core.User, to core.Target, out store.FirePlan) error {
	if out.Run.Cause == core.CausePaused && k.Cron != "" { // the person paused it all
		return f.Due.FirePlan(ctx, out)
	}
	report, err := f.report(u, k, out.Run, to.Identity.ID, "", out.Now)
	if err != nil {
		return err
	}
	f.notice(&out, report, to)
	return f.Due.FirePlan(ctx, out)
}

// notice adds a notice with its delivery. If the person paused or cannot be written to, it is in the transcript only.
func (f *Firer) notice(out *store.FirePlan, told core.Outcome, to core.Target) {
	out.Message = &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindNotice, Text: told.Text,
		Tokens: f.Tokens.Count(told.Text), SentAt: out.Now}
	for _, e := range told.Effects {
		if _, pause := e.(effect.PausePlan); pause {
			out.Pause = true
			continue
		}
		out.Effects = append(out.Effects, e)
	}
	caps := f.Channels.Capabilities(to.Identity.Address.Channel)
	out.Message.Rings = out.Run.Cause != core.CausePaused && (to.Held || !caps.Push)
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
