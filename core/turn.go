package core

import (
	"slices"
	"time"
)

// TurnState is the state of a turn.
type TurnState string

// States of turns.
const (
	TurnRunning TurnState = "running" // claimed, or waiting for a retry
	TurnDone    TurnState = "done"
	TurnStopped TurnState = "stopped" // by the person
	TurnFailed  TurnState = "failed"  // gave up; its inputs are pending again
)

// Turn is the work from one or more pending user messages to one reply. It fixes the
// destination of the reply, which never depends on where the thread was last used.
type Turn struct {
	User      UserID
	ID        TurnID
	Thread    ThreadID
	Mode      Mode
	Title     string // of a plain thread; empty if somebody else than its person may have written it
	Identity  IdentityID
	Address   Address     // of Identity
	Inputs    []MessageID // in order of their positions
	Event     string      // EventID of the last input; "" if unknown
	Reply     string      // NativeID of the last input in a group chat, to which the answer replies; else empty
	Segment   SegmentID   // of the last input
	State     TurnState
	Lease     Lease
	StartedAt time.Time // the first claim, from which the time to give up counts
	Failures  int       // attempts that failed with an error
	LastError string
	Reserved  int // reserved tokens of the day's budget: Budget.Reserve or Budget.Least
	// Solo: no later message may join the turn.
	Solo bool
	// Task is the task that the turn runs, which was due at Due; 0: none.
	Task PlanID
	Due  time.Time
	// Model is the choice of model that Task keeps; empty: the default. Other turns follow Settings.Model.
	Model string
	// Used is the usage of attempts of this claim that ended without a reply. It counts
	// towards the day Today (a label).
	Used  Bill
	Today string
	// Again: a change of the inputs interrupted an earlier attempt of this claim.
	Again bool
}

// Lease is a claim on a job. It is valid until Until, and only the holder of the newest
// Attempt may write the job's result (ErrFenced otherwise).
type Lease struct {
	Job     JobID
	Key     string
	Attempt int
	Until   time.Time
}

// News is what a note before a user message tells the model: changes since the head of the epoch was fixed, for the
// rest of that epoch, and what was sent to the person unasked, for as long as the message is shown.
type News struct {
	Text    string    `json:"text,omitempty"`    // lines of changes; "": none, or redacted since
	Sent    string    `json:"sent,omitempty"`    // lines of what was sent unasked; "": nothing, or redacted since
	Loops   []LoopID  `json:"loops,omitempty"`   // loops named in it
	Segment SegmentID `json:"segment,omitempty"` // the segment whose summary it quotes
	Version int       `json:"version,omitempty"` // of that summary
	Zone    string    `json:"zone,omitempty"`    // of time marks from here on; "": unchanged
	Tainted bool      `json:"tainted,omitempty"` // it derives from words that the person did not write
}

// Parts of a head that hold text of the gateway itself.
const (
	PartInstructions = "instructions"
	PartPolicy       = "policy"
)

// Progress is told about an answer while it is made.
type Progress struct {
	Text func(soFar string) // the whole answer so far, each time it grows
	// Acts is called before a tool acts outside our own store. If the context has ended when it returns, the tool does
	// not run.
	Acts func()
}

// Answer is a model's answer to a prompt. It is valid, if incomplete, even with an error.
type Answer struct {
	// Messages holds the steps in order, ending with the assistant's text (if any).
	Messages   []NewMessage
	Spent      Bill
	Effects    []Effect
	FirstToken time.Duration
	Model      string
	Instead    bool // a fallback answered
	Finish     Finish
	Steps      int
	Reduced    []Reduction // of its requests
	// Question asks the person to approve a call; the last of Messages says so.
	Question *Question
	Tainted  bool // the turn read words that the person did not write there
	// Searched are the queries that were sent to a search service after it had read such words.
	Searched []string
}

// Question is a tool call that waits for a yes.
type Question struct {
	Call ToolCall
	// Tainted: the turn read words that the person did not write there, so even an allowed call needs an approval.
	Tainted bool
}

// Outcome is the result of a command.
type Outcome struct {
	Text    string
	Buttons []Button // below Text, where the channel has them
	Others  string   // sent to all other identities of the person
	Greet   *Greeting
	Effects []Effect
	Answers string // the command, if the model may see Text
	Tainted bool   // Text has words that the person did not write
	// Decides: the message answers a question of a turn, which a new turn continues.
	Decides *Decision
	// Asks: a new turn answers this text, as if the person had written it; with ContinueCommand it goes on with the last
	// answer, which is unfinished. Empty: none does.
	Asks string
	// Once: a Text beside a message that is no command is sent once under this key.
	Once string
}

// ContinueCommand is the text of the message with which a person has an unfinished answer continued.
const ContinueCommand = "/continue"

// With returns the outcome with additional effects.
func (o Outcome) With(effects ...Effect) Outcome {
	o.Effects = slices.Concat(o.Effects, effects)
	return o
}

// Greeting is a message to an address that has just become the person's.
type Greeting struct {
	To   Address
	Text string
}

// Decision is the answer of a message to a question of a turn.
type Decision struct {
	Approval ApprovalID `json:"approval"`
	Yes      bool       `json:"yes"`
	// Always: with a yes, the tool is allowed for AllowLife.
	Always bool `json:"always,omitempty"`
}
