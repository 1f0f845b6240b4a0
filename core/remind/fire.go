package remind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/markup"
)

// DueStore is what firing needs of a store.
type DueStore interface {
	// DueReminders lists active ones of all users that are due, oldest first.
	DueReminders(ctx context.Context, now time.Time, limit int) ([]core.Reminder, error)
	// Fire stores one time of a reminder; core.ErrChanged: it is no longer due.
	Fire(ctx context.Context, f core.Fire) (core.MessageID, error)
}

// Firer tells people what they wanted to be reminded of. All fields but Count
// are required.
type Firer struct {
	Store    DueStore
	Users    core.Users
	Planner  core.Planner
	Tokens   core.Tokenizer
	Settings Settings
	Channels core.Channels
	Meter    core.Counter
	Log      *zap.Logger
}

// late is how long after its time a reminder says when it was due.
const late = 5 * time.Minute

// Run fires every reminder that is due. It may run in any number of processes
// at any time. One that cannot be fired is logged, stays due and holds up no
// other.
func (f *Firer) Run(ctx context.Context, now time.Time) error {
	err := job.EachDue(ctx, func(limit int) ([]core.Reminder, error) { return f.Store.DueReminders(ctx, now, limit) },
		func(r core.Reminder) key { return key{r.User, r.ID} }, func(r core.Reminder) error {
			err := f.fire(ctx, r, now)
			if err != nil && ctx.Err() == nil {
				f.Log.Warn("reminder not fired", zap.Int64("user", int64(r.User)), zap.Int64("reminder", int64(r.ID)),
					zap.Error(err))
			}
			return err
		})
	if err != nil {
		return fmt.Errorf("due reminders: %w", err)
	}
	return nil
}

// key names a reminder of any user.
type key struct {
	user core.UserID
	id   core.ReminderID
}

// fire stores the message of one reminder with its deliveries. Where no channel
// can be written to unasked it stands in the transcript alone.
func (f *Firer) fire(ctx context.Context, r core.Reminder, now time.Time) error {
	u, err := f.Users.User(ctx, r.User)
	if err != nil {
		return fmt.Errorf("user: %w", err)
	}
	targets, err := f.Planner.Plan(ctx, u, false)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	text := f.text(u, r, now)
	out := core.Fire{User: r.User, Reminder: r.ID, Due: r.DueAt, Next: Next(r, now), Now: now,
		Message: core.NewMessage{Role: core.RoleAssistant, Kind: core.KindReminder, Text: text,
			Tokens: f.Tokens.Count(text), SentAt: now}}
	for _, t := range targets {
		out.Deliveries = append(out.Deliveries, t.Delivery(core.DeliverReminder,
			markup.Parts(text, f.Channels.Capabilities(t.Identity.Address.Channel))))
	}
	_, err = f.Store.Fire(ctx, out)
	if errors.Is(err, core.ErrChanged) {
		return nil // another process was first, or it was cancelled
	}
	if err == nil && f.Meter != nil {
		f.Meter.Count("everthread_reminders_total", 1)
	}
	return err
}

// text is what a reminder says, late ones with the time that they were due at: of those
// that were missed only the newest is told.
func (f *Firer) text(u core.User, r core.Reminder, now time.Time) string {
	due, _ := f.Settings.Newest(r.DueAt, r.Cron, r.Zone, now)
	if now.Sub(due) <= late {
		return "⏰ " + r.Text
	}
	language := cmp.Or(u.Settings.Language, f.Settings.Language)
	return fmt.Sprintf(say(language).Due, r.Text, moment(due, zoneOf(r), language))
}
