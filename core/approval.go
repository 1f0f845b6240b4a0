package core

import (
	"context"
	"time"
)

// ApprovalID names an approval. It is counted per user.
type ApprovalID int64

// ApprovalKind says what is asked for.
type ApprovalKind string

// Kinds of approvals.
const (
	ApproveCall ApprovalKind = "call" // a call of an outside tool: Subject is a CallSubject
	ApproveJoin ApprovalKind = "join" // to become one with who made a code: Subject is a LinkSubject
	ApproveLink ApprovalKind = "link" // an address is to be the user's: Subject is a LinkSubject
	// ApproveAccount is for a change that a browser asks for: Subject is an AccountSubject.
	ApproveAccount ApprovalKind = "account"
)

// ApprovalState says what became of a question.
type ApprovalState string

// States of an approval. An open one whose time is over has expired, too.
const (
	ApprovalOpen ApprovalState = "open"
	ApprovalYes  ApprovalState = "yes"
	ApprovalNo   ApprovalState = "no"
	ApprovalLate ApprovalState = "expired" // nobody answered in time
	ApprovalUsed ApprovalState = "used"    // a yes to an account change that was made
)

// How long a question may be answered, and how long one of an account change.
const (
	ApprovalLife = time.Hour
	LinkLife     = 10 * time.Minute
)

// Approval is a question that something waits for. A yes runs what Subject says,
// once, and nothing else.
type Approval struct {
	User     UserID
	ID       ApprovalID
	Code     string // what a button names the question by
	Kind     ApprovalKind
	State    ApprovalState
	Identity IdentityID // where it was asked; it can be answered from there only
	Message  MessageID  // the question, in the transcript
	Turn     TurnID     // that asked; 0: none
	// Word is what has to be typed for a yes; empty: a yes is enough.
	Word      string
	Subject   string // JSON
	AskedAt   time.Time
	Expires   time.Time
	DecidedAt time.Time
}

// Open reports whether the question may still be answered.
func (a Approval) Open(now time.Time) bool { return a.State == ApprovalOpen && now.Before(a.Expires) }

// LinkSubject is what a question about two addresses is bound to.
type LinkSubject struct {
	Hash     string     `json:"hash"`     // of the code that was used
	User     UserID     `json:"user"`     // the other side's user; 0: it has none
	Identity IdentityID `json:"identity"` // the other side, if it has a user
	Address  Address    `json:"address"`  // the other side
	Name     string     `json:"name"`     // as it calls itself
	Owner    bool       `json:"owner"`    // the gateway changes hands
}

// CallSubject is the one call that a yes runs.
type CallSubject struct {
	Call ToolCall `json:"call"`
}

// ApprovalReader reads what was asked.
type ApprovalReader interface {
	// Approval returns a question, or ErrNotFound.
	Approval(ctx context.Context, user UserID, id ApprovalID) (Approval, error)
	// OpenApprovals lists the questions that an identity may answer, oldest first,
	// and the newest words of the assistant in its thread (0: the continuous one).
	OpenApprovals(ctx context.Context, user UserID, identity IdentityID, thread ThreadID,
		now time.Time) (open []Approval, newest MessageID, err error)
	// Approvals lists a user's questions before one (0: all), newest first.
	Approvals(ctx context.Context, user UserID, before ApprovalID, limit int) ([]Approval, error)
}

// AskApproval stores a question. Its User and ID are given by the store, and its
// Message is the last one that is stored with it.
type AskApproval struct{ Approval Approval }

// Decide answers a question from the identity where it was asked. It fails with
// ErrRefused if it was answered before, has expired or was asked elsewhere.
type Decide struct {
	Approval ApprovalID
	Identity IdentityID
	Yes      bool
	At       time.Time
}

func (AskApproval) effect() {}
func (Decide) effect()      {}

// AccountChange is a change of an account that asks first.
type AccountChange string

// Changes that ask first, wherever they are asked for but on the machine itself.
const (
	ChangeAdminKey AccountChange = "admin_key" // a key with CanAdmin
	ChangeSignIn   AccountChange = "sign_in"   // a link that signs somebody else in
	ChangeDelete   AccountChange = "delete"    // the account, with everything
	ChangeExport   AccountChange = "export"    // of everything
)

// AccountSubject is the one change that a yes is for.
type AccountSubject struct {
	Change  AccountChange `json:"change"`
	Session int64         `json:"session"`          // that asks, and may do it
	Name    string        `json:"name,omitempty"`   // of a key, or of who is signed in
	Scopes  []string      `json:"scopes,omitempty"` // of a key
	User    UserID        `json:"user,omitempty"`   // who is signed in
}

// AccountLife is how long a yes to an account change counts.
const AccountLife = 10 * time.Minute

// UndoLife is how long an account change can be undone.
const UndoLife = 24 * time.Hour

// UseYes uses a yes to an account change up. It fails with ErrRefused if there is
// none any more.
type UseYes struct {
	Approval ApprovalID
	At       time.Time
}

// AddKey stores an API key of the user.
type AddKey struct{ Key APIKey }

// Also stores words of the gateway for another user, and what they change there,
// in the same transaction. It fails with ErrNotFound if there is no such user, and
// with ErrMoving while nothing may be written for them.
type Also struct{ Note Note }

// RevokeKey removes an API key. It fails with ErrNotFound if there is none.
type RevokeKey struct{ Key int64 }

// EndSession signs a browser out. It fails with ErrNotFound if there is none.
type EndSession struct{ Session int64 }

func (UseYes) effect()     {}
func (AddKey) effect()     {}
func (Also) effect()       {}
func (RevokeKey) effect()  {}
func (EndSession) effect() {}
