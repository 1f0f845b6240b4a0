package core

import (
	"context"
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
	DeliveryUnknown   DeliveryState = "unknown" // it may have arrived, and cannot be settled
	DeliveryFailed    DeliveryState = "failed"
	DeliveryExpired   DeliveryState = "expired"
	DeliveryParked    DeliveryState = "parked" // until the address can receive again
)

// DeliveryKind says what is delivered, and so what a repeat would mean.
type DeliveryKind string

// Kinds of deliveries.
const (
	DeliverReply    DeliveryKind = "reply"
	DeliverNotice   DeliveryKind = "notice"
	DeliverPost     DeliveryKind = "post" // a day's summary: never sent twice
	DeliverReminder DeliveryKind = "reminder"
	DeliverTask     DeliveryKind = "task"  // what a task found, or why it did not
	DeliverVoice    DeliveryKind = "voice" // an answer, spoken: the text is there, so it is never sent twice
)

// NewDelivery is a delivery to be stored, rendered and split for its channel.
type NewDelivery struct {
	To       Address
	Identity IdentityID // 0: whose address it is by then, or a stranger
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
	// Window and Asked are those of the identity, of a claimed delivery.
	Window time.Time
	Asked  bool
	// Born is the user and id, with - between, under which it was made, if these were
	// others: the keys of its parts are still made of them.
	Born string
}

// DeliveryPart is one part and how far it is.
type DeliveryPart struct {
	N        int // from 0
	Part     Part
	State    DeliveryState
	NativeID string
	Repeats  int // claims that found it unknown, before this one
	Resent   int // how often the service said that it may be sent again
	SentAt   time.Time
	Error    string
}

// PartResult is what became of sending a part.
type PartResult struct {
	State   DeliveryState // sent, pending, unknown, failed or parked
	Receipt Receipt
	// RetryAt is when to go on: with the same part if it is pending or unknown,
	// with the next if it was sent. Zero: at once, or not at all.
	RetryAt time.Time
	Error   string
	Asked   bool // for DeliveryParked: the person was asked whether they want it
}

// Target is where something proactive goes, and why there.
type Target struct {
	Identity Identity
	Why      string
}

// Delivery brings parts there.
func (t Target) Delivery(kind DeliveryKind, parts []Part) NewDelivery {
	return NewDelivery{To: t.Identity.Address, Identity: t.Identity.ID, Kind: kind, Parts: parts, Why: t.Why}
}

// Planner picks where something proactive goes: all, to all identities of a user that can
// be written to unasked.
type Planner interface {
	Plan(ctx context.Context, u User, all bool) ([]Target, error)
}

// DeliveryStore brings parts to their addresses.
type DeliveryStore interface {
	// ClaimDelivery takes a due delivery job; its next part is stored as sending.
	// A part that was sending already comes back as DeliveryUnknown. nil: taken.
	ClaimDelivery(ctx context.Context, ref JobRef, c Claim) (*Delivery, error)
	// FinishPart stores what became of part n and, if it was sent and another
	// follows, that one as sending (more). Else the job ends or waits.
	FinishPart(ctx context.Context, d *Delivery, n int, r PartResult, now time.Time) (more bool, err error)
	// Delivering reports whether a delivery to an address is under way or waits.
	Delivering(ctx context.Context, user UserID, to Address) (bool, error)
	// Deliveries lists deliveries, newest first.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error)
	// Redeliver makes a failed, parked, expired or unknown delivery pending again.
	Redeliver(ctx context.Context, user UserID, id DeliveryID, now time.Time) error
	// Redirect sends the message of a parked delivery, of which no part was sent, to
	// another address; the parked one ends. ErrChanged if it is not so any more.
	Redirect(ctx context.Context, d Delivery, to NewDelivery, now time.Time) error
	// SetBlocked records that an identity can or cannot be written to. What is
	// parked goes out after the reply to what it writes next.
	SetBlocked(ctx context.Context, user UserID, identity IdentityID, blocked bool, now time.Time) error
}

// DeliveryQuery selects deliveries. User 0 means all users: for the owner's
// view of failures only.
type DeliveryQuery struct {
	User   UserID
	States []DeliveryState
	Limit  int
}
