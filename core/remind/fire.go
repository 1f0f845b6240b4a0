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

// DueStore is the part of a store that a Firer uses.
type DueStore interface {
	// DueReminders lists the active reminders of all users that are due, oldest first.
	DueReminders(ctx context.Context, now time.Time, limit int) ([]core.Reminder, error)
	// Fire stores one time of a reminder. It returns core.ErrChanged if the reminder is
	// not due any more.
	Fire(ctx context.Context, f core.Fire) (core.MessageID, error)
}

// Firer sends reminders that are due. All fields are required.
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

// late is the delay after which a reminder says when it was due.
const late = 5 * time.Minute

// Run fires every reminder that is due. It may run in any number of processes at any time.
// A reminder that fails is logged, stays due and does not block the others.
func (f *Firer) Run(ctx context.Context, now time.Time) error {
	err := job.EachDue(ctx, func(limit int) ([]core.Reminder, error) { return f.Store.DueReminders(ctx, now, limit) },
		func(r core.Reminder) [2]int64 { return [2]int64{int64(r.User), int64(r.ID)} }, func(r core.Reminder) error {
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

// fire stores the message of one reminder with its deliveries. Without a push channel it is
// in the transcript only.
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
	out := core.Fire{User: r.User, Reminder: r.ID, Due: r.DueAt, Next: f.Settings.Next(r.Cron, r.Zone, now), Now: now,
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
	if err == nil {
		f.Meter.Count("everthread_reminders_total", 1)
	}
	return err
}

// text returns the message of a reminder. A late one names the time at which it was due: of
// several missed times the newest.
func (f *Firer) text(u core.User, r core.Reminder, now time.Time) string {
	due, _ := f.Settings.Newest(r.DueAt, r.Cron, r.Zone, now)
	if now.Sub(due) <= late {
		return "⏰ " + r.Text
	}
	language := cmp.Or(u.Settings.Language, f.Settings.Language)
	return fmt.Sprintf(say(language).Due, r.Text, f.Settings.Moment(due, zoneOf(r.Zone), language))
}
