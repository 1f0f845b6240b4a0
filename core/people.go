package core

import (
	"context"
	"time"
)

// Users tells who a user is.
type Users interface {
	User(ctx context.Context, id UserID) (User, error)
}

// PeopleStore keeps users, their identities and one-time codes.
type PeopleStore interface {
	User(ctx context.Context, id UserID) (User, error)
	Users(ctx context.Context) ([]User, error)
	// FindUsers returns limit users of those whose name contains words, in any case, or whose
	// id they are as "7" or "#7", by id from the offset on, and how many there are; of all if
	// words is empty.
	FindUsers(ctx context.Context, words string, offset, limit int) (users []User, total int, err error)
	// AddUser makes a user with a continuous thread. Role owner is for the first start.
	AddUser(ctx context.Context, u User) (User, error)
	// AddUserAt makes a user with an address at once. ErrExists if it is somebody's.
	AddUserAt(ctx context.Context, u User, i Identity) (User, error)
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user UserID) ([]Identity, error)
	// AddIdentity attaches an address. ErrExists if it is somebody's.
	AddIdentity(ctx context.Context, i Identity) (Identity, error)
	// MoveIdentity gives an address to another user; what came through it stays.
	MoveIdentity(ctx context.Context, i Identity, to UserID) error
	// DeleteUser removes a user and everything that is theirs, and returns their
	// attachments below data_dir/media, which are to be removed, and then folders
	// with nobody else's files, which go with all that is in them. ErrRefused
	// for the owner, ErrMoving while they are moved.
	DeleteUser(ctx context.Context, id UserID) (files []string, err error)
	// PutCode stores a code, hashed; of CodeOwner there is at most one, replaced.
	PutCode(ctx context.Context, c Code) error
	// Codes lists valid codes of a kind, oldest first.
	Codes(ctx context.Context, kind CodeKind, now time.Time) ([]Code, error)
	// UseCode takes a code of a kind out, once. ErrRefused if it is not valid.
	UseCode(ctx context.Context, kind CodeKind, hash string, now time.Time) (Code, error)
	// Approved lists held events whose address is somebody's by now.
	Approved(ctx context.Context, limit int) ([]Inbound, error)
}

// CodeKind says what a code is for.
type CodeKind string

// Kinds of codes.
const (
	CodeOwner  CodeKind = "owner"  // makes an address the owner's
	CodePair   CodeKind = "pair"   // a stranger's wish to be let in
	CodeLink   CodeKind = "link"   // joins an address to its user; Address is where it was asked for
	CodeLinked CodeKind = "linked" // a used CodeLink, until it expires; Address is who used it
	CodeWeb    CodeKind = "web"    // signs its user in to the web page
)

// Code is a one-time code. Hash is hex SHA-256 of it in capitals.
type Code struct {
	Kind CodeKind
	Hash string
	// Hint is the code itself of a CodePair, as it is no secret of the stranger, and
	// of a CodeLinked the AddressKey of where it was made.
	Hint    string
	User    UserID
	Address Address // of a stranger
	Name    string
	Created time.Time
	Expires time.Time
}
