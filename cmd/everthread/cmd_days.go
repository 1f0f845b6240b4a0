package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/when"
)

type daysCmd struct {
	List     daysListCmd     `cmd:"" help:"List the days, newest first."`
	Show     daysShowCmd     `cmd:"" help:"Show a day's summary and messages."`
	Finalize daysFinalizeCmd `cmd:"" help:"Write a day's summary now."`
}

// dayView is a day as commands show it.
type dayView struct {
	Day      string         `json:"day_label"`
	Zone     string         `json:"zone"`
	State    string         `json:"state"`
	Messages int            `json:"messages"`
	Version  int            `json:"summary_version"`
	Hidden   bool           `json:"summary_hidden"`
	Error    string         `json:"summary_error,omitempty"`
	Post     string         `json:"post,omitempty"`
	Summary  string         `json:"summary,omitempty"`
	Lines    []dayMessage   `json:"conversation,omitempty"`
	zone     *time.Location `json:"-"`
}

type dayMessage struct {
	ID      core.MessageID `json:"message_id"`
	Role    string         `json:"role"`
	Channel string         `json:"channel"`
	Text    string         `json:"content"`
	At      time.Time      `json:"sent_at"`
}

func viewDay(g core.Segment) dayView {
	zone, err := time.LoadLocation(g.Day.Zone)
	if err != nil {
		zone = time.UTC
	}
	return dayView{Day: g.Day.Label, Zone: g.Day.Zone, State: string(g.State), Messages: g.Messages,
		Version: g.SummaryVersion, Hidden: g.Hidden, Error: g.SummaryError, Post: string(g.Post), zone: zone}
}

type daysListCmd struct {
	whose
	Limit howMany `default:"30" help:"How many."`
}

// Run lists days.
func (l daysListCmd) Run(ctx context.Context, d *opened, u core.User) error {
	days, err := d.store.Days(ctx, u.ID, "", int(l.Limit))
	if err != nil {
		return err
	}
	return table(d.console, views(days, viewDay), d.words().DaysHeader, d.words().DaysNone, func(v dayView) []any {
		return []any{v.Day, v.State, v.Messages, v.summaryState(d.words()), dash(v.Post), v.Zone}
	})
}

func (v dayView) summaryState(t *texts) string {
	switch {
	case v.Error != "":
		return fmt.Sprintf(t.SummaryFailed, short(v.Error, 60))
	case v.Version == 0:
		return t.SummaryNone
	case v.Hidden:
		return t.SummaryHidden
	}
	return fmt.Sprintf(t.SummaryVersion, v.Version)
}

type daysShowCmd struct {
	Day string `arg:"" help:"Such as 2026-11-19, \"19 nov\", monday, yesterday or today."`
	whose
}

// Run shows a day.
func (s daysShowCmd) Run(ctx context.Context, d *opened, u core.User) error {
	g, err := d.day(ctx, u, s.Day)
	if err != nil {
		return err
	}
	v, err := d.wholeDay(ctx, g)
	if err != nil {
		return err
	}
	return d.show(v, func(w io.Writer) { v.write(w, d.words()) })
}

// label reads a date as /day does in a conversation.
func (d *opened) label(u core.User, date string) (string, error) {
	cal, err := engine.NewCalendar(d.cfg)
	if err != nil {
		return "", err
	}
	today := cal.Day(u.Settings, clock()())
	label, ok := when.Date(date, today.Label)
	switch {
	case !ok:
		return "", errUsage{fmt.Errorf("%q is no date; write it like 2026-11-19, 19 nov, monday, yesterday or today",
			date)}
	case label == when.Yesterday:
		label = cal.Day(u.Settings, today.Start.Add(-time.Hour)).Label
	}
	return label, nil
}

// day finds a user's day by a date.
func (d *opened) day(ctx context.Context, u core.User, date string) (core.Segment, error) {
	label, err := d.label(u, date)
	if err != nil {
		return core.Segment{}, err
	}
	g, err := d.store.Day(ctx, u.ID, label)
	return g, missing(err, fmt.Errorf("%s has no message; `everthread days list` shows the days that have some", label))
}

// maxDay bounds what is shown of a day.
const maxDay = 10_000

func (d *opened) wholeDay(ctx context.Context, g core.Segment) (dayView, error) {
	v := viewDay(g)
	if !g.Hidden {
		versions, err := d.store.Summaries(ctx, g.User, g.ID, 1)
		if err != nil {
			return v, err
		}
		if len(versions) > 0 {
			v.Summary = versions[0].Markdown
		}
	}
	messages, err := d.store.DayMessages(ctx, g.User, g.ID, 0, maxDay)
	core.InTime(messages)
	for _, m := range messages {
		if m.Role == core.RoleTool || m.Text == "" && !m.Redacted {
			continue
		}
		text := m.Text
		if m.Redacted {
			text = d.words().Removed
		}
		v.Lines = append(v.Lines, dayMessage{m.ID, string(m.Role), m.Channel, text, m.SentAt})
	}
	return v, err
}

func (v dayView) write(w io.Writer, t *texts) {
	fmt.Fprintf(w, t.DayTitle+"\n\n", v.Day, v.Zone, v.State, t.Messages.Of(v.Messages), v.summaryState(t))
	if v.Summary != "" {
		fmt.Fprintf(w, "%s\n\n", v.Summary)
	}
	for _, m := range v.Lines {
		fmt.Fprintf(w, "#%d %s %s: %s\n", m.ID, m.At.In(v.zone).Format("15:04"), m.Role,
			strings.ReplaceAll(m.Text, "\n", "\n    "))
	}
}

type daysFinalizeCmd struct {
	Day string `arg:"" help:"Such as 2026-11-19, \"19 nov\", monday, yesterday or today."`
	whose
}

// Run asks for a day's summary and waits for it. It is written here, unless a
// server is quicker.
func (f daysFinalizeCmd) Run(ctx context.Context, d *opened, u core.User) error {
	g, err := d.day(ctx, u, f.Day)
	if err != nil {
		return err
	}
	e, err := d.engine(ctx)
	if err != nil {
		return err
	}
	d.tell(fmt.Sprintf(d.words().SummaryWriting, g.Day.Label))
	if g, err = e.Summarize(ctx, g); err != nil {
		return err
	}
	v, err := d.wholeDay(ctx, g)
	if err != nil {
		return err
	}
	v.Lines = nil
	return d.show(v, func(w io.Writer) { v.write(w, d.words()) })
}
