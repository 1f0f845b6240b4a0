// Package task manages tasks: work that a person wants done at a time. A task that is due
// becomes a turn, whose instruction is the text of the task.
//
// Each time of a task is claimed once, in the transaction that stores its instruction and reserves tokens of the day.
// Of several missed times only the newest runs; one that is more than Expires late is skipped. The person is notified
// once of a run that is skipped or fails, with the cause and the remedy. A task that failed three times in a row is
// paused, and the person is asked whether to resume it.
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
	"github.com/everthread/everthread/core/words"
)

// Store is the part of a store that Tasks uses.
type Store interface {
	// Tasks lists active and paused tasks, soonest first.
	Tasks(ctx context.Context, user core.UserID, limit int) ([]core.Task, error)
	// Task returns a task in any state, or core.ErrNotFound.
	Task(ctx context.Context, user core.UserID, id core.TaskID) (core.Task, error)
	// Runs lists the runs of a task, newest first.
	Runs(ctx context.Context, user core.UserID, task core.TaskID, limit int) ([]core.Run, error)
	// NewID reserves an id for an object of an effect.
	NewID(ctx context.Context, user core.UserID) (int64, error)
}

// Times parses and describes times. A refusal is a sentence that wraps core.ErrRefused.
type Times interface {
	// Read parses words with a time and a text: it returns the first time, the expression
	// of a recurring one, and the rest of the words.
	Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error)
	// ReadExactly parses either words of a time or an expression; it must understand all words.
	ReadExactly(use core.ToolUse, when, cron string) (time.Time, string, error)
	// Next returns the first time after a moment; zero: there is none.
	Next(cron, zone string, after time.Time) time.Time
	// Newest returns the newest time up to now of an expression that was due at due, and
	// the number of missed times before it.
	Newest(due time.Time, cron, zone string, now time.Time) (newest time.Time, passed int)
	// Describe returns an expression in words, Moment a time with its date.
	Describe(cron, language string) string
	Moment(at time.Time, zone *time.Location, language string) string
	// Often reports whether an expression is due too often, or never.
	Often(cron, zone string, now time.Time) bool
}

// maxText bounds the characters of a task.
const maxText = 1000

// Settings bound tasks; all are required.
type Settings struct {
	Expires   time.Duration // how late a task may begin
	MaxActive int           // of a user
	Language  string        // of users who chose none
}

// Tasks sets, lists and cancels tasks. It is safe for concurrent use. All fields are required.
type Tasks struct {
	Store
	Times
	Settings Settings
}

// New prepares a task from words with a time and a text, such as "every weekday at 7:30 tell the news". It uses User,
// Now, Location, Language and Inputs of use. A refusal is a sentence in the language that wraps core.ErrRefused.
func (m *Tasks) New(ctx context.Context, use core.ToolUse, words string) (core.SetTask, error) {
	at, cron, rest, err := m.Times.Read(use, words)
	if err != nil {
		return core.SetTask{}, err
	}
	return m.prepare(ctx, use, core.Task{Text: rest, DueAt: at, Cron: cron, Zone: core.ZoneName(use.Location)})
}

// Accept prepares the proposed tasks after a yes, all or none.
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

// Resume prepares the resumption of a paused task at its next time.
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

// mostTasks bounds the tasks that are searched for one.
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

// zoneOf returns the zone of a task; UTC if it is unknown.
func zoneOf(k core.Task) *time.Location { return core.Settings{Zone: k.Zone}.Location(time.UTC) }

func (m *Tasks) language(use core.ToolUse) string { return cmp.Or(use.Language, m.Settings.Language) }

// When describes the next time of a task in its own zone, and its recurrence.
func (m *Tasks) When(k core.Task, language string) string {
	language, zone := cmp.Or(language, m.Settings.Language), zoneOf(k)
	out := m.Times.Moment(k.DueAt, zone, language)
	if k.Cron != "" {
		out += " · " + m.Times.Describe(k.Cron, language)
	}
	return out + " (" + k.Zone + ")"
}

// texts are the words of tasks in one language.
type texts struct {
	Failed, Skipped string // number, when it was due
	Passed          words.Counted
	Next            string            // the next time
	Once            string            // of a task that does not recur
	Causes          map[string]string // with the remedy, by core.RunCause
	Server          string            // the error of the model's server
	Ask             string            // how often it failed, number
	Faults          faults
}

type faults struct {
	NoText    string
	LongText  string // characters, most
	Full      string // how many there are
	None      string // number
	NotPaused string // number
	Past      string
	Often     string
	Nested    string
	Tainted   string // number
}

var say = words.In[texts]("task")
