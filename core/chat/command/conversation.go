package command

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// today answers with what the day has ahead, if the person has a calendar or a mailbox, and with its summary.
func (c *Commands) today(ctx context.Context, r *request) (core.Outcome, error) {
	ahead, foreign, err := c.Ahead.Show(ctx, r.user, r.now)
	if err != nil {
		return core.Outcome{}, err
	}
	out, err := c.showDay(ctx, r, r.today.Label)
	if ahead != "" {
		r.mark(foreign)
		out.Text += "\n\n" + ahead
	}
	return out, err
}

func (c *Commands) yesterday(ctx context.Context, r *request) (core.Outcome, error) {
	before := c.Calendar.Day(r.user.Settings, r.today.Start.Add(-time.Nanosecond)) // a zone may skip a date
	return c.showDay(ctx, r, before.Label)
}

func (c *Commands) day(ctx context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		return c.showDay(ctx, r, r.today.Label)
	}
	label, ok := c.label(r, r.arg)
	if !ok {
		return r.sayf(r.words.BadDate, r.usage("day")), nil
	}
	return c.showDay(ctx, r, label)
}

func (c *Commands) label(r *request, s string) (string, bool) {
	return c.Calendar.Label(r.user.Settings, r.today.Start, s)
}

// showDay answers with a day's summary and its number of messages.
func (c *Commands) showDay(ctx context.Context, r *request, label string) (core.Outcome, error) {
	return c.onDay(ctx, r, label, func(g core.Segment) (core.Outcome, error) {
		text, err := c.summaryText(ctx, r, g)
		return core.Outcome{Text: text}, err
	})
}

// onDay answers about a day, or that it has no messages.
func (c *Commands) onDay(ctx context.Context, r *request, label string,
	about func(g core.Segment) (core.Outcome, error)) (core.Outcome, error) {
	g, err := c.Store.Day(ctx, r.user.ID, label)
	switch {
	case missing(err):
		return c.noDay(ctx, r, label)
	case err != nil:
		return core.Outcome{}, err
	}
	return about(g)
}

// summaryText returns a day's summary with its title, or why there is none.
func (c *Commands) summaryText(ctx context.Context, r *request, g core.Segment) (string, error) {
	parts := []string{fmt.Sprintf(r.words.DayTitle, c.name(r, g.Day.Label), r.words.Messages.Of(g.Messages))}
	s, err := c.newest(ctx, g)
	if err != nil {
		return "", err
	}
	if s != nil {
		r.mark(s.Tainted)
		parts = append(parts, strings.TrimSpace(i18n.Headings(r.lang, markup.StripRefs(s.Markdown))))
	}
	if note := c.summaryNote(r, g, s != nil); note != "" {
		parts = append(parts, note)
	}
	return strings.Join(parts, "\n\n"), nil
}

// summaryNote returns a note on the state of a day's summary; empty: none.
func (c *Commands) summaryNote(r *request, g core.Segment, shown bool) string {
	again := "/summary"
	if g.Day.Label != r.today.Label {
		again = "`/summary " + g.Day.Label + "`"
	}
	switch {
	case g.SummaryError != "":
		return fmt.Sprintf(r.words.SummaryFailed, again)
	case g.Hidden:
		return r.words.SummaryHidden
	case !shown:
		return fmt.Sprintf(r.words.SummaryNone, again)
	case g.Stale:
		return r.words.SummaryStale
	case g.SinceSummary > 0:
		return "*" + r.words.Since.Of(g.SinceSummary) + "*"
	}
	return ""
}

// newest returns a day's summary, nil if there is none to show.
func (c *Commands) newest(ctx context.Context, g core.Segment) (*core.Summary, error) {
	if g.SummaryVersion == 0 || g.Hidden {
		return nil, nil
	}
	versions, err := c.Store.Summaries(ctx, g.User, g.ID, 1)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	return &versions[0], nil
}

func (c *Commands) name(r *request, label string) string {
	return day.Name(label, r.today.Label, r.lang)
}

// noDay answers that a day has no messages, and names the nearest days that do.
func (c *Commands) noDay(ctx context.Context, r *request, label string) (core.Outcome, error) {
	before, err := c.Store.Days(ctx, r.user.ID, label, 1)
	if err != nil {
		return core.Outcome{}, err
	}
	after, err := c.dayAfter(ctx, r.user.ID, label)
	if err != nil {
		return core.Outcome{}, err
	}
	var near []string
	for _, g := range before {
		near = append(near, g.Day.Label)
	}
	if after != "" {
		near = append(near, after)
	}
	text := fmt.Sprintf(r.words.NoMessages, c.name(r, label)) + "\n\n"
	if len(near) == 0 {
		return core.Outcome{Text: text + r.words.NothingYet}, nil
	}
	text += r.words.NearestDays
	for _, l := range near {
		text += "\n- " + c.name(r, l) + " – `/day " + l + "`"
	}
	return core.Outcome{Text: text}, nil
}

// dayAfter returns the first day with messages after label, or "". The store lists days
// backwards, so it is a binary search.
func (c *Commands) dayAfter(ctx context.Context, user core.UserID, label string) (string, error) {
	newest, err := c.Store.Days(ctx, user, "", 1)
	if err != nil || len(newest) == 0 || newest[0].Day.Label <= label {
		return "", err
	}
	from, _ := day.Parse(label)
	to, _ := day.Parse(newest[0].Day.Label)
	n := sort.Search(int((to.Unix()-from.Unix())/86400), func(n int) bool {
		days, e := c.Store.Days(ctx, user, from.AddDate(0, 0, n+2).Format(time.DateOnly), 1)
		err = errors.Join(err, e)
		return len(days) > 0 && days[0].Day.Label > label
	})
	return from.AddDate(0, 0, n+1).Format(time.DateOnly), err
}

// summary requests a new summary of a day and shows the current one.
func (c *Commands) summary(ctx context.Context, r *request) (core.Outcome, error) {
	label := r.today.Label
	if r.arg != "" {
		var ok bool
		if label, ok = c.label(r, r.arg); !ok {
			return r.sayf(r.words.BadDate, "`/summary "+r.words.Args["day"]+"`"), nil
		}
	}
	return c.onDay(ctx, r, label, func(g core.Segment) (core.Outcome, error) {
		text, err := c.renewed(ctx, r, g)
		return core.Outcome{Text: text, Effects: []core.Effect{effect.Summarize{Segment: g.ID, At: r.now}}}, err
	})
}

// renewed returns the text that a summary is being written, with the current one.
func (c *Commands) renewed(ctx context.Context, r *request, g core.Segment) (string, error) {
	see := "/today"
	if g.Day.Label != r.today.Label {
		see = "`/day " + g.Day.Label + "`"
	}
	text := fmt.Sprintf(r.words.SummaryComing, c.name(r, g.Day.Label), see)
	if r.in.Program && !trust.Allows(r.in.Grants, core.CanRead) {
		return text, nil
	}
	s, err := c.newest(ctx, g)
	if err != nil || s == nil {
		return text, err
	}
	said := i18n.Headings(r.lang, markup.StripRefs(s.Markdown))
	r.mark(s.Tainted)
	return text + "\n\n" + r.words.SummaryUntil + "\n\n" + strings.TrimSpace(said), nil
}

// forget removes the message that the command replies to, or those of a day.
func (c *Commands) forget(ctx context.Context, r *request) (core.Outcome, error) {
	switch {
	case r.arg != "":
		return c.forgetDay(ctx, r)
	case r.in.Quote != nil:
		return c.forgetMessage(ctx, r)
	}
	return r.say(r.words.ForgetWhat), nil
}

func (c *Commands) forgetMessage(ctx context.Context, r *request) (core.Outcome, error) {
	m, err := c.referred(ctx, r)
	if err != nil {
		return core.Outcome{}, err
	}
	if m == 0 {
		return r.say(r.words.ForgetUnknown), nil
	}
	if may, err := c.mayForget(ctx, r, m); err != nil || !may {
		return r.say(r.words.GroupForget), err
	}
	return r.say(r.words.Forgotten).With(effect.Redact{Message: m, At: r.now, Retract: true}), nil
}

// forgetDay removes a day only if the date is followed by yes; else it asks.
func (c *Commands) forgetDay(ctx context.Context, r *request) (core.Outcome, error) {
	if may, err := c.mayForget(ctx, r, 0); err != nil || !may {
		return r.say(r.words.GroupForget), err
	}
	date, sure := confirmed(r.arg)
	label, ok := c.label(r, date)
	if !ok {
		return r.sayf(r.words.BadDate, r.usage("forget")), nil
	}
	return c.onDay(ctx, r, label, func(g core.Segment) (core.Outcome, error) {
		all, shown, err := c.left(ctx, g)
		if err != nil {
			return core.Outcome{}, err
		}
		name := c.name(r, label)
		if len(all) == 0 {
			return r.sayf(r.words.ForgetNothing, name), nil
		}
		n := r.words.Messages.Of(shown)
		if !sure {
			return r.sayf(r.words.ForgetAsk, name, n, label), nil
		}
		out := r.sayf(r.words.ForgottenDay, name, n)
		for _, m := range all {
			out.Effects = append(out.Effects, effect.Redact{Message: m, At: r.now})
		}
		return out, nil
	})
}

// confirmed removes a yes from the end of an argument.
func confirmed(arg string) (rest string, sure bool) {
	f := strings.Fields(arg)
	if !means(f[len(f)-1], yes) {
		return arg, false
	}
	return strings.Join(f[:len(f)-1], " "), true
}

// left returns the messages of a day that are not redacted, and how many of them the person
// saw (tool calls are not shown).
func (c *Commands) left(ctx context.Context, g core.Segment) (all []core.MessageID, shown int, err error) {
	const page = 500
	for after := core.MessageID(0); ; {
		got, err := c.Store.DayMessages(ctx, g.User, g.ID, after, page)
		if err != nil {
			return nil, 0, err
		}
		for _, m := range got {
			after = m.ID
			if m.Redacted {
				continue
			}
			all = append(all, m.ID)
			if m.Role != core.RoleTool && m.Text != "" {
				shown++
			}
		}
		if len(got) < page {
			return all, shown, nil
		}
	}
}

// Searcher searches the continuous thread.
type Searcher interface {
	Search(ctx context.Context, q search.Query) (search.Result, error)
}

// found bounds the hits of a search that are shown.
const found = 6

func (c *Commands) search(ctx context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		return r.say(r.words.SearchWhat), nil
	}
	q := search.Query{User: r.user.ID, Query: r.arg, Matching: true, Limit: found, Now: r.now, Location: c.location(r)}
	if r.user.Name != "" {
		q.Names = map[string]core.Role{r.user.Name: core.RoleUser}
	}
	res, err := c.Search.Search(ctx, q)
	if err != nil {
		return core.Outcome{}, err
	}
	lines := []string{fmt.Sprintf(r.words.SearchTitle, markup.Escape(title(r.arg))), ""}
	for _, h := range res.Hits[:min(len(res.Hits), found)] {
		lines = append(lines, "- "+c.hit(r, h))
	}
	if len(res.Hits) == 0 {
		lines = []string{fmt.Sprintf(r.words.SearchNothing, bold(r.arg))}
	}
	if res.Mode != "hybrid" {
		lines = append(lines, "", "*"+r.words.SearchWords+"*")
	}
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

// hit shows a hit with its time, author and text, and with the messages around it.
func (c *Commands) hit(r *request, h search.Hit) string {
	r.mark(h.Foreign())
	when := c.name(r, h.Label)
	if h.Kind == core.DocSummary {
		return "**" + when + "** · " + r.words.FromSummary + ": " + plainLine(markup.Excerpt(h.Snippet))
	}
	if h.Kind == core.DocFile {
		return "**" + when + "** · " + fmt.Sprintf(r.words.FromFile, markup.Escape(h.Page.Name), h.Page.Number) + ": " +
			plainLine(h.Snippet)
	}
	lines := []string{"**" + when + ", " + h.Message.SentAt.In(c.location(r)).Format("15:04") + "** · " +
		said(r, h.Message.Role, h.Message.Speaker, h.Snippet)}
	if h.Before.Message != 0 {
		lines = append(lines, "  - *"+r.words.SaidBefore+"* "+said(r, h.Before.Role, h.Before.Speaker, h.Before.Snippet))
	}
	if h.After.Message != 0 {
		lines = append(lines, "  - *"+r.words.SaidAfter+"* "+said(r, h.After.Role, h.After.Speaker, h.After.Snippet))
	}
	return strings.Join(lines, "\n")
}

// said shows the author and the text of a message.
func said(r *request, role core.Role, speaker *core.Speaker, text string) string {
	if speaker != nil {
		return markup.Escape(title(speaker.Beside(r.words.FromYou, r.words.FromMe, r.words.FromTool))) + ": " + plainLine(text)
	}
	who := map[core.Role]string{core.RoleUser: r.words.FromYou, core.RoleAssistant: r.words.FromMe}[role]
	switch {
	case who == "":
		who = r.words.FromTool
	case role == core.RoleAssistant:
		text = markup.Plain(text)
	}
	return who + ": " + plainLine(text)
}

// plainLine returns a text as one line of Markdown that shows it verbatim.
func plainLine(s string) string { return markup.Escape(oneLine(s)) }
