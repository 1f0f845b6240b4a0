package core

import (
	"context"
	"time"
)

// Via is the means by which somebody acts.
type Via string

// Ways to act.
const (
	ViaIdentity Via = "identity" // an address in a chat
	ViaSession  Via = "session"  // a signed-in browser
	ViaKey      Via = "key"      // an API key
	ViaOperator Via = "operator" // the command line on the machine
	ViaGateway  Via = "gateway"  // the gateway itself
)

// Actor identifies who acts: by the id of the identity, session or key. At is when it began.
type Actor struct {
	Via Via
	ID  int64
	At  time.Time
}

type actorKey struct{}

// WithActor returns a context whose changes the store attributes to a; the zero Actor is nobody.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context; ok is false if it has none.
func ActorOf(ctx context.Context) (a Actor, ok bool) {
	a, _ = ctx.Value(actorKey{}).(Actor)
	return a, a.Via != ""
}

// AuditID identifies an audit row. It is counted per user.
type AuditID int64

// AuditWhat is the kind of an audited action.
type AuditWhat string

// Audited actions: every use of CanAccount and CanAdmin that changes or discloses
// something, every approval and its answer, every effect outside the gateway.
const (
	AuditSettings    AuditWhat = "settings"      // changed
	AuditName        AuditWhat = "name"          // changed
	AuditForget      AuditWhat = "forget"        // messages were redacted
	AuditApprove     AuditWhat = "let_in"        // a stranger was admitted
	AuditDeny        AuditWhat = "turned_away"   // a stranger was denied
	AuditLinkCode    AuditWhat = "link_code"     // was made
	AuditLinkTry     AuditWhat = "link_try"      // a code was tried, valid or not
	AuditLink        AuditWhat = "link"          // an address, or a user, was joined to this one
	AuditUnlink      AuditWhat = "unlink"        // an identity was detached
	AuditMerged      AuditWhat = "merged"        // the source user's identities were taken over
	AuditMerge       AuditWhat = "merge"         // a merge was requested
	AuditSignInLink  AuditWhat = "sign_in_link"  // was made
	AuditSignIn      AuditWhat = "sign_in"       // of a browser
	AuditSignOut     AuditWhat = "sign_out"      // of one browser, or of all
	AuditKeyMade     AuditWhat = "key_made"      // an API key
	AuditKeyRevoked  AuditWhat = "key_revoked"   // an API key
	AuditAgentMade   AuditWhat = "agent_made"    // the key of a personal agent
	AuditAgentGone   AuditWhat = "agent_removed" // the key of a personal agent
	AuditIdentity    AuditWhat = "identity"      // was given to a user
	AuditUserMade    AuditWhat = "user_made"     // an account was created
	AuditUserDeleted AuditWhat = "user_deleted"  // a row of user 0, as the user's own are gone
	AuditExport      AuditWhat = "export"        // a full export
	AuditRetry       AuditWhat = "retry"         // of a delivery or a job
	AuditCommand     AuditWhat = "command"       // a refused command
	AuditQuestion    AuditWhat = "question"      // an approval was asked, answered or expired
	AuditCall        AuditWhat = "call"          // of a tool that may change something outside
)

// AuditResult is the result of an audited action.
type AuditResult string

// Results.
const (
	ResultDone    AuditResult = "done"
	ResultFailed  AuditResult = "failed"
	ResultRefused AuditResult = "refused"
	ResultBegun   AuditResult = "begun"   // a call; another row records its end
	ResultUnknown AuditResult = "unknown" // a call whose process died, or that did not answer in time
	ResultAsked   AuditResult = "asked"
	ResultYes     AuditResult = "yes"
	ResultNo      AuditResult = "no"
	ResultExpired AuditResult = "expired"
)

// AuditRow records one action. It never holds message text. Its JSON is the form in the
// command line's output and in exports.
type AuditRow struct {
	User   UserID      `json:"user_id"` // 0: a deleted user
	ID     AuditID     `json:"id"`
	At     time.Time   `json:"at"`
	Via    Via         `json:"via"`
	ViaID  int64       `json:"via_id,omitempty"` // of the identity, session or key
	What   AuditWhat   `json:"what"`
	Object string      `json:"object,omitempty"` // kind of IDs: user, identity, session, key, message, turn, question, …
	IDs    []int64     `json:"ids,omitempty"`    // at most 100
	Tool   string      `json:"tool,omitempty"`   // of a tool call, or of an approval about one
	Result AuditResult `json:"result"`
}
