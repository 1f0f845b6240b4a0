// Package importer imports conversations from other services: it reads their archives
// and stores the messages at their place in time.
//
// An archive is foreign: it is read as a stream, within bounds, and unreadable parts are
// left out and counted, with their places. No name in it is used as a path.
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Line is one message in an archive.
type Line struct {
	Chat  string    // the conversation in the archive
	Title string    // of Chat
	ID    string    // of the message in Chat; empty: its time, speaker and text identify it
	At    time.Time // when it was sent
	From  string    // the speaker
	Role  core.Role // user or assistant, if the archive says; else From decides
	Told  bool      // the archive says which messages of Chat are the user's
	Text  string
	// Quote is the text it replies to, ForwardedFrom the original author.
	Quote         string
	ForwardedFrom string
	Files         []File
	Own           *Own   // of our own exports
	Place         string // in the archive, if it has neither ID nor Title
	Untimed       bool   // the archive has no time for it: At is taken from its neighbours
}

// File is a file that came with a message.
type File struct {
	Kind       string // as in core.Attachment
	Name       string
	MIME       string
	Duration   time.Duration
	Entry      string // its name in the archive; empty: it is missing, unless there is Data
	Data       []byte // its content, if the archive has that within the message
	Transcript string // of its speech
}

// Own holds what only our own exports have of a message.
type Own struct {
	store.ImportMessage // but its text, sender, time, day and key
	Thread              core.ThreadID
	Plain               bool // a thread of its own
	Day                 string
}

// Fact is a statement about the user in another assistant's memory.
type Fact struct {
	Text  string
	From  string    // its file or block
	Noted bool      // the assistant wrote it, not the user
	At    time.Time // when it was written; zero: unknown
}

// Left is an omitted part of an archive and its place. Without a place it is only
// counted: there are too many of its kind to list.
type Left struct {
	Place string `json:"place"`
	Why   string `json:"why"`
}

// output receives the results of a reader.
type output struct {
	line func(Line) error
	fact func(Fact)
	left func(place, why string)
}

// count counts an omitted part without its place.
func (o output) count(why string) { o.left("", why) }

// skip leaves a part out, without a place if that is empty. It returns nil.
func (o output) skip(place, why string) error {
	o.left(place, why)
	return nil
}

// Taker receives the results of Read. An error of Line ends the reading.
type Taker struct {
	Line func(Line) error
	Fact func(Fact)
	Left func(Left)
}

// Options say how to read an archive.
type Options struct {
	Zone *time.Location // of times without one
	Now  time.Time      // no message is later
	// Kind returns the kind of document of a file in a folder, empty if it is not supported. nil: none is.
	Kind func(name string, data []byte) string
	Max  int64 // bytes of a file in a folder
	// Me names the user, if an archive has conversations of several people.
	Me string
	// Assistant names the assistant, if the archive does not say who that is; empty: nobody is.
	Assistant string
	// Order is that of day and month in dates: DayFirst, MonthFirst, or empty if the archive shows it.
	Order string
}

// Orders of day and month; see Options.
const (
	DayFirst   = "day"
	MonthFirst = "month"
)

// format is one kind of archive.
type format struct {
	program string                 // whose memory it has; empty: it has none
	wanted  func(base string) bool // the files that read gets
	missing error                  // if there are none; nil: read decides
	// read returns an error only if nothing can be read at all, or if out does.
	read func(a *Archive, names []string, o Options, out output) error
}

// formats returns the supported formats by their names.
func formats() map[string]format {
	return map[string]format{
		"telegram": {"", called("result.json"),
			errors.New("there is no result.json in it; export from Telegram Desktop as JSON"), readTelegram},
		"whatsapp": {"", func(base string) bool { return strings.EqualFold(path.Ext(base), ".txt") },
			errors.New("there is no text file in it; export the chat from WhatsApp"), readWhatsApp},
		"chatgpt": {"", func(base string) bool { return strings.HasPrefix(base, "conversations") && ending(".json")(base) },
			errors.New("there is no conversations.json in it; ask for your data in ChatGPT's settings"), readChatGPT},
		"claude": {"Claude", called("conversations.json"),
			errors.New("there is no conversations.json in it; export your data in Claude's settings"), readClaude},
		"openclaw": {"OpenClaw", called("openclaw-agent.sqlite"), nil, readOpenClaw},
		"picoclaw": {"", func(base string) bool {
			return ending(".jsonl", ".json")(base) && !strings.HasSuffix(base, ".meta.json")
		}, errors.New("there is no session in it; give ~/.picoclaw/workspace/sessions, or one of its files"), readPicoClaw},
		"jsonl": {"", called("messages.jsonl"), errors.New("there is no messages.jsonl in it"), readOwn},
		"files": {"", func(string) bool { return true }, nil, readFiles},
		"openwebui": {"Open WebUI", ending(".json"),
			errors.New("there is no .json file in it; export your chats in Open WebUI's settings, under Data Controls"), readOpenWebUI},
		"librechat": {"LibreChat", ending(".json"),
			errors.New("there is no .json file in it; export conversations in LibreChat as json"), readLibreChat},
		"hermes": {"Hermes Agent", called("state.db"), nil, readHermes},
		"letta":  {"Letta", ending(".af", ".json"), errors.New("there is no .af file in it; export the agent in Letta"), readLetta},
	}
}

// called returns a condition for the base names of files.
func called(names ...string) func(base string) bool {
	return func(base string) bool { return slices.Contains(names, base) }
}

// ending is called for extensions.
func ending(extensions ...string) func(base string) bool {
	return func(base string) bool { return slices.Contains(extensions, path.Ext(base)) }
}

// Formats returns the supported formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(formats())) }

// errNothing means that an archive holds no readable message.
var errNothing = errors.New("there is no readable message in it")

// Reasons for leaving out a part of an archive; keys of the catalogues.
const (
	noSpeaker    = "it does not say who said it"
	oddForm      = "it has another form than such a message has"
	toolUse      = "it is a call of a tool or its result"
	reasoning    = "it is a model's reasoning"
	otherBranch  = "it is not on the branch that was shown last"
	persona      = "it is a system prompt or a persona; say what you want always with /always"
	notTyped     = "nobody wrote it: the program ran by itself"
	condensed    = "it is a summary of messages that are here themselves"
	ofGroup      = "it is of a group"
	ofSomebody   = "it is of somebody else"
	errorMessage = "it is an error message"
	sideDocument = "it is a document that the assistant wrote beside the conversation"
	sidePicture  = "it is a picture that the assistant made"
)

// Read passes the contents of an archive to take.
func Read(a *Archive, format string, o Options, take Taker) error {
	form, ok := formats()[format]
	if !ok {
		return fmt.Errorf("%s is not a supported format", format)
	}
	names := a.find(form.wanted)
	if len(names) == 0 && form.missing != nil {
		return form.missing
	}
	n := 0
	var first *Left
	left := func(place, why string) {
		if first == nil {
			first = &Left{place, why}
		}
		take.Left(Left{place, why})
	}
	facts := factFilter{take: take.Fact, left: left, seen: map[string]bool{}}
	out := output{left: left, fact: facts.pass, line: func(l Line) error {
		if why := o.refused(l); why != "" {
			left(l.place(), why)
			return nil
		}
		n++
		return take.Line(l)
	}}
	if err := form.read(a, names, o, out); err != nil {
		return err
	}
	if n+facts.n == 0 {
		return a.nothing(first)
	}
	return nil
}

// earliest is the first plausible year of a message.
const earliest = 1990

// refused returns why a message cannot be imported, empty if it can.
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

// each calls f with the elements of a list until it fails.
func each[T any](list []T, f func(T) error) error {
	for _, x := range list {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// place describes the place of a message in the archive.
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
