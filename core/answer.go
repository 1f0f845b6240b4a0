package core

import "time"

// Regenerate makes the newest turn of a thread answer again. The earlier answer becomes
// a KindAnswer: it stays in the transcript and can be chosen again, but no prompt, search
// or summary includes it; its effects stay. ErrNotFound if the user has no such message.
// ErrRefused if no turn has read it, the turn has not ended, or the thread has newer
// messages.
type Regenerate struct {
	Message MessageID // an input of the turn
	Text    *string   // the message's new text; nil: unchanged
	Tokens  int       // of Text
	At      time.Time
}

// ChooseAnswer replaces the current answer of a message with an earlier one. ErrNotFound
// if that turn gave the message no other answer. ErrRefused while the message is being
// answered.
type ChooseAnswer struct {
	Message MessageID // Answered.Message
	Turn    TurnID
	At      time.Time
}

func (Regenerate) effect()   {}
func (ChooseAnswer) effect() {}

// Answered is a message with more than one answer.
type Answered struct {
	Message MessageID // the last input of the turns
	Turns   []TurnID  // the turns that answered it, oldest first
	Chosen  TurnID    // the turn of the current answer; 0: it is being answered again
}
