package core

import (
	"context"
	"time"
)

// VoiceChoice says when the answers to a user are also spoken.
type VoiceChoice string

// Choices of a user. The zero value is VoiceAuto.
const (
	VoiceAuto VoiceChoice = "auto" // an answer to a voice note
	VoiceOn   VoiceChoice = "on"   // each answer
	VoiceOff  VoiceChoice = "off"
)

// Voices returns all choices.
func Voices() []VoiceChoice { return []VoiceChoice{VoiceAuto, VoiceOn, VoiceOff} }

// Speaks reports whether an answer is spoken. heard: the answer is to a voice note.
func (c VoiceChoice) Speaks(heard bool) bool {
	switch c {
	case VoiceOn:
		return true
	case VoiceOff:
		return false
	}
	return heard
}

// Speech is a text to speak.
type Speech struct {
	User UserID // who receives the answer
	Text string // words only, no markup
}

// SpeechStore stores the results of speaking answers. The jobs are in QueueSpeak: Ref is
// the message, and the payload the Address where it was delivered.
type SpeechStore interface {
	// Spoken adds a recording to a message, stores its delivery and ends the job.
	// ErrNotFound if the message was redacted, or replaced by another answer; the job
	// has ended, and the caller removes the file.
	Spoken(ctx context.Context, s Spoken) error
	// Unspoken ends the job of an answer that could not be spoken, and stores why.
	Unspoken(ctx context.Context, user UserID, l Lease, cause string) error
	// SpeechTrouble returns why speaking failed for the last such answer, and when its
	// job was enqueued; "" if it succeeded, or there was none.
	SpeechTrouble(ctx context.Context, user UserID) (cause string, since time.Time, err error)
}

// Spoken is the recording of a message.
type Spoken struct {
	User       UserID
	Message    MessageID
	Attachment Attachment
	Delivery   NewDelivery // of the recording
	Lease      Lease
	Now        time.Time
}
