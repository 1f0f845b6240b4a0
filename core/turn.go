package core

import (
	"slices"
	"time"
)

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
	// Task is the task that the turn runs, which was due at Due; 0: none.
	Task TaskID
	Due  time.Time
	// Used is what attempts of this claim took that ended without a reply, to be
	// counted on Today (a day's label).
	Used  Usage
	Today string
	// Again: an earlier attempt of this claim was interrupted, as something was changed.
	Again bool
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
	// TaskTokensPerDay bounds what tasks take of a day beside TokensPerDay.
	TaskTokensPerDay int
	// Closed is until when nobody's turn begins, as the tokens of all are used up;
	// zero: they are not.
	Closed time.Time
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
	More            bool // there are messages older than Messages[0]
	// Thread counts what was said in the thread, by the user and the assistant; 0 if
	// an epoch goes on.
	Thread       int
	Edits        int64   // the thread's count of edits, redactions and regenerations
	Today        Segment // of the turn; zero in plain threads
	TodaySummary *Summary
	Last         Segment // the newest earlier one; zero if there is none
	LastSummary  *Summary
	Loops        []Loop // open ones, newest mention first, at most 20
	// News counts the changes of what heads show; those after Told are not in the
	// thread's prompt yet. If an epoch goes on, Changes are these, and Last is the
	// day that its head shows, with its summary if that is a newer one.
	News, Told int64
	Changes    HeadChanges
	// Compressed counts how often compression has made pages of the thread.
	Compressed int64
	// Pages are the newest that were asked for, oldest first, with the text of the
	// form that they have now; PagesBefore counts older ones.
	Pages       []Page
	PagesBefore int
}

// HeadChanges are what changed since a thread's prompt told of it last.
type HeadChanges struct {
	Loops  []Loop  // opened or closed, the newest change first, at most 20
	Themes []Theme // whose active items changed, the newest change first, at most 10
}

// Epoch fixes everything before the raw messages, and where these start, so
// that within it the prompt only grows.
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
	// Compressed is Window.Compressed when it began, PagesOut how many pages it left out.
	Compressed int64 `json:"compressed,omitempty"`
	PagesOut   int   `json:"pages_out,omitempty"`
	// What the thread held when it began: what was said, and what of it the prompt
	// left out though no summary covered it.
	Thread  int    `json:"thread,omitempty"`
	Dropped int    `json:"dropped,omitempty"`
	Budgets string `json:"budgets"` // fingerprint of the settings; another one begins a new epoch
	// Nonce is in the names of the fences around what is not the user's own words, so
	// that nobody whose words stand there could know how to close them. Empty: an
	// epoch from before there were any, whose derived parts are of role system.
	Nonce string `json:"nonce,omitempty"`
}

// News is what changed since the head of an epoch was fixed, as a note before a
// message of the user's tells it for the rest of the epoch.
type News struct {
	Text    string    `json:"text,omitempty"`    // "": redacted since, or the zone alone
	Loops   []LoopID  `json:"loops,omitempty"`   // that it names
	Segment SegmentID `json:"segment,omitempty"` // whose summary it quotes
	Version int       `json:"version,omitempty"` // of that summary
	Zone    string    `json:"zone,omitempty"`    // of time marks from here on; "": as before
	Tainted bool      `json:"tainted,omitempty"` // it tells of what was made from words that the person did not write
}

// TurnNews is news that a turn's prompt tells first, to be stored with the message
// that it stands before.
type TurnNews struct {
	Message MessageID
	News    News
	Edits   int64 // Window.Edits: if something was changed since, the text is not stored
}

// HeadPart is one part of a prompt before the raw messages, as it was shown.
type HeadPart struct {
	Name    string    `json:"name"` // instructions, policy, tools, memory, themes, last, loops, today, history
	Text    string    `json:"text"`
	Tokens  int       `json:"tokens"`
	Segment SegmentID `json:"segment,omitempty"` // whose summary it shows
	Version int       `json:"version,omitempty"` // of that summary
	Loops   []LoopID  `json:"loops,omitempty"`
	Tainted bool      `json:"tainted,omitempty"` // made from words that the person did not write
	Error   string    `json:"error,omitempty"`   // why the part was left out
	// Pages are what the part is made of, Before the first message on them if some
	// before it are left out. The text of such a part is not stored with the epoch:
	// readers put it together from the pages.
	Before MessageID `json:"before,omitempty"`
	Pages  []PageRef `json:"pages,omitempty"`
	// Hash names the text of a part that is shared, where the store keeps it. What the
	// store returns has the text, and no hash.
	Hash string `json:"hash,omitempty"`
}

// Parts of a head that are the gateway's own.
const (
	PartInstructions = "instructions"
	PartPolicy       = "policy"
	PartMemory       = "memory"
)

// Shared reports whether the part is the same for many users: it is what the gateway says
// to all, not shortened for this prompt, and no words of the person stand in it.
func (p HeadPart) Shared() bool {
	switch p.Name {
	case PartInstructions, PartPolicy, PartMemory:
		return p.Text != "" && p.Error == ""
	}
	return false
}

// Snapshot is what a turn sent to the model, by reference.
type Snapshot struct {
	Strategy         string            `json:"strategy"`
	Epoch            TurnID            `json:"epoch"`
	NewEpoch         string            `json:"new_epoch,omitempty"` // why one began
	Messages         IDSet             `json:"messages"`
	Revisions        map[MessageID]int `json:"revisions,omitempty"` // those above 0
	Parts            []PartTokens      `json:"parts"`
	Thread           int               `json:"messages_in_thread"` // said by the user and the assistant
	Loaded           int               `json:"messages_loaded"`    // Included, and what of the next two was read
	Included         int               `json:"messages_included"`
	LeftOut          int               `json:"messages_left_out_covered"`
	Dropped          int               `json:"messages_dropped_uncovered"`
	Truncated        int               `json:"messages_truncated"` // of those included, shown shortened
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
	Epoch    *Epoch    // a new one, or nil: UsedAt of the current one moves
	News     *TurnNews // what the prompt told besides
	Told     int64     // Window.News, of which the prompt has all; 0: as before
	Usage    Usage
	Effects  []Effect
	// Deliveries carry the last message of Messages.
	Deliveries []NewDelivery
	// Compress asks for old messages to be compressed.
	Compress bool
	// Speak asks for the last message to be spoken, too, if the turn is done.
	Speak bool
	// Summarize asks for a summary at once; else it is due when the segment has
	// SummarizeAfter unsummarized messages.
	Summarize      bool
	SummarizeAfter int
	Day            string // label of today, for the usage
	Error          string // for TurnFailed
	// Cause says why the run of a task failed or was skipped.
	Cause RunCause
}

// Prompt is what a turn sends to a model first.
type Prompt struct {
	Messages []ModelMessage
	// Sources runs parallel to Messages: which message of the transcript each
	// one shows, 0 for parts before the raw messages.
	Sources     []MessageID
	CachePrefix int
	Snapshot    Snapshot
	Epoch       *Epoch    // a new one; nil: the current one goes on
	News        *TurnNews // told first in this prompt; nil: none
	Told        int64     // as in Reply
	// Pressure asks for a summary at once.
	Pressure bool
	// Compress asks for old messages to be compressed.
	Compress bool
	// Request is what the client that asked wants besides; nil: nothing.
	Request *Request
	// Decides: the turn goes on with the answer to a question.
	Decides *Decision
	// Tainted: the prompt shows words that the person did not write there. Foreign
	// runs parallel to Messages: these hold them.
	Tainted bool
	Foreign []bool
	// Cut is what of the turn's own messages the prompt has no room for.
	Cut Cut
	// Heard: the turn answers a voice note. Unheard: one of them is longer than is written
	// down.
	Heard, Unheard bool
}

// Cut is how many tokens of some messages are left out, and how many they have.
type Cut struct{ Out, Of int }

// Percent is how much is left out, of a hundred: 0 only if that is nothing.
func (c Cut) Percent() int {
	if c.Out <= 0 || c.Of <= 0 {
		return 0
	}
	return max(1, c.Out*100/c.Of)
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
	// Question is what the person is asked before a call is made; the last of
	// Messages says so.
	Question *Question
	Tainted  bool // the turn read words that the person did not write there
}

// Question is a call that waits for a yes.
type Question struct {
	Call ToolCall
	// Tainted: the turn read words that the person did not write there, which is why
	// even a call that is otherwise allowed asks.
	Tainted bool
}

// Outcome is what a command answers, and what it changes.
type Outcome struct {
	Text    string
	Buttons []Button // below Text, where the channel has any
	Others  string   // what all other identities of the person are told
	Greet   *Greeting
	Effects []Effect
	// Decides: the message answers a question of a turn, which a new one goes on with.
	Decides *Decision
}

// With returns the outcome with effects besides those that it has.
func (o Outcome) With(effects ...Effect) Outcome {
	o.Effects = slices.Concat(o.Effects, effects)
	return o
}

// Greeting is what an address is told that has just become the person's.
type Greeting struct {
	To   Address
	Text string
}

// Decision is how a message answered a question of a turn.
type Decision struct {
	Approval ApprovalID `json:"approval"`
	Yes      bool       `json:"yes"`
}

// Grant asks for tokens of a day for a process.
type Grant struct {
	Day    string // YYYY-MM-DD in UTC
	Worker string
	Used   int // by the process, of what it was granted on the day so far
	Want   int // more than it has; 0: none, as with an Until that is over
	PerDay int // of all processes together
	Now    time.Time
	Until  time.Time // of the lease of what is granted
}
