// Package plan manages plans, what a person wants at a time: reminders, whose text is sent, and tasks, whose text is
// the instruction of a turn. It parses their times, sets, lists and cancels them for the model and for people, and
// fires those that are due.
//
// Each time of a plan is claimed once, in the transaction that stores its message, or its instruction with the tokens
// that it reserves. Of several missed times only the newest fires, late: a reminder with the time at which it was due,
// a task unless it is more than Expires late. A reminder that cannot reach the person now is held until it can, as
// posts are. The person is notified once of a run that is skipped or fails, with the cause and the remedy. A task that
// failed three times in a row is paused, and the person is asked whether to resume it.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text"
)

// Settings bound plans. A zero value means the default after the colon.
type Settings struct {
	DefaultHour  time.Duration // since midnight, of a day without a time: 9 h, if MaxReminders is zero too
	MinEvery     time.Duration // between two times of a recurring plan: 15 min
	MaxReminders int           // of a user: 100
	MaxTasks     int           // of a user, paused ones too: 20
	Expires      time.Duration // how late a task may begin: 2 h
	Language     string        // of users who chose none
}

func (s Settings) orDefault() Settings {
	if s.MaxReminders == 0 { // a configured hour may be midnight
		s.DefaultHour = cmp.Or(s.DefaultHour, 9*time.Hour)
	}
	s.MinEvery = cmp.Or(s.MinEvery, 15*time.Minute)
	s.MaxReminders, s.MaxTasks = cmp.Or(s.MaxReminders, 100), cmp.Or(s.MaxTasks, 20)
	s.Expires = cmp.Or(s.Expires, 2*time.Hour)
	return s
}

func (s Settings) most(kind core.PlanKind) int {
	if kind == core.PlanTask {
		return s.orDefault().MaxTasks
	}
	return s.orDefault().MaxReminders
}

func (s Settings) language(use core.ToolUse) string { return cmp.Or(use.Language, s.Language) }

// Store is the part of a store that Plans uses.
type Store interface {
	// OpenPlans lists the active and paused plans of a kind, soonest first.
	OpenPlans(ctx context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error)
	// Plan returns a plan in any state, or core.ErrNotFound.
	Plan(ctx context.Context, user core.UserID, id core.PlanID) (core.Plan, error)
	// Runs lists the runs of a plan, newest first.
	Runs(ctx context.Context, user core.UserID, plan core.PlanID, limit int) ([]core.Run, error)
	// Sent lists the deliveries of messages.
	Sent(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Delivery, error)
	// NewID reserves an id for an object of an effect.
	NewID(ctx context.Context, user core.UserID) (int64, error)
}

const (
	maxText  = 1000 // characters of a plan
	mostOpen = 1000 // plans of a kind that are searched for one
)

// Plans sets, lists and cancels plans. It is safe for concurrent use. Store is required.
type Plans struct {
	Store
	Settings
}

// New prepares a plan from words with a time and a text, such as "tomorrow 9 call Ana". It uses User, Now, Location,
// Language and Inputs of use. A refusal is a sentence in the language that wraps core.ErrRefused.
func (m *Plans) New(ctx context.Context, use core.ToolUse, kind core.PlanKind, words string) (effect.SetPlan, error) {
	at, cron, rest, err := m.Read(use, words)
	if err != nil {
		return effect.SetPlan{}, err
	}
	return m.prepare(ctx, use, core.Plan{Kind: kind, Text: rest, DueAt: at, Cron: cron, Zone: core.ZoneName(use.Location)})
}

// Accept prepares the proposed tasks after a yes, all or none.
func (m *Plans) Accept(ctx context.Context, use core.ToolUse, s effect.TaskSubject) (out []effect.SetPlan, err error) {
	for _, p := range s.Tasks {
		k := core.Plan{Kind: core.PlanTask, Text: p.Text, DueAt: p.Due, Cron: p.Cron, Zone: p.Zone, Tainted: p.Tainted}
		if !k.DueAt.After(use.Now) {
			if k.DueAt = m.Next(k.Cron, k.Zone, use.Now); k.DueAt.IsZero() {
				return nil, core.Refusal(sayTask(m.language(use)).Faults.Past)
			}
		}
		set, err := m.prepare(ctx, use, k)
		if err != nil {
			return nil, err
		}
		set.Plan.Source = s.Source
		out = append(out, set)
	}
	return out, nil
}

// Resume prepares the resumption of a paused task at its next time.
func (m *Plans) Resume(ctx context.Context, use core.ToolUse, id core.PlanID) (core.Plan, effect.ResumePlan, error) {
	list, err := m.OpenPlans(ctx, use.User, core.PlanTask, mostOpen)
	if err != nil {
		return core.Plan{}, effect.ResumePlan{}, fmt.Errorf("list tasks: %w", err)
	}
	w := sayTask(m.language(use)).Faults
	n := slices.IndexFunc(list, func(k core.Plan) bool { return k.ID == id && k.State == core.PlanPaused })
	if n < 0 {
		return core.Plan{}, effect.ResumePlan{}, core.Refuse(w.NotPaused, id)
	}
	k, active := list[n], 0
	for _, o := range list {
		if o.State == core.PlanActive {
			active++
		}
	}
	due := k.DueAt
	if k.Cron != "" {
		due = m.Next(k.Cron, k.Zone, use.Now)
	}
	switch {
	case !due.After(use.Now):
		return k, effect.ResumePlan{}, core.Refusal(w.Past)
	case active >= m.most(core.PlanTask):
		return k, effect.ResumePlan{}, core.Refuse(w.Full, active)
	case k.Cron != "" && m.Often(k.Cron, k.Zone, use.Now):
		return k, effect.ResumePlan{}, core.Refusal(w.Often)
	}
	k.DueAt = due
	return k, effect.ResumePlan{Plan: id, Due: due, At: use.Now}, nil
}

// prepare completes a plan whose Kind, Text and times are known.
func (m *Plans) prepare(ctx context.Context, use core.ToolUse, k core.Plan) (effect.SetPlan, error) {
	w, most := faultsOf(k.Kind, m.language(use)), m.most(k.Kind)
	k.Text = strings.TrimSpace(text.Clean(k.Text))
	if n := utf8.RuneCountInString(k.Text); n > maxText {
		return effect.SetPlan{}, core.Refuse(w.LongText, n, maxText)
	}
	if k.Text == "" {
		return effect.SetPlan{}, core.Refusal(w.NoText)
	}
	here, err := m.OpenPlans(ctx, use.User, k.Kind, most)
	if err != nil {
		return effect.SetPlan{}, fmt.Errorf("list plans: %w", err)
	}
	if len(here) >= most {
		return effect.SetPlan{}, core.Refuse(w.Full, len(here))
	}
	id, err := m.NewID(ctx, use.User)
	if err != nil {
		return effect.SetPlan{}, fmt.Errorf("set plan: %w", err)
	}
	k.User, k.ID, k.State, k.CreatedAt = use.User, core.PlanID(id), core.PlanActive, use.Now
	if n := len(use.Inputs); n > 0 {
		k.Source = use.Inputs[n-1]
	}
	return effect.SetPlan{Plan: k, Max: most, At: use.Now}, nil
}

// open returns the open plan of a kind that is wanted, or a zero one.
func (m *Plans) open(ctx context.Context, user core.UserID, kind core.PlanKind,
	wanted func(core.Plan) bool) (core.Plan, error) {
	list, err := m.OpenPlans(ctx, user, kind, mostOpen)
	if err != nil {
		return core.Plan{}, fmt.Errorf("list plans: %w", err)
	}
	if n := slices.IndexFunc(list, wanted); n >= 0 {
		return list[n], nil
	}
	return core.Plan{}, nil
}

// When describes the next time of a plan in its own zone, and its recurrence.
func (m *Plans) When(k core.Plan, language string) string {
	language = cmp.Or(language, m.Language)
	out := m.Moment(k.DueAt, zoneOf(k.Zone), language)
	if k.Cron != "" {
		out += " · " + m.Describe(k.Cron, language)
	}
	return out + " (" + k.Zone + ")"
}
