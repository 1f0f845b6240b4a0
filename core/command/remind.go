package command

import (
	"context"
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
	// DeliveriesOf lists the deliveries of a message.
	DeliveriesOf(ctx context.Context, user core.UserID, m core.MessageID) ([]core.Delivery, error)
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
		return refused(err)
	}
	out := r.sayf(r.words.ReminderSet, c.when(r, x.DueAt, x.Cron, x.Zone), oneLine(x.Text), x.ID)
	return out.With(core.SetReminder{Reminder: x, At: r.now}), nil
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
	ds, err := c.Reminders.DeliveriesOf(ctx, r.user.ID, x.Message)
	if err != nil {
		return "", err
	}
	state := r.words.ReceiptHere
	best := -1
	for _, d := range ds {
		if n := slices.Index(byReceipt(), d.State); n > best {
			best, state = n, r.words.Receipts[d.State]
		}
	}
	last := x.FiredAt.In(c.location(r))
	return " · " + fmt.Sprintf(r.words.ReceiptLast, c.name(r, last.Format(time.DateOnly)), last.Format("15:04"), state),
		nil
}

// byReceipt returns the states of deliveries, the best last.
func byReceipt() []core.DeliveryState {
	return []core.DeliveryState{core.DeliveryExpired, core.DeliveryFailed, core.DeliveryParked, core.DeliveryPending,
		core.DeliverySending, core.DeliveryUnknown, core.DeliverySent, core.DeliveryDelivered, core.DeliveryRead}
}

func (c *Commands) cancel(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	active, err := c.Reminders.Reminders(ctx, r.user.ID, mostReminders)
	if err != nil {
		return core.Outcome{}, err
	}
	return r.each(ids, r.words.NoReminder, func(id int64) (string, core.Effect, error) {
		x, err := pick(active, id, func(x core.Reminder) core.ReminderID { return x.ID })
		return fmt.Sprintf(r.words.Cancelled, oneLine(x.Text)), core.CancelReminder{Reminder: x.ID, At: r.now}, err
	})
}
