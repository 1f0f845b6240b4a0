// Package core defines the vocabulary of Everthread: the types, ids and errors shared by all other packages. It imports
// the standard library only. The ports of the store are in core/store, changes to it in core/effect.
//
// It separates three layers of knowledge: the transcript (Message, the source of truth), day segments (Segment, derived
// from the transcript) and global memory. See docs/architecture.md.
package core

import (
	"slices"
	"time"
)

// Every id but UserID is counted per user, so it means something only with its user. Zero: none.
type (
	// UserID identifies a person.
	UserID int64
	// IdentityID identifies an address of a user.
	IdentityID int64
	// ThreadID identifies a thread.
	ThreadID int64
	// MessageID is a message's number, counted per user from 1 (shown as #123).
	MessageID int64
	// SegmentID identifies a day segment.
	SegmentID int64
	// TurnID identifies a turn.
	TurnID int64
	// DeliveryID identifies a delivery.
	DeliveryID int64
	// LoopID identifies an open loop.
	LoopID int64
	// ItemID identifies a memory item.
	ItemID int64
	// WindowID identifies a window.
	WindowID int64
	// JobID identifies a job.
	JobID int64
)

// Address is the address of a person on one service.
type Address struct {
	Channel  string // telegram, whatsapp, matrix, …, web, terminal, openai, api
	Account  string // our account there, such as the bot's id
	External string // the other side: chat id, room id, phone number
	// Place is where in the chat, such as a topic or thread, in the channel's own words; empty: the chat itself. It
	// belongs to a message and its answer, never to an identity.
	Place string `json:",omitempty"`
}

// Chat returns the address without its place.
func (a Address) Chat() Address { a.Place = ""; return a }

// String returns the address as channel:account:external.
func (a Address) String() string { return a.Channel + ":" + a.Account + ":" + a.External }

// UserRole is the role of a user.
type UserRole string

// The owner runs the gateway; every other person is a member. A group chat is a user of its own.
const (
	RoleOwner  UserRole = "owner"
	RoleMember UserRole = "member"
	RoleGroup  UserRole = "group"
)

// User is a person or a group chat. Each user has exactly one continuous thread.
type User struct {
	ID       UserID
	Name     string
	Role     UserRole
	Settings Settings
	// Standing counts the changes to standing instructions; 0: there never were any.
	Standing int64
	// Services are the names of the services that the user has connected, sorted.
	Services  []string
	CreatedAt time.Time
}

// Group reports whether the user is a group chat: it has no memory of persons, and nobody signs in as it.
func (u User) Group() bool { return u.Role == RoleGroup }

// Settings holds a user's choices. Zero values mean the gateway's default.
type Settings struct {
	Zone      string     `json:"zone,omitempty"`      // IANA name
	Language  string     `json:"language,omitempty"`  // BCP 47, such as en or fr
	Home      IdentityID `json:"home,omitempty"`      // where proactive messages go first
	Summaries string     `json:"summaries,omitempty"` // home, all or off
	Strategy  string     `json:"strategy,omitempty"`  // continuous, truncate or long
	Model     string     `json:"model,omitempty"`     // name of a choice of the configuration; empty: the default
	Paused    bool       `json:"paused,omitempty"`    // messages are kept but not answered
	// Allowed are outside tools that run without a question until a time.
	Allowed []AllowedTool `json:"allowed,omitempty"`
	// MemoryOff: the model has no memory tools and sees no memory.
	MemoryOff bool `json:"memory_off,omitempty"`
	// Voice says when answers are also spoken.
	Voice VoiceChoice `json:"voice,omitempty"`
	// Embeddings is the user's own configuration, where the gateway has none for all.
	Embeddings OwnEmbeddings `json:"embeddings,omitzero"`
}

// AllowedTool is an outside tool that a person allowed until a time.
type AllowedTool struct {
	Tool  string    `json:"tool"`
	Until time.Time `json:"until"`
}

// AllowLife is how long a tool stays allowed.
const AllowLife = 30 * 24 * time.Hour

// Allows reports whether a tool runs without a question.
func (s Settings) Allows(tool string, now time.Time) bool {
	return slices.ContainsFunc(s.Allowed, func(a AllowedTool) bool { return a.Tool == tool && now.Before(a.Until) })
}

// Allow returns the settings with a tool allowed until a time, and without those whose time is over. A zero time ends
// what was allowed.
func (s Settings) Allow(tool string, until, now time.Time) Settings {
	s.Allowed = slices.DeleteFunc(slices.Clone(s.Allowed), func(a AllowedTool) bool {
		return a.Tool == tool || !now.Before(a.Until)
	})
	if !until.IsZero() {
		s.Allowed = append(s.Allowed, AllowedTool{tool, until})
	}
	return s
}

// OwnEmbeddings is a user's own embedding configuration. The zero value is none.
type OwnEmbeddings struct {
	Provider   string `json:"provider"`
	BaseURL    string `json:"base_url,omitempty"`
	Model      string `json:"model,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"` // 0: the model's own
	Sealed     string `json:"sealed,omitempty"`     // the key, encrypted; see core/trust/secret
}

// Location returns the user's time zone, or fallback if it is unset or unknown.
func (s Settings) Location(fallback *time.Location) *time.Location {
	if s.Zone == "" {
		return fallback
	}
	if l, err := time.LoadLocation(s.Zone); err == nil {
		return l
	}
	return fallback
}

// ZoneName returns the IANA name to store for a location; UTC for nil and time.Local.
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
	Thread  ThreadID // the current plain thread; 0: the continuous one
	Blocked bool     // it cannot be written to until it writes again
	// LastUsed is when it last wrote. It may lag by up to a minute while no other identity of the user writes.
	LastUsed time.Time
	// Window is the end of its messaging window, where the channel has one. Asked: it
	// has since been asked whether it wants its waiting messages.
	Window time.Time
	Asked  bool
	// Aliases are its other Externals, such as a phone number.
	Aliases []string
}

// Counter counts events in named metrics.
type Counter interface {
	// Count adds n to a metric; labels are the values of its labels, in order.
	Count(name string, n float64, labels ...string)
}

// Crash lets tests kill the process at a named step. nil does nothing.
type Crash func(step string)

// At calls c at a step, unless c is nil.
func (c Crash) At(step string) {
	if c != nil {
		c(step)
	}
}
