package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
)

// AuditQuery selects audit rows, newest first.
type AuditQuery struct {
	User  core.UserID // 0 with All: all users
	All   bool
	Since time.Time // zero: no bound
	// Before continues a list after this row, of which At, User and ID are used.
	Before audit.Row
	Limit  int
}

// AuditStore keeps the audit. Rows are written in the transaction of the action.
type AuditStore interface {
	// Audit lists rows, newest first, then by user and id.
	Audit(ctx context.Context, q AuditQuery) ([]audit.Row, error)
	// PutAudit writes a row for an action that stores nothing else.
	PutAudit(ctx context.Context, user core.UserID, r audit.Row) error
	// SweepAudit removes rows older than before and returns their number.
	SweepAudit(ctx context.Context, before time.Time) (int, error)
	// ExpireApprovals closes approvals that have expired and returns their number.
	ExpireApprovals(ctx context.Context, now time.Time) (int, error)
}

// CallRecord is the journal entry of a call of an outside tool.
type CallRecord struct {
	Turn core.TurnID
	// Approval allowed the call; 0: none was needed. The entry is kept with it, as another turn may repeat the call.
	// The first entry, whose Text is empty, uses the yes up.
	Approval    core.ApprovalID
	By          core.Actor // who started the turn; zero: nobody
	Step, Index int
	Tool        string
	Text        string
	At          time.Time
	Changes     bool // the call may have changed something: its entry outlives the turn
	// Result is recorded in the audit; empty: the call only read.
	Result audit.Result
}
