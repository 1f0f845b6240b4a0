package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
)

const (
	mostPromises  = 100  // promises listed
	promisesShown = 5    // of each kind that are not folded
	manyPromises  = 1000 // searched for one
)

func (r *Room) promiseRoutes() []web.Route {
	return []web.Route{
		{Pattern: "POST /loops/{id}/done", Serve: r.closeLoop},
		{Pattern: "POST /loops/{id}/reopen", Serve: r.reopenLoop},
		{Pattern: "POST /reminders/{id}/snooze", Serve: r.snoozeReminder},
		{Pattern: "POST /reminders/{id}/cancel", Serve: r.cancelReminder},
		{Pattern: "POST /tasks/{id}/cancel", Serve: r.cancelTask},
		{Pattern: "POST /tasks/{id}/resume", Serve: r.resumeTask},
	}
}

type promises struct {
	Day              string // of the page
	Brief            string // all of them in a line
	Reminders, Loops promised
	Tasks            []shownTask
	Snoozes          []snooze
}

// promised holds the promises of one kind: the visible ones and the folded rest.
type promised struct {
	Shown, More []promise
	Count       string // of More
}

type promise struct {
	ID         int64
	Text, When string
	Source     string // path of its message; empty: not known
	Foreign    bool
}

type snooze struct{ Value, Name string }

func (r *Room) promises(v *web.Visit, p place) (*promises, error) {
	loops, err := r.Store.Loops(v.Context(), v.User.ID, mostPromises)
	if err != nil {
		return nil, fmt.Errorf("read open loops: %w", err)
	}
	out := &promises{Day: p.day.Label, Loops: shownLoops(v, loops)}
	next, err := r.Plans.OpenPlans(v.Context(), v.User.ID, core.PlanReminder, mostPromises)
	if err != nil {
		return nil, fmt.Errorf("read reminders: %w", err)
	}
	out.Reminders = r.shownReminders(v, next)
	out.Snoozes = web.Each(r.Plans.Snoozes(v.Now, v.Zone),
		func(s plan.Snooze) snooze { return snooze{s.Name, snoozeName(v, s.Name, s.At)} })
	if out.Tasks, err = r.shownTasks(v); err != nil {
		return nil, err
	}
	out.Brief = brief(v, len(loops), len(out.Tasks), next)
	return out, nil
}

// brief summarises the promises in a line.
func brief(v *web.Visit, loops, tasks int, next []core.Plan) string {
	var out []string
	if loops > 0 {
		out = append(out, say(v.Lang).OpenCount.Of(loops))
	}
	if tasks > 0 {
		out = append(out, say(v.Lang).TaskCount.Of(tasks))
	}
	if len(next) > 0 {
		out = append(out, fmt.Sprintf(say(v.Lang).NextReminder, momentOf(v, next[0].DueAt, v.Zone)))
	}
	return strings.Join(out, " · ")
}

// messagePath returns the path of a message; 0: "".
func messagePath(id core.MessageID) string {
	if id <= 0 {
		return ""
	}
	return fmt.Sprintf("/m/%d", id)
}

// fold shows the first promises and folds the rest.
func fold(v *web.Visit, all []promise, seen int) promised {
	seen = min(seen, len(all))
	out := promised{Shown: all[:seen], More: all[seen:]}
	if n := len(out.More); n > 0 {
		out.Count = fmt.Sprintf(say(v.Lang).MorePromises, i18n.Number(v.Lang, n))
	}
	return out
}

// shownLoops returns the open loops, with the stale ones folded.
func shownLoops(v *web.Visit, loops []core.Loop) promised {
	fresh, stale := []promise{}, []promise{}
	for _, l := range loops {
		one := promise{ID: int64(l.ID), Text: web.OneLine(l.Text), When: v.DayName(v.DayAt(l.Mentioned).Label),
			Foreign: l.Tainted}
		if !l.Due.IsZero() {
			one.When = fmt.Sprintf(say(v.Lang).LoopDue, v.DayName(v.DayAt(l.Due.Add(-time.Nanosecond)).Label))
		}
		if n := len(l.Sources); n > 0 {
			one.Source = messagePath(l.Sources[n-1])
		}
		if l.Stale(v.Now) {
			stale = append(stale, one)
		} else {
			fresh = append(fresh, one)
		}
	}
	return fold(v, append(fresh, stale...), min(promisesShown, len(fresh)))
}

func (r *Room) shownReminders(v *web.Visit, next []core.Plan) promised {
	return fold(v, web.Each(next, func(x core.Plan) promise {
		return promise{ID: int64(x.ID), Text: web.OneLine(x.Text), When: r.recurs(v, x), Foreign: x.Tainted,
			Source: messagePath(cmp.Or(x.Source, x.Last.Message))}
	}), promisesShown)
}

// recurs describes when a reminder or task is next due and how often it recurs, in its own time zone.
func (r *Room) recurs(v *web.Visit, x core.Plan) string {
	if x.Cron == "" {
		return momentOf(v, x.DueAt, v.Zone)
	}
	zone := core.Settings{Zone: x.Zone}.Location(v.Zone)
	out := momentOf(v, x.DueAt, zone) + " · " + r.Plans.Describe(x.Cron, v.Lang)
	if zone.String() != v.Zone.String() {
		out += " (" + zone.String() + ")"
	}
	return out
}

func momentOf(v *web.Visit, t time.Time, zone *time.Location) string {
	t = t.In(zone)
	name := day.Name(t.Format(time.DateOnly), v.Now.In(zone).Format(time.DateOnly), v.Lang)
	return name + ", " + t.Format(web.HourMinute)
}

func snoozeName(v *web.Visit, name string, at time.Time) string {
	switch clock := at.In(v.Zone).Format(web.HourMinute); name {
	case "evening":
		return fmt.Sprintf(say(v.Lang).SnoozeEvening, clock)
	case "morning":
		return fmt.Sprintf(say(v.Lang).SnoozeMorning, clock)
	}
	return say(v.Lang).SnoozeHour
}

// settle changes a promise and redirects to the day.
func (r *Room) settle(v *web.Visit, e core.Effect, done string) error {
	path := "/"
	if d, err := r.dayOf(v, v.R.PostForm.Get("day")); err == nil && d.Label != v.Today.Label {
		path = "/day/" + d.Label
	}
	err := v.Act("settle a promise", path, done, e)
	if errors.Is(err, core.ErrNotFound) {
		return settled(v)
	}
	return err
}

// settled returns the error for a promise that is no longer open.
func settled(v *web.Visit) error { return web.Because(http.StatusNotFound, say(v.Lang).Settled) }

func (r *Room) closeLoop(v *web.Visit) error {
	l, err := asked(v, "open loops", r.Store.Loops, func(l core.Loop) int64 { return int64(l.ID) })
	if err != nil {
		return err
	}
	return r.settle(v, effect.CloseLoop{Loop: l.ID, At: v.Now, Text: l.Text}, say(v.Lang).LoopDone)
}

// reopenLoop opens a loop again that a summary or an answer closed.
func (r *Room) reopenLoop(v *web.Visit) error {
	id, err := strconv.ParseInt(v.R.PathValue("id"), 10, 64)
	if err != nil {
		return settled(v)
	}
	x, err := r.Store.Undoable(v.Context(), v.User.ID, id, v.Now)
	if errors.Is(err, core.ErrNotFound) || err == nil && (x.Kind != effect.UndoLoop || !x.Ended) {
		return settled(v)
	}
	if err != nil {
		return fmt.Errorf("read a settled loop: %w", err)
	}
	return r.settle(v, effect.Undo{X: x, At: v.Now}, say(v.Lang).Reopened)
}

// asked returns the promise of a list whose id is in the path.
func asked[T any](v *web.Visit, what string, list func(ctx context.Context, user core.UserID, limit int) ([]T, error),
	id func(T) int64) (one T, err error) {
	all, err := list(v.Context(), v.User.ID, manyPromises)
	if err != nil {
		return one, fmt.Errorf("read %s: %w", what, err)
	}
	i := slices.IndexFunc(all, func(x T) bool { return fmt.Sprint(id(x)) == v.R.PathValue("id") })
	if i < 0 {
		return one, settled(v)
	}
	return all[i], nil
}

// askedPlan returns the open plan of a kind whose id is in the path.
func (r *Room) askedPlan(v *web.Visit, kind core.PlanKind) (core.Plan, error) {
	list := func(ctx context.Context, user core.UserID, limit int) ([]core.Plan, error) {
		return r.Plans.OpenPlans(ctx, user, kind, limit)
	}
	return asked(v, "plans", list, func(k core.Plan) int64 { return int64(k.ID) })
}

func (r *Room) cancelReminder(v *web.Visit) error {
	return r.cancelPlan(v, core.PlanReminder, say(v.Lang).ReminderCancelled)
}

func (r *Room) cancelTask(v *web.Visit) error {
	return r.cancelPlan(v, core.PlanTask, say(v.Lang).TaskCancelled)
}

func (r *Room) cancelPlan(v *web.Visit, kind core.PlanKind, done string) error {
	k, err := r.askedPlan(v, kind)
	if err != nil {
		return err
	}
	return r.settle(v, effect.CancelPlan{Plan: k.ID, At: v.Now, Text: k.Text}, done)
}

func (r *Room) snoozeReminder(v *web.Visit) error {
	x, err := r.askedPlan(v, core.PlanReminder)
	if err != nil {
		return err
	}
	all := r.Plans.Snoozes(v.Now, v.Zone)
	i := slices.IndexFunc(all, func(s plan.Snooze) bool { return s.Name == v.R.PostForm.Get("until") })
	if i < 0 {
		return web.Because(http.StatusUnprocessableEntity, say(v.Lang).SnoozePast)
	}
	return r.settle(v, effect.SnoozePlan{Plan: x.ID, Until: all[i].At, At: v.Now},
		fmt.Sprintf(say(v.Lang).Snoozed, momentOf(v, all[i].At, v.Zone)))
}

// Tasks, and runs of each, listed beside a day.
const mostTasks, runsShown = 100, 7

type shownTask struct {
	promise
	Last    string // time and state of the last run; empty: none yet
	Runs    []shownRun
	Stopped bool // paused
}

type shownRun struct {
	When, State string
	Why         string // path of the page that explains its reply; empty: no model was asked
}

func (r *Room) shownTasks(v *web.Visit) (out []shownTask, err error) {
	list, err := r.Plans.OpenPlans(v.Context(), v.User.ID, core.PlanTask, mostTasks)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	for _, k := range list {
		one := shownTask{Stopped: k.State == core.PlanPaused, promise: promise{ID: int64(k.ID), Text: web.OneLine(k.Text),
			When: r.recurs(v, k), Foreign: k.Tainted}}
		if one.Stopped {
			one.When = say(v.Lang).TaskStopped
		}
		one.Source = messagePath(cmp.Or(k.Source, k.Last.Message))
		if !k.Last.Due.IsZero() {
			runs, err := r.Plans.Runs(v.Context(), v.User.ID, k.ID, runsShown)
			if err != nil {
				return nil, fmt.Errorf("read runs of a task: %w", err)
			}
			one.Runs = web.Each(runs, func(run core.Run) shownRun { return shownRunOf(v, run) })
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

func (r *Room) resumeTask(v *web.Visit) error {
	k, err := r.askedPlan(v, core.PlanTask)
	if err != nil {
		return err
	}
	use := core.ToolUse{User: v.User.ID, Now: v.Now, Location: v.Zone, Language: v.Lang}
	k, resume, err := r.Plans.Resume(v.Context(), use, k.ID)
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
