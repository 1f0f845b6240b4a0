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
}

// File is a file that came with a message.
type File struct {
	Kind     string // as core.Attachment has it
	Name     string
	MIME     string
	Duration time.Duration
	Entry    string // its name in the archive; empty: it is not there
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

// Left is something that was left out, and where it stands.
type Left struct {
	Place string `json:"place"`
	Why   string `json:"why"`
}

// output takes what a reader finds.
type output struct {
	line func(Line) error
	left func(place, why string)
}

// Options say how an archive is read.
type Options struct {
	Zone *time.Location // of times that come without one
	Now  time.Time      // nothing was said later
	// Kind says what kind of document a file of a folder is; empty: none that is read. nil:
	// none is.
	Kind func(name string, data []byte) string
	Max  int64 // bytes of a file of a folder
}

// reader reads one kind of archive. It returns an error only if nothing can be
// read at all, or if out does.
type reader func(a *Archive, o Options, out output) error

// readers are the kinds of archives, by their names.
func readers() map[string]reader {
	return map[string]reader{"telegram": readTelegram, "whatsapp": readWhatsApp, "chatgpt": readChatGPT,
		"claude": readClaude, "openclaw": readOpenClaw, "picoclaw": readPicoClaw, "jsonl": readOwn,
		"files": readFiles}
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

// Read passes every message of an archive to line, and to left what it leaves
// out. An error of line ends it.
func Read(a *Archive, format string, o Options, line func(Line) error, left func(Left)) error {
	read, ok := readers()[format]
	if !ok {
		return fmt.Errorf("%s is no kind of archive", format)
	}
	n := 0
	var first *Left
	out := output{
		line: func(l Line) error {
			n++
			return line(l)
		},
		left: func(place, why string) {
			if first == nil {
				first = &Left{place, why}
			}
			left(Left{place, why})
		},
	}
	checked := out
	checked.line = func(l Line) error {
		if why := o.refused(l); why != "" {
			out.left(l.place(), why)
			return nil
		}
		return out.line(l)
	}
	if err := read(a, o, checked); err != nil {
		return err
	}
	if n == 0 {
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
