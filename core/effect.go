package core

import "time"

// Effect is a change of our own store that a command or a tool wants. Effects
// are buffered, and committed together with the reply that speaks of them, so a
// re-run of a turn does nothing twice.
type Effect interface{ effect() }

// SetSettings replaces the user's settings.
type SetSettings struct{ Settings Settings }

// SetName replaces the user's display name.
type SetName struct{ Name string }

// OpenThread opens a plain thread and makes it current for Identity.
type OpenThread struct {
	Identity IdentityID
	Title    string
	At       time.Time
}

// UseThread makes Thread current for Identity; 0 is the continuous one.
type UseThread struct {
	Identity IdentityID
	Thread   ThreadID
}

// StopTurn asks the running turn of Thread (0: the continuous one) to stop. One
// that waits to be tried again ends at once.
type StopTurn struct{ Thread ThreadID }

// RetryTurn restarts the running turn of Thread (0: the continuous one), or
// starts one if messages wait.
type RetryTurn struct {
	Thread ThreadID
	At     time.Time
}

// Redact removes a message and everything derived from it.
type Redact struct {
	Message MessageID
	At      time.Time
}

// Summarize asks for a new summary of Segment from the transcript.
type Summarize struct {
	Segment SegmentID
	At      time.Time
}

// CloseLoop closes an open loop.
type CloseLoop struct {
	Loop    LoopID
	At      time.Time
	Text    string // what it says, for telling
	Tainted bool   // it can be taken back by Undo
}

// UndoKind says what Undo takes back.
type UndoKind string

// Kinds of what can be undone. What was made is ended, what was ended is there again.
const (
	UndoItem     UndoKind = "item"
	UndoLoop     UndoKind = "loop"
	UndoReminder UndoKind = "reminder"
)

// Undoable is something that a turn did which had read words that its person did
// not write, and that was not taken back since.
type Undoable struct {
	Kind  UndoKind
	ID    int64
	Text  string
	Ended bool // it was archived, closed or cancelled; else it was made
}

// Undo takes such a thing back. It fails with ErrRefused if it is not as X says. An
// item whose statement is active again meanwhile stays archived.
type Undo struct {
	X  Undoable
	At time.Time
}

// Taint marks what an effect makes or ends as done by a turn that had read words
// which its person did not write.
func Taint(e Effect) Effect {
	switch e := e.(type) {
	case AddItem:
		e.Item.Tainted, e.Theme.Tainted = true, e.Item.Theme != "" && e.Item.Theme != DefaultTheme
		return e
	case OpenLoop:
		e.Loop.Tainted = true
		return e
	case SetReminder:
		e.Reminder.Tainted = true
		return e
	case ArchiveItem:
		e.Tainted = true
		return e
	case CloseLoop:
		e.Tainted = true
		return e
	case CancelReminder:
		e.Tainted = true
		return e
	case SetTask: // it acts later: the person decides
		e.Task.Tainted = true
		return ProposeTask{Task: e.Task}
	}
	return e
}

// Approve attaches the address of a pairing code to User, or to a new user of
// that name if User is 0. It fails with ErrRefused if the code is not valid.
type Approve struct {
	CodeHash string
	User     UserID
	Name     string
	At       time.Time
}

// Deny takes a pairing code back and drops what its address wrote meanwhile. It
// fails with ErrRefused if the code is not valid.
type Deny struct {
	CodeHash string
	At       time.Time
}

// Resume starts a turn for messages that came while the user had paused.
type Resume struct{ At time.Time }

// Release sends what is parked for an identity, which can be written to again.
type Release struct {
	Identity IdentityID
	At       time.Time
}

func (Undo) effect()        {}
func (Release) effect()     {}
func (SetSettings) effect() {}
func (SetName) effect()     {}
func (OpenThread) effect()  {}
func (UseThread) effect()   {}
func (StopTurn) effect()    {}
func (RetryTurn) effect()   {}
func (Redact) effect()      {}
func (Summarize) effect()   {}
func (CloseLoop) effect()   {}
func (Approve) effect()     {}
func (Deny) effect()        {}
func (Resume) effect()      {}
