package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

// Speaker is an author of messages in an archive.
type Speaker struct {
	Name     string `json:"name"`
	Messages int    `json:"messages"`
	// Is user, assistant, or other: messages of others become the user's, forwarded from them.
	Is string `json:"is"`
}

// Survey describes the contents of an archive.
type Survey struct {
	Messages int            `json:"messages"`
	Chats    int            `json:"chats"`
	Days     int            `json:"days"`
	First    time.Time      `json:"first"`
	Last     time.Time      `json:"last"`
	Speakers []Speaker      `json:"speakers,omitempty"`
	Files    int            `json:"files"`
	Bytes    int64          `json:"file_bytes"` // of those in the archive
	Missing  int            `json:"files_missing"`
	Names    []string       `json:"missing,omitempty"` // some of them
	LeftOut  int            `json:"left_out"`
	Why      map[string]int `json:"left_out_why,omitempty"`
	Left     []Left         `json:"left,omitempty"` // some of them
	Memory   int            `json:"memory"`         // facts about the user
	Untimed  int            `json:"without_time"`   // messages with the time of a neighbour
	Digest   string         `json:"digest,omitempty"`

	days map[string]bool
	said map[string]map[string]int    // by chat and name
	told map[string]bool              // chats that say who the user is
	set  map[string]map[core.Role]int // messages by name and role, of those whose role the archive says
	who  roles
}

// roles names the user and the assistant in the chats that do not say.
type roles struct {
	me        string
	named     bool // me was given, or is the user's name
	assistant string
}

const (
	shownLeft    = 20      // entries of the lists in a Survey and Result
	mostSpeakers = 100_000 // speakers that a survey distinguishes
)

// NewSurvey reads an archive once and recognises the speakers: me is the user's name in
// the archive; empty: name, if there is a speaker of that name.
func NewSurvey(a *Archive, format string, o Options, me, name string, label func(time.Time) string) (*Survey, error) {
	s := &Survey{Why: map[string]int{}, days: map[string]bool{}, said: map[string]map[string]int{},
		told: map[string]bool{}, set: map[string]map[core.Role]int{}}
	chats := map[string]bool{}
	people := 0
	err := Read(a, format, o, Taker{Fact: func(Fact) { s.Memory++ }, Left: s.leave, Line: func(l Line) error {
		s.Messages++
		if l.Untimed {
			s.Untimed++
		}
		chats[l.Chat] = true
		if s.First.IsZero() || l.At.Before(s.First) {
			s.First = l.At
		}
		if l.At.After(s.Last) {
			s.Last = l.At
		}
		s.days[label(l.At)] = true
		s.files(a, l)
		if l.Told || l.Role == core.RoleUser {
			s.told[l.Chat] = true
		}
		if l.Role != "" && l.From != "" && (s.set[l.From] != nil || len(s.set) < mostSpeakers) {
			if s.set[l.From] == nil {
				s.set[l.From] = map[core.Role]int{}
			}
			s.set[l.From][l.Role]++
		}
		if l.Role == "" && people < mostSpeakers {
			if s.said[l.Chat] == nil {
				s.said[l.Chat] = map[string]int{}
			}
			if s.said[l.Chat][l.From]++; s.said[l.Chat][l.From] == 1 {
				people++
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	s.Chats, s.Days = len(chats), len(s.days)
	return s, s.recognise(me, name, o.Assistant)
}

func (s *Survey) leave(l Left) {
	s.LeftOut++
	s.Why[l.Why]++
	if l.Place != "" && len(s.Left) < shownLeft {
		s.Left = append(s.Left, l)
	}
}

// files counts the files of a message, and missing ones.
func (s *Survey) files(a *Archive, l Line) {
	for _, f := range l.Files {
		s.Files++
		if len(f.Data) > 0 {
			s.Bytes += int64(len(f.Data))
			continue
		}
		if size, there := a.size(f.Entry); f.Entry != "" && there {
			s.Bytes += size
			continue
		}
		if s.Missing++; f.Name != "" && len(s.Names) < shownLeft {
			s.Names = append(s.Names, f.Name)
		}
	}
}

// recognise decides which speaker is the user, and which is the assistant: the one so named, or nobody.
func (s *Survey) recognise(me, name, assistant string) error {
	all, open := map[string]int{}, map[string]int{}
	for id, chat := range s.said {
		for from, n := range chat {
			if all[from] += n; !s.told[id] {
				open[from] += n
			}
		}
	}
	if len(open) > 0 {
		if s.who.me = pick(mostFirst(open), me, name); s.who.me == "" {
			return unknownMe(mostFirst(open), me)
		}
		s.who.named = strings.EqualFold(s.who.me, me) || strings.EqualFold(s.who.me, name)
	}
	if assistant != "" {
		others := slices.DeleteFunc(mostFirst(all), func(from string) bool { return from == s.who.me })
		if s.who.assistant = pick(others, assistant, ""); s.who.assistant == "" {
			return fmt.Errorf("%w: --assistant %s is none of %s", ErrMe, assistant,
				strings.Join(others[:min(len(others), 10)], ", "))
		}
	}
	s.list(all)
	return nil
}

// list lists the speakers, those with most messages first.
func (s *Survey) list(all map[string]int) {
	for _, from := range mostFirst(all) {
		s.Speakers = append(s.Speakers, Speaker{from, all[from], s.who.is(from)})
	}
	for from, roles := range s.set {
		for role, n := range roles {
			s.Speakers = append(s.Speakers, Speaker{from, n, string(role)})
		}
	}
	slices.SortFunc(s.Speakers, func(a, b Speaker) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Is, b.Is))
	})
}

// mostFirst returns names, those with most messages first.
func mostFirst(said map[string]int) []string {
	return slices.SortedFunc(maps.Keys(said), func(a, b string) int {
		return cmp.Or(cmp.Compare(said[b], said[a]), cmp.Compare(a, b))
	})
}

func (r roles) is(from string) string {
	switch from {
	case r.me:
		return "user"
	case r.assistant:
		return "assistant"
	}
	return "other"
}

// pick returns which of names is the user, empty if unknown.
func pick(names []string, me, name string) string {
	for _, wanted := range []string{me, name} {
		for _, n := range names {
			if wanted != "" && strings.EqualFold(n, wanted) {
				return n
			}
		}
		if me != "" {
			return ""
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return ""
}

// ErrMe means that it is unknown which name in an archive is the user.
var ErrMe = errors.New("it is unknown which name in it is yours")

func unknownMe(names []string, me string) error {
	list := strings.Join(names[:min(len(names), 10)], ", ")
	if me != "" {
		return fmt.Errorf("%w: there is no %s in it, but %s", ErrMe, me, list)
	}
	return fmt.Errorf("%w: say it with --me, one of %s", ErrMe, list)
}

// role returns the role of a message, and whom it is forwarded from. Messages of other
// people are the user's, forwarded from them under a name in one line.
func (r roles) role(l Line) (role core.Role, from string) {
	switch {
	case l.Role != "":
		return l.Role, l.ForwardedFrom
	case l.From == r.me:
		return core.RoleUser, l.ForwardedFrom
	case l.From == r.assistant && r.assistant != "":
		return core.RoleAssistant, l.ForwardedFrom
	}
	return core.RoleUser, cmp.Or(text.OneLine(l.From), "?")
}

// own reports whether the person themself wrote a line: the archive says so, or they were named at the import.
func (r roles) own(l Line) bool {
	return l.ForwardedFrom == "" && (l.Role == core.RoleUser || l.Role == "" && l.From == r.me && r.named)
}

// texts describe an archive in one language.
type texts struct {
	Messages, Conversations, Days i18n.Counted
	Found                         string       // messages, conversations, days, from, to
	User, Assistant, Other        string       // who a speaker is
	Files                         i18n.Counted // size, missing
	Missing                       string       // a file
	Memory, Untimed               i18n.Counted
	LeftOut                       i18n.Counted
	Reasons                       map[string]string // by Left.Why
}

var say = i18n.In[texts]("import")

// Describe writes the contents of an archive for people, in a language, with days in zone.
func (s *Survey) Describe(w io.Writer, language string, zone *time.Location) {
	t := say(language)
	if s.Messages > 0 {
		fmt.Fprintf(w, t.Found+"\n", t.Messages.Of(s.Messages), t.Conversations.Of(s.Chats), t.Days.Of(s.Days),
			s.First.In(zone).Format(time.DateOnly), s.Last.In(zone).Format(time.DateOnly))
	}
	if s.Memory > 0 {
		fmt.Fprintln(w, t.Memory.Of(s.Memory))
	}
	if s.Untimed > 0 {
		fmt.Fprintln(w, t.Untimed.Of(s.Untimed))
	}
	for _, p := range s.Speakers {
		fmt.Fprintf(w, "  %s: %s, %s\n", trust.Line(p.Name), t.Messages.Of(p.Messages),
			map[string]string{"user": t.User, "assistant": t.Assistant, "other": t.Other}[p.Is])
	}
	if s.Files > 0 {
		fmt.Fprintln(w, t.Files.Of(s.Files, text.Bytes(s.Bytes), s.Missing))
		for _, name := range s.Names {
			fmt.Fprintf(w, "  "+t.Missing+"\n", trust.Line(name))
		}
	}
	if s.LeftOut == 0 {
		return
	}
	fmt.Fprintln(w, t.LeftOut.Of(s.LeftOut))
	for _, why := range slices.Sorted(maps.Keys(s.Why)) {
		fmt.Fprintf(w, "  %d: %s\n", s.Why[why], t.why(why))
	}
	for _, l := range s.Left {
		fmt.Fprintf(w, "  %s: %s\n", l.Place, t.why(l.Why))
	}
}

// Why returns the reason of a Left, or of Result.LeftOut, in a language.
func Why(language, reason string) string { return say(language).why(reason) }

var number = text.Pattern(`\d+`)

// why returns a reason in words. Text after a colon comes from the archive; a number is %d in Reasons.
func (t *texts) why(reason string) string {
	if n := number().FindString(reason); n != "" {
		if shown := t.Reasons[strings.Replace(reason, n, "%d", 1)]; shown != "" {
			return strings.Replace(shown, "%d", n, 1)
		}
	}
	head, rest, found := strings.Cut(reason, ": ")
	switch {
	case t.Reasons[reason] != "":
		return t.Reasons[reason]
	case found && t.Reasons[head] != "":
		return t.Reasons[head] + ": " + rest
	}
	return reason
}
