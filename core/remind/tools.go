package remind

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

var (
	_ core.Tool = setTool{}
	_ core.Tool = listTool{}
	_ core.Tool = cancelTool{}
)

// Tools returns reminder_set, reminder_list and reminder_cancel.
func (m *Reminders) Tools() []core.Tool { return []core.Tool{setTool{m}, listTool{m}, cancelTool{m}} }

type setTool struct{ *Reminders }

// Spec describes reminder_set.
func (setTool) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "reminder_set",
		Description: "Remind the user later, once or recurring. Give when or cron.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"text":{"type":"string","description":"what to say then"},"when":{"type":"string","description":"user's local time: tomorrow at 9, 2026-11-23 08:00, every Monday at 8"},"cron":{"type":"string","description":"five fields"}},"required":["text"]}`)}
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
	zone := zoneOf(r)
	out := reminderJSON{ID: r.ID, Status: status, Text: r.Text, At: r.DueAt.In(zone).Format(time.RFC3339),
		Zone: r.Zone, Foreign: r.Tainted, Local: moment(r.DueAt, zone, language)}
	if r.Cron != "" {
		out.Repeats = Describe(r.Cron, language)
	}
	return out
}

// Use sets a reminder, unless an active one has the same text and times.
func (t setTool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	var in struct {
		Text string `json:"text"`
		When string `json:"when"`
		Cron string `json:"cron"`
	}
	if err := use.Read(&in); err != nil {
		return core.ToolResult{}, err
	}
	at, cron, err := t.Settings.ReadExactly(use, in.When, in.Cron)
	if err != nil {
		return core.ToolResult{}, err
	}
	r := core.Reminder{Text: text.Clean(in.Text), DueAt: at, Cron: cron}
	same, err := t.same(ctx, use.User, r)
	if err != nil {
		return core.ToolResult{}, err
	}
	if same.ID != 0 {
		return core.TaintedResult(t.show(same, "exists", t.Settings.language(use)), same.Tainted)
	}
	if r, err = t.prepare(ctx, use, r); err != nil {
		return core.ToolResult{}, err
	}
	return core.ResultOf(t.show(r, "set", t.Settings.language(use)), core.SetReminder{Reminder: r, At: use.Now})
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

type listTool struct{ *Reminders }

// Spec describes reminder_list.
func (listTool) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "reminder_list", Description: "The active reminders, soonest first.",
		Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

// listed bounds the reminders that the model sees.
const listed = 50

// Use lists active reminders.
func (t listTool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	active, err := t.Store.Reminders(ctx, use.User, listed)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list reminders: %w", err)
	}
	out, foreign := []reminderJSON{}, false
	for _, r := range active {
		out, foreign = append(out, t.show(r, "", t.Settings.language(use))), foreign || r.Tainted
	}
	return core.TaintedResult(map[string]any{"reminders": out}, foreign)
}

type cancelTool struct{ *Reminders }

// Spec describes reminder_cancel.
func (cancelTool) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "reminder_cancel", Description: "Cancel a reminder.",
		Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)}
}

// Use cancels an active reminder. The answer is the same whether a reminder never existed,
// is over or belongs to another user.
func (t cancelTool) Use(ctx context.Context, use core.ToolUse) (core.ToolResult, error) {
	var in struct {
		ID core.Number `json:"id"`
	}
	if err := use.Read(&in); err != nil {
		return core.ToolResult{}, err
	}
	active, err := t.Store.Reminders(ctx, use.User, t.Settings.orDefault().MaxActive+listed)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list reminders: %w", err)
	}
	n := slices.IndexFunc(active, func(r core.Reminder) bool { return r.ID == core.ReminderID(in.ID) })
	if n < 0 {
		return core.ToolResult{}, core.Refuse(say(t.Settings.language(use)).Faults.None, in.ID)
	}
	r := active[n]
	return core.TaintedResult(t.show(r, "cancelled", t.Settings.language(use)), r.Tainted,
		core.CancelReminder{Reminder: r.ID, At: use.Now, Text: r.Text})
}
