// Package remind manages reminders: it parses their times, sets, lists and cancels them for
// the model and for people, and fires those that are due.
//
// A reminder that was missed while no process ran is sent once, late, with the time at which it was due; a recurring
// one continues from then. A reminder that cannot reach the person now is held until it can, as posts are. None is
// fired twice: the store advances the reminder in the transaction that stores its message.
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
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// Settings bound reminders. A zero value means the default after the colon.
type Settings struct {
	DefaultHour time.Duration // since midnight, of a day without a time: 9 h, if MaxActive is zero too
	MinEvery    time.Duration // between two times of a recurring reminder: 15 min
	MaxActive   int           // of a user: 100
	Language    string        // of users who chose none
}

func (s Settings) orDefault() Settings {
	if s.MaxActive == 0 { // a configured hour may be midnight
		s.DefaultHour = cmp.Or(s.DefaultHour, 9*time.Hour)
	}
	s.MinEvery = cmp.Or(s.MinEvery, 15*time.Minute)
	s.MaxActive = cmp.Or(s.MaxActive, 100)
	return s
}

// Store is the part of a store that Reminders uses.
type Store interface {
	// Reminders lists active reminders, soonest first.
	Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error)
	// Sent lists the deliveries of messages.
	Sent(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Delivery, error)
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

// Parse finds a time in a text in English, French or German: "in 20 minutes", "demain à 9 h call Ana", "every weekday
// at 7:30", "am 1. jedes Monats", a date and time of ISO 8601 or a cron expression of five fields. at is the first time
// after now, cron the expression of a recurring one (by the wall clock of loc), rest the text without the words of the
// time. It is pure.
//
// A day without a time means DefaultHour, as does a morning; an afternoon means 15:00, an evening and a night 20:00. A
// weekday is the next one, today only with a time that is still ahead; "next Friday" is the one of next week, "vendredi
// prochain" and "nächsten Freitag" the next one that is not today. 3/6 is 3 June, and 12/25 is 25 December. Midnight is
// the end of its day. A wall time that the zone skips moves to the first instant that exists; one that occurs twice is
// the first.
//
// Errors are sentences in lang that wrap core.ErrRefused: nothing is understood, or not every word beside the time that
// may change it (both core.Unread), the time is past, or it recurs more often than MinEvery.
func (s Settings) Parse(text string, now time.Time, loc *time.Location,
	lang string) (at time.Time, cron, rest string, err error) {
	s = s.orDefault()
	faults := say(lang).Faults
	f, rest, ok := when.Find(text, words.Match(lang))
	if !ok {
		return at, "", text, core.Unread(faults.Nothing)
	}
	if f.Unread != "" && f.Wrong == "" {
		return at, "", rest, core.Unread(fmt.Sprintf(faults.Left, f.Unread))
	}
	at, cron, err = calendar{Settings: s, faults: faults, now: now, zone: loc}.resolve(f)
	return at, cron, rest, err
}

// Read parses words with a time and a text, such as "every weekday at 7:30 tell the news".
// It takes the moment, the zone and the language from use; see Settings.Parse.
func (s Settings) Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error) {
	return s.Parse(text.Clean(words), use.Now, use.Location, s.language(use))
}

// ReadExactly parses either words of a time or a cron expression. It must understand every
// word: another one may change the meaning.
func (s Settings) ReadExactly(use core.ToolUse, said, cron string) (time.Time, string, error) {
	words := say(s.language(use)).Faults
	said, cron = strings.TrimSpace(text.Clean(said)), text.OneLine(text.Clean(cron))
	switch {
	case said == "" && cron == "":
		return time.Time{}, "", core.Refusal(words.Neither)
	case said != "" && cron != "":
		return time.Time{}, "", core.Refusal(words.Both)
	case cron != "":
		c := calendar{Settings: s.orDefault(), faults: words, now: use.Now, zone: use.Location}
		return c.resolve(when.Found{Cron: cron})
	}
	at, cron, rest, err := s.Parse(said, use.Now, use.Location, s.language(use))
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
	Foreign string // what
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

type faults struct {
	Nothing       string
	Left          string // what was not understood
	Past, PastDay string
	Far           string
	NoDate        string // the date
	NoTime        string // the time of day
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

// fire stores the message of one reminder with its deliveries. Without a push channel it is in the transcript only.
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
			Tokens: f.Tokens.Count(text), SentAt: now, Tainted: r.Tainted}}
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

// marks replaces quotation marks, with which a text could end its own quotation.
func marks() *strings.Replacer {
	return strings.NewReplacer("“", "'", "”", "'", "„", "'", "«", "'", "»", "'", `"`, "'")
}

// text returns the message of a reminder. A late one names the time at which it was due: of
// several missed times the newest.
func (f *Firer) text(u core.User, r core.Reminder, now time.Time) string {
	language := cmp.Or(u.Settings.Language, f.Settings.Language)
	said := r.Text
	if r.Tainted { // in quotation marks, so that what it asks for is not asked by the assistant
		said = fmt.Sprintf(say(language).Foreign, marks().Replace(trust.Line(said)))
	}
	due, _ := f.Settings.Newest(r.DueAt, r.Cron, r.Zone, now)
	if now.Sub(due) <= late {
		return "⏰ " + said
	}
	return fmt.Sprintf(say(language).Due, said, f.Settings.Moment(due, zoneOf(r.Zone), language))
}
