package core

import (
	"context"
	"time"
)

// VoiceChoice says when the answers to a user are spoken, too.
type VoiceChoice string

// Choices of a user. The zero value is VoiceAuto.
const (
	VoiceAuto VoiceChoice = "auto" // an answer to a voice note
	VoiceOn   VoiceChoice = "on"   // each answer
	VoiceOff  VoiceChoice = "off"
)

// Voices are all choices.
func Voices() []VoiceChoice { return []VoiceChoice{VoiceAuto, VoiceOn, VoiceOff} }

// Speaks reports whether an answer is spoken. heard: it answers a voice note.
func (c VoiceChoice) Speaks(heard bool) bool {
	switch c {
	case VoiceOn:
		return true
	case VoiceOff:
		return false
	}
	return heard
}

// Speech is a text that is to be spoken.
type Speech struct {
	User UserID // whose answer it is
	Text string // words only, no markup
}

// SpeechStore keeps what became of answers that are to be spoken. Their jobs are those of
// QueueSpeak: Ref is the message, and the payload the Address where it was delivered.
type SpeechStore interface {
	// Spoken adds a recording to a message, stores its delivery and ends the job.
	// ErrNotFound: the message was redacted, or another answer stands in its place; the
	// job has ended, and the file is to go.
	Spoken(ctx context.Context, s Spoken) error
	// Unspoken ends the job of an answer that could not be spoken, and keeps why.
	Unspoken(ctx context.Context, user UserID, l Lease, cause string) error
	// SpeechTrouble is why the last answer that was to be spoken was not, and since when it
	// was to be; "" if it was, or none was to be.
	SpeechTrouble(ctx context.Context, user UserID) (cause string, since time.Time, err error)
}

// Spoken is a message that was spoken.
type Spoken struct {
	User       UserID
	Message    MessageID
	Attachment Attachment
	Delivery   NewDelivery // of the recording
	Lease      Lease
	Now        time.Time
}
