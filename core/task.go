package core

import (
	"context"
	"time"
)

// TaskID identifies a task. It is counted per user.
type TaskID int64

// TaskState is the state of a task.
type TaskState string

// States of tasks.
const (
	TaskActive    TaskState = "active"
	TaskPaused    TaskState = "paused" // until ResumeTask
	TaskDone      TaskState = "done"
	TaskCancelled TaskState = "cancelled"
)

// Task is a turn scheduled for a time. Its instruction is Text.
type Task struct {
	User  UserID
	ID    TaskID
	Text  string
	DueAt time.Time // the next time
	// Cron makes it recur: five fields, in Zone. Empty: once.
	Cron      string
	Zone      string // IANA name of the zone in which the person gave the time
	State     TaskState
	Source    MessageID // the message that requested it; 0: none
	CreatedAt time.Time
	Tainted   bool // derived from words that the person did not write, but approved
	Failures  int  // consecutive failures
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

// Run is one occurrence of a task.
type Run struct {
	Task    TaskID
	Due     time.Time
	State   RunState
	Cause   RunCause
	Passed  int       // occurrences missed since the previous run
	Message MessageID // the instruction in the transcript; 0: no turn began
	Turn    TurnID    // 0: none has begun
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

// TaskStore keeps tasks. Effects and FireTask change them.
type TaskStore interface {
	// Tasks lists active and paused tasks, soonest first.
	Tasks(ctx context.Context, user UserID, limit int) ([]Task, error)
	// Task returns a task in any state, or ErrNotFound.
	Task(ctx context.Context, user UserID, id TaskID) (Task, error)
	// DueTasks lists due active tasks of all users, oldest first.
	DueTasks(ctx context.Context, now time.Time, limit int) ([]Task, error)
	// FireTask claims one occurrence of a task and stores its run. ErrChanged if the task is no longer active or no
	// longer due at f.Due; ErrRefused if the day has too few tokens left.
	FireTask(ctx context.Context, f FireTask) error
	// Runs lists the runs of a task, newest first.
	Runs(ctx context.Context, user UserID, task TaskID, limit int) ([]Run, error)
}

// FireTask is one occurrence of a task. Either Instruction is stored in the continuous
// thread with its token reservation, for a turn to answer; or Run says why not.
type FireTask struct {
	User     UserID
	Due      time.Time // Task.DueAt as it was read
	Next     time.Time // zero: the task is done
	Run      Run
	Identity IdentityID // where the turn answers
	// Instruction has a TaskMark; nil: no turn begins.
	Instruction *NewMessage
	Budget      Budget
	// Notice is sent to the person by Deliveries; nil: none.
	Notice     *NewMessage
	Deliveries []NewDelivery
	// Effects are applied last, such as the question that the notice asks. Pause pauses the task.
	Effects []Effect
	Pause   bool
	Now     time.Time
}

// SetTask creates a task; with Task.ID 0 the store assigns an id. It fails with ErrRefused if the user has Max tasks.
type SetTask struct {
	Task Task
	Max  int // active and paused ones; 0: unlimited
	At   time.Time
}

// CancelTask cancels an active or paused task. It fails with ErrNotFound if it is neither.
type CancelTask struct {
	Task TaskID
	At   time.Time
}

// PauseTask pauses an active task. It does nothing to one that is over.
type PauseTask struct {
	Task TaskID
	At   time.Time
}

// ResumeTask makes a paused task due at Due and resets its failures. It fails with
// ErrNotFound if the task is not paused.
type ResumeTask struct {
	Task TaskID
	Due  time.Time
	At   time.Time
}

// ProposeTask asks the person to approve a task. It changes nothing: the reply of the turn asks.
type ProposeTask struct{ Task Task }

func (SetTask) effect()     {}
func (CancelTask) effect()  {}
func (PauseTask) effect()   {}
func (ResumeTask) effect()  {}
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
	Resume TaskID         `json:"resume,omitempty"`
}

// ProposedTask is a task in a TaskSubject.
type ProposedTask struct {
	Text    string    `json:"text"`
	Due     time.Time `json:"due"`
	Cron    string    `json:"cron,omitempty"`
	Zone    string    `json:"zone"`
	Tainted bool      `json:"tainted,omitempty"`
}

// ReminderState is the state of a reminder.
type ReminderState string

// States of reminders.
const (
	ReminderActive    ReminderState = "active"
	ReminderDone      ReminderState = "done"
	ReminderCancelled ReminderState = "cancelled"
)

// Reminder is a text that a person wants to receive at a time.
type Reminder struct {
	User  UserID
	ID    ReminderID
	Text  string
	DueAt time.Time // the next time
	// Cron makes it recur: five fields, in Zone. Empty: once.
	Cron      string
	Zone      string // IANA name of the zone in which the person gave the time
	State     ReminderState
	Source    MessageID // the message that requested it; 0: none
	CreatedAt time.Time
	FiredAt   time.Time // the last time; zero: never
	Message   MessageID // sent the last time
	Tainted   bool      // derived from words that the person did not write
}

// PlanStore reads open loops and reminders, and fires reminders. Effects such as
// SetReminder, SnoozeReminder and CancelReminder change them.
type PlanStore interface {
	// Reminders lists active reminders, soonest first.
	Reminders(ctx context.Context, user UserID, limit int) ([]Reminder, error)
	// Reminder returns a reminder in any state, or ErrNotFound.
	Reminder(ctx context.Context, user UserID, id ReminderID) (Reminder, error)
	// DueReminders lists due active reminders of all users, oldest first.
	DueReminders(ctx context.Context, now time.Time, limit int) ([]Reminder, error)
	// Fire stores the message of a reminder with its deliveries, and its next due
	// time. ErrChanged if it is no longer active or no longer due at f.Due.
	Fire(ctx context.Context, f Fire) (MessageID, error)
	// Loops lists open loops, newest mention first, at most limit.
	Loops(ctx context.Context, user UserID, limit int) ([]Loop, error)
	// Undoable returns the change that the effect Undo would revert, by the id of the item, loop or reminder, or
	// ErrNotFound. A cancelled reminder is not undoable once its time has passed.
	Undoable(ctx context.Context, user UserID, id int64, now time.Time) (Undoable, error)
}

// Fire is one occurrence of a reminder.
type Fire struct {
	User       UserID
	Reminder   ReminderID
	Due        time.Time // DueAt as it was read
	Next       time.Time // zero: the reminder is done
	Message    NewMessage
	Deliveries []NewDelivery
	Now        time.Time
}

// SetReminder creates a reminder; with Reminder.ID 0 the store assigns an id.
type SetReminder struct {
	Reminder Reminder
	At       time.Time
}

// CancelReminder cancels a reminder. It fails with ErrNotFound if it is not active.
type CancelReminder struct {
	Reminder ReminderID
	At       time.Time
	Text     string // its text, for the person
	Tainted  bool   // Undo can revert it
}

// SnoozeReminder postpones the next occurrence of an active reminder; a recurring one follows its rule again from then
// on. It fails with ErrNotFound if the reminder is not active, and with ErrRefused if Until is not after At.
type SnoozeReminder struct {
	Reminder  ReminderID
	Until, At time.Time
}

func (SetReminder) effect()    {}
func (CancelReminder) effect() {}
func (SnoozeReminder) effect() {}
