package core

import "time"

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
