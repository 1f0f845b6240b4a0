package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// DeliveryStore keeps deliveries and their progress.
type DeliveryStore interface {
	// ClaimDelivery claims a due delivery job and stores its next part as sending. A part that was already sending is
	// returned as DeliveryUnknown. nil if another worker has the job.
	ClaimDelivery(ctx context.Context, ref JobRef, c Claim) (*core.Delivery, error)
	// FinishPart stores the result of part n. If it was sent and another follows,
	// that one is stored as sending, and more is true; otherwise the job ends or waits.
	FinishPart(ctx context.Context, d *core.Delivery, n int, r PartResult, now time.Time) (more bool, err error)
	// Delivering reports whether a delivery to an address is in progress or waiting.
	Delivering(ctx context.Context, user core.UserID, to core.Address) (bool, error)
	// Deliveries lists deliveries, newest first.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]core.Delivery, error)
	// Redeliver makes a failed, parked, expired or unknown delivery pending again.
	Redeliver(ctx context.Context, user core.UserID, id core.DeliveryID, now time.Time) error
	// Redirect replaces a parked delivery, of which no part was sent, with one to
	// another address. core.ErrChanged if it is no longer parked and unsent.
	Redirect(ctx context.Context, d core.Delivery, to core.NewDelivery, now time.Time) error
	// SetBlocked records whether an identity can be written to. Its parked deliveries
	// follow the reply to its next message.
	SetBlocked(ctx context.Context, user core.UserID, identity core.IdentityID, blocked bool, now time.Time) error
}

// DeliveryQuery selects deliveries. User 0 means all users, for the owner's view of failures only.
type DeliveryQuery struct {
	User   core.UserID
	States []core.DeliveryState
	Limit  int
}

// SpeechStore stores the results of speaking answers. The jobs are in QueueSpeak: Ref is
// the message, and the payload the Address where it was delivered.
type SpeechStore interface {
	// Spoken adds a recording to a message, stores its delivery and ends the job. core.ErrNotFound if the message was
	// redacted, or replaced by another answer; the job has ended, and the caller removes the file.
	Spoken(ctx context.Context, s Spoken) error
	// Unspoken ends the job of an answer that could not be spoken, and stores why.
	Unspoken(ctx context.Context, user core.UserID, l core.Lease, cause string) error
	// SpeechTrouble returns why speaking failed for the last such answer, and when its
	// job was enqueued; "" if it succeeded, or there was none.
	SpeechTrouble(ctx context.Context, user core.UserID) (cause string, since time.Time, err error)
}

// Spoken is the recording of a message.
type Spoken struct {
	User       core.UserID
	Message    core.MessageID
	Attachment core.Attachment
	Delivery   core.NewDelivery // of the recording
	Lease      core.Lease
	Now        time.Time
}

// PartResult is the result of sending a part.
type PartResult struct {
	State   core.DeliveryState // sent, pending, unknown, failed or parked
	Receipt core.Receipt
	// RetryAt is when to continue: with the same part if it is pending or unknown,
	// with the next if it was sent. Zero: immediately, or not at all.
	RetryAt time.Time
	Error   string
	Asked   bool // for DeliveryParked: the person was asked whether they want it
}
