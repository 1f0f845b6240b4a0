package core

import (
	"time"
)

// ApprovalID identifies an approval. It is counted per user.
type ApprovalID int64

// How long an approval stays open, and how long one about linking does.
const (
	ApprovalLife = time.Hour
	LinkLife     = 10 * time.Minute
)

// AccountLife is how long a yes to an account change is valid.
const AccountLife = 10 * time.Minute

// UndoLife is how long an account change can be undone.
const UndoLife = 24 * time.Hour
