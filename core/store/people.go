package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// PeopleStore keeps users, their identities and one-time codes.
type PeopleStore interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
	Users(ctx context.Context) ([]core.User, error)
	// FindUsers returns up to limit users, ordered by id, from offset on, and the total number of matches. A user
	// matches if words is empty, is part of the name in any case, or is the id as "7" or "#7".
	FindUsers(ctx context.Context, words string, offset, limit int) (users []core.User, total int, err error)
	// AddUser creates a user with a continuous thread. The first start creates the owner.
	AddUser(ctx context.Context, u core.User) (core.User, error)
	// AddUserAt creates a user together with an identity. core.ErrExists if the address is taken.
	AddUserAt(ctx context.Context, u core.User, i core.Identity) (core.User, error)
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	// AddIdentity attaches an address. core.ErrExists if it is taken.
	AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error)
	// MoveIdentity gives an identity to another user; its messages stay.
	MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error
	// DeleteUser removes a user with all data. It returns paths below data_dir/media for the caller to remove: the
	// user's attachments, then folders that hold nobody else's files and go with all their contents. core.ErrRefused for the
	// owner.
	DeleteUser(ctx context.Context, id core.UserID) (files []string, err error)
	// PutCode stores a hashed code. There is at most one CodeOwner: a new one replaces it.
	PutCode(ctx context.Context, c core.Code) error
	// Codes lists valid codes of a kind, oldest first.
	Codes(ctx context.Context, kind core.CodeKind, now time.Time) ([]core.Code, error)
	// UseCode uses up a code of a kind and returns it. core.ErrRefused if it is not valid.
	UseCode(ctx context.Context, kind core.CodeKind, hash string, now time.Time) (core.Code, error)
	// Approved lists held events whose address has come to belong to a user.
	Approved(ctx context.Context, limit int) ([]core.Inbound, error)
}

// LinkStore keeps codes that link addresses to users.
type LinkStore interface {
	// LinkCode returns the effect that a code would have for an address. It changes nothing.
	LinkCode(ctx context.Context, hash string, a core.Address, now time.Time) (core.Link, error)
	// UseLink uses a code at a stranger's address. It stores the event that holds the
	// code and the delivery that answers. core.ErrRefused if the code is not valid there,
	// or the address belongs to a user. A repeated event does nothing.
	UseLink(ctx context.Context, hash string, h Hold) error
	// TryLink counts a stranger's wrong try. It stores the event that holds the code
	// and the delivery that says so. A repeated event does nothing.
	TryLink(ctx context.Context, h Hold) error
	// Became returns the target user that a former user was merged into, or core.ErrNotFound.
	Became(ctx context.Context, user core.UserID) (core.UserID, error)
}

// MergeStore merges users.
type MergeStore interface {
	// Ask stores a request to merge From into Into. core.ErrRefused if they are not two users.
	Ask(ctx context.Context, m core.Merge) (core.MergeID, error)
	// Merges lists unfinished merges, oldest first, at most limit.
	Merges(ctx context.Context, limit int) ([]core.Merge, error)
	// Merge returns a merge, finished or not, or core.ErrNotFound.
	Merge(ctx context.Context, id core.MergeID) (core.Merge, error)
	// Carry moves everything of the source user into the target user, in one transaction, or waits for what is under
	// way: both users are paused, so nothing of theirs begins, and wait is how long to wait before the next call; 0: the
	// merge is no longer MergeAsked. The owner is always the target. A merge whose user is gone is done.
	Carry(ctx context.Context, id core.MergeID, now time.Time) (m core.Merge, wait time.Duration, err error)
	// Told ends MergeTold.
	Told(ctx context.Context, id core.MergeID) error
}

// StandingStore reads standing instructions. Effects write them.
type StandingStore interface {
	// Instructions lists a user's standing instructions in the order of their addition;
	// after a merge those of the target user come first.
	Instructions(ctx context.Context, user core.UserID) ([]core.Instruction, error)
}
