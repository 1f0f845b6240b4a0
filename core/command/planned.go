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
)

// Reminders reads and prepares reminders.
type Reminders interface {
	// New prepares a reminder from words with its time and text. A refusal is a sentence
	// in use.Language that wraps core.ErrRefused.
	New(ctx context.Context, use core.ToolUse, words string) (core.Reminder, error)
	// Reminders lists active ones, soonest first.
	Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error)
	// Sent lists the deliveries of messages.
	Sent(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Delivery, error)
	// Describe returns a cron expression in words.
	Describe(expression, language string) string
}

// mostReminders bounds the active reminders that are read.
const mostReminders = 1000

// remind lists, sets and cancels reminders.
func (c *Commands) remind(ctx context.Context, r *request) (core.Outcome, error) {
	verb, rest, _ := strings.Cut(r.arg, " ")
	ids, numbered := numbers(rest)
	switch cancel := means(verb, func(t *typed) []string { return t.Cancel }); {
	case r.arg == "":
		return c.reminders(ctx, r)
	case cancel && numbered:
		return c.cancel(ctx, r, ids)
	case cancel && strings.TrimSpace(rest) == "":
		return r.say(r.words.CancelWhich), nil
	}
	x, err := c.Reminders.New(ctx, c.toolUse(r), r.arg)
	if err != nil {
		return r.unread(err)
	}
	out := r.sayf(r.words.ReminderSet, c.when(r, x.DueAt, x.Cron, x.Zone), oneLine(x.Text), x.ID)
	return out.With(core.SetReminder{Reminder: x, At: r.now}), nil
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

// when returns the next time of a reminder or task in the person's zone. A recurring one has
// its own zone, and its recurrence is described.
func (c *Commands) when(r *request, due time.Time, cron, own string) string {
	zone := c.location(r)
	if cron != "" {
		zone = core.Settings{Zone: own}.Location(zone)
	}
	t := due.In(zone)
	text := "**" + c.name(r, t.Format(time.DateOnly)) + ", " + t.Format("15:04") + "**"
	if zone.String() != c.location(r).String() {
		text += " (" + zone.String() + ")"
	}
	if cron != "" {
		text += " · " + c.Reminders.Describe(cron, r.lang)
	}
	return text
}

func (c *Commands) reminders(ctx context.Context, r *request) (core.Outcome, error) {
	active, err := c.Reminders.Reminders(ctx, r.user.ID, mostReminders)
	if err != nil || len(active) == 0 {
		return r.say(r.words.NoReminders), err
	}
	lines := []string{r.words.RemindersTitle, ""}
	for _, x := range active[:min(len(active), listed)] {
		receipt, err := c.receipt(ctx, r, x)
		if err != nil {
			return core.Outcome{}, err
		}
		lines = append(lines, planned(int64(x.ID), x.Text, c.when(r, x.DueAt, x.Cron, x.Zone)+receipt+r.origin(x.Tainted)))
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
func (c *Commands) receipt(ctx context.Context, r *request, x core.Reminder) (string, error) {
	if x.Message == 0 {
		return "", nil
	}
	ds, err := c.Reminders.Sent(ctx, r.user.ID, []core.MessageID{x.Message})
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
	last := x.FiredAt.In(c.location(r))
	return " · " + fmt.Sprintf(r.words.ReceiptLast, c.name(r, last.Format(time.DateOnly)), last.Format("15:04"), state),
		nil
}

func (c *Commands) cancel(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	active, err := c.Reminders.Reminders(ctx, r.user.ID, mostReminders)
	if err != nil {
		return core.Outcome{}, err
	}
	return r.each(ids, r.words.NoReminder, func(id int64) (string, core.Effect, error) {
		x, err := pick(active, id, func(x core.Reminder) core.ReminderID { return x.ID })
		r.mark(x.Tainted)
		return fmt.Sprintf(r.words.Cancelled, oneLine(x.Text)), core.CancelReminder{Reminder: x.ID, At: r.now}, err
	})
}

// Tasks reads and prepares tasks. A refusal is a sentence in use.Language that wraps core.ErrRefused.
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
		return r.unread(err)
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
		r.mark(k.Tainted)
		return fmt.Sprintf(r.words.TaskCancelled, oneLine(k.Text)), core.CancelTask{Task: k.ID, At: r.now}, err
	})
}

func (c *Commands) resumeTask(ctx context.Context, r *request, id core.TaskID) (core.Outcome, error) {
	k, resume, err := c.Tasks.Resume(ctx, c.toolUse(r), id)
	if err != nil {
		return refused(err)
	}
	r.mark(k.Tainted)
	return r.sayf(r.words.TaskResumed, c.when(r, k.DueAt, k.Cron, k.Zone), oneLine(k.Text)).With(resume), nil
}

// acceptTask answers a proposal of the assistant, or the question whether to resume a failed task.
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
