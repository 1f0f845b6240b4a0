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

// Redact removes a message and everything derived from it (SPEC 3.7).
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
	Loop LoopID
	At   time.Time
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
