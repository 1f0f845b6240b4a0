package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text"
)

// Tools returns the tools of reminders and of tasks.
func (m *Plans) Tools() []core.Tool {
	return []core.Tool{
		core.NewTool("reminder_set",
			"Remind the user later, once or recurring. Give when or cron.",
			`{"type":"object","properties":{"text":{"type":"string","description":"what to say then"},"when":{"type":"string","description":"user's local time: tomorrow at 9, 2026-11-23 08:00, every Monday at 8"},"cron":{"type":"string","description":"five fields"}},"required":["text"]}`, m.setReminder),
		core.NewTool("reminder_list",
			"The active reminders, soonest first.",
			`{"type":"object","properties":{}}`, m.listReminders),
		core.NewTool("reminder_cancel",
			"Cancel a reminder.",
			`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, m.cancelReminder),
		core.NewTool("task_set",
			"Do something later with a model and tools, once or recurring, and send the result. Give when or cron. "+
				"To only say a text later, use reminder_set.",
			`{"type":"object","properties":{"do":{"type":"string","description":"the whole instruction"},"when":{"type":"string","description":"as for reminder_set"},"cron":{"type":"string","description":"five fields"}},"required":["do"]}`, m.setTask),
		core.NewTool("task_list",
			"The tasks, soonest first, with what became of the last time.",
			`{"type":"object","properties":{}}`, m.listTasks),
		core.NewTool("task_cancel",
			"Cancel a task.",
			`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, m.cancelTask),
	}
}

// shown is a plan as the model sees it.
type shown struct {
	ID      core.PlanID `json:"id,omitempty"`
	Status  string      `json:"status,omitempty"` // set, asked, exists, cancelled, or the state of a listed task
	Text    string      `json:"text,omitempty"`   // of a reminder
	Do      string      `json:"do,omitempty"`     // of a task
	At      string      `json:"at"`               // of the next time, RFC 3339
	Local   string      `json:"local"`            // the same in words
	Zone    string      `json:"zone"`
	Repeats string      `json:"repeats,omitempty"`
	Last    string      `json:"last,omitempty"`    // the result of a task's last run
	Foreign bool        `json:"foreign,omitempty"` // it contains foreign words
	Note    string      `json:"note,omitempty"`
}

const awaited = "The person is asked below your answer. Do not ask them yourself, and do not say that it is set: it counts once they say yes."

func (m *Plans) show(k core.Plan, status, language string) shown {
	zone := zoneOf(k.Zone)
	out := shown{ID: k.ID, Status: status, At: k.DueAt.In(zone).Format(time.RFC3339), Zone: k.Zone,
		Local: m.Moment(k.DueAt, zone, language), Foreign: k.Tainted}
	if k.Kind == core.PlanTask {
		out.Do, out.Last = k.Text, strings.TrimSpace(string(k.Last.State)+" "+string(k.Last.Cause))
	} else {
		out.Text = k.Text
	}
	if k.Cron != "" {
		out.Repeats = m.Describe(k.Cron, language)
	}
	return out
}

func (m *Plans) setReminder(ctx context.Context, use core.ToolUse, in struct {
	Text string `json:"text"`
	When string `json:"when"`
	Cron string `json:"cron"`
}) (core.ToolResult, error) {
	k := core.Plan{Kind: core.PlanReminder, Text: in.Text}
	var err error
	if in.When == "" && in.Cron == "" { // small models leave the time in the text
		k.DueAt, k.Cron, k.Text, err = m.Read(use, in.Text)
	} else {
		k.DueAt, k.Cron, err = m.ReadExactly(use, in.When, in.Cron)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	return m.set(ctx, use, k)
}

// setTask sets a task. In a tainted turn it asks the person instead; the turn of a task may not set any.
func (m *Plans) setTask(ctx context.Context, use core.ToolUse, in struct {
	Do   string `json:"do"`
	When string `json:"when"`
	Cron string `json:"cron"`
}) (core.ToolResult, error) {
	if use.Task != 0 {
		return core.ToolResult{}, errors.New(sayTask(m.language(use)).Faults.Nested)
	}
	at, cron, err := m.ReadExactly(use, in.When, in.Cron)
	if err != nil {
		return core.ToolResult{}, err
	}
	return m.set(ctx, use, core.Plan{Kind: core.PlanTask, Text: in.Do, DueAt: at, Cron: cron})
}

// set sets a plan, unless an open one has the same text and times.
func (m *Plans) set(ctx context.Context, use core.ToolUse, k core.Plan) (core.ToolResult, error) {
	k.Text, k.Zone = text.Clean(k.Text), core.ZoneName(use.Location)
	plain := func(s string) string { return text.OneLine(text.Fold(s)) }
	same, err := m.open(ctx, use.User, k.Kind, func(o core.Plan) bool {
		times := o.DueAt.Equal(k.DueAt) || k.Cron != "" && o.Zone == k.Zone
		return o.Cron == k.Cron && times && plain(o.Text) == plain(k.Text)
	})
	if err != nil {
		return core.ToolResult{}, err
	}
	language := m.language(use)
	if same.ID != 0 {
		return core.TaintedResult(m.show(same, "exists", language), same.Tainted)
	}
	set, err := m.prepare(ctx, use, k)
	if err != nil {
		return core.ToolResult{}, err
	}
	set.Max = 0 // no limit refuses the reply that stores it: the calls of one turn may exceed it
	if use.Tainted && k.Kind == core.PlanTask {
		out := m.show(set.Plan, "asked", language)
		out.ID, out.Note = 0, awaited
		return core.ResultOf(out, effect.Taint(set))
	}
	return core.ResultOf(m.show(set.Plan, "set", language), set)
}

// listed bounds the plans of a kind that the model sees.
const listed = 50

func (m *Plans) listReminders(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	return m.list(ctx, use, core.PlanReminder, "reminders")
}

func (m *Plans) listTasks(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	return m.list(ctx, use, core.PlanTask, "tasks")
}

func (m *Plans) list(ctx context.Context, use core.ToolUse, kind core.PlanKind, name string) (core.ToolResult, error) {
	list, err := m.OpenPlans(ctx, use.User, kind, listed)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list plans: %w", err)
	}
	out, foreign := []shown{}, false
	for _, k := range list {
		status := ""
		if kind == core.PlanTask {
			status = string(k.State)
		}
		out, foreign = append(out, m.show(k, status, m.language(use))), foreign || k.Tainted
	}
	return core.TaintedResult(map[string]any{name: out}, foreign)
}

type numbered struct {
	ID core.Number `json:"id"`
}

func (m *Plans) cancelReminder(ctx context.Context, use core.ToolUse, in numbered) (core.ToolResult, error) {
	return m.cancel(ctx, use, core.PlanReminder, in.ID)
}

func (m *Plans) cancelTask(ctx context.Context, use core.ToolUse, in numbered) (core.ToolResult, error) {
	return m.cancel(ctx, use, core.PlanTask, in.ID)
}

// cancel cancels an open plan. The answer is the same whether a plan never existed, is over or belongs to another user.
// A tainted turn may not cancel any task.
func (m *Plans) cancel(ctx context.Context, use core.ToolUse, kind core.PlanKind,
	id core.Number) (core.ToolResult, error) {
	k, err := m.open(ctx, use.User, kind, func(k core.Plan) bool { return k.ID == core.PlanID(id) })
	language := m.language(use)
	switch {
	case err != nil:
		return core.ToolResult{}, err
	case k.ID == 0:
		return core.ToolResult{}, core.Refuse(faultsOf(kind, language).None, id)
	case use.Tainted && kind == core.PlanTask:
		return core.ToolResult{}, core.Refuse(sayTask(language).Faults.Tainted, id)
	}
	return core.TaintedResult(m.show(k, "cancelled", language), k.Tainted,
		effect.CancelPlan{Plan: k.ID, At: use.Now, Text: k.Text})
}
