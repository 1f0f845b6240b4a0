package core

import "time"

// Regenerate has the newest turn of a thread answer once more. The earlier answer
// becomes one of KindAnswer: it stays in the transcript and can be chosen again, and no
// prompt, search or summary has it; what it did stays done. ErrNotFound: there is no such
// message of the person. ErrRefused: no turn has read it, the turn has not ended, or
// something newer was said.
type Regenerate struct {
	Message MessageID // that the turn read
	Text    *string   // what the message says from now on; nil: what it said
	Tokens  int       // of Text
	At      time.Time
}

// ChooseAnswer puts an earlier answer in the place of the one that a message has now.
// ErrNotFound: the message has no answer of that turn besides. ErrRefused: it is being
// answered.
type ChooseAnswer struct {
	Message MessageID // that Answers names
	Turn    TurnID
	At      time.Time
}

func (Regenerate) effect()   {}
func (ChooseAnswer) effect() {}

// Answered is a message with more than one answer.
type Answered struct {
	Message MessageID // the last one that the turns read
	Turns   []TurnID  // that answered it, oldest first
	Chosen  TurnID    // whose answer the conversation has; 0: it is being answered again
}
