package core

import (
	"time"
)

// ApprovalID identifies an approval. It is counted per user.
type ApprovalID int64

// ApprovalKind is the subject of an approval.
type ApprovalKind string

// Kinds of approvals.
const (
	ApproveCall ApprovalKind = "call" // a call of an outside tool: Subject is a CallSubject
	ApproveJoin ApprovalKind = "join" // a merge with the user who made a code: Subject is a LinkSubject
	ApproveLink ApprovalKind = "link" // a new address of the user: Subject is a LinkSubject
	// ApproveAccount is a change requested by a browser: Subject is an AccountSubject.
	ApproveAccount ApprovalKind = "account"
)

// ApprovalState is the state of an approval.
type ApprovalState string

// States of an approval. One that is open past its Expires counts as expired.
const (
	ApprovalOpen ApprovalState = "open"
	ApprovalYes  ApprovalState = "yes"
	ApprovalNo   ApprovalState = "no"
	ApprovalLate ApprovalState = "expired" // nobody answered in time
	ApprovalUsed ApprovalState = "used"    // a yes, spent on its call or account change
)

// How long an approval stays open, and how long one about linking does.
const (
	ApprovalLife = time.Hour
	LinkLife     = 10 * time.Minute
)

// Approval is a question to the user. A yes authorises exactly the action in Subject, once.
type Approval struct {
	User     UserID
	ID       ApprovalID
	Code     string // identifies the question in a button
	Kind     ApprovalKind
	State    ApprovalState
	Identity IdentityID // where it was asked, and the only place to answer it
	Message  MessageID  // the question, in the transcript
	Turn     TurnID     // the turn that asked; 0: none
	// Word must be typed for a yes; empty: a plain yes is enough.
	Word      string
	Subject   string // JSON
	AskedAt   time.Time
	Expires   time.Time
	DecidedAt time.Time
}

// Open reports whether the question may still be answered.
func (a Approval) Open(now time.Time) bool { return a.State == ApprovalOpen && now.Before(a.Expires) }

// AccountLife is how long a yes to an account change is valid.
const AccountLife = 10 * time.Minute

// UndoLife is how long an account change can be undone.
const UndoLife = 24 * time.Hour
