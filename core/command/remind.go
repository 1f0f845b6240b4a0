package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// Reminders is what commands read and set of reminders.
type Reminders interface {
	// New prepares a reminder from words that say when and of what. What is wrong
	// with them is a plain sentence in use.Language, core.ErrRefused.
	New(ctx context.Context, use core.ToolUse, words string) (core.Reminder, error)
	// Reminders lists active ones, soonest first.
	Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error)
	// DeliveriesOf lists the deliveries of a message.
	DeliveriesOf(ctx context.Context, user core.UserID, m core.MessageID) ([]core.Delivery, error)
	// Describe says a cron expression in words.
	Describe(expression, language string) string
}

// mostReminders is how many active reminders are looked through.
const mostReminders = 1000

// remind lists, sets and cancels reminders.
func (c *Commands) remind(ctx context.Context, r *request) (core.Outcome, error) {
	verb, rest, _ := strings.Cut(r.arg, " ")
	ids, numbered := numbers(rest)
	switch cancel := means(verb, func(t *typed) []string { return t.Cancel }); {
	case c.Reminders == nil:
		return r.say(r.words.Unavailable), nil
	case r.arg == "":
		return c.reminders(ctx, r)
	case cancel && numbered:
		return c.cancel(ctx, r, ids)
	case cancel && strings.TrimSpace(rest) == "":
		return r.say(r.words.CancelWhich), nil
	}
	use := core.ToolUse{User: r.user.ID, Thread: r.at.Thread, Now: r.now, Location: c.location(r), Language: r.lang}
	x, err := c.Reminders.New(ctx, use, r.arg)
	if errors.Is(err, core.ErrRefused) {
		return core.Outcome{Text: sentence(err.Error())}, nil
	}
	if err != nil {
		return core.Outcome{}, err
	}
	out := r.sayf(r.words.ReminderSet, c.when(r, x), oneLine(x.Text), x.ID)
	out.Effects = []core.Effect{core.SetReminder{Reminder: x, At: r.now}}
	return out, nil
}

// sentence is words with a capital and a full stop.
func sentence(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// when says the next time of a reminder by the clock of its person, and how it
// recurs by its own.
func (c *Commands) when(r *request, x core.Reminder) string {
	zone := c.location(r)
	if x.Cron != "" {
		zone = core.Settings{Zone: x.Zone}.Location(zone)
	}
	t := x.DueAt.In(zone)
	text := "**" + c.name(r, t.Format(time.DateOnly)) + ", " + t.Format("15:04") + "**"
	if zone.String() != c.location(r).String() {
		text += " (" + zone.String() + ")"
	}
	if x.Cron != "" {
		text += " · " + c.Reminders.Describe(x.Cron, r.lang)
	}
	return text
}

func (c *Commands) reminders(ctx context.Context, r *request) (core.Outcome, error) {
	active, err := c.Reminders.Reminders(ctx, r.user.ID, mostReminders)
	if err != nil {
		return core.Outcome{}, err
	}
	if len(active) == 0 {
		return r.say(r.words.NoReminders), nil
	}
	lines := []string{r.words.RemindersTitle, ""}
	for _, x := range active[:min(len(active), listed)] {
		receipt, err := c.receipt(ctx, r, x)
		if err != nil {
			return core.Outcome{}, err
		}
		lines = append(lines, "- **"+strconv.FormatInt(int64(x.ID), 10)+"** "+oneLine(x.Text)+" · "+c.when(r, x)+receipt+
			r.origin(x.Tainted))
	}
	lines = append(lines, "")
	if more := len(active) - listed; more > 0 {
		lines = append(lines, r.words.RemindersHidden.Of(more))
	}
	lines = append(lines, fmt.Sprintf(r.words.RemindersMore, active[0].ID))
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

// receipt says what became of the last time that a reminder was told.
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

// byReceipt are the states of deliveries from what says least to what says most.
func byReceipt() []core.DeliveryState {
	return []core.DeliveryState{core.DeliveryExpired, core.DeliveryFailed, core.DeliveryParked, core.DeliveryPending,
		core.DeliverySending, core.DeliveryUnknown, core.DeliverySent, core.DeliveryDelivered, core.DeliveryRead}
}

func (c *Commands) cancel(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	active, err := c.Reminders.Reminders(ctx, r.user.ID, mostReminders)
	if err != nil {
		return core.Outcome{}, err
	}
	var out core.Outcome
	var lines []string
	for _, id := range ids {
		n := slices.IndexFunc(active, func(x core.Reminder) bool { return x.ID == core.ReminderID(id) })
		if n < 0 {
			lines = append(lines, fmt.Sprintf(r.words.NoReminder, id))
			continue
		}
		lines = append(lines, fmt.Sprintf(r.words.Cancelled, oneLine(active[n].Text)))
		out.Effects = append(out.Effects, core.CancelReminder{Reminder: active[n].ID, At: r.now})
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}
