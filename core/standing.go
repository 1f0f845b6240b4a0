package core

import (
	"context"
	"time"
)

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

// AddInstruction adds a standing instruction; with Instruction.ID 0 the store assigns an
// id. It does nothing if one with the same Digest exists. It fails with ErrRefused if
// there would be more than Max, or more than MaxTokens in total; 0: only MaxInstructions
// bounds them.
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

// ApproveStanding is about standing instructions that the assistant proposes: Subject is
// a StandingSubject.
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
