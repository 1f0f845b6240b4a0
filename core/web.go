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
	Identity  IdentityID // through which the link was asked for; 0: that is not known
	Browser   string     // what the browser calls itself, at most 200 bytes
	CreatedAt time.Time
	UsedAt    time.Time
	Expires   time.Time
}

// SessionStore keeps who is signed in to the web page.
type SessionStore interface {
	// SignIn takes a code of CodeWeb out, once, and starts a session of its user:
	// s.User and s.ID are given by the store. ErrRefused if the code is not valid.
	SignIn(ctx context.Context, codeHash string, s Session, now time.Time) (Session, error)
	// SignsIn returns whom a code of CodeWeb signs in, and until when, or ErrNotFound if it
	// is not valid.
	SignsIn(ctx context.Context, codeHash string, now time.Time) (u User, until time.Time, err error)
	// Session returns the session of a token's hash and whose it is, or ErrNotFound
	// if there is none, or it has expired.
	Session(ctx context.Context, hash string, now time.Time) (Session, User, error)
	// UseSession records when a session was used last, and moves its end.
	UseSession(ctx context.Context, user UserID, id int64, used, expires time.Time) error
	// Sessions lists a user's sessions that have not expired, last used first.
	Sessions(ctx context.Context, user UserID, now time.Time) ([]Session, error)
	// EndSession ends a user's session, or all of them if id is 0.
	EndSession(ctx context.Context, user UserID, id int64) error
}

// Capability is something that an identity, a key or a session may do. A person's
// own identities and sessions have all but CanAdmin, which is the owner's; a key
// has those that it was made with, and never CanAccount.
type Capability string

// Capabilities. CanTalk is stored as "chat", its name before capabilities.
const (
	CanTalk    Capability = "chat"    // write messages, and read their answers
	CanRead    Capability = "read"    // read and search the conversation
	CanMemory  Capability = "memory"  // read and change memory, loops and reminders
	CanAccount Capability = "account" // settings, identities, sessions, keys, forgetting, export
	CanAdmin   Capability = "admin"   // what only the owner may
)

// APIKey lets a program act for a user.
type APIKey struct {
	User      UserID
	ID        int64 // unique among all users
	Name      string
	Hash      string // hex SHA-256 of the key
	Hint      string // how the key begins, shown in lists
	Scopes    []Capability
	CreatedAt time.Time
	UsedAt    time.Time // zero: never
}

// Allows reports whether the key has a capability. None has CanAccount, whatever
// it was stored with.
func (k APIKey) Allows(c Capability) bool {
	return c != CanAccount && slices.Contains(k.Scopes, c)
}

// APIKeyStore keeps API keys.
type APIKeyStore interface {
	// AddAPIKey stores a key; the store gives its ID.
	AddAPIKey(ctx context.Context, k APIKey) (APIKey, error)
	// APIKey returns the key of a hash and whose it is, or ErrNotFound.
	APIKey(ctx context.Context, hash string) (APIKey, User, error)
	// APIKeys lists a user's keys, newest first.
	APIKeys(ctx context.Context, user UserID) ([]APIKey, error)
	// UseAPIKey records when a key was used last.
	UseAPIKey(ctx context.Context, user UserID, id int64, at time.Time) error
	// RevokeAPIKey removes a user's key, or is ErrNotFound.
	RevokeAPIKey(ctx context.Context, user UserID, id int64) error
}

// TimelineQuery asks for a page of a thread, in the order of display.
type TimelineQuery struct {
	User   UserID
	Thread ThreadID // 0: the continuous one
	// From and To bound the time of display, To exclusive; zero: no bound.
	From, To time.Time
	// Before asks for the newest before a message, After for the oldest after one;
	// neither: the newest, or with Oldest the oldest. Of the three only one may be set.
	Before, After MessageID
	Oldest        bool
	Answers       bool // those that were not chosen, too
	Limit         int
}

// Revision is an earlier text of a message.
type Revision struct {
	Revision   int
	Text       string
	ReplacedAt time.Time
}

// TimelineStore shows the transcript to people.
type TimelineStore interface {
	// Timeline returns messages of every kind, oldest first, and reports whether there
	// are more in the direction of the query. ErrNotFound: the thread, or the message
	// of Before or After, is not there.
	Timeline(ctx context.Context, q TimelineQuery) (ms []Message, more bool, err error)
	// Sent lists the deliveries of messages, without their parts, oldest first.
	Sent(ctx context.Context, user UserID, ids []MessageID) ([]Delivery, error)
	// Revisions returns the earlier texts of a message, oldest first.
	Revisions(ctx context.Context, user UserID, id MessageID) ([]Revision, error)
	// Running lists the turns of a thread (0: the continuous one) that run or wait to
	// be tried again.
	Running(ctx context.Context, user UserID, thread ThreadID) ([]Turn, error)
	// Answers lists those of the messages that have more than one answer, by their ids.
	Answers(ctx context.Context, user UserID, ids []MessageID) ([]Answered, error)
}

// UsageDay is what a user's calls took on a day.
type UsageDay struct {
	User  UserID
	Day   string // YYYY-MM-DD
	Usage Usage
	Tasks int // tokens of Usage that tasks took
	Turns int
}

// Changes tells what happens to users, so that open pages follow.
type Changes interface {
	// Changed yields users whose rows were written by this process, each at least
	// once after the transaction. The channel is closed when ctx ends. A reader that
	// is behind misses some.
	Changed(ctx context.Context) <-chan UserID
	// Publish passes a topic of at most 7,000 bytes to the Wakes of every process,
	// this one included. Nothing is stored; it may be lost.
	Publish(ctx context.Context, topic string) error
}

// Request is what a client of the HTTP interfaces wants besides of the answer to
// its message. It is stored with the message, so that a re-run of the turn knows it.
type Request struct {
	// Instructions stand after those of the configuration, for this turn only.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the client's own: a call of one ends the turn, and their results come
	// as messages of RoleTool.
	Tools []ToolSpec `json:"tools,omitempty"`
	// Choice is which tools the model may use: "" or auto, none, required, or the
	// name of one of Tools.
	Choice    string `json:"choice,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"` // of the answer; 0: as configured
	// Strategy is what the prompt is built by; empty: the user's.
	Strategy string `json:"strategy,omitempty"`
}

// NewWebLink stores a code of CodeWeb.
type NewWebLink struct{ Code Code }

func (NewWebLink) effect() {}
