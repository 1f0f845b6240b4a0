package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Tools returns task_set, task_list and task_cancel.
func (m *Tasks) Tools() []core.Tool {
	return []core.Tool{
		core.NewTool("task_set",
			"Do something later with a model and tools, once or recurring, and send the result. Give when or cron. "+
				"To only say a text later, use reminder_set.",
			`{"type":"object","properties":{"do":{"type":"string","description":"the whole instruction"},"when":{"type":"string","description":"as for reminder_set"},"cron":{"type":"string","description":"five fields"}},"required":["do"]}`, m.setTool),
		core.NewTool("task_list",
			"The tasks, soonest first, with what became of the last time.",
			`{"type":"object","properties":{}}`, m.listTool),
		core.NewTool("task_cancel",
			"Cancel a task.",
			`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, m.cancelTool),
	}
}

// shown is a task as the model sees it.
type shown struct {
	ID      core.TaskID `json:"id,omitempty"`
	Status  string      `json:"status,omitempty"` // set, asked, exists, cancelled, or the state of a listed one
	Do      string      `json:"do"`
	At      string      `json:"at"`    // of the next time, RFC 3339
	Local   string      `json:"local"` // the same in words
	Zone    string      `json:"zone"`
	Repeats string      `json:"repeats,omitempty"`
	Last    string      `json:"last,omitempty"`    // the result of the last run
	Foreign bool        `json:"foreign,omitempty"` // it contains foreign words
	Note    string      `json:"note,omitempty"`
}

const awaited = "The person is asked below your answer. Do not ask them yourself, and do not say that it is set: it counts once they say yes."

func (m *Tasks) show(k core.Task, status, language string) shown {
	zone := zoneOf(k)
	out := shown{ID: k.ID, Status: status, Do: k.Text, At: k.DueAt.In(zone).Format(time.RFC3339), Zone: k.Zone,
		Local: m.Times.Moment(k.DueAt, zone, language), Foreign: k.Tainted,
		Last: strings.TrimSpace(string(k.Last.State) + " " + string(k.Last.Cause))}
	if k.Cron != "" {
		out.Repeats = m.Times.Describe(k.Cron, language)
	}
	return out
}

// setTool sets a task, unless one with the same text and times exists. In a tainted turn it asks
// the person instead; the turn of a task may not set any.
func (m *Tasks) setTool(ctx context.Context, use core.ToolUse, in struct {
	Do   string `json:"do"`
	When string `json:"when"`
	Cron string `json:"cron"`
}) (core.ToolResult, error) {
	language := m.language(use)
	if use.Task != 0 {
		return core.ToolResult{}, errors.New(say(language).Faults.Nested)
	}
	at, cron, err := m.Times.ReadExactly(use, in.When, in.Cron)
	if err != nil {
		return core.ToolResult{}, err
	}
	k := core.Task{Text: text.Clean(in.Do), DueAt: at, Cron: cron, Zone: core.ZoneName(use.Location)}
	same, err := m.same(ctx, use.User, k)
	if err != nil {
		return core.ToolResult{}, err
	}
	if same.ID != 0 {
		return core.TaintedResult(m.show(same, "exists", language), same.Tainted)
	}
	set, err := m.prepare(ctx, use, k)
	if err != nil {
		return core.ToolResult{}, err
	}
	if use.Tainted {
		out := m.show(set.Task, "asked", language)
		out.ID, out.Note = 0, awaited
		return core.ResultOf(out, core.Taint(set))
	}
	return core.ResultOf(m.show(set.Task, "set", language), set)
}

// same returns the task with the same text and times, or a zero one.
func (m *Tasks) same(ctx context.Context, user core.UserID, k core.Task) (core.Task, error) {
	list, err := m.Store.Tasks(ctx, user, mostTasks)
	if err != nil {
		return core.Task{}, fmt.Errorf("list tasks: %w", err)
	}
	plain := func(s string) string { return text.OneLine(text.Fold(s)) }
	for _, o := range list {
		times := o.DueAt.Equal(k.DueAt) || k.Cron != "" && o.Zone == k.Zone
		if o.Cron == k.Cron && times && plain(o.Text) == plain(k.Text) {
			return o, nil
		}
	}
	return core.Task{}, nil
}

// listed bounds the tasks that the model sees.
const listed = 50

func (m *Tasks) listTool(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	list, err := m.Store.Tasks(ctx, use.User, listed)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list tasks: %w", err)
	}
	out, foreign := []shown{}, false
	for _, k := range list {
		out, foreign = append(out, m.show(k, string(k.State), m.language(use))), foreign || k.Tainted
	}
	return core.TaintedResult(map[string]any{"tasks": out}, foreign)
}

// cancelTool cancels a task. The answer is the same whether a task never existed, is over or
// belongs to another user. A tainted turn may not cancel any.
func (m *Tasks) cancelTool(ctx context.Context, use core.ToolUse, in struct {
	ID core.Number `json:"id"`
}) (core.ToolResult, error) {
	w := say(m.language(use)).Faults
	list, err := m.Store.Tasks(ctx, use.User, mostTasks)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list tasks: %w", err)
	}
	n := slices.IndexFunc(list, func(k core.Task) bool { return k.ID == core.TaskID(in.ID) })
	switch {
	case n < 0:
		return core.ToolResult{}, core.Refuse(w.None, in.ID)
	case use.Tainted:
		return core.ToolResult{}, core.Refuse(w.Tainted, in.ID)
	}
	k := list[n]
	return core.TaintedResult(m.show(k, "cancelled", m.language(use)), k.Tainted, core.CancelTask{Task: k.ID, At: use.Now})
}
