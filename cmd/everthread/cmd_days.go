package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
)

type daysCmd struct {
	List     daysListCmd     `cmd:"" help:"List days, newest first."`
	Show     daysShowCmd     `cmd:"" help:"Show a day's summary and messages."`
	Finalize daysFinalizeCmd `cmd:"" help:"Write a day's summary now."`
}

func dayObject(g core.Segment) object {
	return object{"day_label", g.Day.Label, "zone", g.Day.Zone, "state", g.State, "messages", g.Messages,
		"summary_version", g.SummaryVersion, "summary_hidden", g.Hidden, "summary_error,omitempty", g.SummaryError,
		"post,omitempty", g.Post}
}

type daysListCmd struct {
	whose
	Limit howMany `default:"30" help:"Number of days."`
}

func (l daysListCmd) Run(ctx context.Context, d *opened, u core.User) error {
	days, err := d.store.Days(ctx, u.ID, "", int(l.Limit))
	if err != nil {
		return err
	}
	t := d.words()
	return table(d.console, days, t.DaysHeader, t.DaysNone, func(g core.Segment) (any, []any) {
		return dayObject(g), []any{g.Day.Label, g.State, g.Messages, t.summaryState(g), cmp.Or(g.Post, "-"), g.Day.Zone}
	})
}

func (t *texts) summaryState(g core.Segment) string {
	switch {
	case g.SummaryError != "":
		return fmt.Sprintf(t.SummaryFailed, short(g.SummaryError, 60))
	case g.SummaryVersion == 0:
		return t.SummaryNone
	case g.Hidden:
		return t.SummaryHidden
	}
	return fmt.Sprintf(t.SummaryVersion, g.SummaryVersion)
}

type oneDay struct {
	Day string `arg:"" help:"Day, such as 2026-11-19, \"19 nov\", monday, yesterday or today."`
	whose
}

type daysShowCmd struct{ oneDay }

func (s daysShowCmd) Run(ctx context.Context, d *opened, u core.User) error {
	g, err := d.day(ctx, u, s.Day)
	if err != nil {
		return err
	}
	messages, err := d.store.DayMessages(ctx, u.ID, g.ID, 0, maxDay)
	if err != nil {
		return err
	}
	core.InTime(messages)
	return d.showDay(ctx, g, messages)
}

// maxDay bounds the messages shown of a day.
const maxDay = 10_000

// label parses a date as the command /day does.
func (d *opened) label(u core.User, date string) (string, error) {
	cal, err := engine.NewCalendar(d.cfg)
	if err != nil {
		return "", err
	}
	label, ok := cal.Label(u.Settings, clock()(), date)
	if !ok {
		err = errUsage{fmt.Errorf("%q is no date; write it like 2026-11-19, 19 nov, monday, yesterday or today", date)}
	}
	return label, err
}

func (d *opened) day(ctx context.Context, u core.User, date string) (core.Segment, error) {
	label, err := d.label(u, date)
	if err != nil {
		return core.Segment{}, err
	}
	g, err := d.store.Day(ctx, u.ID, label)
	return g, missing(err, fmt.Errorf("%s has no message; `everthread days list` shows the days that have some", label))
}

func (d *opened) showDay(ctx context.Context, g core.Segment, messages []core.Message) error {
	t, summary := d.words(), ""
	if !g.Hidden {
		versions, err := d.store.Summaries(ctx, g.User, g.ID, 1)
		if err != nil {
			return err
		}
		for _, s := range versions {
			summary = s.Markdown
		}
	}
	lines := []string{fmt.Sprintf(t.DayTitle, g.Day.Label, g.Day.Zone, g.State, t.Messages.Of(g.Messages),
		t.summaryState(g)), ""}
	if summary != "" {
		lines = append(lines, summary, "")
	}
	zone, err := time.LoadLocation(g.Day.Zone)
	if err != nil {
		zone = time.UTC
	}
	var conversation []object
	for _, m := range messages {
		if m.Role == core.RoleTool || m.Text == "" && !m.Redacted {
			continue
		}
		if m.Redacted {
			m.Text = t.Removed
		}
		conversation = append(conversation, object{"message_id", m.ID, "role", m.Role, "channel", m.Channel,
			"content", m.Text, "sent_at", m.SentAt})
		lines = append(lines, fmt.Sprintf("#%d %s %s: %s", m.ID, m.SentAt.In(zone).Format("15:04"), m.Role,
			strings.ReplaceAll(m.Text, "\n", "\n    ")))
	}
	return d.lines(append(dayObject(g), "summary,omitempty", summary, "conversation,omitempty", conversation), lines...)
}

type daysFinalizeCmd struct{ oneDay }

// Run requests a day's summary and waits for it. It is written here, unless a server is quicker.
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
	return d.showDay(ctx, g, nil)
}
