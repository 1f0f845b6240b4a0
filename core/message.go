package core

import (
	"cmp"
	"slices"
	"time"
)

// Role of a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// MessageKind says what a message is for. Only KindChat is conversation: it
// opens segments, counts toward triggers and coverage, and reaches the model.
type MessageKind string

// Kinds of messages.
const (
	KindChat       MessageKind = "chat"
	KindCommand    MessageKind = "command"          // a slash command, by the user
	KindNotice     MessageKind = "notice"           // the gateway's own words: answer to a command, apology
	KindDaySummary MessageKind = "day_summary"      // system entry: a summary was stored
	KindDayPost    MessageKind = "day_summary_post" // a summary posted forward
	KindReminder   MessageKind = "reminder"
	// KindAnswer is an answer, or a step to it, in whose place another was chosen.
	KindAnswer MessageKind = "answer"
)

// Mode of a thread.
type Mode string

// Modes of threads.
const (
	ModeContinuous Mode = "continuous"
	ModeThread     Mode = "thread"
)

// Thread is a sequence of messages.
type Thread struct {
	User      UserID
	ID        ThreadID
	Mode      Mode
	Title     string
	CreatedAt time.Time
}

// Message is one row of the transcript, the source of truth.
type Message struct {
	User     UserID
	ID       MessageID
	Thread   ThreadID
	Segment  SegmentID // 0 in plain threads
	Turn     TurnID    // the turn that reads it (user) or wrote it (assistant, tool)
	Identity IdentityID
	Channel  string
	Role     Role
	Kind     MessageKind

	Text       string
	Tokens     int        // of what the model is shown, o200k_base; counted when stored
	ToolCalls  []ToolCall // of an assistant
	ToolCallID string     // of a tool's result
	ToolName   string     // of a tool's result
	Outside    bool       // the result is of a tool outside of our own store

	Attachments   []Attachment
	Quote         *Quote
	ForwardedFrom string
	Request       *Request  // of a user's, or of a client's tool
	Decides       *Decision // the message answered a question of a turn
	Task          *TaskMark // the message is a task that was due, or says why one was not done
	// Tainted: its author, an assistant or a tool of ours, had read words that the
	// person did not write there.
	Tainted bool
	News    *News // told before it in the epoch of its turn; nil: none

	// Position is the place in what the model sees: microseconds since 1970,
	// strictly increasing in a thread, given when a turn reads the message. 0:
	// not yet read, or not conversation.
	Position int64
	SentAt   time.Time // decides the day and the display
	Revision int       // 0 at first, one more with each edit or redaction
	Redacted bool      // Text is empty for good
	Covered  bool      // a stored summary covers it
}

// Foreign reports whether a message holds words that its person did not write
// there: forwarded, quoted from others, imported, results of outside tools, files, what
// another program brought with its own instructions or tools, or what was made from
// such words.
func (m *Message) Foreign() bool {
	switch {
	case m.ForwardedFrom != "", m.Outside, m.Tainted, m.Quote != nil && !m.Quote.Mine && m.Quote.Text != "":
		return true
	case m.Request != nil && (m.Request.Instructions != "" || len(m.Request.Tools) > 0):
		return true
	}
	for _, a := range m.Attachments {
		if m.Role == RoleUser && slices.Contains(written, a.Kind) {
			return true
		}
	}
	imported := m.Identity == 0 && (m.Role == RoleUser || m.Role == RoleAssistant)
	return imported
}

// written are the kinds of attachments that hold words of their author, if only
// in their name.
var written = []string{"photo", "audio", "video", "document", "contact"}

// InTime sorts messages of a thread by their positions. Those that were not read
// yet stand last, by their numbers.
func InTime(ms []Message) {
	slices.SortStableFunc(ms, func(a, b Message) int {
		if a.Position == 0 || b.Position == 0 {
			return cmp.Or(cmp.Compare(min(b.Position, 1), min(a.Position, 1)), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Compare(a.Position, b.Position)
	})
}

// NewMessage is a message to be stored.
type NewMessage struct {
	Role       Role
	Kind       MessageKind
	Text       string
	Tokens     int
	ToolCalls  []ToolCall
	ToolCallID string
	ToolName   string

	Attachments   []Attachment
	Quote         *Quote
	ForwardedFrom string
	Request       *Request
	// Decides answers a question of a turn in the transaction that stores the message.
	Decides *Decision
	// Task marks a task that was due. Nothing else is read in its turn.
	Task *TaskMark

	SentAt     time.Time
	PlatformAt time.Time // what the platform said, if SentAt is not that
	Day        Day       // of SentAt in the user's zone; for what an Append stores as KindChat
	Solo       bool
	Outside    bool // the result of a tool outside of our own store: it is indexed
	Tainted    bool // as in Message
}

// Day is a local calendar day as a segment stores it when it opens.
type Day struct {
	Label    string    // YYYY-MM-DD
	Zone     string    // IANA name
	Start    time.Time // first instant
	End      time.Time // first instant of the next day
	Finalize time.Time // when the nightly finalization is due
	Post     time.Time // when the summary is to be posted
}

// SegmentState says whether a day is over.
type SegmentState string

// States of segments.
const (
	SegmentOpen  SegmentState = "open"
	SegmentFinal SegmentState = "final"
)

// PostState says what became of a day's summary post.
type PostState string

// States of a post.
const (
	PostNone    PostState = ""        // not to be decided yet
	PostDue     PostState = "due"     // at Day.Post
	PostDone    PostState = "done"    // a message of KindDayPost exists
	PostSkipped PostState = "skipped" // too few messages, too late, or not wanted
)

// Segment is the messages of one local day of a continuous thread.
type Segment struct {
	User     UserID
	ID       SegmentID
	Thread   ThreadID
	Day      Day
	State    SegmentState
	StartsAt MessageID
	EndsAt   MessageID // set when final
	Messages int       // of KindChat by user and assistant
	// SinceSummary counts those stored since the newest summary.
	SinceSummary int
	// Stale: a final segment got a late message, an edit or a redaction, and its
	// summary is to be rewritten from the transcript.
	Stale bool
	// Hidden: the summary rests on redacted text and must not be shown or used.
	Hidden         bool
	SummaryVersion int    // 0: none yet
	SummaryError   string // not empty: the last job gave up, and why
	Post           PostState
	// Edits is the thread's count of edits, redactions and regenerations; only
	// DayStore.Segment fills it in.
	Edits int64
}

// Summary is one version of a day's summary.
type Summary struct {
	User       UserID
	Segment    SegmentID
	Label      string
	Version    int
	Markdown   string
	Tokens     int // of Markdown
	Covers     IDSet
	Model      string
	Usage      Usage
	Ungrounded bool // bullets marked [?] rest on no message that was found
	Final      bool // written by the finalization
	Tainted    bool // made from words that the person did not write
	CreatedAt  time.Time
}

// LoopState says whether a loop is still open.
type LoopState string

// States of loops.
const (
	LoopOpen   LoopState = "open"
	LoopClosed LoopState = "closed"
)

// Loop is an unresolved topic of the conversation.
type Loop struct {
	User      UserID
	ID        LoopID
	Text      string
	State     LoopState
	Sources   []MessageID
	Tainted   bool // made from words that the person did not write
	OpenedAt  time.Time
	Mentioned time.Time
}

// staleLoop is how long an open loop is shown without being mentioned.
const staleLoop = 30 * 24 * time.Hour

// Stale reports whether a loop was not mentioned for 30 days. It stays open, but
// prompts leave it out and people see it apart.
func (l Loop) Stale(now time.Time) bool {
	last := l.OpenedAt
	if l.Mentioned.After(last) {
		last = l.Mentioned
	}
	return now.Sub(last) > staleLoop
}
