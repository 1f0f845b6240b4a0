package remind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	days "github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
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

// Reminders sets, lists and cancels reminders. It is safe for concurrent use. Store is required.
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

// The methods below read and describe times, for reminders and for tasks.

// Read parses words with a time and a text, such as "every weekday at 7:30 tell the news".
// It takes the moment, the zone and the language from use; see Settings.Parse.
func (s Settings) Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error) {
	return s.Parse(text.Clean(words), use.Now, use.Location, s.language(use))
}

// ReadExactly parses either words of a time or a cron expression. It must understand every
// word: another one may change the meaning.
func (s Settings) ReadExactly(use core.ToolUse, when, cron string) (time.Time, string, error) {
	words := say(s.language(use)).Faults
	when, cron = strings.TrimSpace(text.Clean(when)), text.OneLine(text.Clean(cron))
	switch {
	case when == "" && cron == "":
		return time.Time{}, "", core.Refusal(words.Neither)
	case when != "" && cron != "":
		return time.Time{}, "", core.Refusal(words.Both)
	case cron != "":
		c := calendar{Settings: s.orDefault(), faults: words, now: use.Now, zone: use.Location}
		return c.resolve(found{cron: cron})
	}
	at, cron, rest, err := s.Parse(when, use.Now, use.Location, s.language(use))
	if err == nil && rest != "" {
		err = core.Refuse(words.Left, rest)
	}
	return at, cron, err
}

// Newest returns the newest time up to now of an expression that was due at due, and the
// number of missed times before it. Times of more than a month ago count as one.
func (s Settings) Newest(due time.Time, cron, zone string, now time.Time) (newest time.Time, passed int) {
	const month = 32 * 24 * time.Hour
	if now.Sub(due) > month {
		if t := s.Next(cron, zone, now.Add(-month)); !t.IsZero() && !t.After(now) {
			due, passed = t, 1
		}
	}
	for t := s.Next(cron, zone, due); !t.IsZero() && !t.After(now); t = s.Next(cron, zone, t) {
		due = t
		passed++
	}
	return due, passed
}

// Moment returns a time with its date in words of a language.
func (s Settings) Moment(at time.Time, zone *time.Location, language string) string {
	language, at = cmp.Or(language, s.Language), at.In(zone)
	return fmt.Sprintf(say(language).At, days.Name(at.Format(time.DateOnly), "", language), at.Format("15:04"))
}

// Often reports whether a cron expression is due more often than a reminder may be, or never.
func (s Settings) Often(cron, zone string, now time.Time) bool {
	return s.Admit(core.Reminder{Cron: cron, Zone: zone, DueAt: now}, now) != nil
}

// texts are the words of reminders in one language.
type texts struct {
	Due     string // what, when it was due
	At      string // a day, a time of it
	Repeats repeats
	Faults  faults
}

// repeats describe recurrences.
type repeats struct {
	Day, Weekday, Weekend string
	On                    string       // weekdays
	Month                 words.Ranked // the day of it
	Year                  string       // day, month
	Hour                  string
	Hours, Minutes        words.Counted // number
	Expression            string
}

// faults are the texts of refusals.
type faults struct {
	Nothing       string
	Left          string // what was not understood
	Past, PastDay string
	Far           string
	NoDate        string // the date
	Often         string // minutes
	Odd           string
	Cron          string // the expression
	Never         string
	NoText        string
	LongText      string // characters, most
	Full          string // most
	None          string // the number
	Both, Neither string
}

var say = words.In[texts]("remind")

// DueStore is the part of a store that a Firer uses.
type DueStore interface {
	// DueReminders lists the active reminders of all users that are due, oldest first.
	DueReminders(ctx context.Context, now time.Time, limit int) ([]core.Reminder, error)
	// Fire stores one time of a reminder. core.ErrChanged if it is not due any more.
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
