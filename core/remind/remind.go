package remind

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	days "github.com/everthread/everthread/core/day"
)

// Store is the part of a store that Reminders uses.
type Store interface {
	// Reminders lists active reminders, soonest first.
	Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error)
	// DeliveriesOf lists the deliveries of a message.
	DeliveriesOf(ctx context.Context, user core.UserID, m core.MessageID) ([]core.Delivery, error)
	// NewID reserves an id for an object of an effect.
	NewID(ctx context.Context, user core.UserID) (int64, error)
}

// maxText bounds the characters of a reminder.
const maxText = 1000

// Reminders sets, lists and cancels reminders. It is safe for concurrent use. Store is
// required.
type Reminders struct {
	Store
	Settings
}

// New prepares a reminder from words with a time and a text, such as "tomorrow 9 call Ana".
// It uses User, Now, Location, Language and Inputs of use. A refusal is a sentence in the
// language that wraps core.ErrRefused. The effect core.SetReminder stores the reminder.
func (m *Reminders) New(ctx context.Context, use core.ToolUse, words string) (core.Reminder, error) {
	at, cron, rest, err := m.Settings.Read(use, words)
	if err != nil {
		return core.Reminder{}, err
	}
	return m.prepare(ctx, use, core.Reminder{Text: rest, DueAt: at, Cron: cron})
}

// prepare completes a reminder whose Text, DueAt and Cron are known.
func (m *Reminders) prepare(ctx context.Context, use core.ToolUse, r core.Reminder) (core.Reminder, error) {
	words := say(m.Settings.language(use)).Faults
	r.Text = strings.TrimSpace(r.Text)
	if n := utf8.RuneCountInString(r.Text); n > maxText {
		return r, core.Refuse(words.LongText, n, maxText)
	}
	if r.Text == "" {
		return r, core.Refusal(words.NoText)
	}
	most := m.Settings.orDefault().MaxActive
	active, err := m.Store.Reminders(ctx, use.User, most)
	if err != nil {
		return r, fmt.Errorf("list reminders: %w", err)
	}
	if len(active) >= most {
		return r, core.Refuse(words.Full, len(active))
	}
	id, err := m.Store.NewID(ctx, use.User)
	if err != nil {
		return r, fmt.Errorf("set reminder: %w", err)
	}
	r.User, r.ID, r.State, r.CreatedAt, r.Zone = use.User, core.ReminderID(id), core.ReminderActive, use.Now,
		core.ZoneName(use.Location)
	if n := len(use.Inputs); n > 0 {
		r.Source = use.Inputs[n-1]
	}
	return r, nil
}

func (s Settings) language(use core.ToolUse) string { return cmp.Or(use.Language, s.Language) }

// moment returns a time with its date in words of a language.
func moment(t time.Time, zone *time.Location, language string) string {
	t = t.In(zone)
	return fmt.Sprintf(say(language).At, days.Name(t.Format(time.DateOnly), "", language), t.Format("15:04"))
}
