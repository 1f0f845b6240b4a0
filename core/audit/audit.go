// Package audit is the vocabulary of the audit: what is recorded of actions, without words of people.
package audit

import (
	"time"

	"github.com/everthread/everthread/core"
)

// ID identifies an audit row. It is counted per user.
type ID int64

// What is the kind of an audited action.
type What string

// Audited actions: every use of CanAccount and CanAdmin that changes or discloses
// something, every approval and its answer, every effect outside the gateway.
const (
	Settings    What = "settings"             // changed
	Setup       What = "setup"                // a key of the configuration was set or removed on the page
	Name        What = "name"                 // changed
	Forget      What = "forget"               // messages were redacted
	Approve     What = "let_in"               // a stranger was admitted
	Deny        What = "turned_away"          // a stranger was denied
	LinkCode    What = "link_code"            // was made
	LinkTry     What = "link_try"             // a code was tried, valid or not
	Link        What = "link"                 // an address, or a user, was joined to this one
	Unlink      What = "unlink"               // an identity was detached
	Merged      What = "merged"               // the source user's identities were taken over
	Merge       What = "merge"                // a merge was requested
	SignInLink  What = "sign_in_link"         // was made
	SignIn      What = "sign_in"              // of a browser
	SignOut     What = "sign_out"             // of one browser, or of all
	KeyMade     What = "key_made"             // an API key
	KeyRevoked  What = "key_revoked"          // an API key
	AgentMade   What = "agent_made"           // the key of a personal agent
	AgentGone   What = "agent_removed"        // the key of a personal agent
	Connected   What = "service_connected"    // access was granted to a service
	Unconnected What = "service_disconnected" // its end, by the user or by the service
	Identity    What = "identity"             // was given to a user
	UserMade    What = "user_made"            // an account was created
	UserDeleted What = "user_deleted"         // a row of user 0, as the user's own are gone
	Export      What = "export"               // a full export
	Retry       What = "retry"                // of a delivery or a job
	Command     What = "command"              // a refused command
	Question    What = "question"             // an approval was asked, answered or expired
	Allowed     What = "allowed"              // a tool, until a time
	Call        What = "call"                 // of a tool that may change something outside
)

// Result is the result of an audited action.
type Result string

// Results.
const (
	Done    Result = "done"
	Failed  Result = "failed"
	Refused Result = "refused"
	Begun   Result = "begun"   // a call; another row records its end
	Unknown Result = "unknown" // a call whose process died, or that did not answer in time
	Asked   Result = "asked"
	Yes     Result = "yes"
	No      Result = "no"
	Expired Result = "expired"
)

// Row records one action. It never holds message text. Its JSON is the form in the
// command line's output and in exports.
type Row struct {
	User   core.UserID `json:"user_id"` // 0: a deleted user
	ID     ID          `json:"id"`
	At     time.Time   `json:"at"`
	Via    core.Via    `json:"via"`
	ViaID  int64       `json:"via_id,omitempty"` // of the identity, session or key
	What   What        `json:"what"`
	Object string      `json:"object,omitempty"` // kind of IDs: user, identity, session, key, message, turn, question, …
	IDs    []int64     `json:"ids,omitempty"`    // at most 100
	Tool   string      `json:"tool,omitempty"`   // of a tool call, or of an approval about one; of Setup, the key
	Result Result      `json:"result"`
}
