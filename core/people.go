package core

import (
	"context"
	"time"
)

// Users looks users up.
type Users interface {
	User(ctx context.Context, id UserID) (User, error)
}

// LinkTries is how many wrong codes an address may try before it is locked for LinkLock.
const (
	LinkTries = 5
	LinkLock  = time.Hour
)

// TopicMerges is the wake-up topic of merges.
const TopicMerges = "merges"

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

// PartStanding is the name of the part of a prompt that holds standing instructions.
const PartStanding = "standing"

// InstructionLine returns the line of a prompt for a standing instruction: a JSON
// string, so that its text can neither end the line nor imitate another.
func InstructionLine(text string) string { return "- " + DataLine(text) }

// RemovedInstruction replaces the line of a removed instruction in stored prompts.
const RemovedInstruction = "- [removed]"
