// Package task keeps tasks: what a person wants to be done at a time. A task that is due
// becomes a turn, whose instruction is the text of the task.
//
// Policy. Each time of a task is claimed once, in the transaction that stores its
// instruction and what it reserves of the day's tokens. Of several times that were missed
// only the newest runs; one that is missed by more than Expires is skipped. What is
// skipped or fails is told once, with the cause and what to do. A task that failed three
// times in a row stands still, and its person is asked whether it is to go on.
package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Store is what setting and showing tasks needs.
type Store interface {
	// Tasks lists active and paused ones, soonest first.
	Tasks(ctx context.Context, user core.UserID, limit int) ([]core.Task, error)
	// Task returns one of any state, or core.ErrNotFound.
	Task(ctx context.Context, user core.UserID, id core.TaskID) (core.Task, error)
	// Runs lists the runs of a task, newest first.
	Runs(ctx context.Context, user core.UserID, task core.TaskID, limit int) ([]core.Run, error)
	// NewID reserves an id for something that an effect will make.
	NewID(ctx context.Context, user core.UserID) (int64, error)
}

// Times reads and says times. What cannot be one is a plain sentence, core.ErrRefused.
type Times interface {
	// Read reads words that say when and what: the first time, the expression of a
	// recurring one, and what remains of the words.
	Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error)
	// ReadExactly reads either of the two, of which every word must be understood.
	ReadExactly(use core.ToolUse, when, cron string) (time.Time, string, error)
	// Next returns the first time after a moment; zero: there is none.
	Next(cron, zone string, after time.Time) time.Time
	// Newest is the newest time up to now of what was due first, and how many before it
	// were missed.
	Newest(due time.Time, cron, zone string, now time.Time) (newest time.Time, passed int)
	// Describe says an expression in words, Moment a time with its date.
	Describe(cron, language string) string
	Moment(at time.Time, zone *time.Location, language string) string
	// Often reports whether an expression comes too often, or never.
	Often(cron, zone string, now time.Time) bool
}

// maxText is how many characters a task has at most.
const maxText = 1000

// Settings are the numbers of tasks; all are required.
type Settings struct {
	Expires   time.Duration // how late a task may begin
	MaxActive int           // of a user
	Language  string        // of users who chose none
}

// Tasks sets, lists and cancels tasks. It is safe for concurrent use. All fields are
// required.
type Tasks struct {
	Store
	Times    Times
	Settings Settings
}

// Describe says a cron expression in words.
func (m *Tasks) Describe(cron, language string) string { return m.Times.Describe(cron, language) }

// New prepares a task from words that say when and what to do, such as "every weekday at
// 7:30 tell the news". User, Now, Location, Language and perhaps Inputs of use count.
// What is wrong is a plain sentence in the language, core.ErrRefused.
func (m *Tasks) New(ctx context.Context, use core.ToolUse, words string) (core.SetTask, error) {
	at, cron, rest, err := m.Times.Read(use, words)
	if err != nil {
		return core.SetTask{}, err
	}
	return m.prepare(ctx, use, core.Task{Text: rest, DueAt: at, Cron: cron, Zone: core.ZoneName(use.Location)})
}

// Accept prepares the tasks of a question that the person said yes to: all or none.
func (m *Tasks) Accept(ctx context.Context, use core.ToolUse, s core.TaskSubject) (out []core.SetTask, err error) {
	for _, p := range s.Tasks {
		k := core.Task{Text: p.Text, DueAt: p.Due, Cron: p.Cron, Zone: p.Zone, Tainted: p.Tainted}
		if !k.DueAt.After(use.Now) {
			if k.DueAt = m.Times.Next(k.Cron, k.Zone, use.Now); k.DueAt.IsZero() {
				return nil, core.Refusal(say(m.language(use)).Faults.Past)
			}
		}
		set, err := m.prepare(ctx, use, k)
		if err != nil {
			return nil, err
		}
		set.Task.Source = s.Source
		out = append(out, set)
	}
	return out, nil
}

// Resume prepares that a paused task goes on at its next time.
func (m *Tasks) Resume(ctx context.Context, use core.ToolUse, id core.TaskID) (core.Task, core.ResumeTask, error) {
	list, err := m.Store.Tasks(ctx, use.User, mostTasks)
	if err != nil {
		return core.Task{}, core.ResumeTask{}, fmt.Errorf("list tasks: %w", err)
	}
	w := say(m.language(use)).Faults
	n := slices.IndexFunc(list, func(k core.Task) bool { return k.ID == id && k.State == core.TaskPaused })
	if n < 0 {
		return core.Task{}, core.ResumeTask{}, core.Refuse(w.NotPaused, id)
	}
	k, active := list[n], 0
	for _, o := range list {
		if o.State == core.TaskActive {
			active++
		}
	}
	due := k.DueAt
	if k.Cron != "" {
		due = m.Times.Next(k.Cron, k.Zone, use.Now)
	}
	switch {
	case !due.After(use.Now):
		return k, core.ResumeTask{}, core.Refusal(w.Past)
	case active >= m.Settings.MaxActive:
		return k, core.ResumeTask{}, core.Refuse(w.Full, active)
	case k.Cron != "" && m.Times.Often(k.Cron, k.Zone, use.Now):
		return k, core.ResumeTask{}, core.Refusal(w.Often)
	}
	k.DueAt = due
	return k, core.ResumeTask{Task: id, Due: due, At: use.Now}, nil
}

// mostTasks is how many tasks are looked through for one.
const mostTasks = 1000

// prepare completes a task whose Text and times are known.
func (m *Tasks) prepare(ctx context.Context, use core.ToolUse, k core.Task) (core.SetTask, error) {
	w := say(m.language(use)).Faults
	k.Text = strings.TrimSpace(text.Clean(k.Text))
	if n := utf8.RuneCountInString(k.Text); n > maxText {
		return core.SetTask{}, core.Refuse(w.LongText, n, maxText)
	}
	if k.Text == "" {
		return core.SetTask{}, core.Refusal(w.NoText)
	}
	here, err := m.Store.Tasks(ctx, use.User, m.Settings.MaxActive)
	if err != nil {
		return core.SetTask{}, fmt.Errorf("list tasks: %w", err)
	}
	if len(here) >= m.Settings.MaxActive {
		return core.SetTask{}, core.Refuse(w.Full, len(here))
	}
	id, err := m.Store.NewID(ctx, use.User)
	if err != nil {
		return core.SetTask{}, fmt.Errorf("set task: %w", err)
	}
	k.User, k.ID, k.State, k.CreatedAt = use.User, core.TaskID(id), core.TaskActive, use.Now
	if n := len(use.Inputs); n > 0 {
		k.Source = use.Inputs[n-1]
	}
	return core.SetTask{Task: k, Max: m.Settings.MaxActive, At: use.Now}, nil
}

// zoneOf is the zone of a task; UTC if it is not known here.
func zoneOf(k core.Task) *time.Location { return core.Settings{Zone: k.Zone}.Location(time.UTC) }

func (m *Tasks) language(use core.ToolUse) string { return cmp.Or(use.Language, m.Settings.Language) }

// When says when a task comes next by its own clock, and how it recurs.
func (m *Tasks) When(k core.Task, language string) string {
	language, zone := cmp.Or(language, m.Settings.Language), zoneOf(k)
	out := m.Times.Moment(k.DueAt, zone, language)
	if k.Cron != "" {
		out += " · " + m.Times.Describe(k.Cron, language)
	}
	return out + " (" + k.Zone + ")"
}
