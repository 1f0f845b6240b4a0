package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// ServiceGrant is the access that a user granted to a service: a server of tools with OAuth. Each user has at most one for a
// service, which is never another user's.
type ServiceGrant struct {
	User      core.UserID
	Service   string // its configured name
	ID        int64  // of this grant; a later one for the service has another. It is counted per user
	Version   int64  // counts how often the tokens were renewed
	Sealed    string // tokens, and where they are renewed, encrypted; see core/trust/secret
	Expires   time.Time
	CreatedAt time.Time
}

// Service is a service that a user may use, and whether it is connected.
type Service struct {
	Name, Host string
	Since      time.Time // zero: it is not connected
}

// ServiceStore keeps grants. core.User.Services changes in the same transaction.
type ServiceStore interface {
	// ServiceGrant returns a user's grant for a service, or core.ErrNotFound.
	ServiceGrant(ctx context.Context, user core.UserID, service string) (ServiceGrant, error)
	// ServiceGrants lists a user's grants, by service.
	ServiceGrants(ctx context.Context, user core.UserID) ([]ServiceGrant, error)
	// PutServiceGrant stores a new grant, which replaces that of its user and service, and assigns its ID. core.ErrNotFound if
	// there is no such user.
	PutServiceGrant(ctx context.Context, g ServiceGrant) (ServiceGrant, error)
	// TakeServiceGrant gives the right to renew a version of a grant to one caller, until a time, and reports whether this is the
	// one.
	TakeServiceGrant(ctx context.Context, g ServiceGrant, now, until time.Time) (bool, error)
	// RenewServiceGrant replaces Sealed and Expires of a version of a grant, which becomes the next, and ends TakeServiceGrant.
	// core.ErrNotFound if the grant has gone, or has another version.
	RenewServiceGrant(ctx context.Context, g ServiceGrant) error
	// FreeServiceGrant ends TakeServiceGrant without a renewal.
	FreeServiceGrant(ctx context.Context, g ServiceGrant) error
	// DropServiceGrant deletes a version of a grant, or reports false if it has gone or has another version.
	DropServiceGrant(ctx context.Context, g ServiceGrant) (bool, error)
}
