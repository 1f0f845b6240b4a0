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
	// FindUsers returns up to limit users, ordered by id, from offset on, and the total number of matches. A user
	// matches if words is empty, is part of the name in any case, or is the id as "7" or "#7".
	FindUsers(ctx context.Context, words string, offset, limit int) (users []User, total int, err error)
	// AddUser creates a user with a continuous thread. The first start creates the owner.
	AddUser(ctx context.Context, u User) (User, error)
	// AddUserAt creates a user together with an identity. ErrExists if the address is taken.
	AddUserAt(ctx context.Context, u User, i Identity) (User, error)
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user UserID) ([]Identity, error)
	// AddIdentity attaches an address. ErrExists if it is taken.
	AddIdentity(ctx context.Context, i Identity) (Identity, error)
	// MoveIdentity gives an identity to another user; its messages stay.
	MoveIdentity(ctx context.Context, i Identity, to UserID) error
	// DeleteUser removes a user with all data. It returns paths below data_dir/media for the caller to remove: the
	// user's attachments, then folders that hold nobody else's files and go with all their contents. ErrRefused for the
	// owner.
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
	From UserID // the source user
	Into UserID // the target user
	// Identity is where the merge was requested, and where its end is told: an identity of From, and of Into from
	// MergeTold on; 0: none.
	Identity IdentityID
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
	User  UserID    // who made the code; 0 unless it is valid or taken
	Made  Address   // where a valid code was made
	Name  string    // of the user who made it
	Owner bool      // for a valid code: that user is the owner
	Merge bool      // for a valid code: the address belongs to another user
	Tries int       // wrong tries of the address so far
	Until time.Time // for LinkLocked: when it may try again
}

// LinkTries is how many wrong codes an address may try before it is locked for LinkLock.
const (
	LinkTries = 5
	LinkLock  = time.Hour
)

// LinkStore keeps codes that link addresses to users.
type LinkStore interface {
	// LinkCode returns the effect that a code would have for an address. It changes nothing.
	LinkCode(ctx context.Context, hash string, a Address, now time.Time) (Link, error)
	// UseLink uses a code at a stranger's address. It stores the event that holds the
	// code and the delivery that answers. ErrRefused if the code is not valid there,
	// or the address belongs to a user. A repeated event does nothing.
	UseLink(ctx context.Context, hash string, h Hold) error
	// TryLink counts a stranger's wrong try. It stores the event that holds the code
	// and the delivery that says so. A repeated event does nothing.
	TryLink(ctx context.Context, h Hold) error
	// Became returns the target user that a former user was merged into, or ErrNotFound.
	Became(ctx context.Context, user UserID) (UserID, error)
}

// MergeStore merges users.
type MergeStore interface {
	// Ask stores a request to merge From into Into. ErrRefused if they are not two users.
	Ask(ctx context.Context, m Merge) (MergeID, error)
	// Merges lists unfinished merges, oldest first, at most limit.
	Merges(ctx context.Context, limit int) ([]Merge, error)
	// Merge returns a merge, finished or not, or ErrNotFound.
	Merge(ctx context.Context, id MergeID) (Merge, error)
	// Carry moves everything of the source user into the target user, in one transaction, or waits for what is under
	// way: both users are paused, so nothing of theirs begins, and wait is how long to wait before the next call; 0: the
	// merge is no longer MergeAsked. The owner is always the target. A merge whose user is gone is done.
	Carry(ctx context.Context, id MergeID, now time.Time) (m Merge, wait time.Duration, err error)
	// Told ends MergeTold.
	Told(ctx context.Context, id MergeID) error
}

// TopicMerges is the wake-up topic of merges.
const TopicMerges = "merges"

// NewLink stores a linking code and replaces the user's last one. The code's address is where it was requested.
type NewLink struct{ Code Code }

// WrongLink counts a wrong code tried by an address.
type WrongLink struct {
	Address Address
	At      time.Time
}

// UseLink uses a code at Identity, which belongs to a user: the user who made the code
// is asked to approve a merge. It fails with ErrRefused if the code is not valid.
type UseLink struct {
	Hash     string
	Identity IdentityID
	At       time.Time
}

// AcceptLink joins the other side of a used code to the user: it attaches a stranger's address, or merges the other
// user. It fails with ErrRefused if the other side has changed since.
type AcceptLink struct {
	Subject LinkSubject
	At      time.Time
}

// Unlink detaches an identity; its messages stay. It fails with ErrNotFound if there is none.
type Unlink struct {
	Identity IdentityID
	At       time.Time
}

func (NewLink) effect()    {}
func (WrongLink) effect()  {}
func (UseLink) effect()    {}
func (AcceptLink) effect() {}
func (Unlink) effect()     {}

// InstructionID identifies a standing instruction. It is counted per user.
type InstructionID int64

// Instruction is a standing instruction: a wish that holds for every answer. It is a
// setting, not memory, and is part of every prompt.
type Instruction struct {
	User      UserID
	ID        InstructionID
	Text      string    // one line
	Tokens    int       // of its line in a prompt
	Source    MessageID // the message that requested it; 0: none, as from the web page
	Noted     bool      // the assistant proposed it, and the person said yes
	CreatedAt time.Time
}

// MaxInstructions is the absolute limit of standing instructions per user. It includes
// those that the configured limits do not count.
const MaxInstructions = 100

// StandingStore reads standing instructions. Effects write them.
type StandingStore interface {
	// Instructions lists a user's standing instructions in the order of their addition;
	// after a merge those of the target user come first.
	Instructions(ctx context.Context, user UserID) ([]Instruction, error)
}

// AddInstruction adds a standing instruction; with Instruction.ID 0 the store assigns an id. It does nothing if one
// with the same Digest exists. It fails with ErrRefused if there would be more than Max, or more than MaxTokens in
// total; 0: only MaxInstructions bounds them.
type AddInstruction struct {
	Instruction Instruction
	Digest      string // of the text, computed by core/text
	Max         int
	MaxTokens   int
	At          time.Time
}

// RemoveInstruction removes a standing instruction for good, from stored prompts too. It
// fails with ErrNotFound if there is none.
type RemoveInstruction struct {
	Instruction InstructionID
	At          time.Time
}

func (AddInstruction) effect()    {}
func (RemoveInstruction) effect() {}

// PartStanding is the name of the part of a prompt that holds standing instructions.
const PartStanding = "standing"

// InstructionLine returns the line of a prompt for a standing instruction: a JSON
// string, so that its text can neither end the line nor imitate another.
func InstructionLine(text string) string { return "- " + DataLine(text) }

// RemovedInstruction replaces the line of a removed instruction in stored prompts.
const RemovedInstruction = "- [removed]"

// ApproveStanding is about proposed standing instructions: Subject is a StandingSubject.
const ApproveStanding ApprovalKind = "standing"

// StandingSubject holds the standing instructions that a yes adds.
type StandingSubject struct {
	Texts  []string  `json:"texts"`
	Source MessageID `json:"source,omitempty"` // the message that the turn answered
}

// ProposeInstruction asks the person to approve Text as a standing instruction. It
// changes nothing itself: the reply of the turn asks.
type ProposeInstruction struct{ Text string }

func (ProposeInstruction) effect() {}
