package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// ApprovalReader reads approvals.
type ApprovalReader interface {
	// Approval returns an approval, or core.ErrNotFound.
	Approval(ctx context.Context, user core.UserID, id core.ApprovalID) (effect.Approval, error)
	// OpenApprovals lists the approvals that an identity may answer, oldest first. passed: since the newest of them,
	// the assistant has said something to the user, of any kind and in any thread, or something was sent to the identity.
	OpenApprovals(ctx context.Context, user core.UserID, identity core.IdentityID, now time.Time) (open []effect.Approval, passed bool,
		err error)
	// Approvals lists a user's approvals older than before (0: all), newest first.
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]effect.Approval, error)
}

// Also stores a note for another user, with its effects, in the same transaction. It fails with core.ErrNotFound if there is
// no such user.
type Also struct{ Note Note }

func (Also) Effect() {}
