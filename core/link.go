package core

import (
	"context"
	"time"
)

// MoveID names a move. It is counted over all users.
type MoveID int64

// MoveKind says what a move does.
type MoveKind string

// Kinds of moves.
const (
	MoveMerge MoveKind = "merge" // everything of From becomes Into's
	MoveSplit MoveKind = "split" // what came through an identity of From becomes Into's
)

// MovePhase says how far a move is.
type MovePhase string

// MoveAsked is the first phase, MoveTold the one that waits until the person was
// told (MoveStore.Told), MoveDone the last. Those between are the store's own.
const (
	MoveAsked MovePhase = "asked"
	MoveTold  MovePhase = "told"
	MoveDone  MovePhase = "done"
)

// Move is one user's rows on their way to another. It goes on where it
// was left, whichever process does.
type Move struct {
	ID   MoveID
	Kind MoveKind
	From UserID
	Into UserID // 0: of a split that did not begin
	// Identity is where it was asked for, and so where its end is told: From's
	// until then, Into's from MoveTold on. Of a split it is what goes; 0: nowhere.
	Identity IdentityID
	Phase    MovePhase
	Rows     int // copied so far
	Total    int // to be copied, about
	AskedAt  time.Time
}

// LinkState says what a code of /link would do for an address.
type LinkState string

// States of a code for an address.
const (
	LinkValid  LinkState = "valid"
	LinkWrong  LinkState = "wrong"  // expired, used by another or never given
	LinkOwn    LinkState = "own"    // it was made at this very address
	LinkSame   LinkState = "same"   // the address is its user's already
	LinkTaken  LinkState = "taken"  // this address has used it
	LinkLocked LinkState = "locked" // too many wrong tries
)

// Link is what a code would do.
type Link struct {
	State LinkState
	User  UserID  // whose code it is; 0 unless it is valid or taken
	Made  Address // of a valid one: where it was made, and by whom
	Name  string
	Owner bool      // of a valid one: its user is the owner
	Merge bool      // of a valid one: the address is another user's
	Tries int       // wrong ones of the address so far
	Until time.Time // for LinkLocked: when it may try again
}

// How often an address may guess, and how long it waits after that.
const (
	LinkTries = 5
	LinkLock  = time.Hour
)

// LinkStore joins and parts people.
type LinkStore interface {
	// LinkCode tells what a code would do for an address. It changes nothing.
	LinkCode(ctx context.Context, hash string, a Address, now time.Time) (Link, error)
	// UseLink uses a code at the address of a stranger, with the event that holds it
	// and the delivery that answers. ErrRefused if the code is not valid for it, or
	// somebody has the address. A repeated event uses nothing.
	UseLink(ctx context.Context, hash string, h Hold) error
	// TryLink counts a wrong try of a stranger, with the event that holds it and
	// the delivery that says so. A repeated event counts nothing.
	TryLink(ctx context.Context, h Hold) error
	// Became returns whom a user who is gone was merged into, or ErrNotFound.
	Became(ctx context.Context, user UserID) (UserID, error)
}

// MoveStore moves rows between users.
type MoveStore interface {
	// Ask makes a move; ErrRefused if it makes no sense.
	Ask(ctx context.Context, m Move) (MoveID, error)
	// Moves lists moves that are not done, oldest first, at most limit.
	Moves(ctx context.Context, limit int) ([]Move, error)
	// Move returns a move, done or not, or ErrNotFound.
	Move(ctx context.Context, id MoveID) (Move, error)
	// Carry does the next short step of a move and tells how far it is. wait is
	// how long there is nothing to do for it; 0: go on.
	Carry(ctx context.Context, id MoveID, now time.Time) (m Move, wait time.Duration, err error)
	// Told ends MoveTold.
	Told(ctx context.Context, id MoveID) error
}

// TopicMoves is the wake-up topic of moves.
const TopicMoves = "moves"

// NewLink stores a code for linking, in place of the user's last one. Its
// address is where it was asked for.
type NewLink struct{ Code Code }

// WrongLink counts a wrong code of an address.
type WrongLink struct {
	Address Address
	At      time.Time
}

// UseLink uses a code at Identity, an address of somebody known: the code's user
// is to be asked whether both become one. It fails with ErrRefused if the code is
// not valid.
type UseLink struct {
	Hash     string
	Identity IdentityID
	At       time.Time
}

// AcceptLink makes the other side of a code that was used the user's: an address
// that is nobody's is theirs, and a user becomes one with them. It fails with
// ErrRefused if the other side is not what it was.
type AcceptLink struct {
	Subject LinkSubject
	At      time.Time
}

// Unlink detaches an identity; what came through it stays. It fails with
// ErrNotFound if there is none.
type Unlink struct {
	Identity IdentityID
	At       time.Time
}

// Split gives what came through an identity to a user of its own. It fails with
// ErrNotFound if there is none.
type Split struct {
	Identity IdentityID
	At       time.Time
}

func (NewLink) effect()    {}
func (WrongLink) effect()  {}
func (UseLink) effect()    {}
func (AcceptLink) effect() {}
func (Unlink) effect()     {}
func (Split) effect()      {}
