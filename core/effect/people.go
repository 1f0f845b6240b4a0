package effect

import (
	"time"

	"github.com/everthread/everthread/core"
)

// NewLink stores a linking code and replaces the user's last one. The code's address is where it was requested.
type NewLink struct{ Code Code }

// WrongLink counts a wrong code tried by an address.
type WrongLink struct {
	Address core.Address
	At      time.Time
}

// UseLink uses a code at Identity, which belongs to a user: the user who made the code
// is asked to approve a merge. It fails with core.ErrRefused if the code is not valid.
type UseLink struct {
	Hash     string
	Identity core.IdentityID
	At       time.Time
}

// AcceptLink joins the other side of a used code to the user: it attaches a stranger's address, or merges the other
// user. It fails with core.ErrRefused if the other side has changed since.
type AcceptLink struct {
	Subject LinkSubject
	At      time.Time
}

// Unlink detaches an identity; its messages stay. It fails with core.ErrNotFound if there is none.
type Unlink struct {
	Identity core.IdentityID
	At       time.Time
}

func (NewLink) Effect()    {}
func (WrongLink) Effect()  {}
func (UseLink) Effect()    {}
func (AcceptLink) Effect() {}
func (Unlink) Effect()     {}

// AddInstruction adds a standing instruction; with Instruction.ID 0 the store assigns an id. It does nothing if one
// with the same Digest exists. It fails with core.ErrRefused if there would be more than Max, or more than MaxTokens in
// total; 0: only MaxInstructions bounds them.
type AddInstruction struct {
	Instruction core.Instruction
	Digest      string // of the text, computed by core/text
	Max         int
	MaxTokens   int
	At          time.Time
}

// RemoveInstruction removes a standing instruction for good, from stored prompts too. It
// fails with core.ErrNotFound if there is none.
type RemoveInstruction struct {
	Instruction core.InstructionID
	At          time.Time
}

func (AddInstruction) Effect()    {}
func (RemoveInstruction) Effect() {}

// ProposeInstruction asks the person to approve Text as a standing instruction. It
// changes nothing itself: the reply of the turn asks.
type ProposeInstruction struct{ Text string }

func (ProposeInstruction) Effect() {}

// NewWebLink stores a code of CodeWeb.
type NewWebLink struct{ Code Code }

func (NewWebLink) Effect() {}

// NewConnect stores a code of CodeConnect.
type NewConnect struct{ Code Code }

func (NewConnect) Effect() {}

// StandingSubject holds the standing instructions that a yes adds.
type StandingSubject struct {
	Texts  []string       `json:"texts"`
	Source core.MessageID `json:"source,omitempty"` // the message that the turn answered
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
	// CodeConnect begins to connect the service Name for its user. CodeConsent is the state of what it began at the
	// service, which Name describes.
	CodeConnect CodeKind = "connect"
	CodeConsent CodeKind = "consent"
)

// Code is a one-time code. Hash is the hex SHA-256 of the code in capitals.
type Code struct {
	Kind CodeKind
	Hash string
	// Hint is, for a CodePair, the code itself, which is no secret of the stranger,
	// and for a CodeLinked the AddressKey of where the code was made.
	Hint    string
	User    core.UserID
	Address core.Address // of a stranger
	Name    string
	Group   bool // the address is of a group chat, which becomes a user of its own
	Created time.Time
	Expires time.Time
}

// ApproveStanding is about proposed standing instructions: Subject is a StandingSubject.
const ApproveStanding ApprovalKind = "standing"
