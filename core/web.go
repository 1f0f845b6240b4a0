package core

import (
	"context"
	"slices"
	"time"
)

// Session is one signed-in browser.
type Session struct {
	User      UserID
	ID        int64      // unique among all users
	Hash      string     // hex SHA-256 of the cookie's token
	Identity  IdentityID // where the link was requested; 0: unknown
	Browser   string     // the browser's name for itself, at most 200 bytes
	CreatedAt time.Time
	UsedAt    time.Time
	Expires   time.Time
}

// EndsWithout reports whether detaching an identity ends the session.
func (s Session) EndsWithout(id IdentityID) bool { return s.Identity == id || s.Identity == 0 }

// SessionStore keeps the sessions of the web page.
type SessionStore interface {
	// SignIn uses up a CodeWeb and starts a session of its user. The store sets s.User
	// and s.ID. ErrRefused if the code is not valid.
	SignIn(ctx context.Context, codeHash string, s Session, now time.Time) (Session, error)
	// SignsIn returns the user of a CodeWeb and its expiry without using it, or ErrNotFound if it is not valid.
	SignsIn(ctx context.Context, codeHash string, now time.Time) (u User, until time.Time, err error)
	// Session returns the session of a token's hash and its user, or ErrNotFound if there is none or it has expired.
	Session(ctx context.Context, hash string, now time.Time) (Session, User, error)
	// UseSession records when a session was last used, and extends it.
	UseSession(ctx context.Context, user UserID, id int64, used, expires time.Time) error
	// Sessions lists a user's sessions that have not expired, last used first.
	Sessions(ctx context.Context, user UserID, now time.Time) ([]Session, error)
	// EndSession ends a user's session, or all of them if id is 0.
	EndSession(ctx context.Context, user UserID, id int64) error
}

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

// OwnWords is a scope of a key whose program is the person's own app: what it writes in their name are their words. What
// other programs write may be anybody's.
const OwnWords Capability = "own"

// APIKeyStore keeps API keys.
type APIKeyStore interface {
	// AddAPIKey stores a key and assigns its ID.
	AddAPIKey(ctx context.Context, k APIKey) (APIKey, error)
	// APIKey returns the key of a hash and its user, or ErrNotFound.
	APIKey(ctx context.Context, hash string) (APIKey, User, error)
	// APIKeys lists a user's keys, newest first.
	APIKeys(ctx context.Context, user UserID) ([]APIKey, error)
	// UseAPIKey records when a key was last used.
	UseAPIKey(ctx context.Context, user UserID, id int64, at time.Time) error
	// RevokeAPIKey removes a user's key. ErrNotFound if there is none.
	RevokeAPIKey(ctx context.Context, user UserID, id int64) error
}

// TimelineQuery selects a page of a thread, in the order of display.
type TimelineQuery struct {
	User   UserID
	Thread ThreadID // 0: the continuous one
	// From and To bound the time of display, To exclusive; zero: no bound.
	From, To time.Time
	// Before selects the newest messages before one, After the oldest after one; with neither, the newest are selected,
	// or with Oldest the oldest. At most one of the three may be set.
	Before, After MessageID
	Oldest        bool
	Answers       bool // include replaced answers (KindAnswer)
	Limit         int
}

// Revision is an earlier text of a message.
type Revision struct {
	Revision   int
	Text       string
	ReplacedAt time.Time
}

// TimelineStore reads the transcript for display.
type TimelineStore interface {
	// Timeline returns messages of every kind, oldest first, and reports whether there are more in the direction of the
	// query. ErrNotFound if the thread, or the message of Before or After, does not exist.
	Timeline(ctx context.Context, q TimelineQuery) (ms []Message, more bool, err error)
	// Sent lists the deliveries of messages, without their parts, oldest first.
	Sent(ctx context.Context, user UserID, ids []MessageID) ([]Delivery, error)
	// Revisions returns the earlier texts of a message, oldest first.
	Revisions(ctx context.Context, user UserID, id MessageID) ([]Revision, error)
	// Running lists the turns of a thread (0: the continuous one) that run or wait for a retry.
	Running(ctx context.Context, user UserID, thread ThreadID) ([]Turn, error)
	// Answers lists those of the messages that have more than one answer, by id.
	Answers(ctx context.Context, user UserID, ids []MessageID) ([]Answered, error)
}

// UsageDay is a user's usage on a day.
type UsageDay struct {
	User  UserID
	Day   string // YYYY-MM-DD
	Usage Usage
	Tasks int // tokens of Usage spent on tasks
	Turns int
}

// Changes announces changes to users, so that open pages can update.
type Changes interface {
	// Changed yields users whose rows this process has written, each at least once after the transaction. The channel
	// is closed when ctx ends. A slow reader misses some.
	Changed(ctx context.Context) <-chan UserID
	// Publish passes a topic of at most 7,000 bytes to the Wakes of every process,
	// this one included. Nothing is stored; it may be lost.
	Publish(ctx context.Context, topic string) error
}

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

// NewWebLink stores a code of CodeWeb.
type NewWebLink struct{ Code Code }

func (NewWebLink) effect() {}

// AgentKey is the key of a WhatsApp personal agent, which serves one user.
type AgentKey struct {
	ID        int64 // unique among all users
	User      UserID
	Name      string
	Sealed    string // the key itself, encrypted; see core/seal
	CreatedAt time.Time
}

// PersonalAgent is a personal agent without its key.
type PersonalAgent struct {
	ID    int64
	Name  string
	Since time.Time
	Err   error // what is wrong with it; nil: nothing known
}

// AgentKeyStore stores the keys of personal agents.
type AgentKeyStore interface {
	// AddAgentKey stores a key and assigns its ID; seal receives that id and returns Sealed.
	AddAgentKey(ctx context.Context, k AgentKey, seal func(id int64) (string, error)) (AgentKey, error)
	// AgentKeys lists the keys of all users.
	AgentKeys(ctx context.Context) ([]AgentKey, error)
	// RemoveAgentKey removes a user's key. ErrNotFound if there is none.
	RemoveAgentKey(ctx context.Context, user UserID, id int64) error
}
