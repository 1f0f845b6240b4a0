package core

import (
	"context"
	"time"
)

// Users looks users up.
type Users interface {
	User(ctx context.Context, id UserID) (User, error)
}

// PeopleStore keeps users, their identities and one-time codes.
type PeopleStore interface {
	User(ctx context.Context, id UserID) (User, error)
	Users(ctx context.Context) ([]User, error)
	// FindUsers returns up to limit users, ordered by id, from offset on, and the total
	// number of matches. A user matches if words is empty, is part of the name in any
	// case, or is the id as "7" or "#7".
	FindUsers(ctx context.Context, words string, offset, limit int) (users []User, total int, err error)
	// AddUser creates a user with a continuous thread. The first start creates the owner.
	AddUser(ctx context.Context, u User) (User, error)
	// AddUserAt creates a user together with an identity. ErrExists if the address is
	// taken.
	AddUserAt(ctx context.Context, u User, i Identity) (User, error)
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user UserID) ([]Identity, error)
	// AddIdentity attaches an address. ErrExists if it is taken.
	AddIdentity(ctx context.Context, i Identity) (Identity, error)
	// MoveIdentity gives an identity to another user; its messages stay.
	MoveIdentity(ctx context.Context, i Identity, to UserID) error
	// DeleteUser removes a user with all data. It returns paths below data_dir/media
	// for the caller to remove: the user's attachments, then folders that hold nobody
	// else's files and go with all their contents. ErrRefused for the owner, ErrMoving
	// while the user is being moved.
	DeleteUser(ctx context.Context, id UserID) (files []string, err error)
	// PutCode stores a hashed code. There is at most one CodeOwner: a new one replaces it.
	PutCode(ctx context.Context, c Code) error
	// Codes lists valid codes of a kind, oldest first.
	Codes(ctx context.Context, kind CodeKind, now time.Time) ([]Code, error)
	// UseCode uses up a code of a kind and returns it. ErrRefused if it is not valid.
	UseCode(ctx context.Context, kind CodeKind, hash string, now time.Time) (Code, error)
	// Approved lists held events whose address has come to belong to a user.
	Approved(ctx context.Context, limit int) ([]Inbound, error)
}

// CodeKind is the purpose of a code.
type CodeKind string

// Kinds of codes.
const (
	CodeOwner  CodeKind = "owner"  // makes an address the owner's
	CodePair   CodeKind = "pair"   // a stranger's request for admission
	CodeLink   CodeKind = "link"   // joins an address to its user; Address is where it was requested
	CodeLinked CodeKind = "linked" // a used CodeLink, until it expires; Address is where it was used
	CodeWeb    CodeKind = "web"    // signs its user in to the web page
)

// Code is a one-time code. Hash is the hex SHA-256 of the code in capitals.
type Code struct {
	Kind CodeKind
	Hash string
	// Hint is, for a CodePair, the code itself, which is no secret of the stranger,
	// and for a CodeLinked the AddressKey of where the code was made.
	Hint    string
	User    UserID
	Address Address // of a stranger
	Name    string
	Created time.Time
	Expires time.Time
}
