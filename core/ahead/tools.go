package ahead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ahead/mail"
	"github.com/everthread/everthread/core/text/day"
)

// tool is a tool for those who have a source of its kind. It reads only, and what it reaches is what the operator
// connected: no argument of it leads elsewhere. So it needs no yes.
type tool struct {
	core.Tool
	may func(u core.User) bool
}

// May reports whether a user has a source.
func (t tool) May(u core.User) bool { return t.may(u) }

// Outside reports that it is one of our own tools: its results are not indexed.
func (tool) Outside() bool { return false }

// Standing returns that it runs without a yes, and only reads.
func (tool) Standing() (allowed, readOnly bool) { return true, true }

// Tools returns the tools of calendars and mail, each for users who have any.
func (a *Ahead) Tools() []core.Tool {
	var out []core.Tool
	if len(a.Calendars) > 0 {
		out = append(out, tool{core.NewTool("calendar_list",
			"List the user's appointments on a day, or on up to 31 days. Read only.",
			`{"type":"object","properties":{"from":{"type":"string","description":"YYYY-MM-DD; without it today"},"to":{"type":"string","description":"the last day; without it the same"}}}`,
			a.listEvents), func(u core.User) bool { return len(a.calendars(u)) > 0 }})
	}
	if len(a.Mail) > 0 {
		out = append(out, tool{core.NewTool("mail_list",
			"List who wrote the user mail about what, newest first. Returns no texts of mails. Read only.",
			`{"type":"object","properties":{"unseen":{"type":"boolean","description":"only unread (default true); false: all of 30 days"},"from":{"type":"string","description":"part of the sender's name or address"},"limit":{"type":"integer","description":"10; at most 50"}}}`,
			a.listMail), func(u core.User) bool { return len(a.mailboxes(u)) > 0 }})
	}
	return out
}

// failure is a source that could not be read, for the model.
type failure struct {
	Source string `json:"source"`
	Why    string `json:"why"`
}

// shownEvent is an appointment as the model sees it.
type shownEvent struct {
	Calendar string `json:"calendar"`
	Title    string `json:"title,omitempty"`
	Place    string `json:"place,omitempty"`
	Start    string `json:"start"`
	End      string `json:"end,omitempty"` // of whole days: the last one
	Free     bool   `json:"free,omitempty"`
}

// Bounds of what the model asks for, and sees.
const (
	mostDays   = 31
	mostShown  = 100
	usualMail  = 10
	seenWithin = 30 * 24 * time.Hour
)

func (a *Ahead) listEvents(ctx context.Context, use core.ToolUse, in struct {
	From string `json:"from"`
	To   string `json:"to"`
}) (core.ToolResult, error) {
	u, err := a.People.User(ctx, use.User)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("user: %w", err)
	}
	from, to, err := a.span(u, use.Now, in.From, in.To)
	if err != nil {
		return core.ToolResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	zone := u.Settings.Location(a.Days.Zone)
	var out struct {
		Events  []shownEvent `json:"events"`
		More    int          `json:"more,omitempty"`
		Bad     int          `json:"entries_not_understood,omitempty"`
		Zone    string       `json:"zone"`
		Failed  []failure    `json:"failed,omitempty"`
		Foreign bool         `json:"foreign,omitempty"`
	}
	out.Events, out.Zone = []shownEvent{}, zone.String()
	for _, f := range a.events(ctx, u, from, to, zone) {
		if f.fault != "" {
			out.Failed = append(out.Failed, failure{f.source, f.fault.Error()})
		}
		out.Bad += f.value.Bad
		for _, e := range f.value.Events {
			if len(out.Events) == mostShown {
				out.More++
				continue
			}
			v := shownEvent{Calendar: f.source, Title: e.Title, Place: e.Place, Free: e.Free,
				Start: e.Start.Format(time.RFC3339), End: e.End.Format(time.RFC3339)}
			if e.AllDay {
				v.Start, v.End = e.Start.Format(time.DateOnly), e.End.AddDate(0, 0, -1).Format(time.DateOnly)
			}
			if v.End == v.Start {
				v.End = ""
			}
			out.Events = append(out.Events, v)
		}
	}
	out.Foreign = len(out.Events) > 0
	return core.TaintedResult(out, out.Foreign)
}

// span returns the beginning and the end of the days that a model names.
func (a *Ahead) span(u core.User, now time.Time, first, last string) (from, to time.Time, err error) {
	first = cmp.Or(first, a.Days.Day(u.Settings, now).Label)
	last = cmp.Or(last, first)
	days := [2]core.Day{}
	for i, label := range []string{first, last} {
		d, err := day.Parse(label)
		if err != nil {
			return from, to, err
		}
		noon := day.First(d.Add(12*time.Hour), u.Settings.Location(a.Days.Zone))
		days[i] = a.Days.Day(u.Settings, noon)
	}
	from, to = days[0].Start, days[1].End
	switch {
	case !from.Before(to):
		return from, to, errors.New("the last day is before the first")
	case to.Sub(from) > mostDays*24*time.Hour+2*time.Hour:
		return from, to, fmt.Errorf("at most %d days can be listed at once", mostDays)
	}
	return from, to, nil
}

// shownMail is a message as the model sees it.
type shownMail struct {
	Mailbox string `json:"mailbox"`
	Folder  string `json:"folder,omitempty"`
	From    string `json:"from,omitempty"`
	Address string `json:"address,omitempty"`
	Subject string `json:"subject,omitempty"`
	At      string `json:"at"`
}

func (a *Ahead) listMail(ctx context.Context, use core.ToolUse, in struct {
	Unseen *bool       `json:"unseen"`
	From   string      `json:"from"`
	Limit  core.Number `json:"limit"`
}) (core.ToolResult, error) {
	u, err := a.People.User(ctx, use.User)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("user: %w", err)
	}
	q := mail.Query{From: in.From, Limit: cmp.Or(max(int(in.Limit), 0), usualMail)}
	if in.Unseen != nil && !*in.Unseen {
		q.Seen, q.Since = true, use.Now.Add(-seenWithin)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	zone := u.Settings.Location(a.Days.Zone)
	var out struct {
		Mail    []shownMail `json:"mail"`
		Failed  []failure   `json:"failed,omitempty"`
		Foreign bool        `json:"foreign,omitempty"`
	}
	out.Mail = []shownMail{}
	for _, f := range a.headers(ctx, u, q) {
		if f.fault != "" {
			out.Failed = append(out.Failed, failure{f.source, f.fault.Error()})
		}
		for _, h := range f.value {
			out.Mail = append(out.Mail, shownMail{Mailbox: f.source, Folder: h.Folder, From: h.Name, Address: h.Address,
				Subject: h.Subject, At: core.Stamp(h.At, zone)})
		}
	}
	out.Foreign = len(out.Mail) > 0
	return core.TaintedResult(out, out.Foreign)
}
