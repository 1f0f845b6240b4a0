package core

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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

// MessageKind is the purpose of a message. Only KindChat is conversation: it opens
// segments, counts towards triggers and coverage, and reaches the model.
type MessageKind string

// Kinds of messages.
const (
	KindChat       MessageKind = "chat"
	KindCommand    MessageKind = "command"          // a slash command, by the user
	KindNotice     MessageKind = "notice"           // from the gateway itself: answer to a command, apology
	KindDaySummary MessageKind = "day_summary"      // system entry: a summary was stored
	KindDayPost    MessageKind = "day_summary_post" // a summary posted forward
	KindReminder   MessageKind = "reminder"
	// KindAnswer is an answer, or a step to it, that was replaced by another.
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
	Own       bool // the person wrote the title
	CreatedAt time.Time
}

// Message is one row of the transcript, the source of truth.
type Message struct {
	User     UserID
	ID       MessageID
	Thread   ThreadID
	Segment  SegmentID // 0 in plain threads
	Turn     TurnID    // that reads it (user) or wrote it (assistant, tool)
	Identity IdentityID
	Channel  string
	Role     Role
	Kind     MessageKind

	Text       string
	Tokens     int        // of the form shown to the model, o200k_base; counted when stored
	ToolCalls  []ToolCall // of an assistant message
	ToolCallID string     // of a tool result
	ToolName   string     // of a tool result
	Outside    bool       // a tool result from outside our own store

	Attachments   []Attachment
	Quote         *Quote
	ForwardedFrom string
	Request       *Request  // of a user message, or of the result of a client's tool
	Decides       *Decision // the message answered a question of a turn
	Task          *TaskMark // the message is a due task, or says why one did not run
	// Tainted: it holds words that its person did not write there, such as a contact card, or its author, the assistant
	// or one of our tools, had read such words.
	Tainted bool
	Place   string // in the chat where the person wrote it; see Address
	News    *News  // shown before it to the model; nil: none
	// Answers is the command that a notice answers, such as "/loops", if the model may see the answer.
	Answers string
	// Speaker is who wrote it in a group chat; nil elsewhere.
	Speaker *Speaker
	// Own: it was imported, and the person wrote it.
	Own bool
	// Unfinished says why an answer lacks its end; empty: it is whole.
	Unfinished Finish

	// Position orders messages for the model: microseconds since 1970, strictly increasing in a thread, assigned when a
	// turn reads the message. 0: not yet read, or not conversation.
	Position int64
	SentAt   time.Time // determines the day and the order of display
	Revision int       // 0 at first, incremented by each edit or redaction
	Redacted bool      // Text is empty for good
	Covered  bool      // a stored summary covers it
}

// Speaker is a member of a group chat who wrote in it.
type Speaker struct {
	// Number is counted per group from 1, the same for all messages of the member.
	Number int64  `json:"number"`
	Name   string `json:"name"`             // as it was when the message was stored; one line, nobody else's there
	Native string `json:"native,omitempty"` // the service's id of the message, to which the answer replies
	Key    string `json:"-"`                // the service's id of the member
}

// String returns the number and the name of the member; empty for none.
func (s *Speaker) String() string {
	if s == nil {
		return ""
	}
	return strconv.FormatInt(s.Number, 10) + " " + s.Name
}

// named returns the name of the member; empty for none.
func (s *Speaker) named() string {
	if s == nil {
		return ""
	}
	return s.Name
}

// Numbered returns the name with the number, which tells members of the same name apart.
func (s *Speaker) Numbered() string { return s.Name + " (" + strconv.FormatInt(s.Number, 10) + ")" }

// Beside returns the name as it is shown beside authors who are not members, with the number if one of them is called so.
func (s *Speaker) Beside(others ...string) string {
	if slices.ContainsFunc(others, func(o string) bool { return strings.EqualFold(o, s.Name) }) {
		return s.Numbered()
	}
	return s.Name
}

// Foreign reports whether a message holds words that its person did not write there: text that was forwarded, quoted
// from others or imported, results of outside tools, files, requests of a program with instructions or tools of its
// own, or anything derived from such words.
func (m *Message) Foreign() bool {
	switch {
	case m.ForwardedFrom != "", m.Outside, m.Tainted,
		m.Quote != nil && !m.Quote.Mine && (m.Quote.Text != "" || m.Quote.Message != 0):
		return true
	case m.Request != nil && (m.Request.Instructions != "" || len(m.Request.Tools) > 0):
		return true
	}
	if m.Role == RoleUser && slices.ContainsFunc(m.Attachments, Attachment.worded) {
		return true
	}
	imported := m.Identity == 0 && (m.Role == RoleUser || m.Role == RoleAssistant)
	return imported && !m.Own
}

// worded reports whether an attachment may hold words of its author, if only in its name or in a picture: all but what
// the person's own app records.
func (a Attachment) worded() bool { return a.Kind != "voice" && a.Kind != "location" }

// TokensOf counts the tokens of a message's text and calls.
func TokensOf(t Tokenizer, text string, calls []ToolCall) int {
	n := t.Count(text)
	for _, c := range calls {
		n += t.Count(c.Name) + t.Count(c.Arguments)
	}
	return n
}

// InTime sorts messages of a thread by position. Unread ones come last, by id.
func InTime(ms []Message) {
	slices.SortStableFunc(ms, func(a, b Message) int {
		if a.Position == 0 || b.Position == 0 {
			return cmp.Or(cmp.Compare(min(b.Position, 1), min(a.Position, 1)), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Compare(a.Position, b.Position)
	})
}

// NewMessage is a message to store.
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
	// Task marks a due task. Its turn reads no other message.
	Task *TaskMark

	SentAt     time.Time
	PlatformAt time.Time // the platform's time, if it differs from SentAt
	Day        Day       // of SentAt in the user's zone; for KindChat in an Append
	Solo       bool
	Outside    bool     // a tool result from outside our own store: it is indexed
	Tainted    bool     // as in Message
	Place      string   // as in Message
	Answers    string   // as in Message
	Own        bool     // as in Message
	Speaker    *Speaker // as in Message; the store assigns its Number
	// Asks: an edit made it address the assistant, which answers it unless it did before.
	Asks       bool
	Unfinished Finish // as in Message
	// Rings: the devices of the person are notified of it, because no app is.
	Rings bool
}

// Day is a local calendar day. A segment stores it when it opens.
type Day struct {
	Label    string    // YYYY-MM-DD
	Zone     string    // IANA name
	Start    time.Time // first instant
	End      time.Time // first instant of the next day
	Finalize time.Time // when the nightly finalization is due
	Post     time.Time // when the summary is due to be posted
}

// SegmentState says whether a segment is final.
type SegmentState string

// States of segments.
const (
	SegmentOpen  SegmentState = "open"
	SegmentFinal SegmentState = "final"
)

// PostState is the state of a day's summary post.
type PostState string

// States of a post.
const (
	PostNone    PostState = ""        // not decided yet
	PostDue     PostState = "due"     // at Day.Post
	PostDone    PostState = "done"    // a message of KindDayPost exists
	PostSkipped PostState = "skipped" // too few messages, too late, or turned off
	PostMissed  PostState = "missed"  // there was no summary in time; a notice says so
)

// Segment is a day segment: the messages of one local day of a continuous thread.
type Segment struct {
	User     UserID
	ID       SegmentID
	Thread   ThreadID
	Day      Day
	State    SegmentState
	StartsAt MessageID
	EndsAt   MessageID // set when final
	Messages int       // number of KindChat messages by user and assistant
	// SinceSummary counts those stored since the newest summary.
	SinceSummary int
	// Stale: the final segment received a late message, an edit or a redaction, and
	// its summary must be rewritten from the transcript.
	Stale bool
	// Hidden: the summary rests on redacted text and must not be shown or used.
	Hidden         bool
	SummaryVersion int    // 0: none yet
	SummaryError   string // why the last summary failed; empty: it did not
	// FailedAt is when its summary began to fail, RetryAt when it is tried again. Zero: it did not fail.
	FailedAt, RetryAt time.Time
	Post              PostState
	// Edits is the thread's count of edits, redactions and regenerations; only DayStore.Segment fills it in.
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
	Ungrounded bool // it has bullets, marked [?], for which no message was found
	Final      bool // written by the finalization
	Tainted    bool // derived from words that the person did not write
	CreatedAt  time.Time
}

// Settled returns the numbers of the loops that the summary settles.
func (s *Summary) Settled() []LoopID {
	_, section, _ := strings.Cut("\n"+s.Markdown, "\n## Settled\n")
	section, _, _ = strings.Cut(section, "\n\n## ")
	var out []LoopID
	for line := range strings.Lines(section) {
		number, ok := strings.CutPrefix(line, "- (")
		number, _, _ = strings.Cut(number, ")")
		if id, err := strconv.ParseInt(number, 10, 64); ok && err == nil {
			out = append(out, LoopID(id))
		}
	}
	return out
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
	Tainted   bool // derived from words that the person did not write
	OpenedAt  time.Time
	Mentioned time.Time
	Due       time.Time // end of the day that its text names; zero: it names none
	Asked     bool      // the person was asked about it since Due
}

const staleLoop = 30 * 24 * time.Hour

// Stale reports whether a loop has not been mentioned for 30 days, and the day that it names is as long ago. It stays
// open, but prompts leave it out and people see it listed separately.
func (l Loop) Stale(now time.Time) bool {
	last := l.OpenedAt
	for _, t := range []time.Time{l.Mentioned, l.Due} {
		if t.After(last) {
			last = t
		}
	}
	return now.Sub(last) > staleLoop
}

// Overdue reports whether the day that a loop names is over.
func (l Loop) Overdue(now time.Time) bool { return !l.Due.IsZero() && !now.Before(l.Due) }
