package core

import (
	"context"
	"time"
)

// Via says through what somebody acts.
type Via string

// Ways to act.
const (
	ViaIdentity Via = "identity" // an address in a chat
	ViaSession  Via = "session"  // a browser that is signed in
	ViaKey      Via = "key"      // an API key
	ViaOperator Via = "operator" // the command line on the machine
	ViaGateway  Via = "gateway"  // nobody: the gateway itself
)

// Actor is through what somebody acts: the id of the identity, session or key, and
// since when the act goes on.
type Actor struct {
	Via Via
	ID  int64
	At  time.Time
}

type actorKey struct{}

// WithActor returns a context in which the store writes down who acts; the zero
// Actor is nobody.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns who acts in a context; ok is false if that is not known.
func ActorOf(ctx context.Context) (a Actor, ok bool) {
	a, _ = ctx.Value(actorKey{}).(Actor)
	return a, a.Via != ""
}

// AuditID names a row of the audit. It is counted per user.
type AuditID int64

// AuditWhat says what was done.
type AuditWhat string

// What is written down: every use of CanAccount and CanAdmin that changes something
// or gives it out, every question and its answer, every outside effect.
const (
	AuditSettings    AuditWhat = "settings"      // changed
	AuditName        AuditWhat = "name"          // changed
	AuditForget      AuditWhat = "forget"        // messages were redacted
	AuditApprove     AuditWhat = "let_in"        // a stranger, as a user
	AuditDeny        AuditWhat = "turned_away"   // a stranger
	AuditLinkCode    AuditWhat = "link_code"     // was made
	AuditLinkTry     AuditWhat = "link_try"      // a code was used, rightly or wrongly
	AuditLink        AuditWhat = "link"          // an address, or a user, became this one
	AuditUnlink      AuditWhat = "unlink"        // an identity was detached
	AuditMerged      AuditWhat = "merged"        // identities came with a user who is one with this one now
	AuditSplit       AuditWhat = "split"         // an identity goes with all that came through it
	AuditMove        AuditWhat = "merge"         // two users are to be one
	AuditSignInLink  AuditWhat = "sign_in_link"  // was made
	AuditSignIn      AuditWhat = "sign_in"       // of a browser
	AuditSignOut     AuditWhat = "sign_out"      // of one browser, or of all
	AuditKeyMade     AuditWhat = "key_made"      // an API key
	AuditKeyRevoked  AuditWhat = "key_revoked"   // an API key
	AuditAgentMade   AuditWhat = "agent_made"    // the key of a personal agent
	AuditAgentGone   AuditWhat = "agent_removed" // the key of a personal agent
	AuditIdentity    AuditWhat = "identity"      // was given to a user
	AuditUserMade    AuditWhat = "user_made"     //
	AuditUserDeleted AuditWhat = "user_deleted"  // a row of user 0, for theirs are gone
	AuditExport      AuditWhat = "export"        // of everything
	AuditRetry       AuditWhat = "retry"         // of a delivery or a job
	AuditCommand     AuditWhat = "command"       // that was refused
	AuditQuestion    AuditWhat = "question"      // was asked, answered, or its time was over
	AuditCall        AuditWhat = "call"          // of a tool that may change something outside
)

// AuditResult says what came of it.
type AuditResult string

// Results.
const (
	ResultDone    AuditResult = "done"
	ResultFailed  AuditResult = "failed"
	ResultRefused AuditResult = "refused"
	ResultBegun   AuditResult = "begun"   // a call, whose end another row tells
	ResultUnknown AuditResult = "unknown" // a call that was begun by a process that died
	ResultAsked   AuditResult = "asked"
	ResultYes     AuditResult = "yes"
	ResultNo      AuditResult = "no"
	ResultExpired AuditResult = "expired"
)

// AuditRow is one thing that was done, never with words of a person. Its JSON is
// what the command line and an export show.
type AuditRow struct {
	User   UserID      `json:"user_id"` // 0: a deleted user
	ID     AuditID     `json:"id"`
	At     time.Time   `json:"at"`
	Via    Via         `json:"via"`
	ViaID  int64       `json:"via_id,omitempty"` // of the identity, session or key
	What   AuditWhat   `json:"what"`
	Object string      `json:"object,omitempty"` // what IDs are of: user, identity, session, key, message, turn, question, …
	IDs    []int64     `json:"ids,omitempty"`    // at most 100
	Tool   string      `json:"tool,omitempty"`   // of a call, or of the call that a question is about
	Result AuditResult `json:"result"`
}

// AuditQuery asks for rows, newest first.
type AuditQuery struct {
	User  UserID // 0 with All: everybody's
	All   bool
	Since time.Time // zero: no bound
	// Before continues a list after its last row; its At, User and ID count.
	Before AuditRow
	Limit  int
}

// AuditStore keeps what was done. Rows are written with what they tell of.
type AuditStore interface {
	// Audit lists rows, newest first, then by user and id.
	Audit(ctx context.Context, q AuditQuery) ([]AuditRow, error)
	// PutAudit writes a row of what leaves nothing else in the store.
	PutAudit(ctx context.Context, user UserID, r AuditRow) error
	// SweepAudit removes rows of before a time, and returns how many.
	SweepAudit(ctx context.Context, before time.Time) (int, error)
	// ExpireApprovals closes questions whose time is over, and returns how many.
	ExpireApprovals(ctx context.Context, now time.Time) (int, error)
}

// Tell writes a row, as an effect.
type Tell struct{ Row AuditRow }

func (Tell) effect() {}

// CallRecord is what the journal keeps of a call of an outside tool.
type CallRecord struct {
	Turn        TurnID
	By          Actor // through whom the turn came; zero: through nobody
	Step, Index int
	Tool        string
	Text        string
	At          time.Time
	// Result is what the audit tells; empty: the call only read.
	Result AuditResult
}
