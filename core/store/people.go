package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// PeopleStore keeps users and their identities.
type PeopleStore interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
	Users(ctx context.Context) ([]core.User, error)
	// Groups lists all group chats that were approved, oldest first.
	Groups(ctx context.Context) ([]core.User, error)
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
}

// CodeStore keeps one-time codes, and events of strangers.
type CodeStore interface {
	// PutCode stores a hashed code. There is at most one CodeOwner: a new one replaces it.
	PutCode(ctx context.Context, c effect.Code) error
	// Codes lists valid codes of a kind, oldest first.
	Codes(ctx context.Context, kind effect.CodeKind, now time.Time) ([]effect.Code, error)
	// Code returns a code of a kind without using it, or core.ErrNotFound if it is not valid.
	Code(ctx context.Context, kind effect.CodeKind, hash string, now time.Time) (effect.Code, error)
	// UseCode uses up a code of a kind and returns it. core.ErrRefused if it is not valid.
	UseCode(ctx context.Context, kind effect.CodeKind, hash string, now time.Time) (effect.Code, error)
	// Approved lists held events whose address has come to belong to a user.
	Approved(ctx context.Context, limit int) ([]core.Inbound, error)
}

// LinkStore keeps codes that link addresses to users.
type LinkStore interface {
	// LinkCode returns the effect that a code would have for an address. It changes nothing.
	LinkCode(ctx context.Context, hash string, a core.Address, now time.Time) (Link, error)
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
	Ask(ctx context.Context, m Merge) (MergeID, error)
	// Merges lists unfinished merges, oldest first, at most limit.
	Merges(ctx context.Context, limit int) ([]Merge, error)
	// Merge returns a merge, finished or not, or core.ErrNotFound.
	Merge(ctx context.Context, id MergeID) (Merge, error)
	// Carry moves everything of the source user into the target user, in one transaction, or waits for what is under
	// way: both users are paused, so nothing of theirs begins, and wait is how long to wait before the next call; 0: the
	// merge is no longer MergeAsked. The owner is always the target. A merge whose user is gone is done.
	Carry(ctx context.Context, id MergeID, now time.Time) (m Merge, wait time.Duration, err error)
	// Told ends MergeTold.
	Told(ctx context.Context, id MergeID) error
}

// StandingStore reads standing instructions. Effects write them.
type StandingStore interface {
	// Instructions lists a user's standing instructions in the order of their addition;
	// after a merge those of the target user come first.
	Instructions(ctx context.Context, user core.UserID) ([]core.Instruction, error)
}

// MergeID identifies a merge. It is counted over all users.
type MergeID int64

// MergePhase is the progress of a merge.
type MergePhase string

// Phases of a merge.
const (
	MergeAsked MergePhase = "asked" // both sides have said yes
	MergeTold  MergePhase = "told"  // the users are one, and the person is to be told
	MergeDone  MergePhase = "done"
)

// Merge makes one user a part of another, for good. Both sides have said yes to it, so it is kept until it is done.
type Merge struct {
	ID   MergeID
	From core.UserID // the source user
	Into core.UserID // the target user
	// Identity is where the merge was requested, and where its end is told: an identity of From, and of Into from
	// MergeTold on; 0: none.
	Identity core.IdentityID
	Phase    MergePhase
	AskedAt  time.Time
}

// LinkState is the state of a /link code for an address.
type LinkState string

// States of a code for an address.
const (
	LinkValid  LinkState = "valid"
	LinkWrong  LinkState = "wrong"  // expired, used by another or never given
	LinkOwn    LinkState = "own"    // it was made at this address
	LinkSame   LinkState = "same"   // the address belongs to its user already
	LinkTaken  LinkState = "taken"  // this address has used it
	LinkLocked LinkState = "locked" // too many wrong tries
)

// Link describes the effect that a code would have.
type Link struct {
	State LinkState
	User  core.UserID  // who made the code; 0 unless it is valid or taken
	Made  core.Address // where a valid code was made
	Name  string       // of the user who made it
	Owner bool         // for a valid code: that user is the owner
	Merge bool         // for a valid code: the address belongs to another user
	Tries int          // wrong tries of the address so far
	Until time.Time    // for LinkLocked: when it may try again
}
