// Package ahead is the day that lies ahead of a person: appointments of their calendars, their unread mail, and the
// reminders, tasks and open loops of the day. A source that fails is named, and holds up nothing.
package ahead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ahead/calendar"
	"github.com/everthread/everthread/core/ahead/mail"
	"github.com/everthread/everthread/core/ahead/source"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// Calendar is a calendar of a user; User 0 is the owner.
type Calendar struct {
	Name   string
	User   core.UserID
	Events func(ctx context.Context, from, to time.Time, zone *time.Location) (calendar.Found, error)
}

// Mailbox is a mailbox of a user; User 0 is the owner.
type Mailbox struct {
	Name string
	User core.UserID
	List func(ctx context.Context, q mail.Query) ([]mail.Header, error)
}

// Store is the part of a store that an Ahead uses.
type Store interface {
	// OpenPlans lists the active and paused plans of a kind, soonest first.
	OpenPlans(ctx context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error)
	// Loops lists open loops, newest mention first.
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
}

// People looks up users.
type People interface {
	core.Users
	// Owner returns the owner, or core.ErrNotFound.
	Owner(ctx context.Context) (core.User, error)
}

// Ahead knows the sources of all users. It is safe for concurrent use.
type Ahead struct {
	Calendars []Calendar
	Mail      []Mailbox
	Store     Store
	People    People
	Days      day.Calendar
	Language  string // of users who chose none
}

// within bounds the reading of all sources of a user, which are read at the same time; soon where somebody waits, and
// others with them: the messages that a channel received after theirs.
const (
	within = 10 * time.Second
	soon   = 3 * time.Second
)

// Bounds of what is shown of a day.
const (
	mostLines  = 20
	mostMail   = 5
	mostLooked = 200
)

// Has reports whether a user has a source.
func (a *Ahead) Has(u core.User) bool { return len(a.calendars(u))+len(a.mailboxes(u)) > 0 }

func (a *Ahead) calendars(u core.User) (out []Calendar) {
	for _, c := range a.Calendars {
		if owns(u, c.User) {
			out = append(out, c)
		}
	}
	return out
}

func (a *Ahead) mailboxes(u core.User) (out []Mailbox) {
	for _, m := range a.Mail {
		if owns(u, m.User) {
			out = append(out, m)
		}
	}
	return out
}

func owns(u core.User, user core.UserID) bool {
	return u.ID == user || user == 0 && u.Role == core.RoleOwner
}

// Users lists the users who have a source. A number that is nobody's is left out.
func (a *Ahead) Users(ctx context.Context) ([]core.User, error) {
	ids := map[core.UserID]bool{}
	for _, c := range a.Calendars {
		ids[c.User] = true
	}
	for _, m := range a.Mail {
		ids[m.User] = true
	}
	var out []core.User
	for id := range ids {
		u, err := a.user(ctx, id)
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o core.User) bool { return o.ID == u.ID }) {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b core.User) int { return int(a.ID - b.ID) })
	return out, nil
}

func (a *Ahead) user(ctx context.Context, id core.UserID) (core.User, error) {
	if id == 0 {
		return a.People.Owner(ctx)
	}
	return a.People.User(ctx, id)
}

// got is what one source gave, or why it gave nothing.
type got[T any] struct {
	source string
	value  T
	fault  source.Fault
}

// gather reads all sources at the same time. One that has not answered when ctx ends is slow, and is no longer waited
// for.
func gather[S, T any](ctx context.Context, sources []S, name func(S) string, read func(S) (T, error)) []got[T] {
	type answer struct {
		at    int
		value T
		err   error
	}
	answers := make(chan answer, len(sources))
	out := make([]got[T], len(sources))
	for i, s := range sources {
		out[i] = got[T]{source: name(s), fault: source.Slow}
		go func() {
			value, err := read(s)
			answers <- answer{i, value, err}
		}()
	}
	for range sources {
		select {
		case <-ctx.Done():
			return out
		case x := <-answers:
			out[x.at].value, out[x.at].fault = x.value, ""
			if x.err != nil {
				out[x.at].fault = source.Of(x.err)
			}
		}
	}
	return out
}

func (a *Ahead) events(ctx context.Context, u core.User, from, to time.Time, zone *time.Location) []got[calendar.Found] {
	return gather(ctx, a.calendars(u), func(c Calendar) string { return c.Name },
		func(c Calendar) (calendar.Found, error) { return c.Events(egress.For(ctx, u.ID), from, to, zone) })
}

func (a *Ahead) headers(ctx context.Context, u core.User, q mail.Query) []got[[]mail.Header] {
	return gather(ctx, a.mailboxes(u), func(m Mailbox) string { return m.Name },
		func(m Mailbox) ([]mail.Header, error) { return m.List(egress.For(ctx, u.ID), q) })
}

// texts are the words around a day ahead in one language.
type texts struct {
	AllDay, Untitled, Nothing string
	Quoted                    string // words of others
	Until, From               string // a time
	Task, Due                 string // what is to be done
	Unread                    string // who wrote, and about what
	More                      i18n.Counted
	MoreMail                  string            // the name of a mailbox
	Failed                    string            // the name of a source, why
	Faults                    map[string]string // by source.Fault
}

var say = i18n.In[texts]("ahead")

// keys are the keys of faults in the catalogue.
var keys = map[source.Fault]string{source.Slow: "slow", source.Unreachable: "unreachable", source.Untrusted: "untrusted",
	source.Forbidden: "forbidden", source.Refused: "refused", source.Missing: "missing", source.NoCalendar: "no_calendar",
	source.NoFolder: "no_folder", source.TooLarge: "too_large", source.Broken: "broken"}

// Why says in a language why a source could not be read.
func Why(language string, f source.Fault) string { return say(language).Faults[keys[f]] }

// line is one line of a day, by its time.
type line struct {
	at   time.Time
	said string
}

// today is a day that is being put together.
type today struct {
	*texts
	day     core.Day
	zone    *time.Location
	timed   []line   // appointments, reminders and tasks
	whole   []string // appointments of the whole day
	rest    []string
	foreign bool
}

// Today returns the day of a user as Markdown with a heading, and whether it has words of others; empty: the user has no
// source, or nothing is ahead. It takes at most 10 seconds.
func (a *Ahead) Today(ctx context.Context, u core.User, now time.Time) (said string, foreign bool, err error) {
	return a.today(ctx, u, now, within)
}

func (a *Ahead) today(ctx context.Context, u core.User, now time.Time, limit time.Duration) (said string, foreign bool,
	err error) {
	if !a.Has(u) {
		return "", false, nil
	}
	language := a.language(u)
	t := &today{texts: say(language), day: a.Days.Day(u.Settings, now), zone: u.Settings.Location(a.Days.Zone)}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	mailed := make(chan []got[[]mail.Header], 1)
	go func() { mailed <- a.headers(bounded, u, mail.Query{Limit: mostMail + 1}) }()
	t.appointments(a.events(bounded, u, t.day.Start, t.day.End, t.zone))
	if err := a.own(ctx, u, t); err != nil {
		return "", false, err
	}
	t.mail(<-mailed)
	lines := t.lines()
	if len(lines) == 0 {
		return "", false, nil
	}
	return i18n.Today(language) + "\n" + strings.Join(lines, "\n"), t.foreign, nil
}

// Show is like Today, but returns a text as well if a user with a calendar or a mailbox has nothing ahead. It takes at
// most 3 seconds.
func (a *Ahead) Show(ctx context.Context, u core.User, now time.Time) (said string, foreign bool, err error) {
	said, foreign, err = a.today(ctx, u, now, soon)
	if said == "" && err == nil && a.Has(u) {
		said = i18n.Today(a.language(u)) + "\n" + say(a.language(u)).Nothing
	}
	return said, foreign, err
}

func (a *Ahead) language(u core.User) string {
	if u.Settings.Language != "" {
		return u.Settings.Language
	}
	return a.Language
}

// quote returns words of others as a quotation that they cannot end, and that is shown as it is.
func (t *today) quote(words string) string {
	return fmt.Sprintf(t.Quoted, markup.Escape(marks.Replace(trust.Line(words))))
}

// marks replaces quotation marks.
var marks = strings.NewReplacer("“", "'", "”", "'", "„", "'", "«", "'", "»", "'", `"`, "'")

// appointments takes over what calendars gave.
func (t *today) appointments(found []got[calendar.Found]) {
	for _, f := range found {
		t.failed(f.source, f.fault)
		for _, e := range f.value.Events {
			t.foreign = true
			title := markup.Escape(t.Untitled)
			if e.Title != "" {
				title = t.quote(e.Title)
			}
			if e.Place != "" {
				title += ", " + t.quote(e.Place)
			}
			if len(found) > 1 {
				title += " · " + markup.Escape(f.source)
			}
			if when := t.when(e); when != "" {
				t.timed = append(t.timed, line{e.Start, "- **" + when + "** " + title})
			} else {
				t.whole = append(t.whole, "- **"+t.AllDay+"** "+title)
			}
		}
	}
}

// when returns when an appointment is on the day; empty: all day.
func (t *today) when(e calendar.Event) string {
	begun, goesOn := e.Start.Before(t.day.Start), e.End.After(t.day.End)
	from, to := e.Start.In(t.zone).Format("15:04"), e.End.In(t.zone).Format("15:04")
	switch {
	case e.AllDay, begun && goesOn:
		return ""
	case begun:
		return fmt.Sprintf(t.Until, to)
	case goesOn:
		return fmt.Sprintf(t.From, from)
	case from == to:
		return from
	}
	return from + "–" + to
}

// own adds the person's own reminders, tasks and loops of the day.
func (a *Ahead) own(ctx context.Context, u core.User, t *today) error {
	for _, kind := range []core.PlanKind{core.PlanReminder, core.PlanTask} {
		plans, err := a.Store.OpenPlans(ctx, u.ID, kind, mostLooked)
		if err != nil {
			return fmt.Errorf("list plans: %w", err)
		}
		for _, k := range plans {
			if k.State != core.PlanActive || !k.DueAt.Before(t.day.End) || k.DueAt.Before(t.day.Start) {
				continue
			}
			said := "⏰ " + t.own(k.Text, k.Tainted)
			if kind == core.PlanTask {
				said = fmt.Sprintf(t.Task, t.own(k.Text, k.Tainted))
			}
			t.timed = append(t.timed, line{k.DueAt, "- **" + k.DueAt.In(t.zone).Format("15:04") + "** " + said})
		}
	}
	loops, err := a.Store.Loops(ctx, u.ID, mostLooked)
	if err != nil {
		return fmt.Errorf("list loops: %w", err)
	}
	for _, l := range loops {
		if l.Due.After(t.day.Start) && !l.Due.After(t.day.End) {
			t.rest = append(t.rest, "- "+fmt.Sprintf(t.Due, t.own(markup.Plain(l.Text), l.Tainted)))
		}
	}
	return nil
}

// own returns the text of a plan or a loop.
func (t *today) own(words string, foreign bool) string {
	words = text.Shorten(text.OneLine(words), 200)
	if foreign {
		t.foreign = true
		return t.quote(words)
	}
	return markup.Escape(words)
}

// mail takes over what mailboxes gave.
func (t *today) mail(found []got[[]mail.Header]) {
	for _, f := range found {
		t.failed(f.source, f.fault)
		for _, h := range f.value[:min(len(f.value), mostMail)] {
			t.foreign = true
			who := h.Name
			if who == "" {
				who = h.Address
			}
			t.rest = append(t.rest, "- "+fmt.Sprintf(t.Unread, t.quote(who), t.quote(h.Subject)))
		}
		if len(f.value) > mostMail {
			t.rest = append(t.rest, "- "+fmt.Sprintf(t.MoreMail, markup.Escape(f.source)))
		}
	}
}

// failed adds that a source failed.
func (t *today) failed(name string, f source.Fault) {
	if f != "" {
		t.rest = append(t.rest, "- *"+fmt.Sprintf(t.Failed, markup.Escape(name), t.Faults[keys[f]])+"*")
	}
}

// lines returns the lines of the day: whole days first, then by time, then the rest.
func (t *today) lines() []string {
	slices.SortStableFunc(t.timed, func(a, b line) int { return a.at.Compare(b.at) })
	out := t.whole
	for _, l := range t.timed {
		out = append(out, l.said)
	}
	if n := len(out) - mostLines; n > 0 {
		out = append(out[:mostLines], "- "+t.More.Of(n))
	}
	return append(out, t.rest[:min(len(t.rest), mostLines)]...)
}
