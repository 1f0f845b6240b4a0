package export

import (
	"time"

	"github.com/everthread/everthread/core"
)

// messageLine is a message in messages.jsonl.
type messageLine struct {
	Thread      core.ThreadID    `json:"thread"`
	ID          core.MessageID   `json:"id"`
	Day         string           `json:"day,omitempty"`
	Role        core.Role        `json:"role"`
	Kind        core.MessageKind `json:"kind"`
	Channel     string           `json:"channel,omitempty"`
	SentAt      time.Time        `json:"sent_at"`
	Text        string           `json:"text"`
	Redacted    bool             `json:"redacted,omitempty"`
	Quote       *core.Quote      `json:"quote,omitempty"`
	Forwarded   string           `json:"forwarded_from,omitempty"`
	Attachments []fileLine       `json:"attachments,omitempty"`
	ToolCalls   []core.ToolCall  `json:"tool_calls,omitempty"`
	ToolCallID  string           `json:"tool_call_id,omitempty"`
	ToolName    string           `json:"tool_name,omitempty"`
	Task        *core.TaskMark   `json:"task,omitempty"` // the text of a due task, not typed
	Revisions   []revisionLine   `json:"revisions,omitempty"`
}

type fileLine struct {
	Kind       string `json:"kind"`
	Name       string `json:"name,omitempty"`
	MIME       string `json:"mime,omitempty"`
	Size       int64  `json:"size,omitempty"`
	Path       string `json:"path,omitempty"` // below media/
	Transcript string `json:"transcript,omitempty"`
}

// pageLine is a page of a document in files.jsonl.
type pageLine struct {
	Message    core.MessageID `json:"message"`
	Attachment int            `json:"attachment"` // of the message, from 1
	Name       string         `json:"name,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Page       int            `json:"page"`
	Title      string         `json:"title,omitempty"`
	Text       string         `json:"text"`
}

type revisionLine struct {
	Text       string    `json:"text"`
	ReplacedAt time.Time `json:"replaced_at"`
}

type summaryLine struct {
	Day        string     `json:"day"`
	Version    int        `json:"version"`
	Markdown   string     `json:"markdown"`
	Covers     core.IDSet `json:"covers"`
	Model      string     `json:"model"`
	Final      bool       `json:"final"`
	Ungrounded bool       `json:"ungrounded,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
}

type itemLine struct {
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

type themeLine struct {
	Slug        string    `json:"slug"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
}

type standingLine struct {
	ID        core.InstructionID `json:"id"`
	Text      string             `json:"text"`
	Source    core.MessageID     `json:"source_message,omitempty"`
	Noted     bool               `json:"noted,omitempty"` // proposed by the assistant
	CreatedAt time.Time          `json:"created_at"`
}

type loopLine struct {
	ID        core.LoopID      `json:"id"`
	Text      string           `json:"text"`
	State     core.LoopState   `json:"state"`
	Sources   []core.MessageID `json:"sources,omitempty"`
	OpenedAt  time.Time        `json:"opened_at"`
	Mentioned time.Time        `json:"mentioned_at"`
}

// timedLine is a reminder or a task.
type timedLine struct {
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
