// Package core is the vocabulary of Everthread: the types, ids, errors and
// ports that every other package shares. It imports the standard library only.
//
// Three layers of knowledge are kept apart: the transcript (Message, the source
// of truth), day segments (Segment, derived from it) and global memory. See
// docs/architecture.md.
package core

import "time"

// Ids. Every id but UserID is counted per user, so it is only meaningful
// together with its user. Zero means none.
type (
	// UserID names a person.
	UserID int64
	// IdentityID names an address of a user.
	IdentityID int64
	// ThreadID names a thread.
	ThreadID int64
	// MessageID is a message's number, counted per user from 1 (shown as #123).
	MessageID int64
	// SegmentID names a day segment.
	SegmentID int64
	// TurnID names a turn.
	TurnID int64
	// DeliveryID names a delivery.
	DeliveryID int64
	// LoopID names an open loop.
	LoopID int64
	// ItemID names a memory item.
	ItemID int64
	// ReminderID names a reminder.
	ReminderID int64
	// WindowID names a window.
	WindowID int64
	// JobID names a job.
	JobID int64
)

// Address says where on which service somebody is reached.
type Address struct {
	Channel  string // telegram, whatsapp, matrix, …, web, terminal, openai, api
	Account  string // our own account there, such as the bot's id
	External string // the other side: chat id, room id, phone number
}

// String returns the address as channel:account:external.
func (a Address) String() string { return a.Channel + ":" + a.Account + ":" + a.External }

// Role of a user of the gateway.
type UserRole string

// The owner runs the gateway; everybody else is a member.
const (
	RoleOwner  UserRole = "owner"
	RoleMember UserRole = "member"
)

// User is a person. There is exactly one continuous thread per user.
type User struct {
	ID       UserID
	Name     string
	Role     UserRole
	Settings Settings
	// Standing counts the changes of standing instructions; 0: there never were any.
	Standing  int64
	CreatedAt time.Time
}

// Settings are what a user has chosen. Zero values mean the gateway's default.
type Settings struct {
	Zone      string     `json:"zone,omitempty"`      // IANA name
	Language  string     `json:"language,omitempty"`  // BCP 47, such as en or fr
	Home      IdentityID `json:"home,omitempty"`      // where proactive messages go first
	Summaries string     `json:"summaries,omitempty"` // home, all or off
	Strategy  string     `json:"strategy,omitempty"`  // continuous or truncate
	Paused    bool       `json:"paused,omitempty"`    // messages are kept but not answered
	// MemoryOff: the model has neither tools of memory nor hints about it.
	MemoryOff bool `json:"memory_off,omitempty"`
	// Voice says when answers are spoken, too.
	Voice VoiceChoice `json:"voice,omitempty"`
	// Embeddings are the user's own, where the gateway has none for all.
	Embeddings OwnEmbeddings `json:"embeddings,omitzero"`
}

// OwnEmbeddings is what a user set to have their texts embedded. The zero
// value is none.
type OwnEmbeddings struct {
	Provider   string `json:"provider"`
	BaseURL    string `json:"base_url,omitempty"`
	Model      string `json:"model,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"` // 0: the model's own
	Sealed     string `json:"sealed,omitempty"`     // the key, encrypted; see core/seal
}

// Location returns the user's time zone, or fallback if none is set or it is unknown.
func (s Settings) Location(fallback *time.Location) *time.Location {
	if s.Zone == "" {
		return fallback
	}
	if l, err := time.LoadLocation(s.Zone); err == nil {
		return l
	}
	return fallback
}

// ZoneName is a zone as what comes at a time keeps it; see Reminder.Zone.
func ZoneName(l *time.Location) string {
	if l == nil || l.String() == "Local" {
		return "UTC"
	}
	return l.String()
}

// Identity is a user's address on one channel.
type Identity struct {
	User    UserID
	ID      IdentityID
	Address Address
	Name    string   // display name on that channel
	Thread  ThreadID // the plain thread that is current here; 0: the continuous one
	Blocked bool     // it cannot be written to until it writes again
	// LastUsed is when it last wrote, or up to a minute before that while no other
	// identity of the user did.
	LastUsed time.Time
	// Window is until when it may be written to, where the channel has a window;
	// Asked: it was asked since whether it wants what waits.
	Window time.Time
	Asked  bool
	// Aliases are its other Externals, such as a phone number.
	Aliases []string
}

// Counter counts what happened, under the name of a metric.
type Counter interface {
	// Count adds n; labels are the values of the metric's labels, in their order.
	Count(name string, n float64, labels ...string)
}
