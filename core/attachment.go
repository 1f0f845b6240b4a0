package core

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Attachment is a file of an inbound or outbound message.
type Attachment struct {
	Kind     string        `json:"kind"` // photo, voice, audio, video, document, sticker, location, contact
	Ref      string        `json:"ref,omitempty"`
	Name     string        `json:"name,omitempty"`
	MIME     string        `json:"mime,omitempty"`
	Size     int64         `json:"size,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	// Path is the downloaded file below data_dir/media; Problem and Error say why there is none.
	Path    string      `json:"path,omitempty"`
	Problem FileProblem `json:"problem,omitempty"`
	Error   string      `json:"error,omitempty"`
	// Transcript is the text of a voice note or recording.
	Transcript string `json:"transcript,omitempty"`
	// Unheard is when transcription will be tried again because the day's tokens were
	// used up; zero: it is done, or none is needed.
	Unheard time.Time `json:"unheard,omitzero"`
	// Document describes its text; nil: it is not a readable document.
	Document *Document `json:"document,omitempty"`
	// Alt describes a picture in words.
	Alt string `json:"alt,omitempty"`
	// Speech says why there is no Transcript although the recording was listened to.
	Speech SpeechProblem `json:"speech,omitempty"`
	// Long: the voice note exceeds the limit for transcription.
	Long bool `json:"long,omitempty"`
}

// Named returns a line of text for an attachment that cannot be shown.
func (a Attachment) Named() string {
	return "[" + a.Kind + ": " + cmp.Or(a.Alt, a.Name) + "]"
}

// FileProblem says why there is no file of an attachment.
type FileProblem string

// Problems of files.
const (
	FileLarge  FileProblem = "large"  // the service hands over no file of its size, or we take none
	FileGone   FileProblem = "gone"   // the service does not hand it over, and will not
	FileRoom   FileProblem = "room"   // the person's files have reached their bound
	FileFailed FileProblem = "failed" // fetching it failed too often
	FileComing FileProblem = "coming" // it is still being fetched; not stored
)

// Missing returns why there is no file of an attachment that should have one; empty: it has one, or needs none.
func (a Attachment) Missing() FileProblem {
	switch {
	case a.Path != "" || a.Ref == "" && a.Error == "":
		return ""
	case a.Error != "":
		return cmp.Or(a.Problem, FileFailed)
	}
	return FileComing
}

// SpeechProblem says why a recording has no transcript.
type SpeechProblem string

// Problems of recordings.
const (
	SpeechNone   SpeechProblem = "none"   // nobody says anything in it
	SpeechFailed SpeechProblem = "failed" // it could not be transcribed
)

// Pictures are the types of pictures that every model takes which sees.
var pictures = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// Picture reports whether a type of content can be shown to a model that sees.
func Picture(media string) bool { return slices.Contains(pictures, media) }

// Note tells the model what it cannot read or see of an attachment, and why; empty: there is nothing to tell.
func (a Attachment) Note() string {
	if a.Path != "" && strings.HasPrefix(a.MIME, "image/") && !Picture(a.MIME) {
		return "It is a picture of a kind that cannot be shown to you."
	}
	return map[FileProblem]string{
		FileLarge:  "It is too large to be received here, so you cannot read it.",
		FileGone:   "The service did not hand it over, so you cannot read it.",
		FileRoom:   "There is no room for more of the user's files, so you cannot read it.",
		FileFailed: "It could not be fetched, so you cannot read it.",
		FileComing: "It has not arrived yet, so you cannot read it.",
	}[a.Missing()]
}

// Placeholders of recordings without a transcript.
const (
	unheard  = "not written down, today's tokens are used up"
	tooLong  = "not written down, it is too long"
	noWords  = "no words were heard in it"
	notHeard = "not written down, that failed"
)

// Heard returns a text of a message with what is known of the words of a recording in its placeholder: [voice 0:12]
// becomes [voice 0:12: the words].
func (a Attachment) Heard(text string) string {
	for _, note := range []string{unheard, tooLong, noWords, notHeard} {
		text = strings.Replace(text, ": "+note+"]", "]", 1)
	}
	said := a.Transcript
	switch {
	case said != "":
	case a.Long:
		said = tooLong
	case !a.Unheard.IsZero():
		said = unheard
	case a.Speech == SpeechNone:
		said = noWords
	case a.Speech == SpeechFailed:
		said = notHeard
	default:
		return text
	}
	start := strings.Index(text, "["+a.Kind)
	if start < 0 || !strings.Contains(text[start:], "]") {
		return strings.TrimSpace(text + "\n[" + a.Kind + ": " + said + "]")
	}
	end := start + closing(text[start:])
	return text[:end] + ": " + said + text[end:]
}

// closing returns the index of the bracket that closes the one at the beginning of s, or else of the first one.
func closing(s string) int {
	depth := 0
	for i, r := range s {
		switch r {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return strings.IndexByte(s, ']')
}
