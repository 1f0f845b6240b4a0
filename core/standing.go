package core

import (
	"context"
	"time"
)

// InstructionID names a standing instruction. It is counted per user.
type InstructionID int64

// Instruction is a standing instruction: what a person wants always. It is a setting,
// not memory, and stands in every prompt.
type Instruction struct {
	User      UserID
	ID        InstructionID
	Text      string    // one line
	Tokens    int       // of its line in a prompt
	Source    MessageID // that asked for it; 0: none, such as the page
	Noted     bool      // the assistant proposed it, and the person said yes
	CreatedAt time.Time
}

// MaxInstructions is how many standing instructions of a user a store keeps at all, those
// that do not count among them.
const MaxInstructions = 100

// StandingStore reads standing instructions; they are written by effects.
type StandingStore interface {
	// Instructions lists a user's standing instructions in the order in which they were
	// added; in a merge those of the target user come first.
	Instructions(ctx context.Context, user UserID) ([]Instruction, error)
}

// AddInstruction adds a standing instruction; Instruction.ID 0: the store gives one. If
// one of the same Digest exists, nothing happens. It fails with ErrRefused if there
// would be more than Max, or all together would have more than MaxTokens; 0: only
// MaxInstructions bounds them.
type AddInstruction struct {
	Instruction Instruction
	Digest      string // of the text, as core/text recognises it again
	Max         int
	MaxTokens   int
	At          time.Time
}

// RemoveInstruction removes a standing instruction for good, from what prompts are kept
// of, too. It fails with ErrNotFound if there is none.
type RemoveInstruction struct {
	Instruction InstructionID
	At          time.Time
}

func (AddInstruction) effect()    {}
func (RemoveInstruction) effect() {}

// PartStanding is the name of the part of a prompt that holds standing instructions.
const PartStanding = "standing"

// InstructionLine is a standing instruction as it stands in a prompt: a JSON text, so
// that nothing in it can end the line or look like another.
func InstructionLine(text string) string { return "- " + DataLine(text) }

// RemovedInstruction stands in what is kept of a prompt for one that was removed since.
const RemovedInstruction = "- [removed]"

// ApproveStanding is for standing instructions that the assistant proposes: Subject is a
// StandingSubject.
const ApproveStanding ApprovalKind = "standing"

// StandingSubject is what a yes adds.
type StandingSubject struct {
	Texts  []string  `json:"texts"`
	Source MessageID `json:"source,omitempty"` // that the turn answered
}

// ProposeInstruction asks the person whether Text is to be a standing instruction. It
// changes nothing by itself: the reply of the turn asks.
type ProposeInstruction struct{ Text string }

func (ProposeInstruction) effect() {}
