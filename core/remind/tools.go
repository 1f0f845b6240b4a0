package remind

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Tools returns reminder_set, reminder_list and reminder_cancel.
func (m *Reminders) Tools() []core.Tool {
	return []core.Tool{
		core.NewTool("reminder_set",
			"Remind the user later, once or recurring. Give when or cron.",
			`{"type":"object","properties":{"text":{"type":"string","description":"what to say then"},"when":{"type":"string","description":"user's local time: tomorrow at 9, 2026-11-23 08:00, every Monday at 8"},"cron":{"type":"string","description":"five fields"}},"required":["text"]}`, m.setTool),
		core.NewTool("reminder_list",
			"The active reminders, soonest first.",
			`{"type":"object","properties":{}}`, m.listTool),
		core.NewTool("reminder_cancel",
			"Cancel a reminder.",
			`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, m.cancelTool),
	}
}

type reminderJSON struct {
	ID      core.ReminderID `json:"id"`
	Status  string          `json:"status,omitempty"` // set, exists or cancelled
	Text    string          `json:"text"`
	At      string          `json:"at"`    // of the next time, RFC 3339
	Local   string          `json:"local"` // the same in words
	Zone    string          `json:"zone"`
	Repeats string          `json:"repeats,omitempty"`
	Foreign bool            `json:"foreign,omitempty"` // it contains foreign words
}

func (m *Reminders) show(r core.Reminder, status, language string) reminderJSON {
	zone := zoneOf(r.Zone)
	out := reminderJSON{ID: r.ID, Status: status, Text: r.Text, At: r.DueAt.In(zone).Format(time.RFC3339),
		Zone: r.Zone, Foreign: r.Tainted, Local: m.Moment(r.DueAt, zone, language)}
	if r.Cron != "" {
		out.Repeats = m.Describe(r.Cron, language)
	}
	return out
}

// setTool sets a reminder, unless an active one has the same text and times.
func (m *Reminders) setTool(ctx context.Context, use core.ToolUse, in struct {
	Text string `json:"text"`
	When string `json:"when"`
	Cron string `json:"cron"`
}) (core.ToolResult, error) {
	r := core.Reminder{Text: text.Clean(in.Text)}
	var err error
	if in.When == "" && in.Cron == "" { // small models leave the time in the text
		r.DueAt, r.Cron, r.Text, err = m.Settings.Read(use, in.Text)
	} else {
		r.DueAt, r.Cron, err = m.Settings.ReadExactly(use, in.When, in.Cron)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	same, err := m.same(ctx, use.User, r)
	if err != nil {
		return core.ToolResult{}, err
	}
	if same.ID != 0 {
		return core.TaintedResult(m.show(same, "exists", m.Settings.language(use)), same.Tainted)
	}
	if r, err = m.prepare(ctx, use, r); err != nil {
		return core.ToolResult{}, err
	}
	return core.ResultOf(m.show(r, "set", m.Settings.language(use)), core.SetReminder{Reminder: r, At: use.Now})
}

// same returns the active reminder with the same text and times, or a zero one.
func (m *Reminders) same(ctx context.Context, user core.UserID, r core.Reminder) (core.Reminder, error) {
	active, err := m.Store.Reminders(ctx, user, m.Settings.orDefault().MaxActive)
	if err != nil {
		return core.Reminder{}, fmt.Errorf("list reminders: %w", err)
	}
	plain := func(s string) string { return text.OneLine(text.Fold(s)) }
	for _, a := range active {
		if a.Cron == r.Cron && a.DueAt.Equal(r.DueAt) && plain(a.Text) == plain(r.Text) {
			return a, nil
		}
	}
	return core.Reminder{}, nil
}

// listed bounds the reminders that the model sees.
const listed = 50

func (m *Reminders) listTool(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	active, err := m.Store.Reminders(ctx, use.User, listed)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list reminders: %w", err)
	}
	out, foreign := []reminderJSON{}, false
	for _, r := range active {
		out, foreign = append(out, m.show(r, "", m.Settings.language(use))), foreign || r.Tainted
	}
	return core.TaintedResult(map[string]any{"reminders": out}, foreign)
}

// cancelTool cancels an active reminder. The answer is the same whether a reminder never existed,
// is over or belongs to another user.
func (m *Reminders) cancelTool(ctx context.Context, use core.ToolUse, in struct {
	ID core.Number `json:"id"`
}) (core.ToolResult, error) {
	active, err := m.Store.Reminders(ctx, use.User, m.Settings.orDefault().MaxActive+listed)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list reminders: %w", err)
	}
	n := slices.IndexFunc(active, func(r core.Reminder) bool { return r.ID == core.ReminderID(in.ID) })
	if n < 0 {
		return core.ToolResult{}, core.Refuse(say(m.Settings.language(use)).Faults.None, in.ID)
	}
	r := active[n]
	return core.TaintedResult(m.show(r, "cancelled", m.Settings.language(use)), r.Tainted,
		core.CancelReminder{Reminder: r.ID, At: use.Now, Text: r.Text})
}
