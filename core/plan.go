package core

import (
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
