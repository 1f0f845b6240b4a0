package core

import (
	"context"
	"time"
)

// TaskID names a task. It is counted per user.
type TaskID int64

// TaskState says whether a task is still to come.
type TaskState string

// States of tasks.
const (
	TaskActive    TaskState = "active"
	TaskPaused    TaskState = "paused" // it stands still until ResumeTask
	TaskDone      TaskState = "done"
	TaskCancelled TaskState = "cancelled"
)

// Task is what a person wants to be done at a time: a turn whose instruction is Text.
type Task struct {
	User  UserID
	ID    TaskID
	Text  string
	DueAt time.Time // the next time
	// Cron makes it recur: five fields, in Zone. Empty: once.
	Cron      string
	Zone      string // IANA name, of the time that the person meant
	State     TaskState
	Source    MessageID // what asked for it; 0: none
	CreatedAt time.Time
	Tainted   bool // made from words that the person did not write, who said yes to it
	Failures  int  // in a row
	Last      Run  // the newest; its Due is zero: there was none
}

// RunState says what became of a time of a task.
type RunState string

// States of a run.
const (
	RunStarted RunState = "started" // its turn waits, or is under way
	RunDone    RunState = "done"
	RunStopped RunState = "stopped" // by the person
	RunSkipped RunState = "skipped"
	RunFailed  RunState = "failed"
)

// RunCause says why a run failed or was skipped.
type RunCause string

// Causes. A late time was missed by more than a task waits; at one that is over before
// it begins nothing is asked of a model.
const (
	CauseLate    RunCause = "late"
	CausePaused  RunCause = "paused"  // the person had paused the assistant
	CauseBlocked RunCause = "blocked" // the person cannot be written to
	CauseNowhere RunCause = "nowhere" // the person has no address
	CauseTokens  RunCause = "tokens"  // the day has no more for tasks, or at all
	CauseAll     RunCause = "all"     // nor has anybody
	CauseModel   RunCause = "model"   // it did not answer
	CauseSetup   RunCause = "setup"   // only the owner can mend it
	CauseRefused RunCause = "refused" // the model refuses it
)

// Run is one time of a task.
type Run struct {
	Task    TaskID
	Due     time.Time
	State   RunState
	Cause   RunCause
	Passed  int       // earlier times that were passed over since the one before
	Message MessageID // the instruction in the transcript; 0: no turn began
	Turn    TurnID    // 0: none has begun
	Started time.Time
	Ended   time.Time // zero: not yet
}

// TaskMark says of a user's message that nobody typed it then: it is a task of theirs
// that was due.
type TaskMark struct {
	Due time.Time `json:"due"`
	Set time.Time `json:"set"` // when the person set the task
}

// MaxFailures is how many runs of a task may fail in a row before it stands still and
// its person is asked whether it is to go on.
const MaxFailures = 3

// TaskStore keeps tasks; they are changed by effects and FireTask.
type TaskStore interface {
	// Tasks lists active and paused ones, soonest first.
	Tasks(ctx context.Context, user UserID, limit int) ([]Task, error)
	// Task returns one of any state, or ErrNotFound.
	Task(ctx context.Context, user UserID, id TaskID) (Task, error)
	// DueTasks lists active ones of all users that are due, oldest first.
	DueTasks(ctx context.Context, now time.Time, limit int) ([]Task, error)
	// FireTask claims one time of a task, and stores what becomes of it. ErrChanged if the
	// task is no longer active or not due at f.Due; ErrRefused if the day has too few tokens.
	FireTask(ctx context.Context, f FireTask) error
	// Runs lists the runs of a task, newest first.
	Runs(ctx context.Context, user UserID, task TaskID, limit int) ([]Run, error)
}

// FireTask is one time of a task. Either Instruction is stored in the continuous thread
// with what it reserves of the day, and a turn will answer it; or Run says why not.
type FireTask struct {
	User     UserID
	Due      time.Time // Task.DueAt as it was read
	Next     time.Time // zero: it is over
	Run      Run
	Identity IdentityID // where the turn answers
	// Instruction has a TaskMark; nil: no turn begins.
	Instruction *NewMessage
	Budget      Budget
	// Notice is what the person is told by Deliveries; nil: nothing.
	Notice     *NewMessage
	Deliveries []NewDelivery
	// Effects follow, such as a question that the notice asks. Pause lets the task stand still.
	Effects []Effect
	Pause   bool
	Now     time.Time
}

// SetTask makes a task; Task.ID 0: the store gives one. It fails with ErrRefused if the
// user has MaxTasks.
type SetTask struct {
	Task Task
	Max  int // of active and paused ones; 0: any number
	At   time.Time
}

// CancelTask cancels an active or paused task. It fails with ErrNotFound if there is none.
type CancelTask struct {
	Task TaskID
	At   time.Time
}

// PauseTask lets an active task stand still; of one that is over nothing happens.
type PauseTask struct {
	Task TaskID
	At   time.Time
}

// ResumeTask lets a paused task go on at Due, its failures forgotten. It fails with
// ErrNotFound if none is paused.
type ResumeTask struct {
	Task TaskID
	Due  time.Time
	At   time.Time
}

// ProposeTask asks the person whether a task is to be set. It changes nothing by itself:
// the reply of the turn asks.
type ProposeTask struct{ Task Task }

func (SetTask) effect()     {}
func (CancelTask) effect()  {}
func (PauseTask) effect()   {}
func (ResumeTask) effect()  {}
func (ProposeTask) effect() {}

// Kinds of approvals about tasks: Subject is a TaskSubject.
const (
	ApproveTask   ApprovalKind = "task"        // tasks that the assistant proposes
	ApproveResume ApprovalKind = "task_resume" // whether a task that failed is to go on
)

// TaskSubject is what a yes sets, or lets go on.
type TaskSubject struct {
	Tasks  []ProposedTask `json:"tasks,omitempty"`
	Source MessageID      `json:"source,omitempty"` // that the turn answered
	Resume TaskID         `json:"resume,omitempty"`
}

// ProposedTask is a task as a question about it keeps it.
type ProposedTask struct {
	Text    string    `json:"text"`
	Due     time.Time `json:"due"`
	Cron    string    `json:"cron,omitempty"`
	Zone    string    `json:"zone"`
	Tainted bool      `json:"tainted,omitempty"`
}
