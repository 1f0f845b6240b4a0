package effect

import (
	"time"

	"github.com/everthread/everthread/core"
)

// AskApproval stores an approval. The store sets its User and ID; its Message is the
// last one stored in the same transaction.
type AskApproval struct{ Approval core.Approval }

// Decide answers an approval. It fails with core.ErrRefused if it was answered before, has
// expired or was asked at another identity.
type Decide struct {
	Approval core.ApprovalID
	Identity core.IdentityID
	Yes      bool
	At       time.Time
}

func (AskApproval) Effect() {}
func (Decide) Effect()      {}

// UseYes spends a yes to an account change. It fails with core.ErrRefused if no valid one is left.
type UseYes struct {
	Approval core.ApprovalID
	At       time.Time
}

// AddKey stores an API key of the user.
type AddKey struct{ Key core.APIKey }

// RevokeKey removes an API key. It fails with core.ErrNotFound if there is none.
type RevokeKey struct{ Key int64 }

// EndSession signs a browser out. It fails with core.ErrNotFound if there is none.
type EndSession struct{ Session int64 }

func (UseYes) Effect()     {}
func (AddKey) Effect()     {}
func (RevokeKey) Effect()  {}
func (EndSession) Effect() {}

// Tell writes an audit row.
type Tell struct{ Row core.AuditRow }

func (Tell) Effect() {}
