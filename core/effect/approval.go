package effect

import (
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
)

// AskApproval stores an approval. The store sets its User and ID; its Message is the
// last one stored in the same transaction.
type AskApproval struct{ Approval Approval }

// Decide answers an approval. It fails with core.ErrRefused if it was answered before, has
// expired or was asked at another identity.
type Decide struct {
	Approval core.ApprovalID
	Identity core.IdentityID
	Yes      bool
	At       time.Time
}

func (AskApproval) Effect() {}
func (Decide) Effect()      {}

// UseYes spends a yes to an account change. It fails with core.ErrRefused if no valid one is left.
type UseYes struct {
	Approval core.ApprovalID
	At       time.Time
}

// AddKey stores an API key of the user.
type AddKey struct{ Key core.APIKey }

// RevokeKey removes an API key. It fails with core.ErrNotFound if there is none.
type RevokeKey struct{ Key int64 }

// EndSession signs a browser out. It fails with core.ErrNotFound if there is none.
type EndSession struct{ Session int64 }

func (UseYes) Effect()     {}
func (AddKey) Effect()     {}
func (RevokeKey) Effect()  {}
func (EndSession) Effect() {}

// Tell writes an audit row.
type Tell struct{ Row audit.Row }

func (Tell) Effect() {}

// LinkSubject is the Subject of an approval about two addresses.
type LinkSubject struct {
	Hash     string          `json:"hash"`     // of the used code
	User     core.UserID     `json:"user"`     // of the other side; 0: a stranger
	Identity core.IdentityID `json:"identity"` // of the other side, if it has a user
	Address  core.Address    `json:"address"`  // of the other side
	Name     string          `json:"name"`     // display name of the other side
	Owner    bool            `json:"owner"`    // ownership of the gateway changes
}

// CallSubject is the one tool call that a yes runs, once.
type CallSubject struct {
	Call core.ToolCall `json:"call"`
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
	User    core.UserID   `json:"user,omitempty"`   // to sign in
}

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

// Approval is a question to the user. A yes authorises exactly the action in Subject, once.
type Approval struct {
	User     core.UserID
	ID       core.ApprovalID
	Code     string // identifies the question in a button
	Kind     ApprovalKind
	State    ApprovalState
	Identity core.IdentityID // where it was asked, and the only place to answer it
	Message  core.MessageID  // the question, in the transcript
	Turn     core.TurnID     // the turn that asked; 0: none
	// Word must be typed for a yes; empty: a plain yes is enough.
	Word      string
	Subject   string // JSON
	AskedAt   time.Time
	Expires   time.Time
	DecidedAt time.Time
}

// Open reports whether the question may still be answered.
func (a Approval) Open(now time.Time) bool { return a.State == ApprovalOpen && now.Before(a.Expires) }
