package core

import "time"

// TurnState says how far a turn is.
type TurnState string

// States of turns.
const (
	TurnRunning TurnState = "running" // claimed, or waiting to be tried again
	TurnDone    TurnState = "done"
	TurnStopped TurnState = "stopped" // by the person
	TurnFailed  TurnState = "failed"  // given up; its inputs are pending again
)

// Turn is the work from one or more pending user messages to one reply. Where
// the reply goes is fixed here, never "the last route of the thread".
type Turn struct {
	User      UserID
	ID        TurnID
	Thread    ThreadID
	Mode      Mode
	Identity  IdentityID
	Address   Address     // of Identity
	Inputs    []MessageID // in order of their positions
	Event     string      // EventID of the last input; "" if it is not known
	Segment   SegmentID   // of the last input
	State     TurnState
	Lease     Lease
	StartedAt time.Time // first claim; giving up counts from here
	Failures  int       // attempts that failed with an error
	LastError string
	Reserved  int // tokens reserved of the day's budget: Budget.Reserve or Budget.Least
	// Used is what attempts of this claim took that ended without a reply, to be
	// counted on Today (a day's label).
	Used  Usage
	Today string
}

// Lease is a claim of a job: it holds until Until, and only the holder of the
// newest Attempt may write its result (ErrFenced otherwise).
type Lease struct {
	Job     JobID
	Key     string
	Attempt int
	Until   time.Time
}

// Claim says who claims work and until when.
type Claim struct {
	Worker string
	Now    time.Time
	Until  time.Time
}

// Budget bounds a user's turns. Zero limits mean none.
type Budget struct {
	TokensPerDay   int
	Reserve        int       // tokens to reserve for this turn
	Least          int       // with which it goes on if Reserve is not to be had; 0: with no less
	Day            string    // label of today
	NextDay        time.Time // when tomorrow begins
	TurnsPerMinute int
}

// TurnFlags is what people asked of a running turn.
type TurnFlags struct {
	Stop    bool
	Restart int // counts edits, redactions and /retry since the claim
}

// Window is what the store knows for one context: everything is read at one
// instant. Its size is bounded by the request, never by the history.
type Window struct {
	Epoch *Epoch // the thread's current one; nil: none yet
	// Messages are the newest that have a position, oldest first, through the
	// turn's inputs; only KindChat.
	Messages []Message
	// UncoveredBefore counts the uncovered conversation messages older than
	// Messages[0], at most 1,000; tool results and redacted messages do not count.
	UncoveredBefore int
	More            bool    // there are messages older than Messages[0]
	Edits           int64   // the thread's count of edits, redactions and regenerations
	Today           Segment // of the turn; zero in plain threads
	TodaySummary    *Summary
	Last            Segment // the newest earlier one; zero if there is none
	LastSummary     *Summary
	Loops           []Loop // open ones, newest mention first, at most 20
	// Pages are the newest that were asked for, oldest first, with the text of the
	// form that they have now; PagesBefore counts older ones.
	Pages       []Page
	PagesBefore int
}

// Epoch fixes everything before the raw messages, and where these start, so
// that within it the prompt only grows (SPEC 5).
type Epoch struct {
	ID        TurnID     `json:"id"` // the turn that began it
	StartedAt time.Time  `json:"started_at"`
	UsedAt    time.Time  `json:"-"`     // by the last turn
	Start     int64      `json:"start"` // position of the first raw message
	Edits     int64      `json:"edits"` // Window.Edits then
	Zone      string     `json:"zone"`  // of time marks
	Strategy  string     `json:"strategy"`
	Head      []HeadPart `json:"head"`
	// Cuts are the raw messages that are shown shortened, and to how many tokens.
	Cuts map[MessageID]int `json:"cuts,omitempty"`
	// Skip are raw messages after Start that are left out (truncate keeps the first).
	Skip      []MessageID `json:"skip,omitempty"`
	Truncated bool        `json:"truncated"` // [Earlier messages truncated] is shown
	Budgets   string      `json:"budgets"`   // fingerprint of the settings; another one begins a new epoch
}

// HeadPart is one part of a prompt before the raw messages, as it was shown.
type HeadPart struct {
	Name    string    `json:"name"` // instructions, policy, tools, memory, last, loops, today
	Text    string    `json:"text"`
	Tokens  int       `json:"tokens"`
	Segment SegmentID `json:"segment,omitempty"` // whose summary it shows
	Version int       `json:"version,omitempty"` // of that summary
	Loops   []LoopID  `json:"loops,omitempty"`
	Error   string    `json:"error,omitempty"` // why the part was left out
	// Pages are what the part is made of. Its text is not stored with the epoch:
	// whoever reads one has it put together from them.
	Pages []PageRef `json:"pages,omitempty"`
}

// Snapshot is what a turn sent to the model, by reference (SPEC 5).
type Snapshot struct {
	Strategy         string            `json:"strategy"`
	Epoch            TurnID            `json:"epoch"`
	NewEpoch         string            `json:"new_epoch,omitempty"` // why one began
	Messages         IDSet             `json:"messages"`
	Revisions        map[MessageID]int `json:"revisions,omitempty"` // those above 0
	Parts            []PartTokens      `json:"parts"`
	Loaded           int               `json:"messages_loaded"`
	Included         int               `json:"messages_included"`
	Truncated        int               `json:"messages_truncated"` // shown shortened
	Dropped          int               `json:"messages_dropped_uncovered"`
	TodaySummary     bool              `json:"today_summary_present"`
	Yesterday        bool              `json:"yesterday_summary_present"`
	OpenLoops        int               `json:"open_loops_count"`
	LastConversation bool              `json:"last_conversation_present"`
	ToolTokens       int               `json:"tool_schema_tokens"`
	ClientTokens     int               `json:"client_tokens,omitempty"` // instructions of the client that asked, not in Total
	History          *HistoryCount     `json:"history,omitempty"`       // strategy long
	Total            int               `json:"total_tokens"`
	Cap              int               `json:"cap_tokens"`
	Model            string            `json:"model"`
	Usage            Usage             `json:"usage"`
	FirstTokenMS     int64             `json:"first_token_ms"`
	TotalMS          int64             `json:"total_ms"`
	Steps            int               `json:"steps"`
	Finish           Finish            `json:"finish,omitempty"`
}

// HistoryCount says what became of old messages in a prompt of the strategy long.
type HistoryCount struct {
	Pages      int `json:"pages"`
	LeftOut    int `json:"pages_left_out"`    // of which nothing is shown: no room, or not made yet
	Messages   int `json:"messages"`          // that the pages hold
	Raw        int `json:"raw"`               // of these, word for word
	Summarized int `json:"summarized"`        // shortened
	References int `json:"references"`        // that refer to an earlier one
	Omitted    int `json:"omitted"`           // of which nothing is left
	Original   int `json:"original_tokens"`   // of their texts
	Tokens     int `json:"tokens"`            // of what is shown
	UserTokens int `json:"user_tokens"`       // of that, what the user said
	UserTotal  int `json:"user_tokens_total"` // with the raw messages
}

// PartTokens is a part of a prompt and what it took.
type PartTokens struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Error  string `json:"error,omitempty"`
}

// Reply is the result of a turn, written in one transaction if the lease still holds.
type Reply struct {
	Turn     *Turn
	State    TurnState
	Now      time.Time
	Messages []NewMessage // tool calls and results, then the assistant's; none if stopped early
	Snapshot *Snapshot
	Epoch    *Epoch // a new one, or nil: UsedAt of the current one moves
	Usage    Usage
	Effects  []Effect
	// Deliveries carry the last message of Messages.
	Deliveries []NewDelivery
	// Compress asks for old messages to be compressed (SPEC 5.3).
	Compress bool
	// Summarize asks for a summary at once; else it is due when the segment has
	// SummarizeAfter unsummarized messages.
	Summarize      bool
	SummarizeAfter int
	Day            string // label of today, for the usage
	Error          string // for TurnFailed
}

// Prompt is what a turn sends to a model first.
type Prompt struct {
	Messages []ModelMessage
	// Sources runs parallel to Messages: which message of the transcript each
	// one shows, 0 for parts before the raw messages.
	Sources     []MessageID
	CachePrefix int
	Snapshot    Snapshot
	Epoch       *Epoch // a new one; nil: the current one goes on
	// Pressure asks for a summary at once (SPEC 6).
	Pressure bool
	// Compress asks for old messages to be compressed (SPEC 5.3).
	Compress bool
	// Request is what the client that asked wants besides; nil: nothing.
	Request *Request
}

// Answer is what a model made of a prompt. It is valid, if incomplete, beside an error.
type Answer struct {
	// Messages are the steps in order, ending with the assistant's words (if any).
	Messages   []NewMessage
	Usage      Usage
	Effects    []Effect
	FirstToken time.Duration
	Model      string
	Finish     Finish
	Steps      int
}

// Outcome is what a command answers, and what it changes.
type Outcome struct {
	Text    string
	Effects []Effect
}
