// Package command answers slash commands, the same on every channel and in every language with a catalogue. A command
// reads the store, and returns its answer and its effects; the gateway stores both in one transaction.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

// Store is the part of a store that commands use.
type Store interface {
	store.ThreadReader
	store.RefStore
	store.SpeakerStore
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	Day(ctx context.Context, user core.UserID, label string) (core.Segment, error)
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID,
		limit int) ([]core.Message, error)
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
	LinkCode(ctx context.Context, hash string, a core.Address, now time.Time) (store.Link, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	OpenApprovals(ctx context.Context, user core.UserID, identity core.IdentityID,
		now time.Time) (open []effect.Approval, passed bool, err error)
	Audit(ctx context.Context, q store.AuditQuery) ([]audit.Row, error)
	APIKeys(ctx context.Context, user core.UserID) ([]core.APIKey, error)
	Sessions(ctx context.Context, user core.UserID, now time.Time) ([]store.Session, error)
	Undoable(ctx context.Context, user core.UserID, id int64, now time.Time) (effect.Undoable, error)
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	SpeechTrouble(ctx context.Context, user core.UserID) (cause string, since time.Time, err error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Codes(ctx context.Context, kind effect.CodeKind, now time.Time) ([]effect.Code, error)
	UsageOf(ctx context.Context, user core.UserID, day string) (used, reserved int, err error)
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]store.UsageDay, error)
	UsageParts(ctx context.Context, user core.UserID, from, through string) ([]store.UsagePart, error)
	Timeline(ctx context.Context, q store.TimelineQuery) (ms []core.Message, more bool, err error)
	SpentAll(ctx context.Context, day string, now time.Time) (used, granted int, err error)
}

// Options are the dependencies of commands. All are required unless they say otherwise.
type Options struct {
	Store    Store
	Calendar day.Calendar
	Channels core.Channels
	// NewCode returns a code for /link; nil: linking is not available.
	NewCode func() (string, error)
	// NewWebLink returns a link that signs a user in to the web page, and its code to store; nil: there is no web page.
	NewWebLink func(user core.UserID) (url string, code effect.Code, err error)
	// Services are those that people connect, and ConnectLink returns the link of a code; nil: there is no web page.
	Services    Services
	ConnectLink func(code string) string
	Search      Searcher
	Memory      Memory
	Standing    Standing
	Plans       Plans
	// Models lists the models that a user may choose, the default first.
	Models   func(user core.UserID) []core.ModelChoice
	Prices   core.PriceList // of all models; may be empty
	Ahead    Ahead
	Defaults Defaults
	// Administers reports whether the writer of an event of a group administers the group or owns the gateway.
	Administers func(ctx context.Context, in core.Inbound) (bool, error)
}

// Ahead knows what people have ahead.
type Ahead interface {
	// Show returns the day of a user as Markdown with a heading, and whether it has words of others; empty: the user has
	// no calendar and no mailbox. It takes a bounded time.
	Show(ctx context.Context, u core.User, now time.Time) (said string, foreign bool, err error)
}

// Defaults apply to people who chose nothing.
type Defaults struct {
	Language     string
	TokensPerDay core.DailyTokens
	// AllTokensPerDay is the budget of all users together, by UTC days; 0: none.
	AllTokensPerDay int
	PostForward     string // home, all or off
	Strategy        string // of prompts: continuous, long or truncate
	Voice           bool   // answers can be spoken
}

// Commands answers commands. It implements gateway.Commander.
type Commands struct {
	Options
	list []command
}

type command struct {
	name  string
	needs core.Capability
	run   func(ctx context.Context, r *request) (core.Outcome, error)
}

func (c command) owners() bool { return c.needs == core.CanAdmin }

// told reports whether the model sees the answer: people may refer to what it lists. It holds no code, no link and
// nothing of an account.
func (c command) told() bool {
	return c.needs == core.CanRead || c.needs == core.CanMemory ||
		slices.Contains([]string{"summary", "threads", "usage"}, c.name)
}

// New returns the commands.
func New(o Options) *Commands {
	c := &Commands{Options: o}
	c.list = c.commands()
	return c
}

// commands returns all commands in the order in which they are shown.
func (c *Commands) commands() []command {
	return []command{
		{"start", core.CanTalk, c.start},
		{"help", core.CanTalk, c.help},
		{"today", core.CanRead, c.today},
		{"yesterday", core.CanRead, c.yesterday},
		{"day", core.CanRead, c.day},
		{"summary", core.CanTalk, c.summary},
		{"search", core.CanRead, c.search},
		{"missed", core.CanRead, c.missed},
		{"memory", core.CanMemory, c.memory},
		{"remember", core.CanMemory, c.remember},
		{"always", core.CanMemory, c.always},
		{"loops", core.CanMemory, c.loops},
		{"done", core.CanMemory, c.done},
		{"remind", core.CanMemory, c.remind},
		{"task", core.CanMemory, c.task},
		{"timezone", core.CanAccount, c.timezone},
		{"language", core.CanAccount, c.language},
		{"home", core.CanAccount, c.home},
		{"summaries", core.CanAccount, c.summaries},
		{"strategy", core.CanAccount, c.strategy},
		{"model", core.CanAccount, c.model},
		{"voice", core.CanAccount, c.voice},
		{"link", core.CanAccount, c.link},
		{"unlink", core.CanAccount, c.unlink},
		{"connect", core.CanAccount, c.connect},
		{"web", core.CanAccount, c.web},
		{"threads", core.CanTalk, c.threads},
		{"thread", core.CanTalk, c.thread},
		{"continuous", core.CanTalk, c.continuous},
		{"retry", core.CanTalk, c.retry},
		{"continue", core.CanTalk, c.goOn},
		{"stop", core.CanTalk, c.stop},
		{"usage", core.CanTalk, c.usage},
		{"mine", core.CanAccount, c.mine},
		{"undo", core.CanAccount, c.undo},
		{"export", core.CanAccount, c.export},
		{"pause", core.CanAccount, c.pause},
		{"forget", core.CanAccount, c.forget},
		{"pair", core.CanAdmin, c.pair},
		{"approve", core.CanAdmin, c.approve},
		{"deny", core.CanAdmin, c.deny},
	}
}

// Needs lists the capabilities that commands need.
func Needs() []trust.Need {
	var out []trust.Need
	for _, c := range (&Commands{}).commands() {
		out = append(out, trust.Need{Door: trust.DoorCommand, What: "/" + c.name, Capability: c.needs})
	}
	return out
}

// Entry is a command in a native command menu. Descriptions are by language.
type Entry struct {
	Name         string
	Descriptions map[string]string
	Group        string // GroupStanding
}

// Menu returns the commands that everybody has.
func Menu() []Entry {
	var out []Entry
	for _, c := range (&Commands{}).commands() {
		if c.owners() {
			continue
		}
		e := Entry{Name: c.name, Descriptions: map[string]string{}, Group: GroupStanding(c.name)}
		for _, language := range i18n.Languages() {
			e.Descriptions[language] = say(language).Lines[c.name]
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
	arg   string // the text after the command's name, trimmed
	lang  string // one of words.Languages
	words *texts
	// foreign: the answer shows words that the person did not write.
	foreign bool
}

// Command answers a command or a question. ok is false if the text is conversation.
func (c *Commands) Command(ctx context.Context, u core.User, i core.Identity, in core.Inbound,
	now time.Time) (out core.Outcome, ok bool, err error) {
	if in.ForwardedFrom != "" {
		return out, false, nil
	}
	if a, ok := readReply(in.Text); ok && !in.Program {
		if out, ok, err := c.answer(ctx, c.request(u, i, in, now), a); ok || err != nil || out.Text != "" {
			return out, ok, err
		}
	}
	l, ok := parse(in.Text)
	if !ok {
		return out, false, nil
	}
	r := c.request(u, i, in, now)
	r.arg, l.word = l.arg, commandNamed(l.word)
	for _, cmd := range c.list {
		if cmd.name == l.word {
			out, err = c.run(ctx, r, cmd)
			if errors.Is(err, errTalk) {
				return core.Outcome{}, false, nil
			}
			return out, true, err
		}
	}
	if in.Group != nil { // it may be another assistant's
		return out, false, nil
	}
	nearest, d := c.nearest(l.word, u.Role)
	if l.talk(nearest, d) {
		return out, false, nil
	}
	return r.sayf(r.words.Unknown, l.shown(), nearest), true, nil
}

// commandNamed returns the command that a word names in one of the languages, or the word.
func commandNamed(word string) string {
	for _, language := range i18n.Languages() {
		for name, others := range say(language).Names {
			if slices.Contains(others, text.Fold(word)) {
				return name
			}
		}
	}
	return word
}

func (c *Commands) request(u core.User, i core.Identity, in core.Inbound, now time.Time) *request {
	r := &request{user: u, at: i, in: in, now: now, today: c.Calendar.Day(u.Settings, now)}
	r.speak(cmp.Or(u.Settings.Language, in.Language, c.Defaults.Language, "en"))
	return r
}

func (c *Commands) run(ctx context.Context, r *request, cmd command) (core.Outcome, error) {
	refused := func(out core.Outcome) (core.Outcome, error) {
		if cmd.needs == core.CanAccount || cmd.needs == core.CanAdmin {
			out.Effects = []core.Effect{effect.Tell{Row: audit.Row{What: audit.Command, Tool: cmd.name,
				Result: audit.Refused}}}
		}
		return out, nil
	}
	if cmd.owners() && r.in.Group == nil && r.user.Role != core.RoleOwner {
		return refused(r.say(r.words.OwnerOnly))
	}
	if r.in.Program && !trust.Allows(r.in.Grants, cmd.needs) {
		return refused(r.sayf(r.words.ProgramMayNot, cmd.name, cmd.needs))
	}
	if r.in.Group != nil {
		return c.group(ctx, r, cmd)
	}
	return c.answered(ctx, r, cmd)
}

// answered runs a command that its sender may use.
func (c *Commands) answered(ctx context.Context, r *request, cmd command) (core.Outcome, error) {
	out, err := cmd.run(ctx, r)
	if err != nil {
		return core.Outcome{}, fmt.Errorf("command %s: %w", cmd.name, err)
	}
	if cmd.told() {
		out.Answers, out.Tainted = strings.TrimSpace("/"+cmd.name+" "+r.arg), r.foreign || r.in.Program && !r.in.Own
	}
	return out, nil
}

// nearest returns the command with the smallest distance to a word, of those that the role
// has. A prefix of a name has a distance of at most two.
func (c *Commands) nearest(word string, role core.UserRole) (name string, d int) {
	for _, cmd := range c.list {
		if cmd.owners() && role != core.RoleOwner {
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
	if r.in.Group != nil {
		return r.say(r.words.GroupWelcome), nil
	}
	return r.say(r.words.Welcome), nil
}

func (c *Commands) help(_ context.Context, r *request) (core.Outcome, error) {
	if r.arg != "" {
		word := strings.ToLower(strings.TrimLeft(strings.Fields(r.arg)[0], "/!"))
		name, d := c.nearest(word, r.user.Role)
		if d > near(name) {
			return r.sayf(r.words.Unknown, line{word: word}.shown(), name), nil
		}
		return core.Outcome{Text: r.usage(name) + "\n\n" + r.words.Lines[name] + ".\n" + r.words.More[name]}, nil
	}
	var all, owners []string
	for _, cmd := range c.list {
		if r.in.Group != nil && inGroups[cmd.name] == nobody || r.in.Group == nil && cmd.name == "missed" {
			continue
		}
		line := "- " + r.usage(cmd.name) + " – " + r.words.Lines[cmd.name]
		if cmd.owners() {
			owners = append(owners, line)
			continue
		}
		all = append(all, line)
	}
	text := r.words.HelpTitle + "\n\n" + strings.Join(all, "\n")
	if r.user.Role == core.RoleOwner {
		text += "\n\n" + r.words.HelpOwner + "\n\n" + strings.Join(owners, "\n")
	}
	return core.Outcome{Text: text + "\n\n" + r.words.HelpMore}, nil
}

func (r *request) speak(tag string) { r.lang, r.words = i18n.Match(tag), say(tag) }

func (r *request) say(text string) core.Outcome { return core.Outcome{Text: text} }

func (r *request) sayf(format string, args ...any) core.Outcome {
	return core.Outcome{Text: fmt.Sprintf(format, args...)}
}

// refused answers with the reason of a refusal; it returns any other error.
func refused(err error) (core.Outcome, error) {
	if errors.Is(err, core.ErrRefused) {
		first, n := utf8.DecodeRuneInString(err.Error())
		text := string(unicode.ToUpper(first)) + err.Error()[n:]
		if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, ".") {
			text += "."
		}
		return core.Outcome{Text: text}, nil
	}
	return core.Outcome{}, err
}

// each answers with a line for each of ids, and collects the effects that one returns. The
// line of a missing object is none.
func (r *request) each(ids []int64, none string,
	one func(id int64) (line string, e core.Effect, err error)) (core.Outcome, error) {
	var out core.Outcome
	var lines []string
	for _, id := range ids {
		line, e, err := one(id)
		switch {
		case missing(err):
			line = fmt.Sprintf(none, id)
		case err != nil:
			return core.Outcome{}, err
		default:
			out.Effects = append(out.Effects, e)
		}
		lines = append(lines, line)
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}

// pick returns the element of a list with a number, or core.ErrNotFound.
func pick[T any, ID ~int64](list []T, number int64, of func(T) ID) (found T, err error) {
	for _, x := range list {
		if int64(of(x)) == number {
			return x, nil
		}
	}
	return found, core.ErrNotFound
}

// list answers with a title, a line for each of items, and an end.
func list[T any](title string, items []T, line func(T) string, end ...string) core.Outcome {
	lines := []string{title, ""}
	for _, x := range items {
		lines = append(lines, line(x))
	}
	return core.Outcome{Text: strings.Join(append(lines, end...), "\n")}
}

// usage returns a command with its arguments as Markdown. Without arguments it is plain, so
// that chat apps make it a link.
func (r *request) usage(name string) string {
	if args := r.words.Args[name]; args != "" {
		return "`/" + name + " " + args + "`"
	}
	return "/" + name
}

func (c *Commands) location(r *request) *time.Location {
	return r.user.Settings.Location(c.Calendar.Zone)
}

func missing(err error) bool { return errors.Is(err, core.ErrNotFound) }
