// Package archive holds the rows of an export, which an import reads back.
package archive

import (
	"time"

	"github.com/everthread/everthread/core"
)

// ExportedSummary is a version of a summary in summaries.jsonl of an export.
type ExportedSummary struct {
	Day        string     `json:"day"`
	Version    int        `json:"version"`
	Markdown   string     `json:"markdown"`
	Covers     core.IDSet `json:"covers"`
	Model      string     `json:"model"`
	Final      bool       `json:"final"`
	Ungrounded bool       `json:"ungrounded,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
}

// ExportedItem is an item in memory.jsonl of an export.
type ExportedItem struct {
	ID        core.ItemID     `json:"id"`
	Theme     string          `json:"theme"`
	Type      core.ItemType   `json:"type"`
	Content   string          `json:"content"`
	Tags      []string        `json:"tags,omitempty"`
	Source    core.MessageID  `json:"source_message,omitempty"`
	Status    core.ItemStatus `json:"status"`
	Noted     bool            `json:"noted,omitempty"`   // by the assistant
	History   []core.Wording  `json:"history,omitempty"` // earlier wordings
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
}

// ExportedTheme is a theme in themes.jsonl of an export.
type ExportedTheme struct {
	Slug        string    `json:"slug"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
}

// ExportedInstruction is a standing instruction in standing.jsonl of an export.
type ExportedInstruction struct {
	ID        core.InstructionID `json:"id"`
	Text      string             `json:"text"`
	Source    core.MessageID     `json:"source_message,omitempty"`
	Noted     bool               `json:"noted,omitempty"` // proposed by the assistant
	CreatedAt time.Time          `json:"created_at"`
}

// ExportedLoop is a loop in loops.jsonl of an export.
type ExportedLoop struct {
	ID        core.LoopID      `json:"id"`
	Text      string           `json:"text"`
	State     core.LoopState   `json:"state"`
	Sources   []core.MessageID `json:"sources,omitempty"`
	OpenedAt  time.Time        `json:"opened_at"`
	Mentioned time.Time        `json:"mentioned_at"`
	Due       time.Time        `json:"due_at,omitzero"`
}

// ExportedPlan is a reminder or a task in reminders.jsonl or tasks.jsonl of an export.
type ExportedPlan struct {
	ID        int64          `json:"id"`
	Text      string         `json:"text"`
	DueAt     time.Time      `json:"due_at"`
	Cron      string         `json:"cron,omitempty"`
	Zone      string         `json:"zone,omitempty"`
	State     string         `json:"state"`
	Source    core.MessageID `json:"source_message,omitempty"`
	CreatedAt time.Time      `json:"created_at"`
	FiredAt   time.Time      `json:"fired_at,omitzero"` // of a reminder
	Message   core.MessageID `json:"message,omitempty"` // of the last firing of a reminder
}

// ExportedUsage is what calls of a model took on a day for a purpose, in usage.jsonl of an export.
type ExportedUsage struct {
	Day     string       `json:"day"`
	Model   string       `json:"model"`
	Purpose core.Purpose `json:"purpose"`
	Calls   int          `json:"calls"`
	core.Usage
	Amount int `json:"amount,omitempty"` // seconds heard, or characters spoken
}
