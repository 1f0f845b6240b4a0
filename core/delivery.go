package core

import (
	"context"
	"slices"
	"time"
)

// DeliveryState is the state of a delivery or of one part.
type DeliveryState string

// States in the order of a delivery's life.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliverySending   DeliveryState = "sending" // a request is or was under way
	DeliverySent      DeliveryState = "sent"    // the service confirmed it
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryRead      DeliveryState = "read"
	DeliveryUnknown   DeliveryState = "unknown" // it may have arrived; there is no way to find out
	DeliveryFailed    DeliveryState = "failed"
	DeliveryExpired   DeliveryState = "expired"
	DeliveryParked    DeliveryState = "parked" // waits until the address can receive again
)

// DeliveryKind is the kind of content, which decides whether a repeat is acceptable.
type DeliveryKind string

// Kinds of deliveries.
const (
	DeliverReply    DeliveryKind = "reply"
	DeliverNotice   DeliveryKind = "notice"
	DeliverPost     DeliveryKind = "post" // a day's summary: never sent twice
	DeliverReminder DeliveryKind = "reminder"
	DeliverTask     DeliveryKind = "task"  // the result of a task, or why there is none
	DeliverVoice    DeliveryKind = "voice" // a spoken answer: the text was sent, so it is never sent twice
	// DeliverRetraction deletes what was delivered of a deleted message. It is kept until it ends.
	DeliverRetraction DeliveryKind = "retraction"
)

// NewDelivery is a delivery to be stored, rendered and split for its channel.
type NewDelivery struct {
	To       Address
	Identity IdentityID // 0: the identity that has the address when it is stored, or a stranger
	Kind     DeliveryKind
	Parts    []Part
	Why      string    // why the planner chose this address
	Expires  time.Time // zero: never
}

// Delivery is one assistant message on its way to one identity.
type Delivery struct {
	User      UserID
	ID        DeliveryID
	Message   MessageID // 0 for strangers
	To        Address
	Identity  IdentityID
	Kind      DeliveryKind
	State     DeliveryState
	Why       string
	Error     string
	Parts     []DeliveryPart
	Lease     Lease
	CreatedAt time.Time
	Expires   time.Time
	// Window and Asked are those of the identity; set in a claimed delivery.
	Window time.Time
	Asked  bool
	// Born is the original "user-id" of a delivery whose user was merged into another: the
	// keys of its parts are still derived from it.
	Born string
}

// DeliveryPart is one part of a delivery and its state.
type DeliveryPart struct {
	N        int // from 0
	Part     Part
	State    DeliveryState
	NativeID string
	Repeats  int // earlier claims that found it unknown
	Resent   int // how often the service reported that it may be sent again
	SentAt   time.Time
	Error    string
}

// Target is the destination of a proactive message, and why it was chosen.
type Target struct {
	Identity Identity
	Why      string
	Held     bool // it cannot receive now: the delivery waits until it can
}

// Unreached reports whether no target receives a message now, so that the person's devices are to be notified.
func Unreached(targets []Target) bool {
	return !slices.ContainsFunc(targets, func(t Target) bool { return !t.Held })
}

// Delivery returns a delivery of parts to the target.
func (t Target) Delivery(kind DeliveryKind, parts []Part) NewDelivery {
	return NewDelivery{To: t.Identity.Address, Identity: t.Identity.ID, Kind: kind, Parts: parts, Why: t.Why}
}

// Planner chooses the targets of a proactive message. With all, these are all identities
// of the user that accept proactive messages.
type Planner interface {
	Plan(ctx context.Context, u User, all bool) ([]Target, error)
}

// VoiceChoice says when the answers to a user are also spoken.
type VoiceChoice string

// Choices of a user. The zero value is VoiceAuto.
const (
	VoiceAuto VoiceChoice = "auto" // an answer to a voice note
	VoiceOn   VoiceChoice = "on"   // each answer
	VoiceOff  VoiceChoice = "off"
)

// Voices returns all choices.
func Voices() []VoiceChoice { return []VoiceChoice{VoiceAuto, VoiceOn, VoiceOff} }

// Speaks reports whether an answer is spoken. heard: the answer is to a voice note.
func (c VoiceChoice) Speaks(heard bool) bool {
	switch c {
	case VoiceOn:
		return true
	case VoiceOff:
		return false
	}
	return heard
}

// Speech is a text to speak.
type Speech struct {
	User UserID // who receives the answer
	Text string // words only, no markup
}
