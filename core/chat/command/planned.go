package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// Plans reads and prepares plans. A refusal is a sentence in use.Language that wraps core.ErrRefused.
type Plans interface {
	// New prepares a plan from words with its time and text.
	New(ctx context.Context, use core.ToolUse, kind core.PlanKind, words string) (effect.SetPlan, error)
	// OpenPlans lists the active and paused plans of a kind, soonest first.
	OpenPlans(ctx context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error)
	// Accept prepares the proposed tasks after a yes, all or none.
	Accept(ctx context.Context, use core.ToolUse, s effect.TaskSubject) ([]effect.SetPlan, error)
	// Resume prepares the resumption of a paused task.
	Resume(ctx context.Context, use core.ToolUse, id core.PlanID) (core.Plan, effect.ResumePlan, error)
	// Sent lists the deliveries of messages.
	Sent(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Delivery, error)
	// Describe returns a cron expression in words.
	Describe(expression, language string) string
}

// mostPlans bounds the open plans of a kind that are read.
const mostPlans = 1000

// remind lists, sets and cancels reminders.
func (c *Commands) remind(ctx context.Context, r *request) (core.Outcome, error) {
	verb, rest, _ := strings.Cut(r.arg, " ")
	ids, numbered := numbers(rest)
	switch cancel := means(verb, func(t *typed) []string { return t.Cancel }); {
	case r.arg == "":
		return c.reminders(ctx, r)
	case cancel && numbered:
		return c.cancelPlans(ctx, r, core.PlanReminder, ids, r.words.Cancelled, r.words.NoReminder)
	case cancel && strings.TrimSpace(rest) == "":
		return r.say(r.words.CancelWhich), nil
	}
	return c.setPlan(ctx, r, core.PlanReminder, r.words.ReminderSet)
}

// setPlan sets a plan, and says so in a text with its time, its own text and its number.
func (c *Commands) setPlan(ctx context.Context, r *request, kind core.PlanKind, said string) (core.Outcome, error) {
	set, err := c.Plans.New(ctx, c.toolUse(r), kind, r.arg)
	if err != nil {
		return r.unread(err)
	}
	return r.sayf(said, c.when(r, set.Plan), oneLine(set.Plan.Text), set.Plan.ID).With(set), nil
}

// errTalk is returned by a command that the model answers in its place.
var errTalk = errors.New("the model answers")

// unread hands words whose time is not understood to the model. A program gets the refusal.
func (r *request) unread(err error) (core.Outcome, error) {
	if _, ok := errors.AsType[core.Unread](err); ok && !r.in.Program {
		return core.Outcome{}, errTalk
	}
	return refused(err)
}

// when returns the next time of a plan in the person's zone. A recurring one has
// its own zone, and its recurrence is described.
func (c *Commands) when(r *request, k core.Plan) string {
	zone := c.location(r)
	if k.Cron != "" {
		zone = core.Settings{Zone: k.Zone}.Location(zone)
	}
	t := k.DueAt.In(zone)
	text := "**" + c.name(r, t.Format(time.DateOnly)) + ", " + t.Format("15:04") + "**"
	if zone.String() != c.location(r).String() {
		text += " (" + zone.String() + ")"
	}
	if k.Cron != "" {
		text += " · " + c.Plans.Describe(k.Cron, r.lang)
	}
	return text
}

func (c *Commands) reminders(ctx context.Context, r *request) (core.Outcome, error) {
	active, err := c.Plans.OpenPlans(ctx, r.user.ID, core.PlanReminder, mostPlans)
	if err != nil || len(active) == 0 {
		return r.say(r.words.NoReminders), err
	}
	lines := []string{r.words.RemindersTitle, ""}
	for _, x := range active[:min(len(active), listed)] {
		receipt, err := c.receipt(ctx, r, x)
		if err != nil {
			return core.Outcome{}, err
		}
		lines = append(lines, planned(int64(x.ID), x.Text, c.when(r, x)+receipt+r.origin(x.Tainted)))
	}
	return r.endPlanned(lines, len(active), fmt.Sprintf(r.words.RemindersMore, active[0].ID)), nil
}

// planned returns a reminder, task or loop as an item of a list.
func planned(id int64, text, more string) string {
	return "- **" + strconv.FormatInt(id, 10) + "** " + oneLine(text) + " · " + more
}

// endPlanned ends a list of reminders or tasks with the number of hidden ones, and with more.
func (r *request) endPlanned(lines []string, all int, more string) core.Outcome {
	lines = append(lines, "")
	if all > listed {
		lines = append(lines, r.words.RemindersHidden.Of(all-listed))
	}
	return core.Outcome{Text: strings.Join(append(lines, more), "\n")}
}

// receipt returns the best delivery state of a reminder's last message.
func (c *Commands) receipt(ctx context.Context, r *request, x core.Plan) (string, error) {
	if x.Last.Message == 0 {
		return "", nil
	}
	ds, err := c.Plans.Sent(ctx, r.user.ID, []core.MessageID{x.Last.Message})
	if err != nil {
		return "", err
	}
	rising := []core.DeliveryState{core.DeliveryExpired, core.DeliveryFailed, core.DeliveryParked, core.DeliveryPending,
		core.DeliverySending, core.DeliveryUnknown, core.DeliverySent, core.DeliveryDelivered, core.DeliveryRead}
	state := r.words.ReceiptHere
	best := -1
	for _, d := range ds {
		if n := slices.Index(rising, d.State); n > best {
			best, state = n, r.words.Receipts[d.State]
		}
	}
	last := x.Last.Ended.In(c.location(r))
	return " · " + fmt.Sprintf(r.words.ReceiptLast, c.name(r, last.Format(time.DateOnly)), last.Format("15:04"), state),
		nil
}

// cancelPlans cancels the plans of a kind with the given numbers. said has the text of one; none names a missing one.
func (c *Commands) cancelPlans(ctx context.Context, r *request, kind core.PlanKind, ids []int64,
	said, none string) (core.Outcome, error) {
	list, err := c.Plans.OpenPlans(ctx, r.user.ID, kind, mostPlans)
	if err != nil {
		return core.Outcome{}, err
	}
	return r.each(ids, none, func(id int64) (string, core.Effect, error) {
		k, err := pick(list, id, func(k core.Plan) core.PlanID { return k.ID })
		r.mark(k.Tainted)
		return fmt.Sprintf(said, oneLine(k.Text)), effect.CancelPlan{Plan: k.ID, At: r.now}, err
	})
}

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
		return c.cancelPlans(ctx, r, core.PlanTask, ids, r.words.TaskCancelled, r.words.NoTask)
	case resume && numbered && len(ids) == 1:
		return c.resumeTask(ctx, r, core.PlanID(ids[0]))
	case (cancel || resume) && strings.TrimSpace(rest) == "":
		return r.say(r.words.TaskCancelWhich), nil
	}
	return c.setPlan(ctx, r, core.PlanTask, r.words.TaskSet)
}

func (c *Commands) toolUse(r *request) core.ToolUse {
	return core.ToolUse{User: r.user.ID, Thread: r.at.Thread, Now: r.now, Location: c.location(r), Language: r.lang}
}

func (c *Commands) tasks(ctx context.Context, r *request) (core.Outcome, error) {
	list, err := c.Plans.OpenPlans(ctx, r.user.ID, core.PlanTask, mostPlans)
	if err != nil || len(list) == 0 {
		return r.say(r.words.NoTasks), err
	}
	lines := []string{r.words.TasksTitle, ""}
	for _, k := range list[:min(len(list), listed)] {
		when := c.when(r, k)
		if k.State == core.PlanPaused {
			when = fmt.Sprintf(r.words.TaskPaused, k.ID)
		}
		lines = append(lines, planned(int64(k.ID), k.Text, when+c.lastRun(r, k)+r.origin(k.Tainted)))
	}
	return r.endPlanned(lines, len(list), fmt.Sprintf(r.words.TasksMore, list[0].ID)), nil
}

func (c *Commands) lastRun(r *request, k core.Plan) string {
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

func (c *Commands) resumeTask(ctx context.Context, r *request, id core.PlanID) (core.Outcome, error) {
	k, resume, err := c.Plans.Resume(ctx, c.toolUse(r), id)
	if err != nil {
		return refused(err)
	}
	r.mark(k.Tainted)
	return r.sayf(r.words.TaskResumed, c.when(r, k), oneLine(k.Text)).With(resume), nil
}

// acceptTask answers a proposal of the assistant, or the question whether to resume a failed task.
func (c *Commands) acceptTask(ctx context.Context, r *request, q effect.Approval, yes bool) (core.Outcome, error) {
	s, err := subject[effect.TaskSubject](q)
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
	sets, err := c.Plans.Accept(ctx, c.toolUse(r), s)
	if err != nil {
		return refused(err)
	}
	out := r.say(r.words.TasksSet.Of(len(sets)))
	for _, set := range sets {
		out.Effects = append(out.Effects, set)
	}
	return out, nil
}
