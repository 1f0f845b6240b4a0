package core

import (
	"context"
	"time"
)

// PlanID identifies a plan. It is counted per user.
type PlanID int64

// PlanKind is what a plan does at its time.
type PlanKind string

// Kinds of plans.
const (
	PlanReminder PlanKind = "reminder" // its text is sent
	PlanTask     PlanKind = "task"     // its text is the instruction of a turn
)

// PlanState is the state of a plan.
type PlanState string

// States of plans.
const (
	PlanActive    PlanState = "active"
	PlanPaused    PlanState = "paused" // until ResumePlan
	PlanDone      PlanState = "done"
	PlanCancelled PlanState = "cancelled"
)

// Plan is what a person wants at a time: a reminder or a task.
type Plan struct {
	User  UserID
	ID    PlanID
	Kind  PlanKind
	Text  string
	DueAt time.Time // the next time
	// Cron makes it recur: five fields, in Zone. Empty: once.
	Cron      string
	Zone      string // IANA name of the zone in which the person gave the time
	State     PlanState
	Source    MessageID // the message that requested it; 0: none
	CreatedAt time.Time
	Tainted   bool // derived from words that the person did not write
	Failures  int  // consecutive failures of a task
	Last      Run  // the newest run; a zero Due means none
}

// RunState is the state of a run.
type RunState string

// States of a run.
const (
	RunStarted RunState = "started" // its turn waits, or is running
	RunDone    RunState = "done"
	RunStopped RunState = "stopped" // by the person
	RunSkipped RunState = "skipped"
	RunFailed  RunState = "failed"
)

// RunCause says why a run failed or was skipped.
type RunCause string

// Causes. Except for CauseModel and CauseRefused, no model was called.
const (
	CauseLate    RunCause = "late"    // its time was missed by more than tasks wait
	CausePaused  RunCause = "paused"  // the person had paused the assistant
	CauseBlocked RunCause = "blocked" // the person cannot be written to
	CauseNowhere RunCause = "nowhere" // the person has no address
	CauseTokens  RunCause = "tokens"  // the user's tokens of the day, or those for tasks, are used up
	CauseAll     RunCause = "all"     // the day's tokens of all users are used up
	CauseModel   RunCause = "model"   // the model did not answer
	CauseSetup   RunCause = "setup"   // only the owner can fix it
	CauseRefused RunCause = "refused" // the model refused
)

// Run is one occurrence of a plan.
type Run struct {
	Plan    PlanID
	Due     time.Time
	State   RunState
	Cause   RunCause
	Passed  int       // occurrences missed since the previous run
	Message MessageID // the instruction of a task, or what a reminder sent; 0: no turn began
	Turn    TurnID    // of a task; 0: none has begun
	Started time.Time
	Ended   time.Time // zero: not yet
}

// TaskMark marks a user message that nobody typed at that time: it is a due task.
type TaskMark struct {
	Due time.Time `json:"due"`
	Set time.Time `json:"set"` // when the person set the task
}

// MaxFailures is how many runs of a task may fail in a row before it is paused and the
// person is asked whether to continue.
const MaxFailures = 3

// PlanStore keeps plans and open loops. Effects and FirePlan change them.
type PlanStore interface {
	// OpenPlans lists the active and paused plans of a kind, soonest first.
	OpenPlans(ctx context.Context, user UserID, kind PlanKind, limit int) ([]Plan, error)
	// Plan returns a plan in any state, or ErrNotFound.
	Plan(ctx context.Context, user UserID, id PlanID) (Plan, error)
	// DuePlans lists due active plans of all users, oldest first.
	DuePlans(ctx context.Context, now time.Time, limit int) ([]Plan, error)
	// FirePlan claims one occurrence of a plan and stores its run. ErrChanged if the plan is no longer active or no
	// longer due at f.Due; ErrRefused if the day has too few tokens left.
	FirePlan(ctx context.Context, f FirePlan) error
	// Runs lists the runs of a plan, newest first.
	Runs(ctx context.Context, user UserID, plan PlanID, limit int) ([]Run, error)
	// Loops lists open loops, newest mention first, at most limit.
	Loops(ctx context.Context, user UserID, limit int) ([]Loop, error)
	// Undoable returns the change that the effect Undo would revert, by the id of the item, loop or reminder, or
	// ErrNotFound. A cancelled reminder is not undoable once its time has passed.
	Undoable(ctx context.Context, user UserID, id int64, now time.Time) (Undoable, error)
}

// FirePlan is one occurrence of a plan. Message is what a reminder says. Of a task either Instruction is stored in the
// continuous thread with its token reservation, for a turn to answer; or Run says why not.
type FirePlan struct {
	User     UserID
	Due      time.Time // Plan.DueAt as it was read
	Next     time.Time // zero: the plan is done
	Run      Run
	Identity IdentityID // where the turn answers
	// Instruction has a TaskMark; nil: no turn begins.
	Instruction *NewMessage
	Budget      Budget
	// Message is sent to the person by Deliveries: a reminder, or a notice about a task; nil: none.
	Message    *NewMessage
	Deliveries []NewDelivery
	// Effects are applied last, such as the question that the notice asks. Pause pauses the task.
	Effects []Effect
	Pause   bool
	Now     time.Time
}

// SetPlan creates a plan; with Plan.ID 0 the store assigns an id. It fails with ErrRefused if the user has Max open
// plans of its kind.
type SetPlan struct {
	Plan Plan
	Max  int // 0: unlimited
	At   time.Time
}

// CancelPlan cancels an active or paused plan. It fails with ErrNotFound if it is neither.
type CancelPlan struct {
	Plan    PlanID
	At      time.Time
	Text    string // its text, for the person
	Tainted bool   // Undo can revert it
}

// PausePlan pauses an active plan. It does nothing to one that is over.
type PausePlan struct {
	Plan PlanID
	At   time.Time
}

// ResumePlan makes a paused plan due at Due and resets its failures. It fails with
// ErrNotFound if the plan is not paused.
type ResumePlan struct {
	Plan PlanID
	Due  time.Time
	At   time.Time
}

// SnoozePlan postpones the next occurrence of an active plan; a recurring one follows its rule again from then on. It
// fails with ErrNotFound if the plan is not active, and with ErrRefused if Until is not after At.
type SnoozePlan struct {
	Plan      PlanID
	Until, At time.Time
}

// ProposeTask asks the person to approve a task. It changes nothing: the reply of the turn asks.
type ProposeTask struct{ Plan Plan }

func (SetPlan) effect()     {}
func (CancelPlan) effect()  {}
func (PausePlan) effect()   {}
func (ResumePlan) effect()  {}
func (SnoozePlan) effect()  {}
func (ProposeTask) effect() {}

// Kinds of approvals about tasks: Subject is a TaskSubject.
const (
	ApproveTask   ApprovalKind = "task"        // tasks that the assistant proposes
	ApproveResume ApprovalKind = "task_resume" // whether to resume a failed task
)

// TaskSubject holds the tasks that a yes sets, or the one that it resumes.
type TaskSubject struct {
	Tasks  []ProposedTask `json:"tasks,omitempty"`
	Source MessageID      `json:"source,omitempty"` // the message that the turn answered
	Resume PlanID         `json:"resume,omitempty"`
}

// ProposedTask is a task in a TaskSubject.
type ProposedTask struct {
	Text    string    `json:"text"`
	Due     time.Time `json:"due"`
	Cron    string    `json:"cron,omitempty"`
	Zone    string    `json:"zone"`
	Tainted bool      `json:"tainted,omitempty"`
}
