package effect

import (
	"time"

	"github.com/everthread/everthread/core"
)

// SetPlan creates a plan; with Plan.ID 0 the store assigns an id. It fails with core.ErrRefused if the user has Max open
// plans of its kind.
type SetPlan struct {
	Plan core.Plan
	Max  int // 0: unlimited
	At   time.Time
}

// CancelPlan cancels an active or paused plan. It fails with core.ErrNotFound if it is neither.
type CancelPlan struct {
	Plan    core.PlanID
	At      time.Time
	Text    string // its text, for the person
	Tainted bool   // Undo can revert it
}

// PausePlan pauses an active plan. It does nothing to one that is over.
type PausePlan struct {
	Plan core.PlanID
	At   time.Time
}

// ResumePlan makes a paused plan due at Due and resets its failures. It fails with
// core.ErrNotFound if the plan is not paused.
type ResumePlan struct {
	Plan core.PlanID
	Due  time.Time
	At   time.Time
}

// SnoozePlan postpones the next occurrence of an active plan; a recurring one follows its rule again from then on. It
// fails with core.ErrNotFound if the plan is not active, and with core.ErrRefused if Until is not after At.
type SnoozePlan struct {
	Plan      core.PlanID
	Until, At time.Time
}

// ProposeTask asks the person to approve a task. It changes nothing: the reply of the turn asks.
type ProposeTask struct{ Plan core.Plan }

func (SetPlan) Effect()     {}
func (CancelPlan) Effect()  {}
func (PausePlan) Effect()   {}
func (ResumePlan) Effect()  {}
func (SnoozePlan) Effect()  {}
func (ProposeTask) Effect() {}

// TaskSubject holds the tasks that a yes sets, or the one that it resumes.
type TaskSubject struct {
	Tasks  []ProposedTask `json:"tasks,omitempty"`
	Source core.MessageID `json:"source,omitempty"` // the message that the turn answered
	Resume core.PlanID    `json:"resume,omitempty"`
}

// ProposedTask is a task in a TaskSubject.
type ProposedTask struct {
	Text    string    `json:"text"`
	Due     time.Time `json:"due"`
	Cron    string    `json:"cron,omitempty"`
	Zone    string    `json:"zone"`
	Tainted bool      `json:"tainted,omitempty"`
}

// Kinds of approvals about tasks: Subject is a TaskSubject.
const (
	ApproveTask   ApprovalKind = "task"        // tasks that the assistant proposes
	ApproveResume ApprovalKind = "task_resume" // whether to resume a failed task
)
