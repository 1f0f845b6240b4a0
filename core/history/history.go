// Package history brings in what was said elsewhere: it reads the archives that
// other services give out and stores what they hold at its place in time.
//
// An archive is foreign: it is read as a stream, within bounds, and what cannot
// be read is left out and counted, with its place. No name in it is used as a path.
package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// Line is one message as it stands in an archive.
type Line struct {
	Chat  string    // which conversation of the archive
	Title string    // how that is called
	ID    string    // of the message in Chat; empty: its time, speaker and text tell it apart
	At    time.Time // when it was sent
	From  string    // who said it
	Role  core.Role // user or assistant, where the archive tells; else From decides
	Told  bool      // the archive tells which messages of Chat are the person's
	Text  string
	// Quote is what it replies to, ForwardedFrom whose words it is.
	Quote         string
	ForwardedFrom string
	Files         []File
	Own           *Own   // of our own exports
	Place         string // where it stands, if neither ID nor Title tell
	Untimed       bool   // the archive has no time of it: At is made up from its neighbours
}

// File is a file that came with a message.
type File struct {
	Kind     string // as core.Attachment has it
	Name     string
	MIME     string
	Duration time.Duration
	Entry    string // its name in the archive; empty: it is not there, unless Data has it
	Data     []byte // its content, where the archive has that within the message
	// Transcript is what was said in it.
	Transcript string
}

// Own is what only our own exports tell of a message.
type Own struct {
	Thread     core.ThreadID
	Plain      bool // a thread of its own
	ID         core.MessageID
	Day        string
	Kind       core.MessageKind
	Channel    string
	Quote      *core.Quote
	ToolCalls  []core.ToolCall
	ToolCallID string
	ToolName   string
	Task       *core.TaskMark
	Redacted   bool
	Revisions  []core.Revision
}

// Fact is something that another assistant had in its memory about the person.
type Fact struct {
	Text  string
	From  string    // the file or block that it stood in
	Noted bool      // the assistant wrote it, not the person
	At    time.Time // when it was written; zero: unknown
}

// Left is something that was left out, and where it stands. Without a place it is only
// counted: there are too many of its kind to be named.
type Left struct {
	Place string `json:"place"`
	Why   string `json:"why"`
}

// output takes what a reader finds.
type output struct {
	line func(Line) error
	fact func(Fact)
	left func(place, why string)
}

// count notes that something was left out of which there is too much to be named.
func (o output) count(why string) { o.left("", why) }

// Taker takes what Read finds. An error of Line ends the reading.
type Taker struct {
	Line func(Line) error
	Fact func(Fact)
	Left func(Left)
}

// Options say how an archive is read.
type Options struct {
	Zone *time.Location // of times that come without one
	Now  time.Time      // nothing was said later
	// Kind says what kind of document a file of a folder is; empty: none that is read. nil:
	// none is.
	Kind func(name string, data []byte) string
	Max  int64 // bytes of a file of a folder
	// Me names the person among several whose conversations an archive has.
	Me string
}

// reader reads one kind of archive. It returns an error only if nothing can be
// read at all, or if out does.
type reader func(a *Archive, o Options, out output) error

// readers are the kinds of archives, by their names.
func readers() map[string]reader {
	return map[string]reader{"telegram": readTelegram, "whatsapp": readWhatsApp, "chatgpt": readChatGPT,
		"claude": readClaude, "openclaw": readOpenClaw, "picoclaw": readPicoClaw, "jsonl": readOwn,
		"files": readFiles, "openwebui": readOpenWebUI, "librechat": readLibreChat, "hermes": readHermes,
		"letta": readLetta}
}

// Formats lists the kinds of archives that can be read.
func Formats() []string {
	var out []string
	for name := range readers() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// noSpeaker is why a message is left out that the service took the author of.
const noSpeaker = "it does not say who said it"

// oddForm is why one is left out that is none as far as this program knows.
const oddForm = "it has another form than such a message has"

// errNothing means that an archive holds no message that can be read.
var errNothing = errors.New("there is no message in it that can be read")

// Why something is left out.
const (
	toolUse      = "it is a call of a tool or its result"
	reasoning    = "it is a model's reasoning"
	otherBranch  = "it is not on the branch that was shown last"
	persona      = "it is a system prompt or a persona; say what you want always with /always"
	notTyped     = "nobody wrote it: the program ran by itself"
	condensed    = "it is a summary of messages that are here themselves"
	ofGroup      = "it is of a group"
	ofSomebody   = "it is of somebody else"
	errorMessage = "it is an error message"
)

// Read passes what an archive holds to take.
func Read(a *Archive, format string, o Options, take Taker) error {
	read, ok := readers()[format]
	if !ok {
		return fmt.Errorf("%s is no kind of archive", format)
	}
	n := 0
	var first *Left
	left := func(place, why string) {
		if first == nil {
			first = &Left{place, why}
		}
		take.Left(Left{place, why})
	}
	facts := factory{take: take.Fact, left: left, seen: map[string]bool{}}
	out := output{left: left, fact: facts.pass, line: func(l Line) error {
		if why := o.refused(l); why != "" {
			left(l.place(), why)
			return nil
		}
		n++
		return take.Line(l)
	}}
	if err := read(a, o, out); err != nil {
		return err
	}
	if n+facts.n == 0 {
		return a.nothing(first)
	}
	return nil
}

// earliest is the year in which a message can have been sent at the earliest.
const earliest = 1990

// refused tells why a message cannot be taken; empty: it can.
func (o Options) refused(l Line) string {
	switch {
	case l.At.IsZero():
		return "its time cannot be read"
	case l.At.Year() < earliest || l.At.After(o.Now.Add(24*time.Hour)):
		return "its time is wrong: " + l.At.Format(time.DateTime)
	case l.Text == "" && len(l.Files) == 0 && l.Own == nil:
		return "it is empty"
	}
	return ""
}

// place says where a message stands.
func (l Line) place() string {
	out := cmp.Or(l.Place, "a message")
	if l.ID != "" {
		out = "message " + l.ID
	}
	if l.Title != "" {
		out += " of " + l.Title
	}
	return out
}
