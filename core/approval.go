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

// LinkSubject is the Subject of an approval about two addresses.
type LinkSubject struct {
	Hash     string     `json:"hash"`     // of the used code
	User     UserID     `json:"user"`     // of the other side; 0: a stranger
	Identity IdentityID `json:"identity"` // of the other side, if it has a user
	Address  Address    `json:"address"`  // of the other side
	Name     string     `json:"name"`     // display name of the other side
	Owner    bool       `json:"owner"`    // ownership of the gateway changes
}

// CallSubject is the one tool call that a yes runs, once.
type CallSubject struct {
	Call ToolCall `json:"call"`
	// Result is the journal entry of the call; empty though the yes is used: how the call ended is unknown.
	Result string `json:"result,omitempty"`
}

// AccountChange is an account change that needs an approval.
type AccountChange string

// Changes that need an approval, unless requested on the machine itself.
const (
	ChangeAdminKey AccountChange = "admin_key" // a key with CanAdmin
	ChangeSignIn   AccountChange = "sign_in"   // a link that signs another user in
	ChangeDelete   AccountChange = "delete"    // account deletion
	ChangeExport   AccountChange = "export"    // a full export
)

// Changes that need no approval, and are told.
const (
	ChangeKey   AccountChange = "key"   // a key without CanAdmin
	ChangeAgent AccountChange = "agent" // a personal agent, which speaks as the user
)

// AccountSubject is the one change that a yes allows.
type AccountSubject struct {
	Change  AccountChange `json:"change"`
	Session int64         `json:"session"`          // the requesting session, the only one that may proceed
	Name    string        `json:"name,omitempty"`   // of the key, or of the user to sign in
	Scopes  []string      `json:"scopes,omitempty"` // of the key
	User    UserID        `json:"user,omitempty"`   // to sign in
}

// AccountLife is how long a yes to an account change is valid.
const AccountLife = 10 * time.Minute

// UndoLife is how long an account change can be undone.
const UndoLife = 24 * time.Hour
