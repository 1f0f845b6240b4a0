// Package command answers slash commands, the same on every channel and in
// English and French (SPEC 13). A command reads the store, and returns what it
// answers and what it changes; the gateway stores both at once.
package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Store is what commands read.
type Store interface {
	Days
	Links
	core.ThreadReader
	core.LoopReader
	core.RefStore
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Codes(ctx context.Context, kind core.CodeKind, now time.Time) ([]core.Code, error)
	UsageOf(ctx context.Context, user core.UserID, day string) (used, reserved int, err error)
}

// Days is what commands read of days.
type Days interface {
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	Day(ctx context.Context, user core.UserID, label string) (core.Segment, error)
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID, limit int) ([]core.Message, error)
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
}

// Options are what commands are made of. All but NewCode, Push, Search,
// Memory and Reminders are required.
type Options struct {
	Store Store
	// Day tells the local day of a moment, DayName what a day is called today.
	Day     func(s core.Settings, t time.Time) core.Day
	DayName func(label, today, language string) string
	// StripRefs takes references to messages out of a summary.
	StripRefs func(markdown string) string
	// Hash is how a code is kept.
	Hash func(code string) string
	// NewCode makes a code for /link; nil: there are none.
	NewCode func() (string, error)
	// NewWebLink makes a link that signs a user in to the web page, and what is to be
	// stored of it; nil: there is no web page.
	NewWebLink func(user core.UserID) (url string, code core.Code, err error)
	// Push tells whether a channel may be written to unasked; nil: all may.
	Push func(channel string) bool
	// Without one of these its commands say that they are not available.
	Search    Searcher
	Memory    Memory
	Reminders Reminders
	Defaults  Defaults
}

// Defaults hold for people who chose nothing.
type Defaults struct {
	Zone         string // IANA name
	Language     string
	TokensPerDay int    // budget of a user; 0: none
	PostForward  string // home, all or off
	Strategy     string // of prompts: continuous, long or truncate
}

// Commands answers commands. It implements gateway.Commander.
type Commands struct {
	Options
	zone *time.Location
	list []command
}

// command is a command and what it does. owner: only the owner may.
type command struct {
	name  string
	run   func(ctx context.Context, r *request) (core.Outcome, error)
	owner bool
}

// New returns the commands. A default zone that is unknown is UTC.
func New(o Options) *Commands {
	c := &Commands{Options: o, zone: core.Settings{Zone: o.Defaults.Zone}.Location(time.UTC)}
	if c.Push == nil {
		c.Push = func(string) bool { return true }
	}
	c.list = c.commands()
	return c
}

// commands are all commands in the order in which they are shown.
func (c *Commands) commands() []command {
	return []command{
		{name: "start", run: c.start},
		{name: "help", run: c.help},
		{name: "today", run: c.today},
		{name: "yesterday", run: c.yesterday},
		{name: "day", run: c.day},
		{name: "summary", run: c.summary},
		{name: "search", run: c.search},
		{name: "memory", run: c.memory},
		{name: "remember", run: c.remember},
		{name: "loops", run: c.loops},
		{name: "done", run: c.done},
		{name: "remind", run: c.remind},
		{name: "timezone", run: c.timezone},
		{name: "language", run: c.language},
		{name: "home", run: c.home},
		{name: "summaries", run: c.summaries},
		{name: "strategy", run: c.strategy},
		{name: "link", run: c.link},
		{name: "unlink", run: c.unlink},
		{name: "web", run: c.web},
		{name: "threads", run: c.threads},
		{name: "thread", run: c.thread},
		{name: "continuous", run: c.continuous},
		{name: "retry", run: c.retry},
		{name: "stop", run: c.stop},
		{name: "usage", run: c.usage},
		{name: "export", run: c.export},
		{name: "pause", run: c.pause},
		{name: "forget", run: c.forget},
		{name: "pair", run: c.pair, owner: true},
		{name: "approve", run: c.approve, owner: true},
		{name: "deny", run: c.deny, owner: true},
	}
}

// Entry is a command in a native command menu. Descriptions are by language.
type Entry struct {
	Name         string
	Descriptions map[string]string
}

// Menu returns the commands that everybody has.
func Menu() []Entry {
	var out []Entry
	for _, c := range (&Commands{}).commands() {
		if c.owner {
			continue
		}
		e := Entry{Name: c.name, Descriptions: map[string]string{}}
		for _, language := range []string{"en", "fr"} {
			e.Descriptions[language] = spaced(language, wordsOf(language).about[c.name].line)
		}
		out = append(out, e)
	}
	return out
}

// request is one command of one person.
type request struct {
	user  core.User
	at    core.Identity
	in    core.Inbound
	now   time.Time
	today core.Day
	arg   string // what follows the command's name, trimmed
	lang  string // en or fr
	words words
}

// Command answers a command. ok is false if the text is none: it is conversation.
func (c *Commands) Command(ctx context.Context, u core.User, i core.Identity, in core.Inbound, now time.Time) (out core.Outcome, ok bool, err error) {
	l, ok := parse(in.Text)
	if !ok || in.ForwardedFrom != "" {
		return out, false, nil
	}
	r := c.request(u, i, in, now)
	r.arg = l.arg
	for _, cmd := range c.list {
		if cmd.name == l.word {
			out, err = c.run(ctx, r, cmd)
			return out, true, err
		}
	}
	nearest, d := c.nearest(l.word, u.Role)
	if l.talk(nearest, d) {
		return out, false, nil
	}
	return r.say(r.words.unknown, l.shown(), nearest), true, nil
}

func (c *Commands) request(u core.User, i core.Identity, in core.Inbound, now time.Time) *request {
	r := &request{user: u, at: i, in: in, now: now, today: c.Day(u.Settings, now)}
	for _, tag := range []string{u.Settings.Language, in.Language, c.Defaults.Language} {
		if tag != "" {
			r.speak(tag)
			return r
		}
	}
	r.speak("en")
	return r
}

func (c *Commands) run(ctx context.Context, r *request, cmd command) (core.Outcome, error) {
	if cmd.owner && r.user.Role != core.RoleOwner {
		return r.say(r.words.ownerOnly), nil
	}
	out, err := cmd.run(ctx, r)
	if err != nil {
		return core.Outcome{}, fmt.Errorf("command %s: %w", cmd.name, err)
	}
	return out, nil
}

// nearest is the command that a word is nearest to, of those that the role has.
// The beginning of a name is as near as two slips.
func (c *Commands) nearest(word string, role core.UserRole) (name string, d int) {
	for _, cmd := range c.list {
		if cmd.owner && role != core.RoleOwner {
			continue
		}
		n := distance(word, cmd.name)
		if len(word) > 2 && strings.HasPrefix(cmd.name, word) {
			n = min(n, 2)
		}
		if name == "" || n < d {
			name, d = cmd.name, n
		}
	}
	return name, d
}

func (c *Commands) start(_ context.Context, r *request) (core.Outcome, error) {
	return r.say(r.words.welcome), nil
}

func (c *Commands) help(_ context.Context, r *request) (core.Outcome, error) {
	if r.arg != "" {
		return c.helpOn(r), nil
	}
	var all, owners []string
	for _, cmd := range c.list {
		line := "- " + r.usage(cmd.name) + " – " + r.text(r.words.about[cmd.name].line)
		if cmd.owner {
			owners = append(owners, line)
			continue
		}
		all = append(all, line)
	}
	text := r.text(r.words.helpTitle) + "\n\n" + strings.Join(all, "\n")
	if r.user.Role == core.RoleOwner {
		text += "\n\n" + r.text(r.words.helpOwner) + "\n\n" + strings.Join(owners, "\n")
	}
	return core.Outcome{Text: text + "\n\n" + r.text(r.words.helpMore)}, nil
}

// helpOn tells more about one command, or about the one that was probably meant.
func (c *Commands) helpOn(r *request) core.Outcome {
	word := strings.ToLower(strings.TrimLeft(strings.Fields(r.arg)[0], "/!"))
	name, d := c.nearest(word, r.user.Role)
	if d > near(name) {
		return r.say(r.words.unknown, line{word: word}.shown(), name)
	}
	a := r.words.about[name]
	return core.Outcome{Text: r.usage(name) + "\n\n" + r.text(a.line) + ".\n" + r.text(a.more)}
}

// speak sets the language of the answers: French for fr…, else English.
func (r *request) speak(tag string) {
	r.lang = "en"
	if strings.HasPrefix(strings.ToLower(tag)+"-", "fr-") {
		r.lang = "fr"
	}
	r.words = wordsOf(r.lang)
}

// text is a text of the table as the language sets it.
func (r *request) text(s string) string { return spaced(r.lang, s) }

// fill is a text of the table with its verbs filled in.
func (r *request) fill(format string, args ...any) string {
	return fmt.Sprintf(r.text(format), args...)
}

// say answers with a text of the table.
func (r *request) say(format string, args ...any) core.Outcome {
	if len(args) == 0 {
		return core.Outcome{Text: r.text(format)}
	}
	return core.Outcome{Text: r.fill(format, args...)}
}

// usage is how a command is written, as Markdown: without arguments it is plain,
// so that chat apps make it something to tap on.
func (r *request) usage(name string) string {
	if args := r.words.about[name].args; args != "" {
		return "`/" + name + " " + args + "`"
	}
	return "/" + name
}

// location is the time zone of the person.
func (c *Commands) location(r *request) *time.Location { return r.user.Settings.Location(c.zone) }

func missing(err error) bool { return errors.Is(err, core.ErrNotFound) }
