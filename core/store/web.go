package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// SessionStore keeps the sessions of the web page.
type SessionStore interface {
	// SignIn uses up a CodeWeb and starts a session of its user. The store sets s.User
	// and s.ID. core.ErrRefused if the code is not valid.
	SignIn(ctx context.Context, codeHash string, s Session, now time.Time) (Session, error)
	// SignsIn returns the user of a CodeWeb and its expiry without using it, or core.ErrNotFound if it is not valid.
	SignsIn(ctx context.Context, codeHash string, now time.Time) (u core.User, until time.Time, err error)
	// Session returns the session of a token's hash and its user, or core.ErrNotFound if there is none or it has expired.
	Session(ctx context.Context, hash string, now time.Time) (Session, core.User, error)
	// UseSession records when a session was last used, and extends it.
	UseSession(ctx context.Context, user core.UserID, id int64, used, expires time.Time) error
	// Sessions lists a user's sessions that have not expired, last used first.
	Sessions(ctx context.Context, user core.UserID, now time.Time) ([]Session, error)
	// EndSession ends a user's session, or all of them if id is 0.
	EndSession(ctx context.Context, user core.UserID, id int64) error
}

// PushStore keeps where the notifications of browsers are sent: a subscription for each session, which ends with it. The
// jobs are in QueuePush: one for each subscription when a message with Rings is stored. Their key is PushKey, their Ref
// the message.
type PushStore interface {
	// Subscribe replaces the subscription of a session; the zero value ends it. core.ErrNotFound if there is no such
	// session, or if was is not empty and the session's subscription is another one.
	Subscribe(ctx context.Context, user core.UserID, session int64, was string, s Subscription) error
	// Subscriptions counts the subscriptions of all users, and those whose last notification failed.
	Subscriptions(ctx context.Context, now time.Time) (all, failing int, err error)
}

// APIKeyStore keeps API keys.
type APIKeyStore interface {
	// AddAPIKey stores a key and assigns its ID.
	AddAPIKey(ctx context.Context, k core.APIKey) (core.APIKey, error)
	// APIKey returns the key of a hash and its user, or core.ErrNotFound.
	APIKey(ctx context.Context, hash string) (core.APIKey, core.User, error)
	// APIKeys lists a user's keys, newest first.
	APIKeys(ctx context.Context, user core.UserID) ([]core.APIKey, error)
	// UseAPIKey records when a key was last used.
	UseAPIKey(ctx context.Context, user core.UserID, id int64, at time.Time) error
	// RevokeAPIKey removes a user's key. core.ErrNotFound if there is none.
	RevokeAPIKey(ctx context.Context, user core.UserID, id int64) error
}

// TimelineQuery selects a page of a thread, in the order of display.
type TimelineQuery struct {
	User   core.UserID
	Thread core.ThreadID // 0: the continuous one
	// From and To bound the time of display, To exclusive; zero: no bound.
	From, To time.Time
	// Before selects the newest messages before one, After the oldest after one; with neither, the newest are selected,
	// or with Oldest the oldest. At most one of the three may be set.
	Before, After core.MessageID
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
	// query. core.ErrNotFound if the thread, or the message of Before or After, does not exist.
	Timeline(ctx context.Context, q TimelineQuery) (ms []core.Message, more bool, err error)
	// Sent lists the deliveries of messages, without their parts, oldest first.
	Sent(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Delivery, error)
	// Revisions returns the earlier texts of a message, oldest first.
	Revisions(ctx context.Context, user core.UserID, id core.MessageID) ([]Revision, error)
	// Running lists the turns of a thread (0: the continuous one) that run or wait for a retry.
	Running(ctx context.Context, user core.UserID, thread core.ThreadID) ([]core.Turn, error)
	// Answers lists those of the messages that have more than one answer, by id.
	Answers(ctx context.Context, user core.UserID, ids []core.MessageID) ([]effect.Answered, error)
}

// UsageDay is a user's usage on a day.
type UsageDay struct {
	User  core.UserID
	Day   string // YYYY-MM-DD
	Usage core.Usage
	Tasks int // tokens of Usage spent on tasks
	Turns int
}

// UsagePart is what calls of one model took on a day for one purpose.
type UsagePart struct {
	Day string // YYYY-MM-DD
	core.Spent
}

// Changes announces changes to users, so that open pages can update.
type Changes interface {
	// Changed yields users whose rows this process has written, each at least once after the transaction. The channel
	// is closed when ctx ends. A slow reader misses some.
	Changed(ctx context.Context) <-chan core.UserID
	// Publish passes a topic of at most 7,000 bytes to the Wakes of every process,
	// this one included. Nothing is stored; it may be lost.
	Publish(ctx context.Context, topic string) error
}

// AgentKeyStore stores the keys of personal agents.
type AgentKeyStore interface {
	// AddAgentKey stores a key and assigns its ID; seal receives that id and returns Sealed.
	AddAgentKey(ctx context.Context, k AgentKey, seal func(id int64) (string, error)) (AgentKey, error)
	// AgentKeys lists the keys of all users.
	AgentKeys(ctx context.Context) ([]AgentKey, error)
	// RemoveAgentKey removes a user's key. core.ErrNotFound if there is none.
	RemoveAgentKey(ctx context.Context, user core.UserID, id int64) error
}

// Session is one signed-in browser.
type Session struct {
	User      core.UserID
	ID        int64           // unique among all users
	Hash      string          // hex SHA-256 of the cookie's token
	Identity  core.IdentityID // where the link was requested; 0: unknown
	Browser   string          // the browser's name for itself, at most 200 bytes
	CreatedAt time.Time
	UsedAt    time.Time
	Expires   time.Time
	Push      Subscription // of its notifications
}

// Subscription says where the notifications of a browser are sent, and how. The zero value is none.
type Subscription struct {
	Sealed   string    // address and keys, encrypted; see core/chat/push
	Texts    bool      // they show texts; otherwise only that there is a message
	FailedAt time.Time // since when they fail; zero: the last one did not
	Error    string    // why the last one failed
}

// EndsWithout reports whether detaching an identity ends the session.
func (s Session) EndsWithout(id core.IdentityID) bool { return s.Identity == id || s.Identity == 0 }

// AgentKey is the key of a WhatsApp personal agent, which serves one user.
type AgentKey struct {
	ID        int64 // unique among all users
	User      core.UserID
	Name      string
	Sealed    string // the key itself, encrypted; see core/trust/secret
	CreatedAt time.Time
}

// PersonalAgent is a personal agent without its key.
type PersonalAgent struct {
	ID    int64
	Name  string
	Since time.Time
	Err   error // what is wrong with it; nil: nothing known
}
