package core

import (
	"slices"
	"time"
)

// Capability is a permission of an identity, a key or a session. A person's own identities and sessions have all but
// CanAdmin, which is the owner's. A key has those that it was made with, and never CanAccount.
type Capability string

// Capabilities. CanTalk is stored as "chat", its name before capabilities.
const (
	CanTalk    Capability = "chat"    // write messages, and read the answers
	CanRead    Capability = "read"    // read and search the conversation
	CanMemory  Capability = "memory"  // read and change memory, loops and reminders
	CanAccount Capability = "account" // settings, identities, sessions, keys, forgetting, export
	CanAdmin   Capability = "admin"   // reserved to the owner
)

// OwnWords is a scope of a key whose program is the person's own app: what it writes in their name are their words. What
// other programs write may be anybody's.
const OwnWords Capability = "own"

// Request holds the options that a client of the HTTP interfaces sends with a message.
// It is stored with the message, so that a re-run of the turn has it.
type Request struct {
	// Instructions follow those of the configuration, for this turn only.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the client's own: a call of one ends the turn, and its result arrives as a message of RoleTool.
	Tools []ToolSpec `json:"tools,omitempty"`
	// Choice says which tools the model may use: "" or auto, none, required, or the name of one.
	Choice    string `json:"choice,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"` // of the answer; 0: as configured
	// Strategy is the strategy for the prompt; empty: the user's.
	Strategy string `json:"strategy,omitempty"`
	// Trace is the trace id of the request's traceparent header; empty: it had none.
	Trace string `json:"trace,omitempty"`
}

// APIKey lets a program act for a user.
type APIKey struct {
	User      UserID
	ID        int64 // unique among all users
	Name      string
	Hash      string // hex SHA-256 of the key
	Hint      string // the beginning of the key, shown in lists
	Scopes    []Capability
	CreatedAt time.Time
	UsedAt    time.Time // zero: never
}

// Allows reports whether the key has a capability. No key has CanAccount, whatever its Scopes.
func (k APIKey) Allows(c Capability) bool {
	return c != CanAccount && slices.Contains(k.Scopes, c)
}
