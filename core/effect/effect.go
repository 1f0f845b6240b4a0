// Package effect holds the changes to the store that commands and tools request. They are buffered and committed together
// with the reply, so a re-run of a turn applies nothing twice.
package effect

import (
	"time"

	"github.com/everthread/everthread/core"
)

// SetSettings replaces the user's settings.
type SetSettings struct{ Settings core.Settings }

// SetName replaces the user's display name.
type SetName struct{ Name string }

// OpenThread opens a plain thread and makes it current for Identity.
type OpenThread struct {
	Identity core.IdentityID
	Title    string
	At       time.Time
	Tainted  bool // somebody else than the person may have written the title
}

// UseThread makes Thread current for Identity; 0 is the continuous one.
type UseThread struct {
	Identity core.IdentityID
	Thread   core.ThreadID
}

// RenameThread changes the title of a plain thread. core.ErrNotFound if there is none.
type RenameThread struct {
	Thread core.ThreadID
	Title  string
}

// DropThread redacts all messages of a plain thread and removes it: it has no title and no name any more, no list has
// it, and identities whose current thread it was return to the continuous one. core.ErrNotFound if there is none.
type DropThread struct {
	Thread core.ThreadID
	At     time.Time
}

// StopTurn asks the running turn of Thread (0: the continuous one) to stop. A turn
// that waits for a retry ends immediately.
type StopTurn struct{ Thread core.ThreadID }

// RetryTurn restarts the running turn of Thread (0: the continuous one), or starts one if messages are pending.
type RetryTurn struct {
	Thread core.ThreadID
	At     time.Time
}

// Redact removes a message and everything derived from it.
type Redact struct {
	Message core.MessageID
	At      time.Time
	// Retract: what was delivered of it is deleted in the apps, too, where they allow it.
	Retract bool
}

// Summarize requests a new summary of Segment from the transcript.
type Summarize struct {
	Segment core.SegmentID
	At      time.Time
}

// CloseLoop closes an open loop.
type CloseLoop struct {
	Loop    core.LoopID
	At      time.Time
	Text    string // its text, for the person
	Tainted bool   // Undo can revert it
}

// UndoKind is the kind of object that Undo reverts.
type UndoKind string

// Kinds of undoable objects. Undo ends what was created and restores what was ended.
const (
	UndoItem     UndoKind = "item"
	UndoLoop     UndoKind = "loop"
	UndoReminder UndoKind = "reminder"
)

// Undoable is a change by a tainted turn that has not been undone yet.
type Undoable struct {
	Kind  UndoKind
	ID    int64
	Text  string
	Ended bool // it was archived, closed or cancelled; false: it was created
}

// Undo reverts such a change. It fails with core.ErrRefused if the object is no longer in the
// state that X describes. An item stays archived if an active one states the same.
type Undo struct {
	X  Undoable
	At time.Time
}

// Taint returns the effect marked as one of a turn that read words its person did not write.
func Taint(e core.Effect) core.Effect {
	switch e := e.(type) {
	case AddItem:
		e.Item.Tainted, e.Theme.Tainted = true, e.Item.Theme != "" && e.Item.Theme != core.DefaultTheme
		return e
	case OpenLoop:
		e.Loop.Tainted = true
		return e
	case ArchiveItem:
		e.Tainted = true
		return e
	case CloseLoop:
		e.Tainted = true
		return e
	case CancelPlan:
		e.Tainted = true
		return e
	case OpenThread:
		e.Tainted = true
		return e
	case SetPlan:
		e.Plan.Tainted = true
		if e.Plan.Kind == core.PlanTask { // it acts later, so the person decides
			return ProposeTask{Plan: e.Plan}
		}
		return e
	case AddInstruction: // it holds in every conversation, so the person decides
		return ProposeInstruction{Text: e.Instruction.Text}
	}
	return e
}

// Approve attaches the address of a pairing code to User, or to a new user called Name
// if User is 0. It fails with core.ErrRefused if the code is not valid, and for a group with a User.
type Approve struct {
	CodeHash string
	User     core.UserID
	Name     string
	At       time.Time
}

// Deny revokes a pairing code and drops the held events of its address. It fails with
// core.ErrRefused if the code is not valid.
type Deny struct {
	CodeHash string
	At       time.Time
}

// Resume starts a turn for messages that arrived while the user had paused.
type Resume struct{ At time.Time }

// Release sends the parked deliveries of an identity that can be written to again.
type Release struct {
	Identity core.IdentityID
	At       time.Time
}

func (Undo) Effect()         {}
func (Release) Effect()      {}
func (SetSettings) Effect()  {}
func (SetName) Effect()      {}
func (OpenThread) Effect()   {}
func (UseThread) Effect()    {}
func (RenameThread) Effect() {}
func (DropThread) Effect()   {}
func (StopTurn) Effect()     {}
func (RetryTurn) Effect()    {}
func (Redact) Effect()       {}
func (Summarize) Effect()    {}
func (CloseLoop) Effect()    {}
func (Approve) Effect()      {}
func (Deny) Effect()         {}
func (Resume) Effect()       {}

// Regenerate makes the newest turn of a thread answer again. The earlier answer becomes a KindAnswer: it stays in the
// transcript and can be chosen again, but no prompt, search or summary includes it; its effects stay. core.ErrNotFound if
// the user has no such message. core.ErrRefused if no turn has read it, the turn has not ended, or the thread has newer
// messages.
type Regenerate struct {
	Message core.MessageID // an input of the turn
	Text    *string        // the message's new text; nil: unchanged
	Tokens  int            // of Text
	At      time.Time
}

// ChooseAnswer replaces the current answer of a message with an earlier one. core.ErrNotFound if that turn gave the message
// no other answer. core.ErrRefused while the message is being answered.
type ChooseAnswer struct {
	Message core.MessageID // Answered.Message
	Turn    core.TurnID
	At      time.Time
}

func (Regenerate) Effect()   {}
func (ChooseAnswer) Effect() {}

// Answered is a message with more than one answer.
type Answered struct {
	Message core.MessageID // the last input of the turns
	Turns   []core.TurnID  // the turns that answered it, oldest first
	Chosen  core.TurnID    // the turn of the current answer; 0: it is being answered again
}
